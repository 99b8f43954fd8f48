"""How similar the images of one cluster are: by labels, where people looked at images, and without any labels.

The number of clusters says nothing about this. Few clusters can be mixed, and many clusters can be pure.
"""

from dataclasses import dataclass

import numpy as np

FEWEST_PAIRS = 10  # pairs of labelled images; a share of fewer pairs would mean little


@dataclass(frozen=True)
class LabelAgreement:
    """How often two labelled images of one cluster have the same label.

    `agreement` weights clusters by their sizes and is None with fewer than FEWEST_PAIRS pairs. `covered` is the share
    of the images that are in clusters with at least two labelled images; the agreement says nothing about the others.
    """

    labelled: int
    pairs: int
    covered: float
    agreement: float | None


def label_agreement(clusters: np.ndarray, labels: np.ndarray) -> LabelAgreement:
    """Compare all pairs of labelled images in the same cluster. `clusters` and `labels` (N,) are the cluster of each
    image and its known label, -1 for none.

    With labels of random images, the share of each cluster is an estimate without bias of the probability that two
    random images of it have the same label. (A majority label would seem too frequent in clusters with few labels.)
    """
    clusters, labels = np.asarray(clusters), np.asarray(labels)
    is_known = labels >= 0
    count = int(clusters.max(initial=-1)) + 1
    table = np.zeros((count, int(labels.max(initial=-1)) + 1))
    np.add.at(table, (clusters[is_known], labels[is_known]), 1)
    known = table.sum(1)
    pairs, same = known * (known - 1) / 2, (table * (table - 1) / 2).sum(1)
    sizes, compared = np.bincount(clusters, minlength=count), pairs > 0
    covered = sizes[compared].sum()
    total = int(pairs.sum())
    agreement = None
    if total >= FEWEST_PAIRS:
        agreement = float((sizes[compared] * same[compared] / pairs[compared]).sum() / covered)
    return LabelAgreement(int(is_known.sum()), total, float(covered / max(len(clusters), 1)), agreement)


def separation(rows: np.ndarray, clusters: np.ndarray) -> float | None:
    """Return the mean silhouette of these rows: 1 if all images are much closer to their own cluster than to any other,
    0 if clusters touch. None if there are fewer than two clusters."""
    from sklearn.metrics import silhouette_score

    count = len(np.unique(clusters))
    if not 2 <= count < len(rows):
        return None
    return float(silhouette_score(rows, clusters))
