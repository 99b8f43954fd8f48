"""Segment masks as greyscale PNG, which browsers can open (3 to 7 kB for 320 x 240), and a file of many masks.

masks.bin   the PNGs one after the other
masks.npy   (n, 3) int64: image id, first byte, number of bytes; renamed into place after the PNGs are written
"""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from benthoscope.engine.problems import fail

MOST = 2**16  # largest number of segments in a 16-bit PNG


def pack_mask(mask: np.ndarray) -> bytes:
    """Pack a mask (H, W) of segment numbers as PNG bytes, with 8 bits per pixel if that is enough, else 16."""
    if mask.size and (mask.min() < 0 or mask.max() >= MOST):
        raise fail(
            "segment mask", f"contains numbers from {mask.min()} to {mask.max()}", f"number segments 0 to {MOST - 1}"
        )
    kind = np.uint8 if mask.max(initial=0) < 256 else np.uint16
    buffer = io.BytesIO()
    Image.fromarray(mask.astype(kind)).save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()


def unpack_mask(data: bytes) -> np.ndarray:
    """Unpack a mask packed by `pack_mask` to int32."""
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return np.asarray(image).astype(np.int32)


def segment_labels(mask: np.ndarray, pixels: np.ndarray, *, void: int = -1) -> np.ndarray:
    """Return the most common class among the pixels of each segment (segments,), from classes `pixels` (H, W). Ties go
    to the lower class. `void` can be the most common class."""
    return _modes(mask.ravel(), pixels.ravel(), int(mask.max()) + 1, void)


def point_labels(mask: np.ndarray, rows: np.ndarray, columns: np.ndarray, classes: np.ndarray, *, void: int = -1):
    """Return the most common class among the labelled points in each segment (segments,); `void` for segments without
    points."""
    return _modes(mask[rows, columns], classes, int(mask.max()) + 1, void)


def _modes(segment: np.ndarray, classes: np.ndarray, segments: int, void: int) -> np.ndarray:
    known, class_index = np.unique(classes, return_inverse=True)
    votes = np.bincount(segment * len(known) + class_index.ravel(), minlength=segments * len(known))
    votes = votes.reshape(segments, -1)
    return np.where(votes.any(1), known[votes.argmax(1)], void)


DATA, INDEX = "masks.bin", "masks.npy"


class MaskFile:
    """The masks in a folder. An instance sees the masks that existed when it was created and those it added itself."""

    def __init__(self, folder: Path):
        self._folder = Path(folder)
        path = self._folder / INDEX
        self._index = np.load(path, allow_pickle=False) if path.exists() else np.empty((0, 3), dtype=np.int64)
        self._span_of_image = {int(image): (int(start), int(size)) for image, start, size in self._index}

    def __contains__(self, image_id: int) -> bool:
        return int(image_id) in self._span_of_image

    def __len__(self) -> int:
        return len(self._span_of_image)

    def __getitem__(self, image_id: int) -> np.ndarray:
        """Return the segment number of each pixel (H, W) int32. Numbers follow the order of the image's rows."""
        return unpack_mask(self.png(image_id))

    def png(self, image_id: int) -> bytes:
        """Return the mask as PNG bytes."""
        if image_id not in self:
            raise fail(
                f"image {image_id}",
                "has no segments in this feature set",
                "compute features with --descriptor segments",
            )
        start, size = self._span_of_image[int(image_id)]
        with (self._folder / DATA).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def append(self, image_ids: Sequence[int], pngs: Sequence[bytes]) -> None:
        """Add packed masks. An existing mask of the same image is replaced."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # bytes after this position were left by an interrupted writer
        end = int((self._index[:, 1] + self._index[:, 2]).max(initial=0))
        sizes = np.array([len(png) for png in pngs], dtype=np.int64)
        with (self._folder / DATA).open("r+b" if (self._folder / DATA).exists() else "w+b") as file:
            file.seek(end)
            file.writelines(pngs)
            file.flush()
            os.fsync(file.fileno())
        starts = end + np.cumsum(sizes) - sizes
        new = np.stack([np.asarray(image_ids, dtype=np.int64), starts, sizes], axis=1)
        self._index = np.concatenate([self._index, new])
        partial = self._folder / f".{INDEX}.partial"
        with partial.open("wb") as file:
            np.save(file, self._index, allow_pickle=False)
        partial.replace(self._folder / INDEX)
        self._span_of_image.update({int(image): (int(start), int(size)) for image, start, size in new})
