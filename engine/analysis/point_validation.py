"""Agreement of labelled points with clusters of segments: the segment under each point, and a table of both."""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.metrics import v_measure


@dataclass(frozen=True)
class PointTable:
    """The number of points of each term on segments of each cluster."""

    counts: np.ndarray  # (K, T) points
    term_ids: np.ndarray  # (T,) most frequent first
    missed: int  # points that are on no segment of a cluster
    v_measure: float

    @property
    def points(self) -> int:
        return int(self.counts.sum())


def point_table(clusters: np.ndarray, term_ids: np.ndarray, cluster_count: int) -> PointTable | None:
    """Count points from the cluster under each point (n,), -1 for none, and the term of each point (n,).

    Returns None if no point is on a cluster.
    """
    known = clusters >= 0
    clusters, term_ids, missed = clusters[known], term_ids[known], int((~known).sum())
    if not len(clusters):
        return None
    distinct, term_number, count = np.unique(term_ids, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    cell = clusters * len(distinct) + term_number
    table = np.bincount(cell, minlength=cluster_count * len(distinct)).reshape(cluster_count, -1)
    return PointTable(table[:, order], distinct[order], missed, float(v_measure(term_ids, clusters)))


def rows_under_points(points: np.ndarray, image_size: tuple[int, int], mask: np.ndarray, first_row: int) -> np.ndarray:
    """Return the feature row of the segment under each point of one image.

    `points` (n, 2) are x and y in pixels of an image of `image_size` (width, height). `mask` (H, W) holds the number of
    the segment at each pixel, at its own scale. The rows of the image's segments begin at `first_row`.
    """
    height, width = mask.shape
    x = np.clip(points[:, 0] * width / image_size[0], 0, width - 1).astype(int)
    y = np.clip(points[:, 1] * height / image_size[1], 0, height - 1).astype(int)
    return first_row + mask[y, x].astype(np.int64)
