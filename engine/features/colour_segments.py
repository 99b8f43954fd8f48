"""Segments or single pixels by position and colour, as in joint segmentation (Gomes, ch. 3.6.1)."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from skimage.color import rgb2lab

from benthoscope.engine.features.descriptor import Segments, named, spelled
from benthoscope.engine.features.patches import UntrainedPatches
from benthoscope.engine.features.planes import shrink
from benthoscope.engine.features.segments import CUTTERS, Cutter, Slic

SEGMENTS = 100  # superpixels of an image; with 200, the V-measure on the sample campaign is .39 instead of .38


@dataclass(frozen=True)
class ColourSegments(UntrainedPatches):
    """The mean position from the image centre and the mean colour of each segment: x, y, and L, a, b of CIELAB.

    The source uses every pixel of images of 200 x 160 pixels (the cutter `Pixels`). `side` is the length of the longer
    side of the image, in units of CIELAB: a larger value gives position more influence, 0 none.
    """

    cutter: Cutter = field(default_factory=lambda: Slic(SEGMENTS))
    longest: int = 200
    side: float = 50.0

    name: ClassVar[str] = "colour-segments"
    width: ClassVar[int] = 5

    @property
    def parameters(self) -> dict[str, Any]:
        return {"cutter": spelled(self.cutter, CUTTERS), "longest": self.longest, "side": self.side}

    @classmethod
    def restored(cls, parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> "ColourSegments":
        return cls(named(parameters["cutter"], CUTTERS), parameters["longest"], parameters["side"])

    def describe(self, image: np.ndarray) -> Segments:
        small = shrink(image, self.longest)
        mask = self.cutter(small)
        pixels, segment = self._pixels(small), mask.ravel()
        areas = np.bincount(segment)
        sums = np.stack([np.bincount(segment, column) for column in pixels.T], axis=1)
        return Segments((sums / areas[:, None]).astype(np.float32), mask)

    def _pixels(self, image: np.ndarray) -> np.ndarray:
        """Return x, y, L, a and b of each pixel (H * W, 5), row by row."""
        height, width = image.shape[:2]
        unit = self.side / max(height, width)
        row, column = np.mgrid[:height, :width]
        position = [(column + 0.5 - width / 2) * unit, (row + 0.5 - height / 2) * unit]
        return np.concatenate([np.stack(position, axis=-1), rgb2lab(image)], axis=-1).reshape(-1, self.width)
