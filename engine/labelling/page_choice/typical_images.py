"""Typical images: one from the densest part of each k-means cluster. With no labels yet, these teach a model most."""

import numpy as np
from scipy.spatial.distance import cdist

from benthoscope.engine.discriminative.optimisation import kmeans

MOST = 120  # images of a page
FEWEST = 24
SHARE = 8  # at most one image in this many: a page should stand for the others
SAMPLE = 10_000  # images searched, because the cost is proportional to images times clusters
NEIGHBOURS = 20  # a dense place has this many neighbours nearby
AT_ONCE = 1_000  # images of a cluster that are compared with each other
CLUSTERS = 3  # largest number of clusters, in pages: more would be too small to have a dense part


def page_size(images: int) -> int:
    """Return the number of typical images on a page, for a workspace with this many images."""
    return min(MOST, max(FEWEST, images // SHARE), images)


def typical_rows(rows: np.ndarray, count: int, labelled: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return positions of up to `count` rows (n, D) without a label, each the most typical of its cluster. `labelled`
    (n,) is bool.

    Clusters with the fewest labels come first, large ones before small ones. The more images have a label, the more
    clusters are made, so that the next page shows other kinds of images.
    """
    some = np.sort(rng.permutation(len(rows))[:SAMPLE])
    is_labelled = labelled[some]
    if is_labelled.all():
        return some[:0]
    clusters = kmeans(rows[some], min(count + int(is_labelled.sum()), CLUSTERS * count, len(some)), rng)
    sizes, labels = np.bincount(clusters), np.bincount(clusters, is_labelled)
    chosen = []
    for cluster in np.lexsort((-sizes, labels)):
        members = np.flatnonzero(clusters == cluster)
        free = members[~is_labelled[members]]
        if len(free):
            chosen.append(free[_densest(rows[some[free]], rng)])
        if len(chosen) == count:
            break
    return some[np.array(chosen, np.int64)]


def _densest(rows: np.ndarray, rng: np.random.Generator) -> int:
    """Return the position of the row with the smallest mean distance to its nearest neighbours."""
    if len(rows) < 3:
        return 0
    several = rng.permutation(len(rows))[:AT_ONCE]
    far = cdist(rows[several], rows[several])
    nearest = np.sort(far, axis=1)[:, 1 : NEIGHBOURS + 1]
    return int(several[nearest.mean(1).argmin()])
