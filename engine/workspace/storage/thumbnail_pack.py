"""A packed file of thumbnails of one size: several processes append, many read, and damage is detected.

Nothing is fsynced, because thumbnails can be created again: a power cut may lose the latest ones, and their checksums
show which.

The index has sorted arrays for most thumbnails and a dictionary for the latest ones. A dictionary of a million hashes
would take 250 MB; the arrays take 20 MB. They contain the first 8 bytes of each hash; the complete hash is in the
record and is compared on reading. The probability that two of a million images share a prefix is 3e-8; one of them then
has no thumbnail, never a wrong one.

A record has a header and a JPEG: magic, pixel size, length, checksum, content hash of the original, then the JPEG. The
checksum covers all but the magic and itself. A record that is truncated, overwritten or zeroed by a power cut is
detected and skipped.
"""

import fcntl
import os
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benthoscope.engine.problems import fail

MAGIC = b"BtTh"
HEADER = struct.Struct("<4sIII32s")
CHECKED = struct.Struct("<II32s")
MAX_LENGTH = 8 << 20  # a 1024-pixel JPEG has 0.3 MB; a header with a larger value is damaged
WINDOW = 1 << 20  # bytes read at a time to find the next record after a damaged one


@dataclass(frozen=True)
class PackRecord:
    """Position of a record: its hash (32 bytes), the offset of its header, the length of its JPEG."""

    key: bytes
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + HEADER.size + self.length


def encode_record(key: bytes, size: int, jpeg: bytes) -> bytes:
    """Return the bytes to append for one thumbnail."""
    return HEADER.pack(MAGIC, size, len(jpeg), _checksum(key, size, jpeg), key) + jpeg


def payload(raw: bytes, key: bytes, size: int) -> bytes | None:
    """Return the JPEG of a complete record with this key and size; None if it differs or is damaged."""
    if len(raw) < HEADER.size:
        return None
    magic, of_size, length, checksum, of_key = HEADER.unpack_from(raw)
    jpeg = raw[HEADER.size :]
    sound = magic == MAGIC and of_size == size and of_key == key and length == len(jpeg)
    return jpeg if sound and checksum == _checksum(key, size, jpeg) else None


def scan(handle: int, start: int, end: int, size: int) -> Iterator[PackRecord]:
    """Yield the position of each intact record of this size between two offsets. Damaged parts are skipped."""
    at: int | None = start
    while at is not None and at < end:
        record = _sound_at(handle, at, end, size)
        if record:
            yield record
            at = record.end
        else:
            at = _next_magic(handle, at + 1, end)


def _sound_at(handle: int, at: int, end: int, size: int) -> PackRecord | None:
    head = os.pread(handle, HEADER.size, at)
    if len(head) < HEADER.size:
        return None
    magic, of_size, length, _, key = HEADER.unpack(head)
    if magic != MAGIC or of_size != size or length > MAX_LENGTH or at + HEADER.size + length > end:
        return None
    content = head + os.pread(handle, length, at + HEADER.size)
    return PackRecord(key, at, length) if payload(content, key, size) is not None else None


def _next_magic(handle: int, at: int, end: int) -> int | None:
    while at < end:
        window = os.pread(handle, min(WINDOW, end - at), at)
        position = window.find(MAGIC)
        if position >= 0:
            return at + position
        if len(window) <= len(MAGIC):
            return None
        at += len(window) - len(MAGIC) + 1  # the magic may span two windows
    return None


def _checksum(key: bytes, size: int, jpeg: bytes) -> int:
    return zlib.crc32(jpeg, zlib.crc32(CHECKED.pack(size, len(jpeg), key)))


ENTRY = np.dtype([("prefix", "<u8"), ("offset", "<u8"), ("length", "<u4")])
RECENT = 4096  # positions kept in the dictionary before they are merged into the arrays
GONE = 0  # the length that marks a damaged record


@dataclass(frozen=True)
class Location:
    """An entry of the index: the offset of a record's header and the length of its JPEG."""

    offset: int
    length: int


