"""Variational Bayes by coordinate ascent: update the posterior, then the responsibilities, until the bound converges
(4.2, 4.3)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from benthoscope.engine.mixtures.fit_monitor import Course
from benthoscope.engine.mixtures.model import Model, Parameters, Scorer, Statistics

EMPTY = 1.0  # a cluster that owns less than one row counts as empty
SLOW = 0.25  # ratio of the gains of two iterations from which a jump saves iterations
LONGEST_JUMP = 4.0  # iterations that a jump skips
MOST_MOVED = 0.25  # part of its rows that a cluster may gain or lose in a jump


class SummedRows(Protocol):
    """The rows of a fit. It needs only their sums, so the units of a stream are such rows as well as `Observations`."""

    @property
    def n_groups(self) -> int: ...

    @property
    def whole_groups(self) -> bool: ...

    def __len__(self) -> int: ...

    def sweep(self, scorer: Scorer) -> Statistics: ...


@dataclass(frozen=True)
class StoppingRule:
    """Stops when an iteration raises the bound by less than `tol` nats per row, or after `max_iter` iterations.

    Differences of bounds do not depend on the units of the rows, so the same `tol` suits all data.
    """

    tol: float = 1e-7
    max_iter: int = 1000

    def settled(self, before: float, current: float, rows: int) -> bool:
        return abs(current - before) < self.threshold(rows)

    def threshold(self, rows: int) -> float:
        """Return the smallest increase of the bound, in nats, that counts as an improvement for this number of rows."""
        return self.tol * rows


@dataclass(frozen=True)
class Fit:
    """Parameters and their bound. The statistics belong to the responsibilities that these parameters give."""

    parameters: Parameters
    statistics: Statistics
    bound: float
    scorer: Scorer
    converged: bool = False
    iterations: int = 1  # number of iterations from the initial statistics

    @property
    def n_clusters(self) -> int:
        return len(self.statistics.moments)


def first_statistics(model: Model, data: SummedRows) -> Statistics:
    """Return the statistics of one cluster that owns all rows."""
    F = model.clusters.n_statistics
    return data.sweep(Scorer(model.clusters, np.zeros((1, F)), np.zeros((data.n_groups, 1))))


def step(model: Model, data: SummedRows, start: Statistics, before: Parameters | None = None) -> Fit:
    """Run one iteration: the optimal posterior for the statistics, then the optimal responsibilities for that
    posterior."""
    return e_step(model, data, model.parameters(start, before), model.present(start))


def e_step(model: Model, data: SummedRows, parameters: Parameters, present: np.ndarray | None = None) -> Fit:
    scorer = parameters.scorer(model.clusters, present)
    swept = replace(data.sweep(scorer), owners=parameters.weights.owners)
    return Fit(parameters, swept, swept.log_norm - model.penalty(parameters), scorer)


def carried(model: Model, data: SummedRows, parameters: Parameters) -> Fit:
    """Score these rows with parameters learned from other rows. If groups are images, the two sets contain different
    images."""
    if not data.whole_groups:
        return e_step(model, data, parameters)
    overall = np.log(np.maximum(parameters.weights.mean.mean(0), np.finfo(float).tiny))
    first = data.sweep(Scorer(model.clusters, parameters.clusters.coefficients(), overall[None]))
    return e_step(model, data, Parameters(model.weights_for_new_groups(first, parameters.weights), parameters.clusters))


def converge(
    model: Model,
    data: SummedRows,
    start: Statistics,
    rule: StoppingRule,
    course: Course | None = None,
    bound: float | None = None,
) -> Fit:
    """Iterate from the statistics until the bound converges. Reports to `course`, if given. `bound` is the known bound
    of the start."""
    fit: Fit | None = None
    for iteration in range(1, rule.max_iter + 1):
        last, fit = fit, step(model, data, fit.statistics if fit else start, fit.parameters if fit else None)
        if course:
            course.iterated(fit, len(data))
        # dropping a pair may lower the bound slightly, so this step does not indicate convergence (5.5)
        steady = last is None or _same(last.scorer.present, fit.scorer.present)
        if steady and bound is not None and rule.settled(bound, fit.bound, len(data)):
            return replace(fit, converged=True, iterations=iteration)
        bound = fit.bound
    if fit is None:
        raise ValueError(f"max_iter is {rule.max_iter}; it must be at least 1")
    return replace(fit, iterations=rule.max_iter)


def converge_with_jumps(
    model: Model, data: SummedRows, start: Statistics, rule: StoppingRule, course: Course, bound: float | None = None
) -> Fit:
    """Converge as `converge` does, in fewer iterations: none that only confirms that the bound has converged, and if
    gains fall slowly by a constant factor, jump ahead along the last change of the statistics. A jump that does not
    raise the bound is undone."""
    fit: Fit | None = None
    jumped_from: Fit | None = None
    statistics = start
    gain: float | None = None  # of the last iteration; None after a jump
    for iteration in range(1, rule.max_iter + 1):
        last, fit = fit, step(model, data, statistics, fit.parameters if fit else None)
        if jumped_from is not None and fit.bound <= jumped_from.bound:
            course.worked(len(data))
            fit, statistics, jumped_from = jumped_from, jumped_from.statistics, None
            continue
        course.iterated(fit, len(data))
        if next_gain(model, fit) < rule.threshold(len(data)):
            return replace(fit, converged=True, iterations=iteration)
        known, bound, statistics = bound if jumped_from is None else None, fit.bound, fit.statistics
        jumped_from = None
        if known is None:
            gain = None
            continue
        if rule.settled(known, bound, len(data)):
            return replace(fit, converged=True, iterations=iteration)
        last_gain, gain = gain, bound - known
        ahead = _ahead(model, last, fit, gain / last_gain) if last and last_gain else None
        if ahead is not None:
            statistics, jumped_from, gain = ahead, fit, None
    if fit is None:
        raise ValueError(f"max_iter is {rule.max_iter}; it must be at least 1")
    return replace(fit, iterations=rule.max_iter)


def next_gain(model: Model, fit: Fit) -> float:
    """Return the gain of the bound that the next iteration will hardly exceed, without an iteration.

    The gain of its first half, the new posterior, follows from the statistics. If an iteration leaves a fraction r < 1
    of the distance to the optimum, both halves together gain 1 + r times as much.
    """
    statistics = fit.statistics
    if fit.parameters.weights.beyond is not None:  # rows that belong to no cluster are not among the statistics
        return np.inf
    after = model.parameters(statistics, fit.parameters)
    return 2 * abs(model.bound(after, statistics, 0.0) - model.bound(fit.parameters, statistics, 0.0))


def _ahead(model: Model, last: Fit, fit: Fit, ratio: float) -> Statistics | None:
    """Return the statistics ahead, or None if a jump saves nothing or no rows have such statistics. The gains of the
    bound fall by `ratio` from one iteration to the next, so the changes of the statistics fall by its square root."""
    if not SLOW <= ratio < 1:
        return None
    factor, now, earlier = np.sqrt(ratio), fit.statistics, last.statistics
    most = MOST_MOVED * now.owned / np.maximum(np.abs(now.owned - earlier.owned), np.finfo(float).tiny)
    length = np.minimum(min(factor / (1 - factor), LONGEST_JUMP), most)
    counts = np.maximum(now.counts + length * (now.counts - earlier.counts), 0.0)
    ahead = replace(now, counts=counts, moments=now.moments + length[:, None] * (now.moments - earlier.moments))
    try:
        model.clusters.posterior(ahead.moments)
    except np.linalg.LinAlgError:
        return None
    return ahead


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def settle(
    model: Model,
    data: SummedRows,
    start: Statistics,
    rule: StoppingRule,
    course: Course | None = None,
    bound: float | None = None,
    converge: Callable[..., Fit] = converge,
) -> tuple[Fit, np.ndarray]:
    """Converge, drop empty clusters and repeat until none is empty (5.7). Also returns the numbers of the remaining
    clusters."""
    fit = converge(model, data, start, rule, course, bound)
    remaining = np.arange(fit.n_clusters)
    while len(is_used := _not_empty(fit)) < fit.n_clusters:
        remaining = remaining[is_used]
        fit = converge(model, data, fit.statistics.take(is_used), rule, course)
    return fit, remaining


def _not_empty(fit: Fit) -> np.ndarray:
    is_used = fit.statistics.owned >= EMPTY
    is_used[fit.statistics.owned.argmax()] = True
    return np.flatnonzero(is_used)
