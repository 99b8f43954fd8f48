"""Geometry of clusters: centres, spread, neighbours and outliers in feature space, and outlines on a plane."""

from dataclasses import dataclass

import numpy as np
import scipy

from benthoscope.engine.analysis.projections import LAST, NOWHERE

BLOCK = 50_000  # rows in memory at the same time
CELLS = 96  # cells per side of the grid; outlines need no high precision
BLUR = 1.8  # cells
SMALLEST_RING = 0.12  # fraction of the largest ring of the cluster; smaller rings are scattered images
SHARE_INSIDE = 0.8  # fraction of the cluster inside its outline
FEWEST_IMAGES = 4  # smaller clusters have no outline
MOST_CORNERS = 80  # of an outline


@dataclass(frozen=True)
class ClusterGeometry:
    """Geometry of K clusters of n rows with D features."""

    centres: np.ndarray  # (K, D), NaN for an empty cluster
    spread: np.ndarray  # (K,) root mean square distance to the centre, divided by that of all rows to their centre
    # (n,) distance of each row to its centre, divided by its cluster's root mean square; NaN without a cluster
    distance: np.ndarray

    def nearest(self, cluster: int, count: int = 3) -> list[int]:
        """Return the clusters with the nearest centres, nearest first."""
        squared = ((self.centres - self.centres[cluster]) ** 2).sum(1)
        squared[cluster] = np.inf
        squared[np.isnan(squared)] = np.inf
        order = np.argsort(squared, kind="stable")
        return [int(cluster) for cluster in order[:count] if np.isfinite(squared[cluster])]


@dataclass(frozen=True)
class Outline:
    """Closed polygons around most of a cluster, and its densest position, in steps of the plane."""

    cluster: int
    peak: tuple[float, float]
    rings: tuple[list[list[float]], ...]


def measure_clusters(X: np.ndarray, labels: np.ndarray, clusters: int) -> ClusterGeometry:
    """Compute the geometry from features (n, D), which may be memory-mapped, and labels (n,), -1 for rows without a
    cluster."""
    rows = np.flatnonzero(labels >= 0)
    row_labels = labels[rows]
    counts = np.bincount(row_labels, minlength=clusters)
    centres = _sums(X, rows, row_labels, clusters) / np.maximum(counts, 1)[:, None]
    squared = _squared_distances(X, rows, centres, row_labels)
    mean = np.bincount(row_labels, squared, minlength=clusters) / np.maximum(counts, 1)
    total = _total_variance(centres, counts, mean)
    distance = np.full(len(labels), np.nan)
    distance[rows] = np.sqrt(squared / np.maximum(mean[row_labels], 1e-30))
    centres[counts == 0] = np.nan
    return ClusterGeometry(centres, np.sqrt(mean / max(total, 1e-30)), distance)


def cluster_outlines(xy: np.ndarray, labels: np.ndarray, clusters: int) -> list[Outline]:
    """Return the outlines of the clusters on a plane. `xy` (n, 2) is the result of `projections.to_steps`, `labels` is
    (n,)."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(clusters + 1))
    members = (order[starts[number] : starts[number + 1]] for number in range(clusters))
    outlines = (_outline(number, xy[rows]) for number, rows in enumerate(members))
    return [outline for outline in outlines if outline]


def _sums(X: np.ndarray, rows: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    total = np.zeros((clusters, X.shape[1]))
    for start in range(0, len(rows), BLOCK):
        block = labels[start : start + BLOCK]
        belongs = np.zeros((clusters, len(block)), np.float32)
        belongs[block, np.arange(len(block))] = 1
        total += belongs @ X[rows[start : start + BLOCK]]
    return total


def _squared_distances(X: np.ndarray, rows: np.ndarray, centres: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the squared distance of each row to the centre of its cluster."""
    blocks = []
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        difference = X[rows[block]] - centres[labels[block]].astype(np.float32)
        blocks.append(np.einsum("ij,ij->i", difference, difference).astype(float))
    return np.concatenate(blocks) if blocks else np.empty(0)


def _total_variance(centres: np.ndarray, counts: np.ndarray, within: np.ndarray) -> float:
    """Return the mean squared distance of all rows to their common centre."""
    shares = counts / max(counts.sum(), 1)
    centre = shares @ centres
    return float(shares @ (within + ((centres - centre) ** 2).sum(1)))


def _outline(cluster: int, xy: np.ndarray) -> Outline | None:
    xy = xy[xy[:, 0] != NOWHERE].astype(float)
    if len(xy) < FEWEST_IMAGES:
        return None
    from skimage.measure import find_contours  # slow to import

    cell = (LAST + 1) / CELLS
    counts, _, _ = np.histogram2d(xy[:, 0], xy[:, 1], bins=CELLS, range=((0, LAST + 1), (0, LAST + 1)))
    blurred = scipy.ndimage.gaussian_filter(counts, BLUR, mode="constant")
    density = np.pad(blurred, 1)  # a border of zeros closes all outlines
    peak = (np.array(np.unravel_index(np.argmax(density), density.shape)) - 0.5) * cell
    rings = [ring for ring in find_contours(density, _level(density)) if len(ring) > 3]
    smallest = SMALLEST_RING * max(map(_area, rings), default=0)
    thinned = tuple(_thinned((ring - 0.5) * cell) for ring in rings if _area(ring) >= smallest)
    return Outline(cluster, tuple(peak.tolist()), thinned)


def _area(ring: np.ndarray) -> float:
    x, y = ring.T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


def _level(density: np.ndarray) -> float:
    """Return the density above which SHARE_INSIDE of the cluster lies."""
    values = np.sort(density.ravel())[::-1]
    rank = int(np.searchsorted(np.cumsum(values), SHARE_INSIDE * values.sum()))
    return float(max(values[min(rank, len(values) - 1)], 1e-9))


def _thinned(ring: np.ndarray) -> list[list[float]]:
    step = max(1, len(ring) // MOST_CORNERS)
    return ring[::step].round().tolist()
