"""Regions of an image by how strongly learned colour filters answer in them: what the things in a scene look like."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from engine.features.choices import named, spelled
from engine.features.descriptor import Segments
from engine.features.ica import FilterBank, IndependentComponents
from engine.features.pixels import shrink
from engine.features.superpixels import CUTTERS, Cutter, Slic
from engine.problems import fail
from engine.progress import OnStep, Progress, ignore


@dataclass(frozen=True)
class IcaSegments:
    """Super-pixels, each with the mean logarithm of every filter's answer (50 values)."""

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
        small = [self._seen(image) for image in images]
        on_step(Progress(0, 1, "colour filters"))
        return replace(self, bank=self.components.fit(small, rng=np.random.default_rng(random_state)))

    def describe(self, image: np.ndarray) -> Segments:
        if self.bank is None:
            raise fail("segments", "there are no filters yet", "learn them with fit, or load some that were saved")
        small = self._seen(image)
        mask = self.cutter(small)
        return Segments(self.bank.strength(small, mask, int(mask.max()) + 1), mask)

    def _seen(self, image: np.ndarray) -> np.ndarray:
        return shrink(image, self.longest)