class Index:
    """Positions by key; the latest one of a key counts. `covered` is the end of the indexed part of the packed file."""

    def __init__(self, entries: np.ndarray | None = None):
        entries = np.zeros(0, ENTRY) if entries is None else entries
        self._entries = _sorted(entries)
        self._recent: dict[int, Location] = {}
        self.covered = int(_ends(entries).max(initial=0))

    def __contains__(self, key: bytes) -> bool:
        return self.find(key) is not None

    def __len__(self) -> int:
        return len(self.entries())

    def find(self, key: bytes) -> Location | None:
        prefix = prefix_of(key)
        recent = self._recent.get(prefix)
        if recent is not None:
            return recent if recent.length != GONE else None
        entries = self._entries  # read only now, because another thread may have merged entries in the meantime
        at = int(np.searchsorted(entries["prefix"], np.uint64(prefix)))
        if at < len(entries) and int(entries["prefix"][at]) == prefix:
            return Location(int(entries["offset"][at]), int(entries["length"][at]))
        return None

    def add(self, records: Iterable[PackRecord]) -> None:
        """Add records. A later one replaces an earlier one with the same key."""
        for record in records:
            self._recent[prefix_of(record.key)] = Location(record.offset, record.length)
            self.covered = max(self.covered, record.end)
            if len(self._recent) > RECENT:
                self._merge()

    def forget(self, key: bytes, location: Location) -> None:
        """Remove a damaged record at this position."""
        if self.find(key) == location:
            self._recent[prefix_of(key)] = Location(location.offset, GONE)

    def entries(self) -> np.ndarray:
        """Return all valid entries, by prefix."""
        self._merge()
        return self._entries

    def _merge(self) -> None:
        recent = dict(self._recent)
        if not recent:
            return
        latest = np.array([(prefix, location.offset, location.length) for prefix, location in recent.items()], ENTRY)
        self._entries = _sorted(np.concatenate([self._entries, latest]))
        # Entries first, dictionary second: a reader in between finds a position twice rather than never.
        for prefix, location in recent.items():
            if self._recent.get(prefix) == location:
                del self._recent[prefix]


def as_entries(records: Iterable[PackRecord]) -> np.ndarray:
    """Return entries in the form that is appended to the index on disk."""
    return np.array([(prefix_of(record.key), record.offset, record.length) for record in records], ENTRY)


def trusted(entries: np.ndarray, size: int) -> bool:
    """Return whether entries read from disk can belong to a packed file of this size."""
    ends = _ends(entries)
    return bool(np.all(entries["offset"][1:] >= ends[:-1]) and np.all(ends <= size) and np.all(entries["length"] > 0))


def prefix_of(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def _sorted(entries: np.ndarray) -> np.ndarray:
    ordered = entries[np.lexsort((entries["offset"], entries["prefix"]))]
    last = np.append(ordered["prefix"][1:] != ordered["prefix"][:-1], True)[: len(ordered)]
    latest = ordered[last]
    return latest[latest["length"] != GONE]


def _ends(entries: np.ndarray) -> np.ndarray:
    return entries["offset"].astype(np.int64) + HEADER.size + entries["length"]


@dataclass(frozen=True)
class PackHealth:
    """Result of a verification: usable thumbnails of this size, and bytes of the file without any."""

    size: int
    thumbnails: int
    damaged_bytes: int


class _Reading:
    """A file descriptor that closes when the last reader releases it."""

    def __init__(self, path: Path):
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self):
        if hasattr(self, "number"):
            os.close(self.number)


