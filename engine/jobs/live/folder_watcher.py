"""Find new images in a folder that a vehicle or a camera writes to, by listing it again and again.

Listing works on every file system, also on network shares, where notifications get lost. A file is ready when its size
and time were the same in two scans in a row, or when it was renamed from another name. An empty file waits longer: a
camera may create it before it writes. Only differences of this process's monotonic clock count, so the clocks of the
vehicle and of this computer may jump.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from benthoscope.engine.exchange.image_import.folder_scan import SYSTEM, WORKSPACE
from benthoscope.engine.exchange.image_import.sources import METADATA
from benthoscope.engine.imaging import SUFFIXES, is_foreign
from benthoscope.engine.problems import Problem

SHARE = 10.0  # times the duration of a scan to wait before the next one, so that a slow share is not overloaded
LONGEST_REST = 30.0  # seconds
FAST = 0.2  # seconds; a faster scan needs no rest
GIVE_UP = 30.0  # seconds for which a file that does not change may be unreadable before it is reported
RECENT = 1_000  # new paths before they join the sorted array


@dataclass(frozen=True)
class ReadyFile:
    """An image to take in, by its path below the folder, and when (monotonic seconds) it was first seen."""

    path: str
    first_seen: float


@dataclass
class _Waiting:
    """A file that is not yet ready."""

    size: int
    mtime_ns: int
    first_seen: float
    unchanged_since: float


@dataclass(frozen=True)
class FolderScan:
    """The result of one scan: files that are ready, and the metadata files with their size and time."""

    ready: tuple[ReadyFile, ...] = ()
    metadata: tuple[tuple[str, int, int], ...] = ()
    unreachable: str = ""  # why the folder could not be listed; empty if it could


class SeenPaths:
    """A set of paths that takes eight bytes for each: a sorted array of hashes and a few recent paths."""

    def __init__(self, paths: Iterable[str] = ()):
        self._hashes = np.sort(np.fromiter(map(hash, paths), np.int64))
        self._recent: set[str] = set()

    def __len__(self) -> int:
        return len(self._hashes) + len(self._recent)

    def add(self, path: str) -> None:
        self._recent.add(path)
        if len(self._recent) >= RECENT:
            new = np.fromiter(map(hash, self._recent), np.int64)
            self._hashes = np.sort(np.concatenate([self._hashes, new]))
            self._recent = set()

    def unseen(self, paths: list[str]) -> list[str]:
        """Return the paths that are not in the set, in their order."""
        hashes = np.fromiter(map(hash, paths), np.int64, len(paths))
        at = np.searchsorted(self._hashes, hashes)
        is_known = np.zeros(len(paths), bool)
        inside = at < len(self._hashes)
        is_known[inside] = self._hashes[at[inside]] == hashes[inside]
        return [paths[at] for at in np.flatnonzero(~is_known) if paths[at] not in self._recent]


@dataclass
class FolderWatcher:
    """Looks for images below a folder. `known_paths` are left out, such as those of images in the library."""

    folder: Path
    known_paths: SeenPaths = field(default_factory=SeenPaths)
    clock: Callable[[], float] = time.monotonic
    give_up: float = GIVE_UP

    def __post_init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self._rejected: dict[str, tuple[int, int]] = {}  # size and time of files that were reported as unusable
        self._other_inodes: frozenset[int] = frozenset()  # files without the name of an image, at the last scan
        self._next_scan = -np.inf

    @property
    def waiting(self) -> int:
        """Return the number of files that are not yet ready."""
        return len(self._waiting)

    def scan(self) -> FolderScan | None:
        """List the folder once. Returns None if the last scan took so long that the folder needs a rest."""
        began = self.clock()
        if began < self._next_scan:
            return None
        try:
            listing = _listed(self.folder)
        except OSError as error:
            return FolderScan(unreachable=error.strerror or type(error).__name__)
        ready = list(self._ready(listing, began))
        self._other_inodes = frozenset(listing.other_inodes)
        ended = self.clock()
        self._next_scan = ended + min(SHARE * (ended - began), LONGEST_REST) if ended - began > FAST else ended
        ready.sort(key=lambda file: (file.first_seen, file.path))
        return FolderScan(tuple(ready), tuple(listing.metadata))

    def mark_stored(self, path: str) -> None:
        """Note that a file was taken in; later scans leave it out."""
        self._waiting.pop(path, None)
        self._rejected.pop(path, None)
        self.known_paths.add(path)

    def unusable(self, path: str, problem: Problem) -> Problem | None:
        """Note that a ready file could not be read. Returns the problem if the file has not changed for a long time.
        Before that, it may be half-written and is tried again."""
        state = self._waiting.get(path)
        if state is None:
            return problem
        if self.clock() - state.unchanged_since < self.give_up:
            return None
        self._rejected[path] = (state.size, state.mtime_ns)
        del self._waiting[path]
        return problem

    def _ready(self, listing: "_Listing", moment: float) -> Iterator[ReadyFile]:
        present = self.known_paths.unseen(list(listing.images))
        gone = self._waiting.keys() - set(present)
        for path in gone:
            del self._waiting[path]
        for path in present:
            status = _status(self.folder / path)
            if status is None:
                continue
            stamp = (status.st_size, status.st_mtime_ns)
            if self._rejected.get(path) == stamp:
                continue
            before = self._waiting.get(path)
            if before is None:
                self._waiting[path] = _Waiting(*stamp, moment, moment)
                if listing.images[path] in self._other_inodes and stamp[0]:
                    yield ReadyFile(path, moment)
            elif (before.size, before.mtime_ns) != stamp:
                before.size, before.mtime_ns, before.unchanged_since = *stamp, moment
            elif before.size or moment - before.unchanged_since >= self.give_up:
                yield ReadyFile(path, before.first_seen)


@dataclass
class _Listing:
    images: dict[str, int] = field(default_factory=dict)  # inode by path
    metadata: list[tuple[str, int, int]] = field(default_factory=list)
    other_inodes: set[int] = field(default_factory=set)


def _listed(folder: Path) -> _Listing:
    """List the folder and its subfolders. Only metadata files are looked at more closely."""
    listing, below = _Listing(), [""]
    while below:
        start = below.pop()
        try:
            entries = os.scandir(folder / start)
        except OSError:
            if not start:
                raise
            continue  # a subfolder that was removed or renamed since
        with entries:
            for entry in entries:
                _note(entry, f"{start}/{entry.name}" if start else entry.name, listing, below)
    return listing


def _note(entry: os.DirEntry, path: str, listing: _Listing, below: list[str]) -> None:
    suffix = PurePosixPath(entry.name).suffix.lower()
    if entry.name.lower() in SYSTEM or entry.name.endswith(WORKSPACE) or is_foreign(entry.name):
        return
    if entry.is_dir(follow_symlinks=False):
        if not entry.name.startswith("."):
            below.append(path)
    elif suffix in SUFFIXES and not entry.name.startswith("."):
        listing.images[path] = entry.inode()
    else:
        listing.other_inodes.add(entry.inode())
        if suffix in METADATA and not entry.name.startswith("."):
            status = _status(Path(entry.path))
            if status is not None:
                listing.metadata.append((path, status.st_size, status.st_mtime_ns))


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a file; None if it is gone."""
    try:
        return path.stat()
    except OSError:
        return None
