"""Labels of images in a stream: they follow their images into clumps, and clusters take their names from them.

A label never changes what is learned. Clusters change from round to round; this module gives their present names,
the labels that contradict each other, and the images that are worth a label.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail
from benthoscope.engine.streaming.memory_bounded_vdp import MemoryBoundedVDP


@dataclass(frozen=True, eq=False)
class ClusterNames:
    """The names that labels give to the clusters of the last round.

    `names` (K,) has the most frequent label of each cluster, None without any label. A label counts for the whole clump
    of its image, so `share` (K,) is the fraction of the labelled rows of a cluster that its name covers, and `labelled`
    (K,) the fraction of its rows in labelled clumps. `mixed_units` are units with different labels: a clump cannot
    be divided again, so their rows must be read from disk if the labels matter.
    """

    cluster_ids: np.ndarray
    names: list[Any]
    share: np.ndarray
    labelled: np.ndarray
    mixed_units: np.ndarray
    unit_labels: list[Any]  # (U,) the most frequent label of each unit in memory, or None


def cluster_names(model: MemoryBoundedVDP, ids: Any, labels: Any) -> ClusterNames:
    """Return the present names of the clusters, from labels of some rows. `ids` are those of `partial_fit`, or row
    numbers. Each unit counts for its most likely cluster."""
    words = np.asarray(labels)
    units = model.units_of(ids)
    if words.shape != units.shape:
        raise fail("labels", f"has shape {words.shape} for {len(units)} ids", "give one label per id")
    terms, numbers = np.unique(words, return_inverse=True)
    votes = np.zeros((len(model.unit_sizes_), max(len(terms), 1)))
    np.add.at(votes, (units, numbers), 1)
    is_labelled = votes.sum(1) > 0
    cluster = model.unit_probabilities().argmax(1)
    owned = np.eye(model.n_clusters_)[cluster] * model.unit_sizes_[:, None]
    shares = votes / np.maximum(votes.sum(1, keepdims=True), 1)
    by_term = owned.T @ shares  # (K, terms) rows of each cluster that go by each label
    labelled = by_term.sum(1)
    best, tiny = by_term.argmax(1), np.finfo(float).tiny
    return ClusterNames(
        model.cluster_ids_,
        [terms[best[k]].item() if labelled[k] > 0 else None for k in range(len(best))],
        by_term.max(1) / np.maximum(labelled, tiny),
        labelled / np.maximum(owned.sum(0), tiny),
        np.flatnonzero((votes > 0).sum(1) > 1),
        [terms[row.argmax()].item() if known else None for row, known in zip(votes, is_labelled, strict=True)],
    )


def units_to_label(model: MemoryBoundedVDP, ids: Any, labels: Any, count: int) -> np.ndarray:
    """Return the units in memory whose label helps most (at most `count`, best first), without those with a label.

    A unit counts by its rows times the uncertainty of its cluster, plus its rows if its cluster has no label yet.
    """
    known = cluster_names(model, ids, labels)
    owned = model.unit_probabilities()
    entropy = -(owned * np.log(np.maximum(owned, np.finfo(float).tiny))).sum(1)
    no_name = np.array([name is None for name in known.names])
    worth = model.unit_sizes_ * (entropy + no_name[owned.argmax(1)])
    worth[[label is not None for label in known.unit_labels]] = -1.0
    order = np.argsort(-worth, kind="stable")[:count]
    return order[worth[order] > 0]
