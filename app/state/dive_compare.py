"""How like dives are by their mixtures of clusters, and an order that puts like ones side by side."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

MOST_ORDERED = 400  # beyond, the best order of leaves takes too long, and nobody sees the difference


@dataclass(frozen=True)
class Comparison:
    """`distance` (G, G) is the Jensen-Shannon distance of mixtures, 0 to 1; the orders are for a heat map."""

    distance: np.ndarray
    dives: np.ndarray     # (G,) indices, like ones side by side
    clusters: np.ndarray  # (K,) indices, likewise

    def likest(self, dive: int, count: int = 5) -> list[int]:
        order = np.argsort(self.distance[dive], kind="stable")
        return [int(found) for found in order if found != dive][:count]


def compared(mixtures: np.ndarray) -> Comparison:
    """Of (G, K) shares whose rows add up to 1; rows of zeros are as far as can be from all others."""
    distance = jensen_shannon(mixtures)
    by_cluster = mixtures.T / np.maximum(mixtures.T.sum(1, keepdims=True), 1e-12)
    return Comparison(distance, side_by_side(distance), side_by_side(jensen_shannon(by_cluster)))


def jensen_shannon(shares: np.ndarray) -> np.ndarray:
    """(n, n): the root of the divergence in bits, a metric between 0 and 1."""
    half = _entropy((shares[:, None] + shares[None]) / 2)
    each = _entropy(shares)
    found = np.sqrt(np.maximum(half - (each[:, None] + each[None]) / 2, 0))
    empty = shares.sum(1) <= 0
    found[empty] = found[:, empty] = 1
    np.fill_diagonal(found, 0)
    return np.minimum(found, 1)


def _entropy(shares: np.ndarray) -> np.ndarray:
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(-1)


def side_by_side(distance: np.ndarray) -> np.ndarray:
    """(n,) an order of what is so far from each other, in which near ones are neighbours."""
    if len(distance) < 3:
        return np.arange(len(distance))
    condensed = squareform(distance, checks=False)
    tree = linkage(condensed, "average")
    return leaves_list(optimal_leaf_ordering(tree, condensed) if len(distance) <= MOST_ORDERED else tree)
