"""Search on a sample, then refine on samples eight times as large, then on all rows.

Beliefs of one level are nearly right on the next, so each needs few passes; what only more rows can tell apart is
found by splitting again on each. The last bound is that of all rows.
"""

from collections.abc import Callable

from engine.mixtures.births import born
from engine.mixtures.course import State
from engine.mixtures.search import Search, Start, Task
from engine.mixtures.together import split_all
from engine.mixtures.variational import Fit, carried

GROWTH = 8   # rows of a level over those of the one before
ROUNDS = 10  # of splitting on one level, at most
Finish = Callable[[Task, Fit], Fit]


def as_found(task: Task, fit: Fit) -> Fit:
    return fit


def in_levels(search: Search, task: Task, rows: int | None, state: State | None = None,
              start: Start | None = None, finish: Finish = as_found) -> Fit:
    """`rows` is the size of the first sample; None searches all rows. Goes on from a saved state or a given start.
    `finish` has the last word on every level."""
    sizes = _sizes(rows, len(task.data), start)
    level, start = (int(state["level"]), Start.of_state(state)) if state else (0, start)
    fit = None
    for number in range(level, len(sizes)):
        resumed = state if number == level else None
        here = _on_level(task, number, sizes[number], resumed)
        if fit is not None:
            first = carried(here.model, here.data, fit.parameters)
            here.course.iterated(first, len(here.data))
            start = Start.after(first)
        fit = finish(here, (search if number == 0 else _refined)(here, start))
    return fit


def _sizes(first: int | None, last: int, start: Start | None) -> list[int]:
    """Rows of every level. Whoever brings clusters goes to all rows at once."""
    if first is None or last <= first or start is not None:
        return [last]
    sizes = [first]
    while sizes[-1] * GROWTH * 2 <= last:  # a level nearly as large as all rows would only cost
        sizes.append(sizes[-1] * GROWTH)
    return [*sizes, last]


def _on_level(task: Task, level: int, size: int, resumed: State | None) -> Task:
    """The task on a level's rows. The generator's states before and after drawing them are what resuming needs."""
    drawn_with = resumed["level_rng"] if resumed else task.rng.bit_generator.state
    task.rng.bit_generator.state = drawn_with
    here = task if size == len(task.data) else task.on_sample(size)
    if resumed:
        task.rng.bit_generator.state = resumed["rng"]
    task.course.mark(level=level, level_rng=drawn_with)
    return here


def _refined(task: Task, start: Start) -> Fit:
    """Converges from the beliefs of the level before, and splits while that gains."""
    fit, _ = task.settle(start)
    for _ in range(ROUNDS):
        better = split_all(task, fit) or born(task, fit)
        if better is None:
            break
        fit, _ = task.settle(Start.after(better))
    return fit
