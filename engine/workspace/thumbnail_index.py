"""Where each thumbnail lies: sorted arrays for the many, a dictionary for the latest few.

A dictionary of a million hashes would take 250 MB, the arrays take 20. They hold the first 8 bytes of each hash; the
whole hash stands in the record and is compared on reading. Two of a million images share a prefix with a probability
of 3e-8, and then one of them has no thumbnail, never the wrong one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.workspace.thumbnail_records import HEADER, Place

ENTRY = np.dtype([("prefix", "<u8"), ("offset", "<u8"), ("length", "<u4")])
RECENT = 4096  # places kept in the dictionary before they are sorted in
GONE = 0       # the length that stands for: known to be damaged


@dataclass(frozen=True)
class Spot:
    """An entry of the index: the offset of a record's header and the length of its JPEG."""

    offset: int
    length: int


class Index:
    """Spots by key; of several with one key the latest holds. `covered`: up to here the packed file is known."""

    def __init__(self, entries: np.ndarray | None = None):
        entries = np.zeros(0, ENTRY) if entries is None else entries
        self._entries = _sorted(entries)
        self._recent: dict[int, Spot] = {}
        self.covered = int(_ends(entries).max(initial=0))

    def __contains__(self, key: bytes) -> bool:
        return self.find(key) is not None

    def __len__(self) -> int:
        return len(self.entries())

    def find(self, key: bytes) -> Spot | None:
        prefix = prefix_of(key)
        recent = self._recent.get(prefix)
        if recent is not None:
            return recent if recent.length != GONE else None
        entries = self._entries  # only now: what another thread has merged meanwhile is in them
        at = int(np.searchsorted(entries["prefix"], np.uint64(prefix)))
        if at < len(entries) and int(entries["prefix"][at]) == prefix:
            return Spot(int(entries["offset"][at]), int(entries["length"][at]))
        return None

    def add(self, places: Iterable[Place]) -> None:
        """Takes in records; a later one replaces an earlier one of the same key."""
        for place in places:
            self._recent[prefix_of(place.key)] = Spot(place.offset, place.length)
            self.covered = max(self.covered, place.end)
            if len(self._recent) > RECENT:
                self._merge()

    def forget(self, key: bytes, spot: Spot) -> None:
        """The record at this spot turned out to be damaged: as if it were not there."""
        if self.find(key) == spot:
            self._recent[prefix_of(key)] = Spot(spot.offset, GONE)

    def entries(self) -> np.ndarray:
        """All entries that hold, by prefix."""
        self._merge()
        return self._entries

    def _merge(self) -> None:
        recent = dict(self._recent)
        if not recent:
            return
        latest = np.array([(prefix, spot.offset, spot.length) for prefix, spot in recent.items()], ENTRY)
        self._entries = _sorted(np.concatenate([self._entries, latest]))
        # Entries first, dictionary second: a reader between the two finds the same spot twice, never none.
        for prefix, spot in recent.items():
            if self._recent.get(prefix) == spot:
                del self._recent[prefix]


def as_entries(places: Iterable[Place]) -> np.ndarray:
    """Entries as they are appended to the index on disk."""
    return np.array([(prefix_of(place.key), place.offset, place.length) for place in places], ENTRY)


def trusted(entries: np.ndarray, size: int) -> bool:
    """Whether entries read from disk can belong to a packed file of this many bytes."""
    ends = _ends(entries)
    return bool(np.all(entries["offset"][1:] >= ends[:-1]) and np.all(ends <= size) and np.all(entries["length"] > 0))


def prefix_of(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def _sorted(entries: np.ndarray) -> np.ndarray:
    ordered = entries[np.lexsort((entries["offset"], entries["prefix"]))]
    last = np.append(ordered["prefix"][1:] != ordered["prefix"][:-1], True)[:len(ordered)]
    held = ordered[last]
    return held[held["length"] != GONE]


def _ends(entries: np.ndarray) -> np.ndarray:
    return entries["offset"].astype(np.int64) + HEADER.size + entries["length"]
