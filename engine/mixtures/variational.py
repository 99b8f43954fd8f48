"""Variational Bayes by coordinate ascent: beliefs, responsibilities, bound, until the bound settles (4.2, 4.3)."""

from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.course import Course
from engine.mixtures.model import Model, Parameters, Scorer, Statistics
from engine.mixtures.observations import Observations

EMPTY = 1.0  # a cluster that owns less than one row is empty


@dataclass(frozen=True)
class Rule:
    """When iterating ends: the bound rose by less than `tol` of itself, or `max_iter` iterations were made."""

    tol: float = 1e-5
    max_iter: int = 1000

    def settled(self, before: float, now: float, rows: int) -> bool:
        return abs(now - before) < self.threshold(before, rows)

    def threshold(self, bound: float, rows: int) -> float:
        """In units of the frame a bound near zero is an accident; then the number of rows is the measure."""
        return self.tol * max(abs(bound), rows)


@dataclass(frozen=True)
class Fit:
    """The bound belongs to exactly these parameters; the statistics are of the responsibilities they give."""

    parameters: Parameters
    statistics: Statistics
    bound: float
    scorer: Scorer
    converged: bool = False
    iterations: int = 1  # it took to get here from the statistics begun with

    @property
    def n_clusters(self) -> int:
        return len(self.statistics.moments)


def first_statistics(model: Model, data: Observations) -> Statistics:
    """Of one cluster that owns every row."""
    F = model.clusters.n_statistics
    return data.sweep(Scorer(model.clusters, np.zeros((1, F)), np.zeros((data.n_groups, 1))))


def step(model: Model, data: Observations, start: Statistics, before: Parameters | None = None) -> Fit:
    """One iteration: the beliefs that fit the statistics best, then the responsibilities that fit those best."""
    return e_step(model, data, model.parameters(start, before), model.present(start))


def e_step(model: Model, data: Observations, parameters: Parameters, present: np.ndarray | None = None) -> Fit:
    scorer = parameters.scorer(model.clusters, present)
    found = replace(data.sweep(scorer), owners=parameters.weights.owners)
    return Fit(parameters, found, found.log_norm - model.penalty(parameters), scorer)


def carried(model: Model, data: Observations, parameters: Parameters) -> Fit:
    """What beliefs that were held of other rows say of these: where groups are images, these are others too."""
    if not data.whole_groups:
        return e_step(model, data, parameters)
    overall = np.log(np.maximum(parameters.weights.mean.mean(0), np.finfo(float).tiny))
    first = data.sweep(Scorer(model.clusters, parameters.clusters.coefficients(), overall[None]))
    return e_step(model, data, Parameters(model.told(first, parameters.weights), parameters.clusters))


def converge(model: Model, data: Observations, start: Statistics, rule: Rule, course: Course | None = None,
             bound: float | None = None) -> Fit:
    """Iterates from the statistics, whose bound may be known, until it settles; told to `course` if there is one."""
    fit = None
    for iteration in range(1, rule.max_iter + 1):
        last, fit = fit, step(model, data, fit.statistics if fit else start, fit.parameters if fit else None)
        if course:
            course.iterated(fit, len(data))
        # dropping a pair may lower the bound a little, so such a step says nothing on convergence (5.5)
        steady = last is None or _same(last.scorer.present, fit.scorer.present)
        if steady and bound is not None and rule.settled(bound, fit.bound, len(data)):
            return replace(fit, converged=True, iterations=iteration)
        bound = fit.bound
    return replace(fit, iterations=rule.max_iter)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def settle(model: Model, data: Observations, start: Statistics, rule: Rule, course: Course | None = None,
           bound: float | None = None) -> tuple[Fit, np.ndarray]:
    """Converges, drops empty clusters and converges again until none is empty (5.7); with the numbers of those left."""
    fit = converge(model, data, start, rule, course, bound)
    left = np.arange(fit.n_clusters)
    while len(kept := _not_empty(fit)) < fit.n_clusters:
        left = left[kept]
        fit = converge(model, data, fit.statistics.take(kept), rule, course)
    return fit, left


def _not_empty(fit: Fit) -> np.ndarray:
    kept = fit.statistics.owned >= EMPTY
    kept[fit.statistics.owned.argmax()] = True
    return np.flatnonzero(kept)
