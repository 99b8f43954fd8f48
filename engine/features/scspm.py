"""Sparse codes of dense SIFT patches, pooled over a spatial pyramid: what a scene is made of, and where."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from engine.features.choices import named, spelled
from engine.features.dictionaries import KSVD, KMeansCentres, Learner, RandomPatches, SparseCodingDictionary
from engine.features.encoders import Encoder, LocalityLinear, MatchingPursuit, SoftThreshold, SparseCoding
from engine.features.pixels import grey, shrink
from engine.features.pyramid import CELLS, pyramid
from engine.features.sift import LENGTH, DenseSift
from engine.problems import fail
from engine.progress import OnStep, ignore

ENCODERS = {"threshold": SoftThreshold, "omp": MatchingPursuit, "lasso": SparseCoding, "llc": LocalityLinear}
LEARNERS = {"random": RandomPatches, "kmeans": KMeansCentres, "lasso": SparseCodingDictionary, "ksvd": KSVD}
PER_IMAGE = 400  # patches a training image gives at most: the rest of an image repeats what these say


@dataclass(frozen=True)
class ScSPM:
    """The scalable form by default: matching pursuit over a K-means dictionary. 21 values an atom, unit length."""

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
        return {"encoder": spelled(self.encoder, ENCODERS), "learner": spelled(self.learner, LEARNERS),
                "atoms": self.atoms, "training_patches": self.training_patches, "longest": self.longest,
                "sift": asdict(self.sift)}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.dictionary is None else {"dictionary": self.dictionary}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "ScSPM":
        own = {**parameters, "encoder": named(parameters["encoder"], ENCODERS),
               "learner": named(parameters["learner"], LEARNERS), "sift": DenseSift(**parameters["sift"])}
        return cls(**own, **arrays)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "ScSPM":
        rng = np.random.default_rng(random_state)
        sample = self._sample(images, rng)
        return replace(self, dictionary=self.learner(sample, self.atoms, rng, on_step).astype(np.float32))

    def describe(self, image: np.ndarray) -> np.ndarray:
        if self.dictionary is None:
            raise fail("scspm", "it has no dictionary yet", "learn one with fit, or load one that was saved")
        patches = self.sift(grey(shrink(image, self.longest)))
        return pyramid(self.encoder(patches.vectors, self.dictionary), patches)

    def _sample(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """The same number of random patches of every image, up to `training_patches` of them all."""
        drawn = [_some(self.sift(grey(shrink(image, self.longest))).vectors, PER_IMAGE, rng) for image in images]
        if not drawn:
            return np.empty((0, LENGTH), dtype=np.float32)
        share = -(-self.training_patches // len(drawn))
        return _some(np.concatenate([_some(patches, share, rng) for patches in drawn]), self.training_patches, rng)


def _some(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]
