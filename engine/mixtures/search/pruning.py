"""Remove superfluous clusters of an over-complete fit: merge and delete many clusters at once, at exact prices.

A price is the difference of the lower bound with all other responsibilities fixed. A change with a positive price
therefore raises the bound of the next iteration.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from benthoscope.engine.distributions import log_evidence
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, converge
from benthoscope.engine.mixtures.model import Model, Scorer, Statistics
from benthoscope.engine.mixtures.overlap import Overlap
from benthoscope.engine.mixtures.search.greedy import Task
from benthoscope.engine.mixtures.search.joins import best_joins, merged

RARE = 3  # rows per dimension; smaller clusters are deleted together, as a test
SMALL = 20  # rows per dimension; smaller clusters are priced first
LOOKED_AT = 2_000  # number of rows of a cluster used to price its deletion
PRICED = 40  # largest number of deletions priced in a round
LARGE_PRICED = 8  # the same if all clusters are large, so that a deletion rarely raises the bound
ITERATIONS = 2  # after each change
ROUNDS = 60
QUIET = 0.002  # nats per row; a round that raises the bound by less has converged
COARSE = 0.01  # the same on a sample with few rows per cluster, where a later level with more rows decides
HASTY = 0.05  # the same for a start that another one with more cells may follow
ROWS_TO_DECIDE = 600  # rows per cluster that a sample needs for reliable decisions
PATIENCE = 2  # rounds that remove no cluster, after which a start with too few cells ends
LOSS = 1.0  # nats per statistic of a cluster; with more rows, a deletion that lowers the bound by more is not tried
FEW = 20_000  # with at most this many rows in all, every priced deletion may be tried
TRIAL = 6  # iterations after which a deletion that lowers the bound must have raised it again


@dataclass(frozen=True)
class SharedRows:
    """A fit, how much its clusters share their rows, the most likely cluster of each row, and the deletions that may
    raise the bound. Their prices are computed when they are needed."""

    fit: Fit
    overlap: Overlap
    labels: np.ndarray  # (N,)
    rows: dict[int, np.ndarray]  # the rows of each cluster whose deletion may raise the bound
    priced: "dict[int, Deletion]" = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task, fit: Fit) -> "SharedRows":
        task.course.worked(len(task.data))
        clusters = _worth_a_price(task, fit)
        overlap, labels, rows = task.data.sharing(fit.scorer, clusters, OWNS)
        return cls(fit, overlap, labels, dict(zip(clusters.tolist(), rows, strict=True)))


def prune(task: Task, fit: Fit, trials: int = 3, leave_at: float = 0.0, too_many: float = np.inf) -> Fit:
    """Remove clusters while that raises the bound.

    `trials` is the number of deletions in a row that may fail when no other change helps. If more rows or cells follow,
    pruning of a small sample ends when a round raises the bound by less than `leave_at` nats per row. It also ends if
    more than `too_many` clusters remain and several rounds removed none: there were too few cells, so that another
    start follows in any case.
    """
    data, unchanged = task.data, 0
    first = _without_rare(task, fit)
    for number in range(ROUNDS):
        before = fit.bound
        fit = first if first is not None and not number else _iterated(task, fit, ITERATIONS)
        if fit.n_clusters == 1:
            return fit
        shared = SharedRows.of(task, fit)
        start = reduced(task, shared)
        unchanged = unchanged + 1 if start is None else 0
        if unchanged >= PATIENCE and fit.n_clusters > too_many:
            return fit
        if start is not None:
            fit = _better_fit(task, fit, start)
            if len(data) < ROWS_TO_DECIDE * fit.n_clusters and fit.bound - before < leave_at * len(data):
                return fit
        elif fit.bound - before < QUIET * len(data):
            smaller = _tried(task, shared, trials)
            if smaller is None:
                return fit
            fit = smaller
    return fit


def reduced(task: Task, shared: SharedRows, at_once: bool = False) -> Statistics | None:
    """Return the statistics after merges that raise the bound, or after deletions if no merge does. Both `at_once` save
    iterations where the clusters have almost converged. None if there are none."""
    statistics = shared.fit.statistics
    pairs = best_joins(task.model, statistics, shared.overlap)
    if len(pairs) and not at_once:
        return merged(statistics, pairs)
    deletions = worth_deleting(task, shared)
    deletions = [deletion for deletion in deletions if deletion.cluster not in pairs]
    if not len(pairs) and (not deletions or len(deletions) == shared.fit.n_clusters):
        return None
    if deletions:
        gone = [deletion.cluster for deletion in deletions]
        statistics, pairs = _without(statistics, deletions), pairs - np.searchsorted(np.sort(gone), pairs)
    return merged(statistics, pairs) if len(pairs) else statistics


def worth_deleting(task: Task, shared: SharedRows) -> "list[Deletion]":
    """Return the deletions that raise the bound together."""
    priced = _priced(task, shared.fit, shared.rows)
    shared.priced.update(priced)
    chosen, receivers = [], set()
    for k, deletion in sorted(priced.items(), key=lambda item: -item[1].gain):
        if deletion.gain > 0 and k not in receivers and deletion.receiver not in chosen:
            chosen.append(k)
            receivers.add(deletion.receiver)
    return [priced[k] for k in chosen]


def _worth_a_price(task: Task, fit: Fit) -> np.ndarray:
    """Return the small clusters, or the smallest ones if all are large."""
    sizes = fit.statistics.owned
    order = np.argsort(sizes, kind="stable")
    small = order[sizes[order] < SMALL * fit.scorer.clusters.n_features]
    return small[:PRICED] if len(small) else order[: LARGE_PRICED if len(task.data) > FEW else PRICED]


def deletions_of(task: Task, fit: Fit, clusters: np.ndarray) -> "dict[int, Deletion]":
    """Return the effect of deleting each of these clusters alone."""
    rows = task.data.sharing(fit.scorer, clusters, OWNS)[2]
    return _priced(task, fit, dict(zip(clusters.tolist(), rows, strict=True)))


def _priced(task: Task, fit: Fit, rows_of: dict[int, np.ndarray]) -> "dict[int, Deletion]":
    priced, of_weights = {}, task.model.evidence_of_weights(fit.statistics)
    for k, rows in rows_of.items():
        task.course.pulse()
        if len(rows):
            priced[k] = Deletion.of(task, fit, k, rows, of_weights)
    return priced


OWNS = 1e-3  # responsibility above which a row counts as a member of the cluster


@dataclass(frozen=True)
class Deletion:
    """The effect of deleting one cluster on the other clusters' statistics and on the lower bound."""

    cluster: int
    gain: float
    receiver: int  # the cluster that receives most of the rows
    counts: np.ndarray  # (J, K)  change of the counts
    moments: np.ndarray  # (K, F)

    @classmethod
    def of(cls, task: Task, fit: Fit, k: int, rows: np.ndarray, of_weights: float) -> "Deletion":
        """Price the deletion of cluster k, which owns these rows at least in part. They get the responsibilities they
        would have without it. The change is scaled to the total that the cluster owns, so that no row is lost.
        `of_weights` is the evidence of the weights before the deletion."""
        model, statistics = task.model, fit.statistics
        if len(rows) > LOOKED_AT:
            rows = np.sort(task.rng.choice(rows, LOOKED_AT, replace=False, shuffle=False))
        rows_data = task.data.take(rows)
        resp = rows_data.responsibilities(fit.scorer)
        after = rows_data.responsibilities(_scorer_without(fit.scorer, k))
        scale = statistics.owned[k] / max(float(resp[:, k].sum()), np.finfo(float).tiny)
        share = resp[:, [k]] * after
        change = rows_data.statistics_of(model.clusters, share)
        counts = scale * change.counts
        counts = np.hstack([counts[:, :k], -statistics.counts[:, [k]], counts[:, k:]])
        moments = scale * change.moments
        moments = np.vstack([moments[:k], -statistics.moments[[k]], moments[k:]])
        gain = _gain_without(model, statistics, k, counts, moments) - of_weights
        gain += scale * (_entropy(np.delete(resp, k, axis=1) + share) - _entropy(resp))
        return cls(k, float(gain), int(np.argmax(moments[:, 0])), counts, moments)


