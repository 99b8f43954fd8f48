"""Arrays that pages fetch once over REST; the address names the content, so browsers keep them for ever."""

import hashlib
import threading
from collections import OrderedDict

import numpy as np

ROOM = 600 * 2**20  # bytes: twelve million-image arrays of 4 bytes, in use by a handful of people, ten times over


class Shelf:
    """Holds the latest; what was pushed out is put there again by the next page that needs it."""

    def __init__(self, room: int = ROOM):
        self._room, self._used = room, 0
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, array: np.ndarray) -> str:
        """The address of the array's bytes, little-endian, in C order."""
        array = np.ascontiguousarray(array)
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        key = hashlib.blake2b(content, digest_size=12).hexdigest()
        with self._lock:
            if key not in self._held:
                self._held[key] = content
                self._used += len(content)
            self._held.move_to_end(key)
            while self._used > self._room and len(self._held) > 1:
                self._used -= len(self._held.popitem(last=False)[1])
        return f"/api/v1/arrays/{key}"

    def get(self, key: str) -> bytes | None:
        return self._held.get(key)


class Lasting:
    """Values made from what never changes (a run, the content of a feature set): made once, the latest kept."""

    def __init__(self, room: int = 200):
        self._room = room
        self._held: OrderedDict = OrderedDict()
        self._making: dict = {}
        self._lock = threading.Lock()

    def once(self, key, make):
        """What `make` gave the first time; those who ask meanwhile wait for it."""
        with self._lock:
            own = self._making.setdefault(key, threading.Lock())
        with own:
            if key not in self._held:
                self._held[key] = make()
            self._held.move_to_end(key)
            self._tidy()
            return self._held[key]

    def _tidy(self) -> None:
        with self._lock:
            while len(self._held) > self._room:
                gone, _ = self._held.popitem(last=False)
                self._making.pop(gone, None)
