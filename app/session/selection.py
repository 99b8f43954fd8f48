"""The selection that all views of a page share, and the encoding of image sets for the browser.

A set of images is sent as a bit mask or an index list, whichever is smaller. The first four bytes are 0 for bits or 1
for positions; then follow the bits, least significant first, or int32 positions. A position is the index of an image by
ascending id.
"""

import struct
from collections.abc import Callable

import numpy as np
import param

from benthoscope.engine.problems import fail, unknown

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of masks

NOTHING = np.empty(0, np.int64)
COMBINATIONS: dict[str, Combine] = {
    "replace": lambda old, new: new,
    "add": np.logical_or,
    "subtract": lambda old, new: old & ~new,
    "intersect": np.logical_and,
}


class Selection(param.Parameterized):
    """Sorted positions among the images of the catalogue."""

    positions = param.Array(default=NOTHING, doc="Selected positions.")
    previous = param.Array(default=NOTHING, doc="Positions selected before, to undo a slip of the lasso.")
    origin = param.Dict(default={}, doc="Tool and view that made the selection.")

    def combine(self, how: str, positions: np.ndarray, origin: dict | None = None) -> None:
        """Combine the selection with positions; `how` is replace, add, subtract or intersect."""
        if how not in COMBINATIONS:
            raise unknown("ways to combine selections", how, COMBINATIONS)
        positions = np.asarray(positions, np.int64)
        length = 1 + max(positions.max(initial=-1), self.positions.max(initial=-1))
        masks = (_mask(self.positions, length), _mask(positions, length))  # faster than sorting a million positions
        self.become(np.flatnonzero(COMBINATIONS[how](*masks)), origin)

    def become(self, positions: np.ndarray, origin: dict | None = None) -> None:
        new_positions = np.asarray(positions, np.int64)
        if not np.array_equal(new_positions, self.positions):
            self.param.update(positions=new_positions, previous=self.positions, origin=origin or {})

    def clear(self) -> None:
        self.become(NOTHING)

    def invert(self, among: np.ndarray) -> None:
        """Select the positions of `among` that are not selected."""
        self.become(np.setdiff1d(among, self.positions, assume_unique=True), {"tool": "invert"})

    def back(self) -> None:
        """Restore the previous selection; a second call reverses this."""
        self.become(self.previous, {"tool": "back"})

    def __len__(self) -> int:
        return len(self.positions)


def _mask(positions: np.ndarray, length: int) -> np.ndarray:
    mask = np.zeros(length, bool)
    mask[positions] = True
    return mask


BITS, POSITIONS = 0, 1


def packed(positions: np.ndarray, count: int) -> bytes:
    """Encode sorted positions among `count` images."""
    if len(positions) * 32 < count:
        return struct.pack("<i", POSITIONS) + np.asarray(positions, "<i4").tobytes()
    mask = np.zeros(count, bool)
    mask[positions] = True
    return struct.pack("<i", BITS) + np.packbits(mask, bitorder="little").tobytes()


def packed_mask(mask: np.ndarray) -> bytes:
    return packed(np.flatnonzero(mask), len(mask))


def unpacked(content: bytes, count: int) -> np.ndarray:
    """Decode to sorted positions. Raises for invalid bytes, because they come from outside."""
    kind, body = (struct.unpack("<i", content[:4])[0], content[4:]) if len(content) >= 4 else (None, b"")
    if kind == BITS and len(body) == -(-count // 8):
        return np.flatnonzero(np.unpackbits(np.frombuffer(body, np.uint8), count=count, bitorder="little"))
    if kind == POSITIONS and len(body) % 4 == 0:
        positions = np.frombuffer(body, "<i4").astype(np.int64)
        if not len(positions) or (positions.min() >= 0 and positions.max() < count):
            return positions if (np.diff(positions) > 0).all() else np.unique(positions)
    raise fail("selection", f"{len(content)} bytes do not match {count:,} images", "reload the page")