CHANGED = 1e-6  # rows that a receiving cluster must gain to be included


def _gain_without(model: Model, statistics: Statistics, k: int, counts: np.ndarray, moments: np.ndarray) -> float:
    """Return the change of the bound, except the entropy, by deleting cluster k with these changes of statistics. Only
    the evidence of the weights is that after the deletion."""
    changed = np.flatnonzero(np.abs(moments[:, 0]) > CHANGED)
    receivers = changed[changed != k]
    gain = (
        log_evidence(model.clusters, statistics.moments[receivers] + moments[receivers]).sum()
        - log_evidence(model.clusters, statistics.moments[changed]).sum()
    )
    after = replace(statistics, counts=np.delete(np.maximum(statistics.counts + counts, 0.0), k, axis=1))
    return float(gain + model.evidence_of_weights(after))


def _scorer_without(scorer: Scorer, k: int) -> Scorer:
    present = None if scorer.present is None else np.delete(scorer.present, k, axis=1)
    return replace(
        scorer,
        coefficients=np.delete(scorer.coefficients, k, axis=0),
        log_weights=np.delete(scorer.log_weights, k, axis=1),
        present=present,
    )


def _without(statistics: Statistics, deletions: list[Deletion]) -> Statistics:
    gone = [deletion.cluster for deletion in deletions]
    counts = statistics.counts + sum(deletion.counts for deletion in deletions)
    moments = statistics.moments + sum(deletion.moments for deletion in deletions)
    remaining = np.setdiff1d(np.arange(len(moments)), gone)
    return replace(statistics, counts=np.maximum(counts, 0.0), moments=moments).take(remaining)


