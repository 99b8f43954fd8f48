"""How one thumbnail lies in a packed file: a header that says what follows, so that the file explains itself.

Magic, pixel size, length, checksum, content hash of the original, then the JPEG. The checksum covers all but the magic
and itself: a record cut short, overwritten or left as zeros by a power cut is recognised and skipped.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"BtTh"
HEADER = struct.Struct("<4sIII32s")
CHECKED = struct.Struct("<II32s")
MAX_LENGTH = 8 << 20  # a 1024-pixel JPEG has 0.3 MB; a header that claims more is damaged
WINDOW = 1 << 20      # bytes read at a time when looking for the next record behind a damaged one


@dataclass(frozen=True)
class Place:
    """Where a record lies: its hash (32 bytes), the offset of its header, the length of its JPEG."""

    key: bytes
    offset: int
    length: int

    @property
    def end(self) -> int:
        return self.offset + HEADER.size + self.length


def record(key: bytes, size: int, jpeg: bytes) -> bytes:
    """The bytes that are appended for one thumbnail."""
    return HEADER.pack(MAGIC, size, len(jpeg), _checksum(key, size, jpeg), key) + jpeg


def payload(raw: bytes, key: bytes, size: int) -> bytes | None:
    """The JPEG of a whole record that must be of this key and size; None when it is not, or is damaged."""
    if len(raw) < HEADER.size:
        return None
    magic, of_size, length, checksum, of_key = HEADER.unpack_from(raw)
    jpeg = raw[HEADER.size:]
    sound = magic == MAGIC and of_size == size and of_key == key and length == len(jpeg)
    return jpeg if sound and checksum == _checksum(key, size, jpeg) else None


def scan(handle: int, start: int, end: int, size: int) -> Iterator[Place]:
    """Every sound record of this size between two offsets; damaged stretches are stepped over."""
    at = start
    while at is not None and at < end:
        place = _sound_at(handle, at, end, size)
        if place:
            yield place
            at = place.end
        else:
            at = _next_magic(handle, at + 1, end)


def _sound_at(handle: int, at: int, end: int, size: int) -> Place | None:
    head = os.pread(handle, HEADER.size, at)
    if len(head) < HEADER.size:
        return None
    magic, of_size, length, _, key = HEADER.unpack(head)
    if magic != MAGIC or of_size != size or length > MAX_LENGTH or at + HEADER.size + length > end:
        return None
    whole = head + os.pread(handle, length, at + HEADER.size)
    return Place(key, at, length) if payload(whole, key, size) is not None else None


def _next_magic(handle: int, at: int, end: int) -> int | None:
    while at < end:
        window = os.pread(handle, min(WINDOW, end - at), at)
        found = window.find(MAGIC)
        if found >= 0:
            return at + found
        if len(window) <= len(MAGIC):
            return None
        at += len(window) - len(MAGIC) + 1  # the magic may lie across two windows
    return None


def _checksum(key: bytes, size: int, jpeg: bytes) -> int:
    return zlib.crc32(jpeg, zlib.crc32(CHECKED.pack(size, len(jpeg), key)))
