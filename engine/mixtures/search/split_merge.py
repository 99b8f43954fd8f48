"""A search that tries every cluster at once: all splits that gain are taken together, then clusters are joined.

The change of the lower bound by parting what one cluster owns, all else kept, is exact from the halves' sums, so one
pass prices the splits of all clusters. It is what data too large for one pass per candidate are searched with.
"""

from dataclasses import replace

import numpy as np

from engine.distributions import log_evidence
from engine.mixtures.births import born
from engine.mixtures.model import Model, Scorer, Statistics
from engine.mixtures.search import Start, Task, one_cluster
from engine.mixtures.splitting import TOO_SMALL, Members, halve
from engine.mixtures.sweep import Division
from engine.mixtures.variational import Fit, step

REFINED_ON = 4_000  # members of a cluster its split is refined on; the split itself is priced on all
REFINED_ON_IMAGES = 2_000  # where groups are images, whose number makes halves no harder to find
JOINS_TRIED = 3     # pairs of clusters scored before joining is given up


def together(task: Task, start: Start | None = None) -> Fit:
    """Splits, joins and adds clusters until none of it gains."""
    start = start or one_cluster(task)
    while True:
        fit, _ = task.settle(start)
        better = split_all(task, fit) or join(task, fit) or born(task, fit)
        if better is None:
            return fit
        start = Start.after(better)


def split_all(task: Task, fit: Fit) -> Fit | None:
    """One iteration from the splits of all clusters that gain by it, or None where none does."""
    found = divided(task, fit)
    if found is None:
        return None
    parents, division = found
    gains = _gains(task.model, fit.statistics, parents, division)
    chosen = _worth(task, fit, gains, division)
    for p, k in enumerate(parents):
        task.course.tried(fit, len(task.data), 0, int(k), p in chosen)
    tries = [chosen, chosen[:1]] if len(chosen) > 1 else [chosen][: len(chosen)]  # all at once may be too many
    return _first_that_gains(task, fit, [_taken(fit, parents, division, some) for some in tries])


def divided(task: Task, fit: Fit) -> tuple[np.ndarray, Division] | None:
    """The clusters that part in two, and how all rows would fall to their halves; None where none does or may."""
    if not task.may_grow(fit):
        return None
    parents, pairs = proposals(task, fit)
    if not len(parents):
        return None
    division = task.data.divide(fit.scorer, stacked(task.model, pairs), parents)
    task.course.worked(len(task.data))
    return parents, division


def proposals(task: Task, fit: Fit) -> tuple[np.ndarray, list[Fit]]:
    """The clusters that part in two, and the halves of each."""
    members, found = Members.of(task.data, fit), {}
    most = REFINED_ON_IMAGES if task.data.whole_groups else REFINED_ON
    for k in range(fit.n_clusters):
        rows = members.rows(k)
        if len(rows) > most:
            rows = np.sort(task.rng.choice(rows, most, replace=False, shuffle=False))
        pair = halve(task.model, task.data.take(rows), fit, k)
        task.course.pulse()
        if pair:
            found[k] = pair
            task.course.worked(pair.iterations * len(rows))
    return np.array(list(found), int), list(found.values())


def stacked(model: Model, pairs: list[Fit]) -> Scorer:
    """All halves side by side."""
    return Scorer(model.clusters, np.vstack([pair.scorer.coefficients for pair in pairs]),
                  np.hstack([pair.scorer.log_weights for pair in pairs]))


def _gains(model: Model, whole: Statistics, parents: np.ndarray, division: Division) -> np.ndarray:
    """What each parting alone adds to the bound (P,), all other responsibilities kept."""
    return gains_of_clusters(model, whole, parents, division) + _gains_of_weights(model, whole, parents,
                                                                                  division.halves.counts)


def gains_of_clusters(model: Model, whole: Statistics, parents: np.ndarray, division: Division) -> np.ndarray:
    """The part of the gains that has nothing to do with weights."""
    halves = log_evidence(model.clusters, division.halves.moments)
    return halves[0::2] + halves[1::2] - log_evidence(model.clusters, whole.moments[parents]) + division.entropy


def _gains_of_weights(model: Model, whole: Statistics, parents: np.ndarray, halves: np.ndarray) -> np.ndarray:
    before, after = model.evidence_of_weights(whole), []
    for p, k in enumerate(parents):
        counts = np.hstack([whole.counts, halves[:, 2 * p + 1, None]])
        counts[:, k] = halves[:, 2 * p]
        after.append(model.evidence_of_weights(replace(whole, counts=counts)))
    return np.array(after) - before


def _worth(task: Task, fit: Fit, gains: np.ndarray, division: Division) -> np.ndarray:
    """Numbers of the partings to take, best first, no more than may be added."""
    owned = division.halves.owned
    large = np.minimum(owned[0::2], owned[1::2]) > TOO_SMALL
    good = np.flatnonzero(large & (gains > task.rule.threshold(fit.bound, len(task.data))))
    return good[np.argsort(-gains[good], kind="stable")][: (task.max_clusters or len(task.data)) - fit.n_clusters]


def _taken(fit: Fit, parents: np.ndarray, division: Division, chosen: np.ndarray) -> Statistics:
    columns = np.stack([2 * chosen, 2 * chosen + 1], axis=1).ravel()
    return fit.statistics.replaced(parents[chosen], division.halves.take(columns))


def join(task: Task, fit: Fit) -> Fit | None:
    """One iteration from the join of two clusters that gains, or None."""
    candidates = _joins(task.model, fit.statistics)
    return _first_that_gains(task, fit, [_joined(fit.statistics, a, b) for a, b in candidates[:JOINS_TRIED]])


def _joins(model: Model, found: Statistics) -> list[tuple[int, int]]:
    """Pairs whose join could gain, best first: their evidence alone, since joining can only lose entropy."""
    alone, priced = log_evidence(model.clusters, found.moments), []
    for a in range(len(alone) - 1):
        joined = log_evidence(model.clusters, found.moments[a] + found.moments[a + 1 :])
        gains = joined - alone[a] - alone[a + 1 :]
        priced += [(gain, a, a + 1 + int(b)) for b, gain in enumerate(gains) if gain > 0]
    return [(a, b) for _, a, b in sorted(priced, reverse=True)]


def _joined(found: Statistics, a: int, b: int) -> Statistics:
    counts, moments = found.counts.copy(), found.moments.copy()
    counts[:, a] += counts[:, b]
    moments[a] += moments[b]
    return replace(found, counts=counts, moments=moments).take(np.delete(np.arange(len(moments)), b))


def _first_that_gains(task: Task, fit: Fit, starts: list[Statistics]) -> Fit | None:
    for start in starts:
        found = step(task.model, task.data, start)
        if task.gains(fit, found):
            return found
    return None
