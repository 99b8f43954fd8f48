"""Sparse codes of dense SIFT patches, pooled over a spatial pyramid: which patterns occur in a scene, and where.

The pyramid has 4 x 4, 2 x 2 and 1 x 1 cells with max pooling (methods note 7.1, steps 5 and 6).
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from benthoscope.engine.features.descriptor import named, spelled
from benthoscope.engine.features.dictionaries import (
    KSVD,
    KMeansCentres,
    Learner,
    RandomPatches,
    SparseCodingDictionary,
    StreamedClusters,
)
from benthoscope.engine.features.encoders import (
    Codes,
    Encoder,
    LocalityLinear,
    MatchingPursuit,
    SoftThreshold,
    SparseCoding,
)
from benthoscope.engine.features.planes import grey, shrink
from benthoscope.engine.features.sift import LENGTH, DenseSift, Patches
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore

FINEST = 4  # cells per side at the finest level
CELLS = 1 + 2 * 2 + FINEST * FINEST  # of all three levels


def pyramid(codes: Codes, patches: Patches) -> np.ndarray:
    """Return the largest absolute codes of each cell as a unit vector (21 K,): the whole image, its quarters, then the
    sixteen finest cells, each level row by row. A patch belongs to the cell of its centre; empty cells are 0."""
    fine = codes.largest(finest_cell(patches), FINEST * FINEST).reshape(FINEST, FINEST, -1)
    middle = fine.reshape(2, 2, 2, 2, -1).max(axis=(1, 3))
    levels = (middle.max(axis=(0, 1)), middle, fine)
    return unit(np.concatenate([level.ravel() for level in levels]))


def finest_cell(patches: Patches) -> np.ndarray:
    """Return the number of the 4 x 4 cell that contains each patch's centre (N,)."""
    row = (patches.rows * FINEST // patches.height).astype(np.int64)
    column = (patches.columns * FINEST // patches.width).astype(np.int64)
    return row * FINEST + column


def unit(vector: np.ndarray) -> np.ndarray:
    """Return the vector scaled to length 1. A zero vector is unchanged."""
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector


ENCODERS = {"threshold": SoftThreshold, "omp": MatchingPursuit, "lasso": SparseCoding, "llc": LocalityLinear}
LEARNERS = {
    "kmeans": KMeansCentres,
    "random": RandomPatches,
    "lasso": SparseCodingDictionary,
    "ksvd": KSVD,
    "stream": StreamedClusters,
}
PER_IMAGE = 400  # largest number of patches from one training image; more patches of the same image repeat the others


@dataclass(frozen=True)
class ScSPM:
    """The default is the scalable form: matching pursuit over a k-means dictionary. 21 values per atom, unit length."""

    encoder: Encoder = field(default_factory=MatchingPursuit)
    learner: Learner = field(default_factory=KMeansCentres)
    atoms: int = 1024
    training_patches: int = 50_000
    longest: int = 320
    sift: DenseSift = field(default_factory=DenseSift)
    dictionary: np.ndarray | None = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "scspm"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"

    @property
    def width(self) -> int:
        return self.atoms * CELLS

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "encoder": spelled(self.encoder, ENCODERS),
            "learner": spelled(self.learner, LEARNERS),
            "atoms": self.atoms,
            "training_patches": self.training_patches,
            "longest": self.longest,
            "sift": asdict(self.sift),
        }

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.dictionary is None else {"dictionary": self.dictionary}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, Any]) -> "ScSPM":
        settings = {
            **parameters,
            "encoder": named(parameters["encoder"], ENCODERS),
            "learner": named(parameters["learner"], LEARNERS),
            "sift": DenseSift(**parameters["sift"]),
        }
        return cls(**settings, **arrays)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "ScSPM":
        rng = np.random.default_rng(random_state)
        sample = self._sample(images, rng)
        dictionary = self.learner(sample, self.atoms, rng, on_step).astype(np.float32)
        return replace(self, dictionary=dictionary, atoms=len(dictionary))

    def describe(self, image: np.ndarray) -> np.ndarray:
        if self.dictionary is None:
            raise fail("scspm", "it has no dictionary yet", "call fit, or load a saved descriptor")
        patches = self.sift(grey(shrink(image, self.longest)))
        return pyramid(self.encoder(patches.vectors, self.dictionary), patches)

    def _sample(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Draw the same number of random patches from each image, up to `training_patches` in total."""
        vectors = [_some(self.sift(grey(shrink(image, self.longest))).vectors, PER_IMAGE, rng) for image in images]
        if not vectors:
            return np.empty((0, LENGTH), dtype=np.float32)
        share = -(-self.training_patches // len(vectors))
        return _some(np.concatenate([_some(patches, share, rng) for patches in vectors]), self.training_patches, rng)


def _some(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]
