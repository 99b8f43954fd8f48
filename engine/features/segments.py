"""Describe the segments of an image by the responses of learned colour filters.

Segmentation methods divide an image into about fifty regions of uniform appearance (methods note 8, step 5). They map
an RGB uint8 image to a mask (H, W) of segment numbers 0, 1, 2, ... without gaps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from skimage.measure import label as connected
from skimage.segmentation import felzenszwalb, quickshift, slic

from benthoscope.engine.features.descriptor import Segments, named, spelled
from benthoscope.engine.features.ica import FilterBank, IndependentComponents
from benthoscope.engine.features.planes import shrink
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

MORE = 1.1  # SLIC rounds its grid down and small fragments are merged; requesting a tenth more gives the wanted number
SMALLEST = 0.25  # fraction of the average area; smaller fragments are merged with a neighbour


class Cutter(Protocol):
    def __call__(self, image: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Slic:
    """Regions of similar area. A larger `compactness` (CIELAB units) makes them rounder."""

    segments: int = 50
    compactness: float = 10.0

    def __call__(self, image: np.ndarray) -> np.ndarray:
        asked = round(self.segments * MORE)
        mask = slic(image, n_segments=asked, compactness=self.compactness, start_label=0, min_size_factor=SMALLEST)
        return numbered(mask)


@dataclass(frozen=True)
class ModeSeeking:
    """Regions of one mode of colour and position (quick shift, a fast variant of mean shift). They follow outlines more
    closely and differ in size. About fifteen times slower than SLIC."""

    kernel: float = 5.0
    reach: float = 20.0
    colour_weight: float = 0.5

    def __call__(self, image: np.ndarray) -> np.ndarray:
        mask = quickshift(image, kernel_size=self.kernel, max_dist=self.reach, ratio=self.colour_weight, rng=0)
        return numbered(connected(mask, background=-1, connectivity=1))


@dataclass(frozen=True)
class GraphCut:
    """Felzenszwalb and Huttenlocher's regions: large in uniform parts of the image, small in detailed parts."""

    scale: float = 200.0
    smallest: int = 300  # px

    def __call__(self, image: np.ndarray) -> np.ndarray:
        mask = felzenszwalb(image, scale=self.scale, min_size=self.smallest)
        return numbered(connected(mask, background=-1, connectivity=1))


@dataclass(frozen=True)
class Pixels:
    """Every pixel is a segment."""

    def __call__(self, image: np.ndarray) -> np.ndarray:
        return np.arange(image.shape[0] * image.shape[1], dtype=np.int32).reshape(image.shape[:2])


CUTTERS = {"slic": Slic, "modes": ModeSeeking, "graph": GraphCut, "pixels": Pixels}


def numbered(mask: np.ndarray) -> np.ndarray:
    """Renumber the segments without gaps, in the order of their old numbers."""
    return np.unique(mask, return_inverse=True)[1].reshape(mask.shape).astype(np.int32)


@dataclass(frozen=True)
class IcaSegments:
    """Super-pixels, each described by the mean logarithm of every filter's response (50 values)."""

    cutter: Cutter = field(default_factory=Slic)
    components: IndependentComponents = field(default_factory=IndependentComponents)
    longest: int = 320
    bank: FilterBank | None = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "ica-segments"
    version: ClassVar[int] = 1
    level: ClassVar[str] = "segment"

    @property
    def width(self) -> int:
        return self.components.filters if self.bank is None else len(self.bank.filters)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"cutter": spelled(self.cutter, CUTTERS), "components": vars(self.components), "longest": self.longest}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {} if self.bank is None else {"filters": self.bank.filters, "mean": self.bank.mean}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "IcaSegments":
        components = IndependentComponents(**parameters["components"])
        bank = FilterBank(**arrays, side=components.side, normalise=components.normalise) if arrays else None
        return cls(named(parameters["cutter"], CUTTERS), components, parameters["longest"], bank)

    def fit(self, images: Iterable[np.ndarray], *, random_state=None, on_step: OnStep = ignore) -> "IcaSegments":
        small = [self._prepared(image) for image in images]
        on_step(Progress(0, 1, "colour filters"))
        return replace(self, bank=self.components.fit(small, rng=np.random.default_rng(random_state)))

    def describe(self, image: np.ndarray) -> Segments:
        if self.bank is None:
            raise fail("segments", "there are no filters yet", "call fit, or load a saved descriptor")
        small = self._prepared(image)
        mask = self.cutter(small)
        return Segments(self.bank.strength(small, mask, int(mask.max()) + 1), mask)

    def _prepared(self, image: np.ndarray) -> np.ndarray:
        return shrink(image, self.longest)
