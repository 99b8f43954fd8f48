"""Caches of values that sessions share. Every value names what it depends on and is computed again after that changes.

Arrays that pages fetch over REST have an address that names their content, so browsers keep them for ever. Answers to
hundreds of browsers at once are kept for seconds.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from cachetools import LRUCache, TLRUCache

# Aspects of the workspace that values depend on.
IMAGES = "images"  # images, their dives or albums, and what is known of them
LABELS = "labels"  # the label log, terms, people's favourites, suggestions learnt from labels
RUNS = "runs"  # runs and their levels
FEATURES = "features"  # feature sets, projections and predicted columns
ASPECTS = (IMAGES, LABELS, RUNS, FEATURES)
OTHER = "other"  # shown somewhere, but no cached value depends on it: campaigns, saved selections, visits of pages

JOBS = "jobs"  # the list of jobs; announced to tabs on its own, because running jobs change it twice a second
LIVE = "live"  # images and rounds of live dives; announced on its own to tabs that show them
CROWD_ANSWERS = "answers"  # answers of crowd workers; announced on its own to tabs that show them

Aspects = str | Collection[str]
ENTRIES = 600  # values: more than a workspace with dozens of runs in use has
BYTES = 600 * 2**20  # of arrays: twelve million-image arrays of 4 bytes, in use by a handful of people, ten times over
ANSWERS = 50_000  # a few hundred bytes each


class _Making:
    """Lock of the thread that computes a value; other threads that need the value wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Cache:
    """Thread-safe LRU cache of values with the versions at which they were computed."""

    def __init__(self, room: int = ENTRIES, first_version: int = 1):
        self._entries: LRUCache = LRUCache(room)  # key: (aspects, versions, value)
        self._versions = dict.fromkeys((*ASPECTS, OTHER, JOBS, LIVE), first_version)
        self._making: WeakValueDictionary[Hashable, _Making] = WeakValueDictionary()
        self._lock = threading.Lock()

    def version(self, aspect: str) -> int:
        return self._versions[aspect]

    def changed(self, aspects: Aspects) -> None:
        """Everything that depends on these aspects is computed again when it is next requested."""
        with self._lock:
            for aspect in _each(aspects):
                self._versions[aspect] += 1

    def get(self, key: Hashable, make: Callable[[], Any], of: Aspects = ASPECTS) -> Any:
        """Return the value of this key. Concurrent callers share one computation. `of` names what the value depends on;
        a value that depends on nothing is never computed again."""
        with self._lock:
            making = self._making.get(key)
            if making is None:
                making = self._making[key] = _Making()
        with making.lock:
            aspects = _each(of)
            with self._lock:
                entry, versions = self._entries.get(key), self._now(aspects)
            if entry is not None and entry[:2] == (aspects, versions):
                return entry[2]
            value = make()  # a change meanwhile finds the older versions here
            with self._lock:
                self._entries[key] = (aspects, versions, value)
            return value

    def has(self, key: Hashable) -> bool:
        """Whether `get` would return without computing."""
        with self._lock:
            entry = self._entries.get(key)
            return entry is not None and entry[1] == self._now(entry[0])

    def _now(self, aspects: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self._versions[aspect] for aspect in aspects)


def _each(aspects: Aspects) -> tuple[str, ...]:
    return (aspects,) if isinstance(aspects, str) else tuple(aspects)


class ArrayStore:
    """LRU cache of the bytes of arrays by a digest of their content. A page that needs a dropped array stores it
    again."""

    def __init__(self, room: int = BYTES):
        self._blobs: LRUCache = LRUCache(room, getsizeof=len)
        self._lock = threading.Lock()

    def put(self, array: np.ndarray) -> str:
        """Store an array and return the address of its bytes (little-endian, C order)."""
        array = np.ascontiguousarray(array)
        content = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        key = hashlib.blake2b(content, digest_size=12).hexdigest()
        with self._lock:
            if self._blobs.get(key) is None:
                self._make_room_for(content)
                self._blobs[key] = content
        return f"/api/v1/arrays/{key}"

    def get(self, key: str) -> bytes | None:
        with self._lock:
            return self._blobs.get(key)

    def _make_room_for(self, content: bytes) -> None:
        """Drop the least used arrays. An array larger than the cache is stored alone."""
        if len(content) > self._blobs.maxsize:
            self._blobs = LRUCache(len(content), getsizeof=len)


@dataclass
class Memory:
    """Thread-safe cache of short-lived answers, so that simultaneous requests of many browsers are answered by one
    read."""

    clock: Callable[[], float] = time.monotonic
    _entries: TLRUCache = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._entries = TLRUCache(ANSWERS, ttu=lambda key, entry, now: now + entry[0], timer=lambda: self.clock())

    def get(self, key: Hashable) -> Any:
        """The value if it has not expired, else None."""
        with self._lock:
            entry = self._entries.get(key)
        return entry[1] if entry is not None else None

    def keep(self, key: Hashable, value: Any, seconds: float) -> Any:
        with self._lock:
            self._entries[key] = (seconds, value)
        return value

    def obtain(self, key: Hashable, make: Callable[[], Any], seconds: float) -> Any:
        """The value if it has not expired, else `make()`."""
        value = self.get(key)
        return value if value is not None else self.keep(key, make(), seconds)
