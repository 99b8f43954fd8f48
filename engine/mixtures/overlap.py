"""How much clusters share their rows. With the statistics, this is all that the exact price of a merge needs."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Overlap:
    """Sums over rows for each pair of clusters. Overlaps of chunks can be added."""

    shared: np.ndarray  # (K, K) sum of the products of two responsibilities
    entropy_lost: np.ndarray  # (K, K) entropy of the responsibilities that a merge of two clusters removes

    def __add__(self, other: "Overlap") -> "Overlap":
        return Overlap(self.shared + other.shared, self.entropy_lost + other.entropy_lost)

    def neighbours(self, count: int) -> np.ndarray:
        """Return pairs a < b of clusters that share rows (P, 2), each cluster with its nearest ones."""
        size = np.sqrt(np.maximum(np.diagonal(self.shared), np.finfo(float).tiny))
        near = self.shared / size[:, None] / size
        np.fill_diagonal(near, -1.0)
        nearest = np.argsort(-near, axis=1, kind="stable")[:, : min(count, len(near) - 1)]
        this = np.repeat(np.arange(len(near)), nearest.shape[1])
        pairs = np.sort(np.stack([this, nearest.ravel()], axis=1), axis=1)
        return np.unique(pairs, axis=0)
