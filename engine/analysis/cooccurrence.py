"""Which clusters occur together, and how similar groups are by their proportions of clusters.

Both results have an order of rows in which similar rows are neighbours, for heat maps.
"""

from dataclasses import dataclass

import numpy as np
import scipy

MOST_ORDERED = 400  # rows; with more, the optimal order takes too long and makes no visible difference
LARGEST_RATIO = 3.0  # log2; larger ratios than 8 are not distinguished
# added to the observed and to the expected count, because two rare clusters that never co-occur are little evidence
PRIOR_IMAGES = 0.5


@dataclass(frozen=True)
class Cooccurrence:
    """`ratio` (K, K) is log2 of the images with both clusters divided by the number expected by chance; 0 on the
    diagonal."""

    ratio: np.ndarray
    order: np.ndarray  # (K,) indices; clusters with similar co-occurrence are neighbours


@dataclass(frozen=True)
class MixtureComparison:
    """`distance` (G, G) is the Jensen-Shannon distance of proportions, 0 to 1. The orders are for a heat map."""

    distance: np.ndarray
    groups: np.ndarray  # (G,) indices; similar groups are neighbours
    clusters: np.ndarray  # (K,) indices; similar clusters are neighbours

    def most_similar(self, group: int, count: int = 5) -> list[int]:
        order = np.argsort(self.distance[group], kind="stable")
        return [int(other) for other in order if other != group][:count]


def cooccurrence(together: np.ndarray, images: int) -> Cooccurrence:
    """Compute ratios from (K, K) counts of images that contain both clusters. The diagonal counts the images with each
    cluster."""
    each = np.diagonal(together).astype(float)
    expected = np.outer(each, each) / max(images, 1)
    ratio = np.log2((together + PRIOR_IMAGES) / (expected + PRIOR_IMAGES))
    ratio = np.clip(ratio, -LARGEST_RATIO, LARGEST_RATIO)
    np.fill_diagonal(ratio, 0.0)
    distance = (LARGEST_RATIO - ratio) / (2 * LARGEST_RATIO)
    np.fill_diagonal(distance, 0.0)
    return Cooccurrence(ratio, similar_side_by_side(distance))


def compare_mixtures(mixtures: np.ndarray) -> MixtureComparison:
    """Compare proportions (G, K) whose rows sum to 1. A row of zeros has distance 1 to all others."""
    distance = jensen_shannon(mixtures)
    by_cluster = mixtures.T / np.maximum(mixtures.T.sum(1, keepdims=True), 1e-12)
    return MixtureComparison(distance, similar_side_by_side(distance), similar_side_by_side(jensen_shannon(by_cluster)))


def jensen_shannon(shares: np.ndarray) -> np.ndarray:
    """Return distances (n, n) of proportions (n, K): the root of the divergence in bits, a metric between 0 and 1."""
    half = _entropy((shares[:, None] + shares[None]) / 2)
    each = _entropy(shares)
    distance = np.sqrt(np.maximum(half - (each[:, None] + each[None]) / 2, 0))
    empty = shares.sum(1) <= 0
    distance[empty] = distance[:, empty] = 1
    np.fill_diagonal(distance, 0)
    return np.minimum(distance, 1)


def similar_side_by_side(distance: np.ndarray) -> np.ndarray:
    """Return an order (n,) in which rows at small distances are neighbours; `distance` is (n, n)."""
    if len(distance) < 3:
        return np.arange(len(distance))
    condensed = scipy.spatial.distance.squareform(distance, checks=False)
    tree = scipy.cluster.hierarchy.linkage(condensed, "average")
    return scipy.cluster.hierarchy.leaves_list(
        scipy.cluster.hierarchy.optimal_leaf_ordering(tree, condensed) if len(distance) <= MOST_ORDERED else tree
    )


def _entropy(shares: np.ndarray) -> np.ndarray:
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(-1)