def _without_rare(task: Task, fit: Fit) -> Fit | None:
    """Return the fit after some iterations, without its very small clusters if its bound is then higher. None if there
    are none."""
    large = fit.statistics.owned >= RARE * fit.scorer.clusters.n_features
    if large.all() or not large.any():
        return None
    same = _iterated(task, fit, ITERATIONS)
    fewer = _iterated(task, replace(fit, statistics=fit.statistics.take(np.flatnonzero(large))), ITERATIONS)
    return fewer if fewer.bound > same.bound else same


def _better_fit(task: Task, fit: Fit, start: Statistics) -> Fit:
    after = _iterated(task, replace(fit, statistics=start), 1)
    return after if after.bound > fit.bound else fit


def _tried(task: Task, shared: SharedRows, trials: int) -> Fit | None:
    """Delete the cheapest cluster, of those that were priced, whose loss some iterations make up for. None if `trials`
    attempts fail."""
    fit, same = shared.fit, None
    deletions = sorted(shared.priced.values(), key=lambda deletion: -deletion.gain)
    is_cheap = len(task.data) == task.course.total_rows <= FEW
    for deletion in deletions[:trials]:
        if not is_cheap and deletion.gain < -LOSS * task.model.clusters.n_statistics:
            return None
        after = _iterated(task, replace(fit, statistics=_without(fit.statistics, [deletion])), TRIAL)
        same = same or _iterated(task, fit, TRIAL)
        if after.bound > same.bound:
            return after
    return None


def _iterated(task: Task, fit: Fit, iterations: int) -> Fit:
    converged = converge(task.model, task.data, fit.statistics, StoppingRule(0.0, iterations))
    task.course.searched(converged, len(task.data), iterations * len(task.data))
    alive = converged.statistics.owned >= 1.0
    return (
        converged
        if alive.all() or not alive.any()
        else converge(task.model, task.data, converged.statistics.take(np.flatnonzero(alive)), StoppingRule(0.0, 1))
    )


def _entropy(resp: np.ndarray) -> float:
    resp = resp.astype(np.float64, copy=False)
    return float(-(resp * np.log(np.maximum(resp, np.finfo(float).tiny))).sum())
