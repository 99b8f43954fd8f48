"""Simple descriptors of an image's colour and texture. They need almost no training and no extra packages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from skimage.color import rgb2lab
from skimage.feature import local_binary_pattern

from benthoscope.engine.features.planes import grey, resize, shrink
from benthoscope.engine.features.sift import ORIENTATIONS, gradients
from benthoscope.engine.progress import OnStep, ignore

LONGEST = 320  # px, the size at which images are decoded for all built-in descriptors
LAB_RANGE = ((0, 100), (-60, 60), (-60, 60))  # the part of CIELAB that photographs use
COLOUR_BINS = (12, 16, 16)
RADII = (1, 2, 4)  # px, radii of the circles of the local binary patterns
AROUND = 8  # points on each circle; this gives ten patterns, nine rotation-invariant ones and one for all others
LAYOUT = 4  # cells per side for the histograms of edge directions
SCALES = (1, 2, 4)  # scales at which contrast is measured
CONTRAST_BINS, CONTRAST_RANGE = 12, (-10, 0)  # of the base-2 logarithm of the gradient
PARTS = (*COLOUR_BINS, *[AROUND + 2] * len(RADII), LAYOUT**2 * ORIENTATIONS, *[CONTRAST_BINS] * len(SCALES))
SAME = 0.02  # a part with a smaller spread counts as constant, so that its noise is not amplified


@dataclass(frozen=True)
class MeanColour:
    """The mean CIELAB colour: three numbers, a baseline for all descriptors."""

    size: int = 160  # px, longer side of the averaged image

    longest: ClassVar[int] = LONGEST
    name: ClassVar[str] = "mean-colour"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    width: ClassVar[int] = 3
    arrays: ClassVar[dict] = {}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"size": self.size}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "MeanColour":
        return cls(**parameters)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "MeanColour":
        return self

    def describe(self, image: np.ndarray) -> np.ndarray:
        return rgb2lab(shrink(image, self.size)).mean(axis=(0, 1)).astype(np.float32)


@dataclass(frozen=True)
class ColourTexture:
    """Colour histograms, local binary patterns and contrast at three scales each, and the layout of edge directions.

    Each part is divided by its spread over the training images, so that no part dominates. Otherwise colour, which the
    water determines, would.
    """

    size: int = 256  # px, longer side of the image; fixed, because the radii of the circles depend on the scale
    spread: np.ndarray | None = field(default=None, repr=False, compare=False)  # (10,), one per part

    longest: ClassVar[int] = LONGEST
    name: ClassVar[str] = "colour-texture"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "image"
    width: ClassVar[int] = sum(PARTS)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.spread is None else {"spread": self.spread}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"size": self.size}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, Any]) -> "ColourTexture":
        return cls(**parameters, **arrays)

    def unscaled(self) -> "ColourTexture":
        """Return the descriptor without its learned spread; `rescaled` gives the vectors with it."""
        return replace(self, spread=None)

    @staticmethod
    def rescaled(vectors: np.ndarray, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return unscaled vectors (n, D) divided by the spread of their parts."""
        return vectors / np.repeat(arrays["spread"], PARTS)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "ColourTexture":
        rows = np.array([self._roots(image) for image in images])
        if not len(rows):
            return self
        varied = np.split(((rows - rows.mean(0)) ** 2).mean(0), np.cumsum(PARTS)[:-1])
        return replace(
            self, spread=np.maximum(np.sqrt([variance.sum() for variance in varied]), SAME).astype(np.float32)
        )

    def describe(self, image: np.ndarray) -> np.ndarray:
        roots = self._roots(image)
        return roots if self.spread is None else roots / np.repeat(self.spread, PARTS)

    def _roots(self, image: np.ndarray) -> np.ndarray:
        """Return the square roots of all histograms, so that each part has length 1."""
        small = shrink(image, self.size)
        plane = grey(small)
        histograms = [
            *colour_shares(small),
            *(pattern_shares(small, radius) for radius in RADII),
            edge_shares(plane),
            *(contrast_shares(small, scale) for scale in SCALES),
        ]
        return np.sqrt(np.concatenate(histograms)).astype(np.float32)


def colour_shares(image: np.ndarray) -> list[np.ndarray]:
    """Return three histograms of CIELAB values; each sums to 1."""
    planes = rgb2lab(image).reshape(-1, 3).T
    settings = zip(planes, COLOUR_BINS, LAB_RANGE, strict=True)
    return [_shares(np.clip(plane, *ends), bins, ends) for plane, bins, ends in settings]


def pattern_shares(image: np.ndarray, radius: int) -> np.ndarray:
    """Return the histogram of rotation-invariant local binary patterns at one radius; it sums to 1."""
    level = (grey(image) * 255).astype(np.uint8)  # integer levels, so that rounding errors do not decide comparisons
    patterns = local_binary_pattern(level, AROUND, radius, method="uniform")
    return np.bincount(patterns.astype(np.int64).ravel(), minlength=AROUND + 2) / patterns.size


def edge_shares(plane: np.ndarray) -> np.ndarray:
    """Return the edge strength by cell and direction. Sums to 1; uniform for an image without edges."""
    strength, turn = gradients(np.ascontiguousarray(plane))
    rows = np.arange(plane.shape[0]) * LAYOUT // plane.shape[0]
    columns = np.arange(plane.shape[1]) * LAYOUT // plane.shape[1]
    cell = rows[:, None] * LAYOUT + columns
    bin_index = cell * ORIENTATIONS + turn.astype(np.int64) % ORIENTATIONS
    total = np.bincount(bin_index.ravel(), strength.ravel(), LAYOUT**2 * ORIENTATIONS) + 1e-9
    return total / total.sum()


def contrast_shares(image: np.ndarray, scale: int) -> np.ndarray:
    """Return the histogram of the gradient strength at one scale; it sums to 1."""
    height, width = (max(1, side // scale) for side in image.shape[:2])
    strength, _ = gradients(grey(resize(image, height, width)))
    log_contrast = np.clip(np.log2(np.maximum(strength, 1e-6)), *CONTRAST_RANGE)
    return _shares(log_contrast, CONTRAST_BINS, CONTRAST_RANGE)


def _shares(values: np.ndarray, bins: int, ends: tuple[float, float]) -> np.ndarray:
    return np.histogram(values, bins, ends)[0] / values.size
