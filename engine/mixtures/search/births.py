"""Propose a new cluster for rows that fit no cluster well. Splits cannot find it if its rows are spread over many
clusters."""

from dataclasses import replace

import numpy as np

from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, carried, converge, step
from benthoscope.engine.mixtures.model import Scorer, Statistics
from benthoscope.engine.mixtures.search.greedy import Task

WORST = 0.02  # fraction of the rows that form the new cluster: those with the lowest density
TRIED_ON = 10_000  # a proposal is tested on this many rows before all rows
GROWN = StoppingRule(tol=1e-4, max_iter=3)
ALONE = 3  # iterations of the new cluster alone, before all clusters are iterated
FEWEST_ALONE = 2  # rows
# Nats per statistic of a cluster by which the new cluster alone may lower the bound at first. Measured are -3.1 to -6.6
# if all rows fit, and 3.6 with 1 % of noise.
LOSS = 1.0
STAGES = 7  # of GROWN; after each, a cluster that seems to fall short is given up


def born(task: Task, fit: Fit) -> Fit | None:
    """Return the fit after one iteration with a new cluster for the rows of lowest density, or None if the bound does
    not rise."""
    few = len(task.data) <= TRIED_ON
    sample_task = task if few else task.on_sample(TRIED_ON)
    if not task.may_grow(fit):
        return None
    before = fit if few else carried(sample_task.model, sample_task.data, fit.parameters)
    density = sample_task.data.log_norms(before.scorer)
    if not few and not _may_pay(sample_task, density):
        return None
    start = _with_worst(sample_task.data, before, density)
    if start is None:
        return None
    grown = _grown(sample_task, before, start, few)
    if grown is None:
        return None
    result = grown if few else step(task.model, task.data, carried(task.model, task.data, grown.parameters).statistics)
    return result if task.gains(fit, result) else None


def _grown(task: Task, before: Fit, start: Statistics, settled: bool) -> Fit | None:
    """Return the fit with the new cluster, if its bound is higher than that of the existing clusters after as many
    iterations on the same rows. `settled` says that these have converged."""
    same, grown, last = before, None, -np.inf  # `last`: by how much the fit with the new cluster was better
    for _ in range(STAGES):
        grown = converge(task.model, task.data, grown.statistics if grown else start, GROWN)
        if not settled and not same.converged:
            same = converge(task.model, task.data, same.statistics, GROWN)
        task.course.worked(grown.iterations * len(task.data))
        task.course.pulse()
        better = grown.bound - same.bound
        falls_short = better + (better - last) < 0  # the next stage adds less than the last one
        if grown.converged or falls_short:
            break
        last = better
    return grown if grown is not None and task.gains(same, grown) else None


def _may_pay(task: Task, density: np.ndarray) -> bool:
    """Return whether a new cluster for the rows of lowest density (n,) raises the bound on a sample, or lowers it by
    little, if the other clusters stay the same."""
    prior, few_nats = task.model.clusters, LOSS * task.model.clusters.n_statistics
    owned = (density < np.quantile(density, WORST)).astype(float)
    for iteration in range(ALONE):
        share = owned.mean()
        new = prior.posterior(task.data.statistics_of(prior, owned[:, None]).moments)
        own = task.data.log_norms(Scorer(prior, new.coefficients(), np.zeros((1, 1)))) + np.log(share)
        margin = own - density - np.log1p(-share)
        raised = np.log1p(-share) + np.logaddexp(0.0, margin)
        if float(raised.sum() - new.kl(prior).sum()) > (0.0 if iteration else -few_nats):
            return True
        owned = 1 / (1 + np.exp(-np.clip(margin, -80, 80)))
        if owned.sum() < FEWEST_ALONE:
            break
    return False


def _with_worst(data: Observations, fit: Fit, density: np.ndarray) -> Statistics | None:
    """Return the statistics after the rows of lowest density moved to a new cluster."""
    worst = np.flatnonzero(density < np.quantile(density, WORST))
    if len(worst) < fit.scorer.clusters.n_features:
        return None
    rows = data.take(worst)
    reduced = rows.statistics_of(fit.scorer.clusters, rows.responsibilities(fit.scorer))
    joined = rows.labelled(fit.scorer.clusters, np.zeros(len(worst), int))
    counts = np.maximum(fit.statistics.counts - reduced.counts, 0.0)
    moments = np.vstack([fit.statistics.moments - reduced.moments, joined.moments])
    return replace(fit.statistics, counts=np.hstack([counts, joined.counts]), moments=moments)
