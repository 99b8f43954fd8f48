"""Where on a plane each cluster is at home: an outline around most of it and the place of its picture."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.measure import find_contours

from app.state.atlas import Atlas
from app.state.projections import LAST, NOWHERE, Plane

CELLS = 96       # of the grid on a side: outlines are for the eye
BLUR = 1.8       # cells
SMALLEST = 0.12  # of the largest ring of the cluster: smaller ones are scattered images, not homes
WITHIN = 0.8     # share of the cluster inside its outline
FEWEST = 4       # images: fewer have no outline
LONGEST = 80     # corners of an outline


@dataclass(frozen=True)
class Outline:
    """Closed polygons and the densest place of a cluster, in steps of the plane."""

    cluster: int
    peak: tuple[float, float]
    rings: tuple[list[list[float]], ...]


def outlines(atlas: Atlas, plane: Plane) -> list[Outline]:
    found = (_outline(number, plane.xy[atlas.members(number)]) for number in range(atlas.clusters))
    return [outline for outline in found if outline]


def _outline(cluster: int, xy: np.ndarray) -> Outline | None:
    xy = xy[xy[:, 0] != NOWHERE].astype(float)
    if len(xy) < FEWEST:
        return None
    cell = (LAST + 1) / CELLS
    counts, _, _ = np.histogram2d(*xy.T, bins=CELLS, range=[[0, LAST + 1]] * 2)
    dense = np.pad(gaussian_filter(counts, BLUR, mode="constant"), 1)  # a ring of zeros closes every outline
    peak = (np.array(np.unravel_index(np.argmax(dense), dense.shape)) - 0.5) * cell
    rings = [ring for ring in find_contours(dense, _level(dense)) if len(ring) > 3]
    least = SMALLEST * max(map(_area, rings), default=0)
    kept = tuple(_thinned((ring - 0.5) * cell) for ring in rings if _area(ring) >= least)
    return Outline(cluster, tuple(peak.tolist()), kept)


def _area(ring: np.ndarray) -> float:
    x, y = ring.T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


def _level(dense: np.ndarray) -> float:
    """The density above which the wanted share lies."""
    values = np.sort(dense.ravel())[::-1]
    at = int(np.searchsorted(np.cumsum(values), WITHIN * values.sum()))
    return float(max(values[min(at, len(values) - 1)], 1e-9))


def _thinned(ring: np.ndarray) -> list[list[float]]:
    every = max(1, len(ring) // LONGEST)
    return ring[::every].round().tolist()
