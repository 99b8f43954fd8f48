"""How sets of images travel to the browser and back: as bits or as positions, whichever is shorter.

Four bytes say which (0 bits, 1 positions), then come the bits, least significant first, or int32 positions.
Positions count the images of the catalogue by ascending id.
"""

import struct

import numpy as np

from engine.problems import fail

BITS, POSITIONS = 0, 1


def packed(positions: np.ndarray, count: int) -> bytes:
    """Sorted positions among `count` images."""
    if len(positions) * 32 < count:
        return struct.pack("<i", POSITIONS) + np.asarray(positions, "<i4").tobytes()
    mask = np.zeros(count, bool)
    mask[positions] = True
    return struct.pack("<i", BITS) + np.packbits(mask, bitorder="little").tobytes()


def packed_mask(mask: np.ndarray) -> bytes:
    return packed(np.flatnonzero(mask), len(mask))


def unpacked(content: bytes, count: int) -> np.ndarray:
    """The sorted positions; bytes that cannot be right are refused, for they come from outside."""
    kind, body = (struct.unpack("<i", content[:4])[0], content[4:]) if len(content) >= 4 else (None, b"")
    if kind == BITS and len(body) == -(-count // 8):
        return np.flatnonzero(np.unpackbits(np.frombuffer(body, np.uint8), count=count, bitorder="little"))
    if kind == POSITIONS and len(body) % 4 == 0:
        found = np.frombuffer(body, "<i4").astype(np.int64)
        if not len(found) or (found.min() >= 0 and found.max() < count):
            return found if (np.diff(found) > 0).all() else np.unique(found)
    raise fail("selection", f"{len(content)} bytes that fit no {count:,} images", "reload the page")
