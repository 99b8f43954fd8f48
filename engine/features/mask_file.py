"""The segment masks of many images in one file: packed PNGs one after the other, and an index that says where.

    masks.bin   the PNGs
    masks.npy   (n, 3) int64: image id, first byte, number of bytes; renamed into place after the PNGs are written
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.features.masks import unpack_mask
from engine.problems import fail

DATA, INDEX = "masks.bin", "masks.npy"


class MaskFile:
    """The masks in a folder; each instance sees those that were there when it was made, and those it added itself."""

    def __init__(self, folder: Path):
        self._folder = Path(folder)
        path = self._folder / INDEX
        self._index = np.load(path, allow_pickle=False) if path.exists() else np.empty((0, 3), dtype=np.int64)
        self._place = {int(image): (int(start), int(size)) for image, start, size in self._index}

    def __contains__(self, image_id: int) -> bool:
        return int(image_id) in self._place

    def __len__(self) -> int:
        return len(self._place)

    def __getitem__(self, image_id: int) -> np.ndarray:
        """(H, W) int32: the segment of every pixel, numbered as the image's rows are ordered."""
        return unpack_mask(self.png(image_id))

    def png(self, image_id: int) -> bytes:
        """The mask as a browser takes it."""
        if image_id not in self:
            raise fail(f"image {image_id}", "has no segments here", "describe it with --kind segments")
        start, size = self._place[int(image_id)]
        with (self._folder / DATA).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def append(self, image_ids: Sequence[int], pngs: Sequence[bytes]) -> None:
        """Adds packed masks; an image that has one gets the new one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        end = int((self._index[:, 1] + self._index[:, 2]).max(initial=0))  # what a killed writer left beyond is lost
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
        self._place.update({int(image): (int(start), int(size)) for image, start, size in new})
