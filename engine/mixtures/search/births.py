"""Propose a new cluster for rows that fit no cluster well. Splits cannot find it if its rows are spread over many
clusters."""

from dataclasses import replace

import numpy as np

from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, carried, converge, step
from benthoscope.engine.mixtures.model import Statistics
from benthoscope.engine.mixtures.search.greedy import Task

WORST = 0.02  # fraction of the rows that form the new cluster: those with the lowest density
TRIED_ON = 10_000  # a proposal is tested on this many rows before all rows
GROWN = StoppingRule(tol=1e-4, max_iter=20)


def born(task: Task, fit: Fit) -> Fit | None:
    """Return the fit after one iteration with a new cluster for the rows of lowest density, or None if the bound does
    not rise."""
    few = len(task.data) <= TRIED_ON
    sample_task = task if few else task.on_sample(TRIED_ON)
    before = fit if few else carried(sample_task.model, sample_task.data, fit.parameters)
    start = _with_worst(sample_task.data, before)
    if not task.may_grow(fit) or start is None:
        return None
    grown = converge(sample_task.model, sample_task.data, start, GROWN)
    task.course.worked(grown.iterations * len(sample_task.data))
    task.course.pulse()
    if not _gains_on(sample_task, before, grown, few):
        return None
    result = grown if few else step(task.model, task.data, carried(task.model, task.data, grown.parameters).statistics)
    return result if task.gains(fit, result) else None


def _gains_on(sample_task: Task, before: Fit, grown: Fit, settled: bool) -> bool:
    """Compare with the converged bound of the existing clusters on the same rows."""
    same = before if settled else converge(sample_task.model, sample_task.data, before.statistics, GROWN)
    return sample_task.gains(same, grown)


def _with_worst(data: Observations, fit: Fit) -> Statistics | None:
    """Return the statistics after the rows of lowest density moved to a new cluster."""
    density = data.log_norms(fit.scorer)
    worst = np.flatnonzero(density < np.quantile(density, WORST))
    if len(worst) < fit.scorer.clusters.n_features:
        return None
    rows = data.take(worst)
    reduced = rows.statistics_of(fit.scorer.clusters, rows.responsibilities(fit.scorer))
    joined = rows.labelled(fit.scorer.clusters, np.zeros(len(worst), int))
    counts = np.maximum(fit.statistics.counts - reduced.counts, 0.0)
    moments = np.vstack([fit.statistics.moments - reduced.moments, joined.moments])
    return replace(fit.statistics, counts=np.hstack([counts, joined.counts]), moments=moments)