class Pack:
    """The thumbnails of one pixel size, by content hash (32 bytes). Safe for any number of threads."""

    def __init__(self, folder: Path, size: int):
        self._folder, self._size = folder, size
        self._path, self._index_path = folder / f"{size}.pack", folder / f"{size}.index"
        self._changing = threading.RLock()
        self._reading: _Reading | None = None
        self._index = Index()
        self._looked_at = 0  # the size of the file when the records of other processes were last indexed

    def get(self, key: bytes) -> bytes | None:
        """Return the JPEG, or None if it does not exist or is damaged."""
        location, reading = self._find(key), self._reading
        if location is None or reading is None:
            return None
        raw = os.pread(reading.number, HEADER.size + location.length, location.offset)
        jpeg = payload(raw, key, self._size)
        if jpeg is None:
            self._index.forget(key, location)
        return jpeg

    def has(self, key: bytes) -> bool:
        return self._find(key) is not None

    def add_many(self, items: Iterable[tuple[bytes, bytes]]) -> int:
        """Append the (key, JPEG) pairs with new keys and return their number. Other processes see them from now on."""
        with self._changing, self._exclusive() as handle:
            self._absorb(handle)
            appendable = self._index_is_current()
            self._cut_torn_tail(handle)
            new = {key: jpeg for key, jpeg in items if key not in self._index}
            records = self._append(handle, new)
            self._save_index(records, append=appendable)
            return len(records)

    def verify(self) -> PackHealth:
        """Read and check all records, and rebuild the index from the intact ones."""
        with self._changing, self._exclusive() as handle:
            end, index, used = os.fstat(handle).st_size, Index(), 0
            for record in scan(handle, 0, end, self._size):
                index.add((record,))
                used += record.end - record.offset
            self._index = index
            self._cut_torn_tail(handle)
            self._save_index([], append=False)
            return PackHealth(self._size, len(index), end - used)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._changing:
            self._reading, self._index, self._looked_at = None, Index(), 0

    def _find(self, key: bytes) -> Location | None:
        if self._reading is None:
            self._open()
        location = self._index.find(key)
        if location is None and self._has_grown():
            self._catch_up()
            location = self._index.find(key)
        return location

    def _open(self) -> None:
        """Open the file for reading together with its index. Does nothing if there is no file."""
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
        """Return the index on disk; empty, so that the file is scanned, if it is missing or invalid."""
        try:
            raw = self._index_path.read_bytes()
        except OSError:
            return np.zeros(0, ENTRY)
        entries = np.frombuffer(raw[: len(raw) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
        return entries if trusted(entries, size) else np.zeros(0, ENTRY)

    def _absorb(self, handle: int) -> None:
        """Index records that others have appended. A record that is still being written is left for the next time."""
        end = os.fstat(handle).st_size
        self._index.add(scan(handle, self._index.covered, end, self._size))
        self._looked_at = end

    def _append(self, handle: int, new: dict[bytes, bytes]) -> list[PackRecord]:
        at, records, encoded = os.fstat(handle).st_size, [], []
        for key, jpeg in new.items():
            if not 0 < len(jpeg) <= MAX_LENGTH:
                raise fail(f"thumbnail of {key.hex()[:12]}", f"{len(jpeg)} bytes", f"give 1 to {MAX_LENGTH}")
            records.append(PackRecord(key, at, len(jpeg)))
            encoded.append(encode_record(key, self._size, jpeg))
            at = records[-1].end
        _write(handle, b"".join(encoded))
        self._index.add(records)
        self._looked_at = at
        return records

    def _index_is_current(self) -> bool:
        """Return whether the index on disk ends where the known records end, so that it can be extended."""
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

    def _save_index(self, records: list[PackRecord], *, append: bool) -> None:
        if append:
            with self._index_path.open("ab") as file:
                file.write(as_entries(records).tobytes())
            return
        entries = self._index.entries()
        waiting = self._index_path.with_suffix(".index-new")
        waiting.write_bytes(entries[np.argsort(entries["offset"])].tobytes())
        waiting.replace(self._index_path)

    def _cut_torn_tail(self, handle: int) -> None:
        # Nobody writes under the lock, so anything after the last intact record was left by an interrupted process.
        if os.fstat(handle).st_size > self._index.covered:
            os.ftruncate(handle, self._index.covered)
            self._looked_at = self._index.covered

    @contextmanager
    def _exclusive(self) -> Iterator[int]:
        """Yield the packed file open for appending, with an exclusive lock."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # The lock is opened each time, because a handle shared with a forked child would not exclude it.
        with (self._folder / f"{self._size}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                self._start_over_if_replaced(handle)
                yield handle
            finally:
                os.close(handle)

    def _start_over_if_replaced(self, handle: int) -> None:
        """Reopen the file if somebody has removed, replaced or truncated it."""
        status = os.fstat(handle)
        if self._reading is not None:
            then = os.fstat(self._reading.number)
            if not os.path.samestat(status, then) or status.st_size < self._index.covered:
                self.close()
        self._open()


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
