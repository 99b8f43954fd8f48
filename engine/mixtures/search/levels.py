"""Search on a sample, refine on samples that are eight times larger, then on all rows, and converge at the end.

Several searches run on the first sample, and the best bound is kept. The posterior of one level is almost correct for
the next level, so each level needs few passes. Further splits on each level find clusters that only more rows can
separate. These searches stop early. The last level works on all rows until no iteration, split, merge or birth raises
the bound by the final rule.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benthoscope.engine.mixtures.fit_monitor import State
from benthoscope.engine.mixtures.inference import Fit, carried, next_gain, step
from benthoscope.engine.mixtures.search.births import born
from benthoscope.engine.mixtures.search.greedy import Start, Strategy, Task, Trial, no_search, one_cluster
from benthoscope.engine.mixtures.search.local_splits import BROAD, split_into_parts
from benthoscope.engine.mixtures.search.overcomplete import overcomplete_on_samples
from benthoscope.engine.mixtures.search.pruning import SharedRows, reduced
from benthoscope.engine.mixtures.search.split_merge import join, split_all

GROWTH = 8  # ratio of the rows of two successive levels
SPLIT = 2  # added to the tally of each cluster that owns other rows since others were split; saved for a resumed fit
FEW_LESS = 0.1  # fraction of the clusters; if fewer disappear, the search on all rows removes the next ones
OTHER_ROWS = 0.02  # fraction of the rows of a cluster by which their number must change for another try to split it
ROUNDS = 10  # maximum number of split rounds on one level
SEARCHING = 1e-4  # smallest gain, in nats per row, that counts while searching
SINGLE = 1e-6  # the same for the last iterations in single precision
AGAIN = 3e-4  # if converging raises the bound by more, splits and merges are tried again
FEW = 20_000  # up to this many rows, all searches run on all rows, and splits and merges are tried again at the end
Begin = Callable[[Task, Fit], Fit]
Finish = Callable[..., Fit]  # of a task, a fit, and whether no level on these rows began with `Begin`
BEST = "best_"  # prefix of the checkpoint entries for the best search so far


def as_found(task: Task, fit: Fit, restart: bool = True) -> Fit:
    return fit


def in_levels(
    strategy: Strategy,
    task: Task,
    rows: int | None,
    state: State | None = None,
    start: Start | None = None,
    begin: Begin = as_found,
    finish: Finish = as_found,
) -> Fit:
    """Run the search level by level. `rows` is the size of the first sample; None searches all rows. Resumes from a
    saved state or uses a given start. `begin` is applied at the beginning of each level that follows over-complete
    starts, and `finish` at the end of each other level and at the end."""
    sizes = _sizes(rows, len(task.data), start)
    first, last = int(state["level"]) if state else 0, len(sizes) - 1
    fit: Fit | None = None  # of the level before; a resumed search has none at its first level
    for level in range(first, last + 1):
        resumed = state if state and level == first else None
        if level == 0 and last > 0 and strategy.grows:
            fit = overcomplete_on_samples(_searching(task, on_all_rows=False), sizes[0])
            continue
        level_task = _on_level(_searching(task, level == last > 0), level, sizes[level], resumed)
        if level == 0:
            trials = strategy.trials(start)
        else:
            level_task = replace(level_task, data=level_task.data.in_single_precision())
            better = mended_and_improved if strategy.grows else improved if level == last else refined
            before = None if fit is None else _carried(level_task, fit, strategy.grows and level == 1)
            if before is not None and strategy.grows:
                before = begin(level_task, before)
            trials = [(better, None if before is None else Start.after(before))]
        fit = _best_of(trials, level_task, resumed, as_found if level and strategy.grows else finish)
        task.course.leave_searches()
    return _converged(strategy, task, fit, finish, last + 1, state if state and first > last else None)


def _searching(task: Task, on_all_rows: bool) -> Task:
    """Return the task with a coarse stopping rule. On all rows, smaller gains of splits and merges count."""
    coarse = replace(task.rule, tol=max(task.rule.tol, SEARCHING))
    return replace(task, rule=coarse, least_gain=task.rule.tol if on_all_rows else None)


def _converged(
    strategy: Strategy, task: Task, fit: Fit | None, finish: Finish, level: int, resumed: State | None
) -> Fit:
    """Converge by the final rule. Tries splits and merges again if that changed the fit, or if there are few rows."""
    start, few = _given_start(fit, resumed), len(task.data) <= FEW
    finish = partial(finish, restart=few or not strategy.grows)
    stage = int(resumed["level"]) if resumed else level
    if stage == level:
        level_task = _on_level(task, level, len(task.data), resumed)
        fit = finish(level_task, _settled(strategy, level_task, start, few, None if resumed else fit))
        if not few and start.bound is not None and fit.bound - start.bound <= AGAIN * len(task.data):
            return fit
        start, resumed = Start.after(fit), None
    if stage <= level + 1:
        level_task = _on_level(task if few else _searching(task, True), level + 1, len(task.data), resumed)
        if strategy.grows and not few:
            level_task = replace(level_task, data=level_task.data.in_single_precision())
        better = no_search if not strategy.improves else mended_and_improved if strategy.grows and not few else improved
        fit = finish(level_task, better(level_task, start))
        if few:
            return fit
        start, resumed = Start.after(fit), None
    level_task = _on_level(task, level + 2, len(task.data), resumed)
    return finish(level_task, _settled(strategy, level_task, start, few, None if resumed else fit))


def _settled(strategy: Strategy, task: Task, start: Start, few: bool, fit: Fit | None) -> Fit:
    """Converge by the final rule. The first iterations on many rows use single precision, unless the `fit` that led to
    the start, if known, needs none of them."""
    if not strategy.grows or few:
        return task.settle(start)[0]
    task = replace(task, jumps=True)
    rule = replace(task.rule, tol=max(task.rule.tol, SINGLE))
    if fit is not None and next_gain(task.model, fit) < rule.threshold(len(task.data)):
        return task.settle(replace(start, bound=None))[0]
    rough = replace(task, data=task.data.in_single_precision(), rule=rule)
    return task.converged(rough.settle(start)[0].statistics)


def _given_start(fit: Fit | None, resumed: State | None) -> Start:
    """Return the saved start of a resumed search, or the start from a fit."""
    start = Start.of_state(resumed) if resumed else None
    if start is not None:
        return start
    if fit is None:
        raise ValueError("the last level needs the fit of the level before, or its saved start")
    return Start.after(fit)


def _sizes(first: int | None, last: int, start: Start | None) -> list[int]:
    """Return the number of rows of each level. A search with given clusters starts on all rows."""
    if first is None or last <= max(first, FEW) or start is not None:
        return [last]
    sizes = [first]
    while sizes[-1] * GROWTH * 2 <= last:  # a level almost as large as all rows costs more than it saves
        sizes.append(sizes[-1] * GROWTH)
    return [*sizes, last]


def _on_level(task: Task, level: int, size: int, resumed: State | None) -> Task:
    """Return the task on the rows of a level. Resuming needs the generator's states before and after the rows are
    drawn."""
    drawn_with = resumed["level_rng"] if resumed else task.rng.bit_generator.state
    task.rng.bit_generator.state = drawn_with
    level_task = task if size == len(task.data) else task.on_sample(size)
    if resumed:
        task.rng.bit_generator.state = resumed["rng"]
    task.course.mark(level=level, level_rng=drawn_with)
    return level_task


def _best_of(trials: list[Trial], task: Task, resumed: State | None, finish: Begin) -> Fit:
    """Return the best fit of several searches. An interrupted search resumes; earlier searches are not repeated."""
    course, first = task.course, 0
    best: Start | None = None
    if resumed:
        first, best = int(resumed.get("search", 0)), Start.of_state(resumed, BEST)
        if best is not None:
            course.keep_earlier_search(best.state(BEST))
    best_fit = None if best is None else step(task.model, task.data, best.statistics)
    for number, (search, start) in list(enumerate(trials))[first:]:
        saved = resumed if number == first else None
        course.begin_search(number, best_fit, saved is not None)
        fit = finish(task, search(task, start if saved is None else Start.of_state(saved)))
        if best is None or best.bound is None or fit.bound > best.bound:
            best = Start.after(fit)
            best_fit = step(task.model, task.data, best.statistics)
            course.keep_search(best.state(BEST))
    course.end_searches()
    if best_fit is None:
        raise ValueError("there is no search to run")
    return best_fit


def _carried(task: Task, fit: Fit, merges: bool) -> Fit:
    """Return the fit of these rows after one iteration from a fit of fewer rows, without the clusters that more rows
    show to be superfluous if `merges` is set."""
    first = carried(task.model, task.data, fit.parameters)
    task.course.iterated(first, len(task.data))
    for _ in range(ROUNDS if merges else 0):
        before, fewer = first.n_clusters, reduced(task, SharedRows.of(task, first), at_once=True)
        if fewer is None:
            break
        first = step(task.model, task.data, fewer)
        task.course.iterated(first, len(task.data))
        if first.n_clusters > (1 - FEW_LESS) * before:
            break
    return first


def refined(task: Task, start: Start | None = None) -> Fit:
    """Converge from the posterior of the previous level, and split while the bound rises."""
    return _while_better(task, start, lambda fit: split_all(task, fit) or born(task, fit))


def improved(task: Task, start: Start | None = None) -> Fit:
    """Converge from the posterior of the previous level, and split and merge while the bound rises."""
    return _while_better(task, start, lambda fit: split_all(task, fit) or join(task, fit) or born(task, fit))


def mended_and_improved(task: Task, start: Start | None = None) -> Fit:
    """Converge from the posterior of the previous level, then split clusters locally, merge and delete them, and add
    one for rows that fit none, until the bound stops rising."""
    task, start = replace(task, jumps=True), start or one_cluster(task)
    for _ in range(ROUNDS):
        fit, remaining, gained = task.settle_change(start)
        before = None if start.before is None else start.before.bound
        if not gained or (before is not None and task.rule.settled(before, fit.bound, len(task.data))):
            return fit
        tried, differs = _after_splits(start, fit, remaining)
        changed = _changed(task, fit, tried, differs)
        if changed is None:
            return fit
        start = changed
    return task.settle_change(start)[0]


def _after_splits(start: Start, fit: Fit, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which clusters of the fit that was reached from this start were tried to split, and which own other rows
    since others were split. `remaining` are their numbers at the start."""
    tally = start.tallies()[remaining]
    differs = tally >= SPLIT
    if differs.any():
        differs |= _own_other_rows(start.statistics.owned[remaining], fit.statistics.owned)
    return tally % SPLIT == 1, differs


