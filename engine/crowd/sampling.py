"""Which items are shown together: tasks that cover all items, overlap, and are shared out among people (note 5)."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from engine.problems import fail

REDRAWS = 20  # of tasks that fall into separate islands; only very few tasks ever do


def sample_tasks(n_items: int, size: int, views: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Tasks of `size` different items each; every item is in one at least and in `views` on average.

    All items are dealt over the tasks once, then each task is filled up at random. Where views >= 2 the tasks are
    drawn again until every item is linked to every other through items shown together.
    """
    _check(n_items, size, views)
    for _ in range(REDRAWS):
        tasks = _drawn(n_items, size, math.ceil(n_items * views / size - 1e-9), rng)
        if views < 2 or is_connected(tasks, n_items):
            break
    return tasks


def _drawn(n_items: int, size: int, number: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [_filled(part, n_items, size, rng) for part in np.array_split(rng.permutation(n_items), number)]


def _filled(part: np.ndarray, n_items: int, size: int, rng: np.random.Generator) -> np.ndarray:
    rest = np.delete(np.arange(n_items), part)
    return rng.permutation(np.concatenate([part, rng.choice(rest, size - len(part), replace=False, shuffle=False)]))


def _check(n_items: int, size: int, views: float) -> None:
    if size < 2:
        raise fail("tasks", f"{size} items in a task", "show at least 2, better 10 to 20")
    if size > n_items:
        raise fail("tasks", f"{size} items in a task but only {n_items} in all", "show fewer items in a task")
    if views < 1:
        raise fail("tasks", f"each item in {views:g} tasks", "show each item in at least one task, better in 6")


def is_connected(tasks: Sequence[np.ndarray], n_items: int) -> bool:
    """Whether every item hangs together with every other through items shown together."""
    node = np.concatenate([np.full(len(task), n_items + number) for number, task in enumerate(tasks)])
    links = coo_array((np.ones(len(node)), (np.concatenate(tasks), node)), shape=(n_items + len(tasks),) * 2)
    return connected_components(links, directed=False, return_labels=False) == 1


def coverage(tasks: Sequence[np.ndarray], n_items: int) -> float:
    """Share of all pairs of items that some task shows together."""
    seen = np.zeros((n_items, n_items), bool)
    for task in tasks:
        seen[np.ix_(task, task)] = True
    np.fill_diagonal(seen, False)
    return float(seen.sum() / (n_items * (n_items - 1)))


def expected_coverage(n_items: int, size: int, number: int) -> float:
    together = size * (size - 1) / (n_items * (n_items - 1))
    return 1 - (1 - together) ** number


def suggested_views(n_items: int, size: int) -> int:
    """log2 N times the logarithm of N to the base M, rounded down: how often to show each item."""
    return max(1, math.floor(math.log2(n_items) * math.log(n_items, size)))


def tasks_of_worker(n_tasks: int, repeats: int, n_workers: int, rng: np.random.Generator) -> list[np.ndarray]:
    """For each worker the tasks to do: each task by `repeats` different workers, loads equal to one task."""
    if repeats > n_workers:
        raise fail("tasks", f"{repeats} different workers a task, but there are {n_workers}", "ask more people")
    order = np.concatenate([rng.permutation(n_tasks) for _ in range(repeats)])
    owner = _dealt(order, n_workers, n_tasks)
    return [order[owner == worker] for worker in range(n_workers)]


def _dealt(order: np.ndarray, n_workers: int, n_tasks: int) -> np.ndarray:
    """Round-robin, a task that would come to a worker twice exchanged for a later one."""
    owner, had = np.empty(len(order), int), [set() for _ in range(n_workers)]
    load = np.zeros(n_workers, int)
    for at, task in enumerate(order):
        free = [worker for worker in np.argsort(load, kind="stable") if task not in had[worker]]
        owner[at] = free[0]
        had[free[0]].add(task)
        load[free[0]] += 1
    return owner
