"""Patches on a regular grid, each described by its texture or by a trained network. A patch is a segment whose area is
the cell of the grid around its centre."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.features.descriptor import Segments
from benthoscope.engine.features.hog import LENGTH as HOG_LENGTH
from benthoscope.engine.features.hog import hog2x2
from benthoscope.engine.features.networks.deep_descriptor import BuiltNetwork
from benthoscope.engine.features.networks.efficientnet import FEATURES, SIZE
from benthoscope.engine.features.planes import grey, shrink
from benthoscope.engine.features.sift import LENGTH, DenseSift
from benthoscope.engine.progress import OnStep, ignore

LONGEST = 320  # px


def cells(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the number of the patch whose centre is nearest to each pixel (height, width), int32. `rows` and `columns`
    are the centres along each axis; patches are numbered row by row."""
    row = np.abs(np.arange(height)[:, None] + 0.5 - rows).argmin(1)
    column = np.abs(np.arange(width)[:, None] + 0.5 - columns).argmin(1)
    return (row[:, None] * len(columns) + column).astype(np.int32)


class UntrainedPatches:
    """Common base of the descriptors of patches that learn nothing from images."""

    version: ClassVar[int] = 1
    level: ClassVar[str] = "segment"
    arrays: ClassVar[dict] = {}

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> Self:
        return self


@dataclass(frozen=True)
class SiftPatches(UntrainedPatches):
    """Dense SIFT of patches of 24 px: the texture of about 250 patches per image, without colour."""

    sift: DenseSift = field(default_factory=lambda: DenseSift(24, 16))
    longest: int = LONGEST

    name: ClassVar[str] = "sift-patches"
    width: ClassVar[int] = LENGTH

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sift": asdict(self.sift), "longest": self.longest}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "SiftPatches":
        return cls(DenseSift(**parameters["sift"]), parameters["longest"])

    def describe(self, image: np.ndarray) -> Segments:
        small = shrink(image, self.longest)
        patches = self.sift(grey(small))
        mask = cells(np.unique(patches.rows), np.unique(patches.columns), *small.shape[:2])
        return Segments(patches.vectors, mask)


@dataclass(frozen=True)
class HogPatches(UntrainedPatches):
    """HOG2x2 of patches of 16 px, one every 8 px: edges and their directions, about a thousand patches per image. The
    source uses images of 640 px, which have four times as many."""

    longest: int = LONGEST

    name: ClassVar[str] = "hog-patches"
    width: ClassVar[int] = HOG_LENGTH

    @property
    def parameters(self) -> dict[str, Any]:
        return {"longest": self.longest}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "HogPatches":
        return cls(parameters["longest"])

    def describe(self, image: np.ndarray) -> Segments:
        small = shrink(image, self.longest)
        grid = hog2x2(grey(small))
        return Segments(*_present(grid.vectors, cells(grid.rows, grid.columns, *small.shape[:2])))


@dataclass(frozen=True)
class DeepPatches(BuiltNetwork):
    """The feature map of EfficientNet-Lite0 before pooling: 49 patches per image with 1280 values each, square roots
    scaled to unit length like those of the whole image."""

    name: ClassVar[str] = "efficientnet-lite0-patches"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "segment"
    longest: ClassVar[int] = LONGEST
    width: ClassVar[int] = FEATURES
    parameters: ClassVar[dict] = {"size": SIZE}
    arrays: ClassVar[dict] = {}

    def describe(self, image: np.ndarray) -> Segments:
        small = shrink(image, self.longest)
        grid = np.sqrt(self.network.map(small))
        lengths = np.linalg.norm(grid, axis=0)
        vectors = (grid / np.where(lengths > 0, lengths, 1)).reshape(len(grid), -1).T
        height, width = small.shape[:2]
        rows, columns = _centres(grid.shape[1], height), _centres(grid.shape[2], width)
        return Segments(*_present(np.ascontiguousarray(vectors, dtype=np.float32), cells(rows, columns, height, width)))


def _centres(count: int, side: int) -> np.ndarray:
    return (np.arange(count) + 0.5) * side / count


def _present(vectors: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the patches that own a pixel; images of a few pixels have fewer pixels than patches."""
    numbers, renumbered = np.unique(mask, return_inverse=True)
    return vectors[numbers], renumbered.reshape(mask.shape).astype(np.int32)
