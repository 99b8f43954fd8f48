"""Segment masks in few bytes: greyscale PNG, which a browser opens as it is (3 to 7 kB for 320 x 240)."""

import io

import numpy as np
from PIL import Image

from engine.problems import fail

MOST = 2**16  # segments a 16-bit PNG tells apart


def pack_mask(mask: np.ndarray) -> bytes:
    """The mask (H, W) of segment numbers as PNG bytes, 8 bits a pixel when that is enough, else 16."""
    if mask.size and (mask.min() < 0 or mask.max() >= MOST):
        raise fail("segment mask", f"numbers from {mask.min()} to {mask.max()}", f"number segments 0 to {MOST - 1}")
    kind = np.uint8 if mask.max(initial=0) < 256 else np.uint16
    held = io.BytesIO()
    Image.fromarray(mask.astype(kind)).save(held, format="PNG", compress_level=6)
    return held.getvalue()


def unpack_mask(data: bytes) -> np.ndarray:
    """The mask that `pack_mask` packed, as int32."""
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return np.asarray(image).astype(np.int32)


def segment_labels(mask: np.ndarray, pixels: np.ndarray, *, void: int = -1) -> np.ndarray:
    """(segments,) the commonest class among each segment's pixels of `pixels` (H, W); the lower class on a tie, `void`
    where it is the commonest."""
    return _modes(mask.ravel(), pixels.ravel(), int(mask.max()) + 1, void)


def point_labels(mask: np.ndarray, rows: np.ndarray, columns: np.ndarray, classes: np.ndarray, *, void: int = -1):
    """(segments,) the commonest class among the labelled points in each segment; `void` where no point fell."""
    return _modes(mask[rows, columns], classes, int(mask.max()) + 1, void)


def _modes(segment: np.ndarray, classes: np.ndarray, segments: int, void: int) -> np.ndarray:
    known, place = np.unique(classes, return_inverse=True)
    votes = np.bincount(segment * len(known) + place.ravel(), minlength=segments * len(known))
    votes = votes.reshape(segments, -1)
    return np.where(votes.any(1), known[votes.argmax(1)], void)
