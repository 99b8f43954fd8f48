"""A cluster for the rows nobody explains: what no split of one cluster can find, being spread thinly over many."""

from dataclasses import replace

import numpy as np

from engine.mixtures.model import Statistics
from engine.mixtures.observations import Observations
from engine.mixtures.search import Task
from engine.mixtures.variational import Fit, Rule, carried, converge, step

WORST = 0.02                        # share of the rows that found the new cluster, those with the least density
TRIED_ON = 10_000                   # rows a birth is tried on before it is scored on all
GROWN = Rule(tol=1e-5, max_iter=20)


def born(task: Task, fit: Fit) -> Fit | None:
    """One iteration from the clusters and a new one of the rows with the least density, or None where it gains not."""
    few = len(task.data) <= TRIED_ON
    here = task if few else task.on_sample(TRIED_ON)
    before = fit if few else carried(here.model, here.data, fit.parameters)
    start = _with_worst(here.data, before)
    if not task.may_grow(fit) or start is None:
        return None
    grown = converge(here.model, here.data, start, GROWN)
    task.course.worked(grown.iterations * len(here.data))
    task.course.pulse()
    if not _gains_on(here, before, grown, few):
        return None
    found = grown if few else step(task.model, task.data, carried(task.model, task.data, grown.parameters).statistics)
    return found if task.gains(fit, found) else None


def _gains_on(here: Task, before: Fit, grown: Fit, settled: bool) -> bool:
    """Against what the clusters without the new one come to on the same rows."""
    same = before if settled else converge(here.model, here.data, before.statistics, GROWN)
    return here.gains(same, grown)


def _with_worst(data: Observations, fit: Fit) -> Statistics | None:
    """The statistics after the worst rows left their clusters for one of their own."""
    density = data.log_norms(fit.scorer)
    worst = np.flatnonzero(density < np.quantile(density, WORST))
    if len(worst) < fit.scorer.clusters.n_features:
        return None
    rows = data.take(worst)
    left = rows.given(fit.scorer.clusters, rows.responsibilities(fit.scorer))
    joined = rows.labelled(fit.scorer.clusters, np.zeros(len(worst), int))
    counts = np.maximum(fit.statistics.counts - left.counts, 0.0)
    moments = np.vstack([fit.statistics.moments - left.moments, joined.moments])
    return replace(fit.statistics, counts=np.hstack([counts, joined.counts]), moments=moments)
