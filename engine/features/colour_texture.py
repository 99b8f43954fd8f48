"""Plain summaries of a whole image's colour and texture: next to nothing is learned, nothing has to be installed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from skimage.color import rgb2lab
from skimage.feature import local_binary_pattern

from engine.features.pixels import grey, resize, shrink
from engine.features.sift import ORIENTATIONS, gradients
from engine.progress import OnStep, ignore

LONGEST = 320  # px, at which images are decoded for every built-in descriptor
LAB_RANGE = ((0, 100), (-60, 60), (-60, 60))  # what photographs fill of CIELAB
COLOUR_BINS = (12, 16, 16)
RADII = (1, 2, 4)    # px, of the circles whose light-dark patterns are counted
AROUND = 8           # points on each circle: ten patterns, nine that turning cannot change and one for the rest
LAYOUT = 4           # cells along a side in which edge directions are counted
SCALES = (1, 2, 4)   # at which the strength of detail is looked at
CONTRAST_BINS, CONTRAST_RANGE = 12, (-10, 0)  # of the binary logarithm of the gradient
PARTS = (*COLOUR_BINS, *[AROUND + 2] * len(RADII), LAYOUT**2 * ORIENTATIONS, *[CONTRAST_BINS] * len(SCALES))
SAME = 0.02          # spread below which a part is taken as the same in all images: its noise is not blown up


@dataclass(frozen=True)
class MeanColour:
    """The mean CIELAB colour: three numbers, the least any descriptor has to beat."""

    size: int = 160  # px, longer side of what is averaged

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
    """Colour histograms, light-dark patterns and strength of detail at three scales each, and the layout of edge
    directions. Each part is divided by how much it varies among the images learned from: none drowns the others, as
    colour, which water sets, else would."""

    size: int = 256  # px, longer side of what is looked at: the circles' radii mean something only at one scale
    spread: np.ndarray | None = field(default=None, repr=False, compare=False)  # (10,) of each part

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
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "ColourTexture":
        return cls(**parameters, **arrays)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "ColourTexture":
        rows = np.array([self._roots(image) for image in images])
        if not len(rows):
            return self
        varied = np.split(((rows - rows.mean(0)) ** 2).mean(0), np.cumsum(PARTS)[:-1])
        return replace(self, spread=np.maximum(np.sqrt([part.sum() for part in varied]), SAME).astype(np.float32))

    def describe(self, image: np.ndarray) -> np.ndarray:
        roots = self._roots(image)
        return roots if self.spread is None else roots / np.repeat(self.spread, PARTS)

    def _roots(self, image: np.ndarray) -> np.ndarray:
        """The square roots of all shares: each part has length 1."""
        small = shrink(image, self.size)
        plane = grey(small)
        parts = [*colour_shares(small), *(pattern_shares(small, radius) for radius in RADII), edge_shares(plane),
                 *(contrast_shares(small, scale) for scale in SCALES)]
        return np.sqrt(np.concatenate(parts)).astype(np.float32)


def colour_shares(image: np.ndarray) -> list[np.ndarray]:
    """Three histograms of CIELAB, each summing to 1."""
    planes = rgb2lab(image).reshape(-1, 3).T
    found = zip(planes, COLOUR_BINS, LAB_RANGE, strict=True)
    return [_shares(np.clip(plane, *ends), bins, ends) for plane, bins, ends in found]


def pattern_shares(image: np.ndarray, radius: int) -> np.ndarray:
    """How often each rotation-invariant local binary pattern occurs at one radius, summing to 1."""
    level = (grey(image) * 255).astype(np.uint8)  # whole levels: rounding must not decide which of two is lighter
    patterns = local_binary_pattern(level, AROUND, radius, method="uniform")
    return np.bincount(patterns.astype(np.int64).ravel(), minlength=AROUND + 2) / patterns.size


def edge_shares(plane: np.ndarray) -> np.ndarray:
    """Strength of edges by cell and direction, summing to 1; all equal where the image has no edge."""
    strength, turn = gradients(np.ascontiguousarray(plane))
    rows = np.arange(plane.shape[0]) * LAYOUT // plane.shape[0]
    columns = np.arange(plane.shape[1]) * LAYOUT // plane.shape[1]
    cell = rows[:, None] * LAYOUT + columns
    place = cell * ORIENTATIONS + turn.astype(np.int64) % ORIENTATIONS
    total = np.bincount(place.ravel(), strength.ravel(), LAYOUT**2 * ORIENTATIONS) + 1e-9
    return total / total.sum()


def contrast_shares(image: np.ndarray, scale: int) -> np.ndarray:
    """How strong the detail of one scale is, by its gradient, summing to 1."""
    height, width = (max(1, side // scale) for side in image.shape[:2])
    strength, _ = gradients(grey(resize(image, height, width)))
    told = np.clip(np.log2(np.maximum(strength, 1e-6)), *CONTRAST_RANGE)
    return _shares(told, CONTRAST_BINS, CONTRAST_RANGE)


def _shares(values: np.ndarray, bins: int, ends: tuple[float, float]) -> np.ndarray:
    return np.histogram(values, bins, ends)[0] / values.size
