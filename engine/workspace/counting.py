"""What can be counted of a clustering, whatever made it: sizes, and the mixture of each group."""

import numpy as np

from engine.workspace.runs import NewCluster


def counted_shares(labels: np.ndarray, groups: np.ndarray, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """(ids of the groups (J,), ascending; shares of the clusters in each (J, clusters)), of rows with these labels."""
    ids, row = np.unique(groups, return_inverse=True)
    counts = np.bincount(row * clusters + labels, minlength=len(ids) * clusters).reshape(len(ids), clusters)
    return ids, counts / counts.sum(1, keepdims=True)


def counted_clusters(labels: np.ndarray, clusters: int, level: str = "image") -> list[NewCluster]:
    """Every cluster with its size, those of none too."""
    return [NewCluster(number, int(size), level) for number, size in enumerate(np.bincount(labels, minlength=clusters))]
