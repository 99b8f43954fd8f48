"""Merge many pairs of clusters at once, at exact prices, from statistics alone.

A price is the change of the lower bound with all other responsibilities fixed. The entropy that a merge removes is part
of the `Overlap` of the clusters; everything else follows from their statistics. No rows are needed.
"""

from dataclasses import replace

import numpy as np

from benthoscope.engine.distributions import MergingPrior, log_evidence
from benthoscope.engine.mixtures.model import Model, Statistics
from benthoscope.engine.mixtures.overlap import Overlap

NEIGHBOURS = 4  # number of clusters that each cluster may be merged with
AT_ONCE = 0.25  # largest fraction of the clusters that disappear at once; each iteration changes which merges pay


def best_joins(model: Model, statistics: Statistics, overlap: Overlap) -> np.ndarray:
    """Return pairs of clusters (P, 2) whose merge raises the bound, each cluster in at most one pair. May be empty."""
    pairs, gains = join_gains(model, statistics, overlap)
    chosen, used = [], set()
    for at in np.argsort(-gains, kind="stable"):
        a, b = pairs[at].tolist()
        if gains[at] > 0 and a not in used and b not in used:
            chosen.append((a, b))
            used |= {a, b}
    chosen = chosen[: max(1, int(AT_ONCE * len(statistics.moments)))]
    while chosen and price_of_joins(model, statistics, overlap, np.array(chosen)) <= 0:
        chosen = chosen[: len(chosen) // 2]
    return np.array(chosen, int).reshape(-1, 2)


def join_gains(model: Model, statistics: Statistics, overlap: Overlap) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of near clusters (P, 2) and the change of the lower bound by merging each pair alone (P,), exact
    except for the estimate of the weights (see `MergingPrior.join_gains`)."""
    pairs = overlap.neighbours(NEIGHBOURS)
    if not len(pairs):
        return pairs, np.zeros(0)
    a, b = pairs.T
    if not isinstance(model.weights, MergingPrior):
        raise TypeError(f"a search with weights of the type {type(model.weights).__name__} cannot merge clusters")
    gains = model.weights.join_gains(model.counts_of_weights(statistics), a, b) - overlap.entropy_lost[a, b]
    return pairs, gains + _gains_of_clusters(model, statistics, a, b)


def price_of_joins(model: Model, statistics: Statistics, overlap: Overlap, pairs: np.ndarray) -> float:
    """Return the exact change of the lower bound by merging all these pairs together (P, 2), each cluster in at most
    one pair."""
    a, b = pairs.T
    gain = float((_gains_of_clusters(model, statistics, a, b) - overlap.entropy_lost[a, b]).sum())
    after = merged(statistics, pairs)
    return gain + model.evidence_of_weights(after) - model.evidence_of_weights(statistics)


def _gains_of_clusters(model: Model, statistics: Statistics, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    moments = statistics.moments
    alone = log_evidence(model.clusters, moments)
    return log_evidence(model.clusters, moments[a] + moments[b]) - alone[a] - alone[b]


def merged(statistics: Statistics, pairs: np.ndarray) -> Statistics:
    """Return the statistics after the second cluster of each pair (P, 2) joined the first."""
    a, b = pairs.T
    counts, moments = statistics.counts.copy(), statistics.moments.copy()
    counts[:, a] += counts[:, b]
    moments[a] += moments[b]
    remaining = np.setdiff1d(np.arange(len(moments)), b)
    return replace(statistics, counts=counts, moments=moments).take(remaining)
