"""A search that accepts all improving splits in one pass, then merges clusters.

The change of the lower bound by splitting one cluster, with all else fixed, follows exactly from the sums of the
halves. One pass over the data therefore prices the splits of all clusters. This suits data that are too large for one
pass per candidate.
"""

from dataclasses import replace

import numpy as np

from benthoscope.engine.distributions import log_evidence
from benthoscope.engine.mixtures.e_step import Division
from benthoscope.engine.mixtures.inference import Fit, step
from benthoscope.engine.mixtures.model import Model, Scorer, Statistics
from benthoscope.engine.mixtures.search.births import born
from benthoscope.engine.mixtures.search.greedy import Start, Task, one_cluster
from benthoscope.engine.mixtures.search.splits import TOO_SMALL, Members, halve

REFINED_ON = 2_000  # members of a cluster on which its split is refined; the price uses all members
JOINS_TRIED = 3  # number of merges that may fail before the search stops merging


def together(task: Task, start: Start | None = None) -> Fit:
    """Split, merge and add clusters until the bound stops rising."""
    start = start or one_cluster(task)
    while True:
        fit, _, gained = task.settle_change(start)
        better = gained and (split_all(task, fit) or join(task, fit) or born(task, fit))
        if not better:
            return fit
        start = Start.after(better, changed=fit)


def split_all(task: Task, fit: Fit) -> Fit | None:
    """Return the fit after one iteration with all improving splits, or None if there are none."""
    division_found = divided(task, fit)
    if division_found is None:
        return None
    parents, division = division_found
    gains = _gains(task.model, fit.statistics, parents, division)
    chosen = _worth(task, fit, gains, division)
    for p, k in enumerate(parents):
        task.course.tried(fit, len(task.data), 0, int(k), p in chosen)
    tries = [chosen, chosen[:1]] if len(chosen) > 1 else [chosen][: len(chosen)]  # all splits together may be too many
    return _first_that_gains(task, fit, [_with_splits(fit, parents, division, some) for some in tries])


def divided(task: Task, fit: Fit) -> tuple[np.ndarray, Division] | None:
    """Return the clusters that split and the statistics of their halves over all rows. None if no cluster can or may
    split."""
    if not task.may_grow(fit):
        return None
    parents, pairs = proposals(task, fit)
    if not len(parents):
        return None
    division = task.data.divide(fit.scorer, stacked(task.model, pairs), parents)
    task.course.worked(len(task.data))
    return parents, division


def proposals(task: Task, fit: Fit) -> tuple[np.ndarray, list[Fit]]:
    """Return the clusters that split in two, and the fit of each pair of halves."""
    members, pairs = Members.of(task.data, fit), {}
    for k in range(fit.n_clusters):
        rows = members.rows(k)
        if len(rows) > REFINED_ON:
            rows = np.sort(task.rng.choice(rows, REFINED_ON, replace=False, shuffle=False))
        pair = halve(task.model, task.data.take(rows), fit, k)
        task.course.pulse()
        if pair:
            pairs[k] = pair
            task.course.worked(pair.iterations * len(rows))
    return np.array(list(pairs), int), list(pairs.values())


def stacked(model: Model, pairs: list[Fit]) -> Scorer:
    """Return one scorer with all halves side by side."""
    return Scorer(
        model.clusters,
        np.vstack([pair.scorer.coefficients for pair in pairs]),
        np.hstack([pair.scorer.log_weights for pair in pairs]),
    )


def _gains(model: Model, statistics: Statistics, parents: np.ndarray, division: Division) -> np.ndarray:
    """Return the change of the bound by each split alone (P,), all other responsibilities fixed."""
    return gains_of_clusters(model, statistics, parents, division) + _gains_of_weights(
        model, statistics, parents, division.halves.counts
    )


def gains_of_clusters(model: Model, statistics: Statistics, parents: np.ndarray, division: Division) -> np.ndarray:
    """Return the part of the gains that does not involve the weights."""
    halves = log_evidence(model.clusters, division.halves.moments)
    return halves[0::2] + halves[1::2] - log_evidence(model.clusters, statistics.moments[parents]) + division.entropy


def _gains_of_weights(model: Model, statistics: Statistics, parents: np.ndarray, halves: np.ndarray) -> np.ndarray:
    before, after = model.evidence_of_weights(statistics), []
    for p, k in enumerate(parents):
        counts = np.hstack([statistics.counts, halves[:, 2 * p + 1, None]])
        counts[:, k] = halves[:, 2 * p]
        after.append(model.evidence_of_weights(replace(statistics, counts=counts)))
    return np.array(after) - before


def _worth(task: Task, fit: Fit, gains: np.ndarray, division: Division) -> np.ndarray:
    """Return the numbers of the improving splits, best first, limited to the number of clusters that may be added."""
    owned = division.halves.owned
    large = np.minimum(owned[0::2], owned[1::2]) > TOO_SMALL
    good = np.flatnonzero(large & (gains > task.threshold))
    return good[np.argsort(-gains[good], kind="stable")][: (task.max_clusters or len(task.data)) - fit.n_clusters]


def _with_splits(fit: Fit, parents: np.ndarray, division: Division, chosen: np.ndarray) -> Statistics:
    columns = np.stack([2 * chosen, 2 * chosen + 1], axis=1).ravel()
    return fit.statistics.replaced(parents[chosen], division.halves.take(columns))


def join(task: Task, fit: Fit) -> Fit | None:
    """Return the fit after one iteration with a merge that raises the bound, or None."""
    candidates = _joins(task.model, fit.statistics)
    return _first_that_gains(task, fit, [_joined(fit.statistics, a, b) for a, b in candidates[:JOINS_TRIED]])


def _joins(model: Model, statistics: Statistics) -> list[tuple[int, int]]:
    """Return pairs whose merge may raise the bound, best first. Uses their evidence alone, because a merge only loses
    entropy."""
    alone, priced = log_evidence(model.clusters, statistics.moments), []
    for a in range(len(alone) - 1):
        joined = log_evidence(model.clusters, statistics.moments[a] + statistics.moments[a + 1 :])
        gains = joined - alone[a] - alone[a + 1 :]
        priced += [(gain, a, a + 1 + int(b)) for b, gain in enumerate(gains) if gain > 0]
    return [(a, b) for _, a, b in sorted(priced, reverse=True)]


def _joined(statistics: Statistics, a: int, b: int) -> Statistics:
    counts, moments = statistics.counts.copy(), statistics.moments.copy()
    counts[:, a] += counts[:, b]
    moments[a] += moments[b]
    return replace(statistics, counts=counts, moments=moments).take(np.delete(np.arange(len(moments)), b))


def _first_that_gains(task: Task, fit: Fit, starts: list[Statistics]) -> Fit | None:
    for start in starts:
        result = step(task.model, task.data, start)
        if task.gains(fit, result):
            return result
    return None
