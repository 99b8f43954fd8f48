"""Kernel PCA of images with the spatial pyramid match kernel: the space in which objects are discovered
(Gomes, ch. 2.6)."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from benthoscope.engine.features.planes import grey, shrink
from benthoscope.engine.features.scspm import ScSPM
from benthoscope.engine.features.sift import DenseSift
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.classes.classification import histogram_intersection, pyramid_histograms

LEVEL_WEIGHTS = (0.25, 0.25, 0.5)  # of the levels with 1, 4 and 16 cells (Lazebnik et al.)
LEAST_SHARE = 1e-6  # axes with a smaller share of the variance are rounding errors


@dataclass(frozen=True)
class PyramidKernelAxes:
    """The coordinates of an image along the principal axes of the kernel, learned from landmark images.

    The kernel compares histograms of visual words in cells of three sizes: the sum of the smaller counts, which is 1
    for equal images. Landmarks, centring and axes stay fixed, so images that arrive later have comparable coordinates.
    """

    dimension: int = 20
    words: int = 200
    most_landmarks: int = 400
    longest: int = 320
    sift: DenseSift = field(default_factory=DenseSift)
    dictionary: np.ndarray | None = field(default=None, repr=False, compare=False)  # (words, 128)
    landmarks: np.ndarray | None = field(default=None, repr=False, compare=False)  # (L, 21 * words) float32
    means: np.ndarray | None = field(default=None, repr=False, compare=False)  # (L,) mean kernel of each landmark
    axes: np.ndarray | None = field(default=None, repr=False, compare=False)  # (L, dimension)

    name: ClassVar[str] = "pyramid-kernel"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"

    @property
    def width(self) -> int:
        return self.dimension if self.axes is None else self.axes.shape[1]

    @property
    def parameters(self) -> dict[str, Any]:
        names = ("dimension", "words", "most_landmarks", "longest")
        return {**{name: getattr(self, name) for name in names}, "sift": asdict(self.sift)}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        learned = {name: getattr(self, name) for name in ("dictionary", "landmarks", "means", "axes")}
        return {name: values for name, values in learned.items() if values is not None}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, Any]) -> "PyramidKernelAxes":
        return cls(**{**parameters, "sift": DenseSift(**parameters["sift"])}, **arrays)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "PyramidKernelAxes":
        """Return the descriptor with the axes of the training images. They are read twice."""
        vocabulary = ScSPM(atoms=self.words, longest=self.longest, sift=self.sift)
        words = vocabulary.fit(images, random_state=random_state, on_step=on_step).dictionary
        counting, rows = replace(self, dictionary=words), []
        for done, image in enumerate(images):
            if done == self.most_landmarks:
                break
            on_step(Progress(done, None, "counting the visual words of the landmark images"))
            rows.append(counting.histograms(image))
        landmarks = np.array(rows, np.float32)
        axes, means = kernel_axes(histogram_intersection(landmarks, landmarks), self.dimension)
        return replace(counting, landmarks=landmarks, means=means, axes=axes)

    def describe(self, image: np.ndarray) -> np.ndarray:
        if self.landmarks is None or self.axes is None or self.means is None:
            raise fail("pyramid-kernel", "there are no landmark images yet", "call fit, or load a saved descriptor")
        kernel = histogram_intersection(self.histograms(image)[None], self.landmarks)[0]
        # The axes sum to 0 over the landmarks, so the other two terms of the centring vanish.
        return ((kernel - self.means) @ self.axes).astype(np.float32)

    def histograms(self, image: np.ndarray) -> np.ndarray:
        """Return the weighted histograms of all levels (21 * words,), which sum to 1."""
        assert self.dictionary is not None  # `fit` learned it
        patches = self.sift(grey(shrink(image, self.longest)))
        words = (patches.vectors @ self.dictionary.T).argmax(1)
        size = (patches.height, patches.width)
        levels = pyramid_histograms(words, patches.rows, patches.columns, size, len(self.dictionary))
        return np.concatenate([weight * level for weight, level in zip(LEVEL_WEIGHTS, levels, strict=True)])


def kernel_axes(gram: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes (L, d) of a kernel matrix (L, L) of landmarks, and the mean of each of its columns (L,).

    A point with the kernel k (L,) has the coordinates (k - means) @ axes. There are at most `dimension` axes; those
    without variance are left out. Raises if all landmarks are equal.
    """
    means = gram.mean(0)
    centred = gram - means - means[:, None] + means.mean()
    values, vectors = eigh(centred)
    order = np.argsort(-values)[:dimension]
    order = order[values[order] > LEAST_SHARE * max(float(np.trace(gram)), 1e-300)]
    if not len(order):
        raise fail("pyramid-kernel", "all training images have the same texture", "add images that differ")
    signs = np.sign(vectors[np.abs(vectors[:, order]).argmax(0), order])
    return vectors[:, order] * signs / np.sqrt(values[order]), means