def _own_other_rows(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    return np.abs(after - before) > OTHER_ROWS * np.maximum(after, before)


def _changed(task: Task, fit: Fit, tried: np.ndarray, differs: np.ndarray) -> Start | None:
    """Return a start with more clusters, or with fewer ones, if its bound is higher."""
    shared = SharedRows.of(task, fit)
    changed = _split(task, fit, tried, differs, shared.labels)
    if changed is not None:
        return changed
    fewer = reduced(task, shared, at_once=True)
    better = None if fewer is None else step(task.model, task.data, fewer)
    if better is not None and task.gains(fit, better):
        return Start.after(better, np.full(better.n_clusters, 1 + SPLIT * differs.any()), changed=fit)
    better = born(task, fit)
    if better is None:  # clusters that did not gain before may gain beside the new ones
        again = differs & tried | (fit.statistics.owned > BROAD * fit.statistics.owned.mean())
        return _split(task, fit, ~again, differs, shared.labels) if differs.any() else None
    differs = differs | _own_other_rows(fit.statistics.owned, better.statistics.owned[:-1])
    return Start.after(better, np.append(1 + SPLIT * differs, SPLIT), changed=fit)


def _split(task: Task, fit: Fit, tried: np.ndarray, differs: np.ndarray, labels: np.ndarray) -> Start | None:
    """Return a start in which clusters that were not `tried` are split, if its bound is higher. `differs` are clusters
    that own other rows since the last splits."""
    parted = split_into_parts(task, fit, tried, labels)
    if parted is None:
        return None
    better, others = parted
    owned = better.statistics.owned
    differs = differs[others] | _own_other_rows(fit.statistics.owned[others], owned[: len(others)])
    parts = np.full(better.n_clusters - len(others), SPLIT)
    return Start.after(better, np.concatenate([1 + SPLIT * differs, parts]), changed=fit)


def _while_better(task: Task, start: Start | None, change: Callable[[Fit], Fit | None]) -> Fit:
    fit, _, gained = task.settle_change(start or one_cluster(task))
    for _ in range(ROUNDS):
        better = gained and change(fit)
        if not better:
            break
        before = fit.bound
        fit, _, gained = task.settle_change(Start.after(better, changed=fit))
        if task.rule.settled(before, fit.bound, len(task.data)):
            break
    return fit
