"""Selections that other pages send to Explore, such as the images of a bar in a plot.

    address = explore_address(app, image_ids, "Kelp in dive 7", back="/labels?part=cover")

A page opens the returned address in its tab. Explore then shows these images as its selection, with the text and a link
back. The server forgets selections that nobody opened for long, and all of them when it stops. The address then opens
Explore with a message and without a selection.
"""

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode

import numpy as np
from cachetools import LRUCache

from benthoscope.engine.problems import fail

BYTES = 100 * 2**20  # of all selections together: a dozen of a million images, or thousands of usual ones


@dataclass(frozen=True)
class SentSelection:
    """`images` are sorted ids (int64). `text` says what they have in common. `back` is an address on this server, or
    empty."""

    images: np.ndarray
    text: str
    back: str = ""


class SentSelections:
    """Thread-safe LRU cache of selections by a digest of their content."""

    def __init__(self, room: int = BYTES):
        self._selections: LRUCache = LRUCache(room, getsizeof=lambda sent: sent.images.nbytes + 1000)
        self._lock = threading.Lock()

    def put(self, sent: SentSelection) -> str:
        """Store a selection and return its key."""
        content = sent.images.tobytes() + f"\n{sent.text}\n{sent.back}".encode()
        key = hashlib.blake2b(content, digest_size=9).hexdigest()
        with self._lock:
            self._selections[key] = sent
        return key

    def get(self, key: str) -> SentSelection:
        """Raises BadInput if the selection is not stored any more."""
        with self._lock:
            sent = self._selections.get(key)
        if sent is None:
            raise fail("selection", "the images of this link are not stored any more", "select them again in the plot")
        return sent


class KeepsSelections(Protocol):
    """The state of the server: the part of it that selections need."""

    sent_selections: SentSelections


def explore_address(
    app: KeepsSelections, images: Iterable[int] | np.ndarray, text: str, *, back: str = "", run: int | None = None
) -> str:
    """The address that opens Explore with these images selected.

    `images` are ids in any order. `text` says in a few words what they have in common; Explore shows it beside their
    number. `back` is the address to return to, such as "/labels?part=cover". `run` is the id of the run to show; None
    is the current one. Raises BadInput without images, or if `back` is not on this server.
    """
    ids = np.unique(np.fromiter(images, np.int64) if not isinstance(images, np.ndarray) else images)
    if not len(ids):
        raise fail("selection", "contains no images", "select some first")
    if back and not is_local(back):
        raise fail("address", f"{back} is not on this server", "give an address that begins with /")
    key = app.sent_selections.put(SentSelection(ids.astype(np.int64), text, back))
    query = {"sent": key} if run is None else {"sent": key, "run": run}
    return f"/explore?{urlencode(query)}"


def is_local(address: str) -> bool:
    """Whether an address stays on this server; browsers read // and /\\ as the name of another host."""
    return address.startswith("/") and address[1:2] not in ("/", "\\")
