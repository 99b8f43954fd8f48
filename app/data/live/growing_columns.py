"""The images of a live dive, of which only those are read again that can still change."""

import threading
from collections.abc import Mapping

import numpy as np

from benthoscope.engine.workspace.live_dives import LiveDiveStore


class GrowingColumns:
    """Columns of a dive. The rows up to the last one that a round has learned are final: rounds learn the oldest images
    that wait, and those that they leave out have a problem and no cluster."""

    def __init__(self, store: LiveDiveStore, dive_id: int):
        self._store, self._dive_id = store, dive_id
        self._lock = threading.Lock()
        self._final: Mapping[str, np.ndarray] = {}

    def read(self) -> dict[str, np.ndarray]:
        """Return all columns, see `LiveDiveStore.columns`."""
        with self._lock:
            final = self._final
            after = int(final["id"][-1]) if final and len(final["id"]) else 0
            fresh = self._store.columns(self._dive_id, after)
            whole = {name: np.concatenate([final[name], fresh[name]]) for name in fresh} if final else fresh
            learned = np.flatnonzero(whole["learned_in"] > 0)
            count = int(learned[-1]) + 1 if len(learned) else 0
            self._final = {name: values[:count] for name, values in whole.items()}
            return whole
