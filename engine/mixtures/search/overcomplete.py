"""A search that starts with many small cells and merges or deletes those that do not raise the bound.

It finds overlapping clusters that a split of one larger cluster cannot find: splitting a group of many overlapping
clusters in two does not raise the bound. The cells come from k-means++ and a few mixture iterations with damped
weights.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, carried, converge
from benthoscope.engine.mixtures.model import Model, Scorer, Statistics
from benthoscope.engine.mixtures.search.cells import DAMPING, ROWS_A_CELL, kmeans_cells
from benthoscope.engine.mixtures.search.greedy import Start, Task, one_cluster
from benthoscope.engine.mixtures.search.local_splits import split_locally
from benthoscope.engine.mixtures.search.pruning import COARSE, HASTY, prune

DAMPED, NORMAL = 12, 2  # iterations; only the last ones use the full weights
# Nats per row; on a sample, a damped iteration that raises the log density by less is the last one. If all rows are
# few, no other rows correct a worse start, so it gets all iterations.
STEADY = 0.01
FEWEST_IN_A_CELL = 2


def damped_cells(
    model: Model, data: Observations, count: int, rng: np.random.Generator, pulse: Callable[[], None]
) -> Fit:
    """Return a fit of about `count` clusters after at most 12 damped iterations and two normal ones."""
    labels = kmeans_cells(_sample_rows(data), count, rng)
    statistics = data.labelled(model.clusters, labels)
    statistics = statistics.take(np.flatnonzero(statistics.owned >= FEWEST_IN_A_CELL))
    last = -np.inf
    for _ in range(DAMPED):
        pulse()
        statistics = data.sweep(_damped(model, statistics))
        statistics = statistics.take(np.flatnonzero(statistics.owned >= FEWEST_IN_A_CELL))
        if data.is_sample and statistics.log_norm - last < STEADY * len(data):
            break
        last = statistics.log_norm
    return converge(model, data, model.opened(statistics, rng), StoppingRule(0.0, NORMAL))


def _sample_rows(data: Observations) -> np.ndarray:
    rows = np.concatenate([np.asarray(chunk.read(), np.float64) for chunk in data.chunks])
    return (rows - data.frame.origin) / data.frame.scale


def _damped(model: Model, statistics: Statistics) -> Scorer:
    shares = statistics.owned / statistics.owned.sum()
    clusters = model.clusters.posterior(statistics.moments)
    return Scorer(model.clusters, clusters.coefficients(), DAMPING * np.log(shares)[None])


CELLS, GROWTH = 32, 3  # cells of the first start, and growth factor for the next one
NEARLY_ALL, SMALLER_GROWTH = 0.9, 2  # the factor of a later start if fewer than this fraction of its cells remained
FULL = 0.8  # if at least this fraction of the cells remains after pruning, there were too few cells
HALF = 0.5  # the same if clusters overlap much, because then too few cells are merged
MOST_ROWS = 90_000  # of a sample
SLIGHTLY_MORE = 1.25  # a sample with fewer rows than all by this factor costs more than it saves
AS_MANY = 10  # if all rows are fewer than this many samples, splits are tried on all rows only
CERTAIN = 0.85  # mean sum of the squared responsibilities of a row, below which clusters overlap much
MENDED = 3  # rounds of local splits on a sample
ROWS_A_DIMENSION = 2.5  # minimum number of rows of a cell per dimension, for full covariances
ROWS_OF_FEW_STATISTICS = 20  # the same for clusters without covariances, however many dimensions
FEWEST_CELLS, MOST_CELLS = 4, 300  # per start; with more cells, pruning takes minutes
TRIALS = 3  # failed deletions in a row that end the pruning of all rows
WORTH_MORE = 1.5  # another start needs at least this many times more cells
BROAD = 6  # a cluster with this many times the rows of the median cluster may hide several
SHARE_OF_BROAD = 0.25  # fraction of the rows in broad clusters above which more cells are tried
FEW_CLUSTERS = 3  # with so few clusters, the median says nothing
FAR_BELOW = 1.0  # nats per row by which these iterations never raise the bound
COMPARED = StoppingRule(0.0, 4)  # iterations of an earlier start on a later sample before the bounds are compared


def overcomplete(task: Task, start: Start | None = None) -> Fit:
    """Return the best of several over-complete starts on these rows after pruning. Each start has three times more
    cells, as long as most cells survive."""
    if start is not None:
        return task.settle(start)[0]
    most = min(_most_cells(task), task.max_clusters or MOST_CELLS)
    if most < FEWEST_CELLS:
        return task.settle(one_cluster(task))[0]
    best, cells = None, CELLS
    while True:
        fit = _pruned(task, min(cells, _most_cells(task)), leave_at=0.0)
        if best is None or fit.bound > best.bound:
            best = fit
        if WORTH_MORE * cells >= _most_cells(task) or not _too_few_cells(fit, cells):
            return task.settle(Start(best.statistics))[0]
        cells *= GROWTH


def overcomplete_on_samples(task: Task, first_rows: int) -> Fit:
    """Return the fit of the best over-complete start on samples of the rows. Each further start has three times more
    cells and more rows, as long as most cells survive. The result has the parameters of the largest sample."""
    cells, best = CELLS, None
    while True:
        sample = _sample(task, max(first_rows, ROWS_A_CELL * cells))
        most = _most_cells(sample)
        largest = WORTH_MORE * cells >= most or len(sample.data) == len(task.data)
        fit = _pruned(sample, min(cells, most), COARSE if largest else HASTY, np.inf if largest else FULL * cells)
        grows = not largest and _too_few_cells(fit, cells)
        if not grows:
            few = AS_MANY * len(sample.data) < len(task.data) or len(sample.data) == len(task.data)
            half = not largest and fit.n_clusters > HALF * cells
            blurred = (half or not few) and _is_blurred(sample, fit)
            grows = half and blurred
            if not grows and (few or blurred):
                fit = mended(sample, fit)
            grows = grows or (not largest and _too_few_cells(fit, cells))
        if best is not None:
            best = _moved(sample, best, fit.bound)
        if best is None or fit.bound > best.bound:
            best = fit
        if not grows:
            return best
        all_remained = cells == CELLS or fit.n_clusters > NEARLY_ALL * cells
        cells = GROWTH * cells if all_remained else SMALLER_GROWTH * cells


def _is_blurred(sample: Task, fit: Fit) -> bool:
    """Return whether the clusters overlap so much that further splits are likely."""
    sample.course.worked(len(sample.data))
    certain = float(np.trace(sample.data.overlap(fit.scorer).shared)) / len(sample.data)
    return certain < CERTAIN


def mended(sample: Task, fit: Fit) -> Fit:
    """Return the fit after local splits and further pruning on a sample, while they raise the bound."""
    tried = np.zeros(0)
    for _ in range(MENDED):
        changed = split_locally(sample, fit, tried)
        if changed is None:
            return fit
        better, tried = changed
        before, fit = fit.bound, prune(sample, better, 0, HASTY)
        if fit.bound - before < COARSE * len(sample.data):
            return fit
    return fit


def with_broad_clusters(fit: Fit) -> bool:
    """Return whether clusters may hide several others that no split finds: there are few clusters, or some own most
    rows."""
    sizes = fit.statistics.owned
    return fit.n_clusters <= FEW_CLUSTERS or (
        sizes[sizes > BROAD * np.median(sizes)].sum() > SHARE_OF_BROAD * sizes.sum()
    )


def _too_few_cells(fit: Fit, cells: int) -> bool:
    return fit.n_clusters > FULL * cells or (cells == CELLS and with_broad_clusters(fit))


def _sample(task: Task, rows: int) -> Task:
    """Return the task on about this many rows, or on all rows if there are few more. Features have 32 bits."""
    rows = min(rows, MOST_ROWS)
    sample = task if len(task.data) <= SLIGHTLY_MORE * rows else task.on_sample(rows)
    return replace(sample, data=sample.data.in_single_precision())


def _most_cells(task: Task) -> int:
    clusters = task.model.clusters
    fewest = ROWS_A_DIMENSION * clusters.n_features
    if clusters.n_statistics <= 1 + 2 * clusters.n_features:
        fewest = min(fewest, ROWS_OF_FEW_STATISTICS)
    return min(MOST_CELLS, int(len(task.data) / fewest))


def _moved(task: Task, fit: Fit, bound: float) -> Fit | None:
    """Transfer the fit to other rows and run a few iterations. None if it cannot reach the bound."""
    first = carried(task.model, task.data, fit.parameters)
    if first.bound < bound - FAR_BELOW * len(task.data):
        return None
    task.course.worked(COMPARED.max_iter * len(task.data))
    return converge(task.model, task.data, first.statistics, COMPARED)


def _pruned(task: Task, cells: int, leave_at: float, too_many: float = np.inf) -> Fit:
    fit = damped_cells(task.model, task.data, cells, task.rng, task.course.pulse)
    # if more rows follow, merges are tried again later
    trials = TRIALS if len(task.data) == task.course.total_rows else 1
    return prune(task, fit, trials, leave_at, too_many)
