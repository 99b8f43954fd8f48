"""Cutting an image into some fifty regions of one look (methods note 8, step 5). Every cutter is called with an RGB
uint8 image and gives a mask (H, W) of segment numbers 0, 1, 2, ... without a gap."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from skimage.measure import label as connected
from skimage.segmentation import felzenszwalb, quickshift, slic

MORE = 1.1       # SLIC's grid is rounded down and scraps are merged: asking for a tenth more gives the number wanted
SMALLEST = 0.25  # of the average area; smaller scraps join a neighbour


class Cutter(Protocol):
    def __call__(self, image: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Slic:
    """Regions of similar area; a larger `compactness` (CIELAB units) makes them rounder."""

    segments: int = 50
    compactness: float = 10.0

    def __call__(self, image: np.ndarray) -> np.ndarray:
        asked = round(self.segments * MORE)
        mask = slic(image, n_segments=asked, compactness=self.compactness, start_label=0, min_size_factor=SMALLEST)
        return numbered(mask)


@dataclass(frozen=True)
class ModeSeeking:
    """Regions that climb to the same mode of colour and position, quick shift, the fast kin of mean shift: they follow
    outlines more closely and differ in size; about fifteen times the work of SLIC."""

    kernel: float = 5.0
    reach: float = 20.0
    colour_weight: float = 0.5

    def __call__(self, image: np.ndarray) -> np.ndarray:
        mask = quickshift(image, kernel_size=self.kernel, max_dist=self.reach, ratio=self.colour_weight, rng=0)
        return numbered(connected(mask, background=-1, connectivity=1))


@dataclass(frozen=True)
class GraphCut:
    """Felzenszwalb and Huttenlocher's regions: large where the image is calm, small where it is busy."""

    scale: float = 200.0
    smallest: int = 300  # px

    def __call__(self, image: np.ndarray) -> np.ndarray:
        mask = felzenszwalb(image, scale=self.scale, min_size=self.smallest)
        return numbered(connected(mask, background=-1, connectivity=1))


CUTTERS = {"slic": Slic, "modes": ModeSeeking, "graph": GraphCut}


def numbered(mask: np.ndarray) -> np.ndarray:
    """The same segments, numbered without a gap in the order of their old numbers."""
    return np.unique(mask, return_inverse=True)[1].reshape(mask.shape).astype(np.int32)
