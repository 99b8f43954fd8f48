"""The stored page of typical images of a workspace. It is chosen by a job, so that Learn opens at once."""

import contextlib
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.labelling.suggestions import Suggestions
from benthoscope.engine.workspace.storage.files import replacing

FILE = "typical.npz"


@dataclass(frozen=True)
class TypicalPage:
    """Images (n,) and their rows (n, D), by which they are laid out. `stamp` names the features and the run."""

    image_ids: np.ndarray
    rows: np.ndarray
    stamp: tuple[Any, ...]


class TypicalStore:
    """Stores one page at a time."""

    def __init__(self, folder: Path):
        self._path = folder / "learning" / FILE

    def put(self, page: TypicalPage) -> None:
        self._path.parent.mkdir(exist_ok=True)
        with replacing(self._path) as file:
            np.savez(file, image_ids=page.image_ids, rows=page.rows, stamp=np.array(json.dumps(page.stamp)))

    def get(self, stamp: Sequence[Any]) -> TypicalPage | None:
        """Return the stored page; None if there is none, if it is damaged, or if it is of other features."""
        with contextlib.suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):
            page = self._read()
            return page if page.stamp == tuple(stamp) else None
        return None

    def _read(self) -> TypicalPage:
        with np.load(self._path, allow_pickle=False) as parts:
            return TypicalPage(parts["image_ids"], parts["rows"], tuple(json.loads(str(parts["stamp"]))))


def without_suggestions(page: TypicalPage) -> Suggestions:
    """Return the images of a page in the form of suggestions without a single term, because there is no model yet."""
    count, nothing = len(page.image_ids), np.empty(0, np.int64)
    return Suggestions(
        page.image_ids,
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count),
        nothing,
        np.empty((count, 0), np.float32),
        np.zeros(count, bool),
        nothing,
        np.empty((0, 0)),
        nothing,
        np.empty(0),
        {"features": page.stamp[0], "run": page.stamp[2], "last_event": 0, "labels": 0, "page": _check(page)},
    )


def _check(page: TypicalPage) -> int:
    """Return a number by which a newly chosen page differs from the one before."""
    return zlib.crc32(np.asarray(page.image_ids, np.int64).tobytes())
