"""One packed file of thumbnails of one size: appended to by several processes, read by many, damaged without harm.

Nothing is fsynced: a thumbnail can be made again, so a power cut may cost the latest ones; their
checksums tell which.
"""

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.problems import fail
from engine.workspace.thumbnail_index import ENTRY, Index, Spot, as_entries, trusted
from engine.workspace.thumbnail_records import HEADER, MAX_LENGTH, Place, payload, record, scan


@dataclass(frozen=True)
class Soundness:
    """What verifying found: thumbnails of this size that can be served, and bytes of the file that hold none."""

    size: int
    thumbnails: int
    damaged_bytes: int


class _Reading:
    """A file descriptor that closes when the last reader lets go of it."""

    def __init__(self, path: Path):
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self):
        if hasattr(self, "number"):
            os.close(self.number)


class Pack:
    """The thumbnails of one pixel size, by content hash (32 bytes). For any number of threads."""

    def __init__(self, folder: Path, size: int):
        self._folder, self._size = folder, size
        self._path, self._index_path = folder / f"{size}.pack", folder / f"{size}.index"
        self._changing = threading.RLock()
        self._reading: _Reading | None = None
        self._index = Index()
        self._looked_at = 0  # the size of the file when others' records were last taken in

    def get(self, key: bytes) -> bytes | None:
        """The JPEG, or None when there is none or what there was is damaged."""
        spot, reading = self._find(key), self._reading
        if spot is None or reading is None:
            return None
        raw = os.pread(reading.number, HEADER.size + spot.length, spot.offset)
        jpeg = payload(raw, key, self._size)
        if jpeg is None:
            self._index.forget(key, spot)
        return jpeg

    def has(self, key: bytes) -> bool:
        return self._find(key) is not None

    def add_many(self, items: Iterable[tuple[bytes, bytes]]) -> int:
        """Appends the (key, JPEG) pairs whose key is new; how many were. Other processes see them from now on."""
        with self._changing, self._exclusive() as handle:
            self._absorb(handle)
            appendable = self._index_is_current()
            self._cut_torn_tail(handle)
            new = {key: jpeg for key, jpeg in items if key not in self._index}
            places = self._append(handle, new)
            self._save_index(places, append=appendable)
            return len(places)

    def verify(self) -> Soundness:
        """Reads and checks every record, and makes the index anew from the sound ones."""
        with self._changing, self._exclusive() as handle:
            end, index, used = os.fstat(handle).st_size, Index(), 0
            for place in scan(handle, 0, end, self._size):
                index.add((place,))
                used += place.end - place.offset
            self._index = index
            self._cut_torn_tail(handle)
            self._save_index([], append=False)
            return Soundness(self._size, len(index), end - used)

    def close(self) -> None:
        """Lets go of the file; the next call opens it again."""
        with self._changing:
            self._reading, self._index, self._looked_at = None, Index(), 0

    def _find(self, key: bytes) -> Spot | None:
        if self._reading is None:
            self._open()
        spot = self._index.find(key)
        if spot is None and self._has_grown():
            self._catch_up()
            spot = self._index.find(key)
        return spot

    def _open(self) -> None:
        """Opens the file for reading together with its index; nothing happens while there is no file."""
        with self._changing, suppress(FileNotFoundError):
            if self._reading is None:
                reading = _Reading(self._path)
                self._index = Index(self._stored_entries(os.fstat(reading.number).st_size))
                self._looked_at = self._index.covered
                self._reading = reading

    def _has_grown(self) -> bool:
        reading = self._reading
        return reading is not None and os.fstat(reading.number).st_size != self._looked_at

    def _catch_up(self) -> None:
        with self._changing:
            if self._reading is not None:
                self._absorb(self._reading.number)

    def _stored_entries(self, size: int) -> np.ndarray:
        """The index on disk; empty, so that the file is scanned, when it is missing or cannot be right."""
        try:
            raw = self._index_path.read_bytes()
        except OSError:
            return np.zeros(0, ENTRY)
        entries = np.frombuffer(raw[:len(raw) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
        return entries if trusted(entries, size) else np.zeros(0, ENTRY)

    def _absorb(self, handle: int) -> None:
        """Takes in what others have appended. A record somebody is still writing is left for the next time."""
        end = os.fstat(handle).st_size
        self._index.add(scan(handle, self._index.covered, end, self._size))
        self._looked_at = end

    def _append(self, handle: int, new: dict[bytes, bytes]) -> list[Place]:
        at, places, parts = os.fstat(handle).st_size, [], []
        for key, jpeg in new.items():
            if not 0 < len(jpeg) <= MAX_LENGTH:
                raise fail(f"thumbnail of {key.hex()[:12]}", f"{len(jpeg)} bytes", f"give 1 to {MAX_LENGTH}")
            places.append(Place(key, at, len(jpeg)))
            parts.append(record(key, self._size, jpeg))
            at = places[-1].end
        _write(handle, b"".join(parts))
        self._index.add(places)
        self._looked_at = at
        return places

    def _index_is_current(self) -> bool:
        """Whether the index on disk ends where the known records end, so that it can be appended to."""
        try:
            with self._index_path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                if end == 0 or end % ENTRY.itemsize:
                    return False
                file.seek(end - ENTRY.itemsize)
                last = np.frombuffer(file.read(ENTRY.itemsize), ENTRY)[0]
        except OSError:
            return False
        return int(last["offset"]) + HEADER.size + int(last["length"]) == self._index.covered

    def _save_index(self, places: list[Place], *, append: bool) -> None:
        if append:
            with self._index_path.open("ab") as file:
                file.write(as_entries(places).tobytes())
            return
        entries = self._index.entries()
        waiting = self._index_path.with_suffix(".index-new")
        waiting.write_bytes(entries[np.argsort(entries["offset"])].tobytes())
        waiting.replace(self._index_path)

    def _cut_torn_tail(self, handle: int) -> None:
        # Under the lock nobody is writing: what follows the last sound record was left by a process that was killed.
        if os.fstat(handle).st_size > self._index.covered:
            os.ftruncate(handle, self._index.covered)
            self._looked_at = self._index.covered

    @contextmanager
    def _exclusive(self) -> Iterator[int]:
        """The packed file open for appending while this process alone may write it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # The lock is opened anew each time: a handle shared with a forked child would lock neither out.
        with (self._folder / f"{self._size}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                self._start_over_if_replaced(handle)
                yield handle
            finally:
                os.close(handle)

    def _start_over_if_replaced(self, handle: int) -> None:
        """Somebody may have removed, replaced or shortened the file since it was opened for reading."""
        now = os.fstat(handle)
        if self._reading is not None:
            then = os.fstat(self._reading.number)
            if not os.path.samestat(now, then) or now.st_size < self._index.covered:
                self.close()
        self._open()


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view):]
