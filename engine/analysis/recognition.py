"""Recognition with clusters: a person names each cluster from a few images, and the cluster names the rest."""

from dataclasses import dataclass

import numpy as np

NAMED_FROM = 5  # images that a person looks at, as in the source


@dataclass(frozen=True)
class Recognition:
    """The share of labelled images that their cluster names correctly, without the images that named it."""

    name_of_cluster: np.ndarray  # (K,) label, -1 for clusters whose named images have no label
    tested: int
    accuracy: float | None  # None if there is no image to test


def recognise(
    clusters: np.ndarray, probability: np.ndarray, labels: np.ndarray, count: int, named_from: int = NAMED_FROM
) -> Recognition:
    """Name each of `count` clusters after the most frequent label of its most probable labelled images, and test the
    names on all other labelled images.

    `clusters`, `probability` and `labels` (N,) are the cluster of each image, its probability, and the known label, -1
    for none. An image whose cluster has no name counts as wrong.
    """
    names, tested = np.full(count, -1), labels >= 0
    for cluster in range(count):
        members = np.flatnonzero((clusters == cluster) & (labels >= 0))
        looked_at = members[np.argsort(-probability[members], kind="stable")[:named_from]]
        if len(looked_at):
            names[cluster] = np.bincount(labels[looked_at]).argmax()
            tested[looked_at] = False
    right = names[clusters[tested]] == labels[tested]
    return Recognition(names, int(tested.sum()), float(right.mean()) if len(right) else None)
