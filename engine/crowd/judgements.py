"""Judgements of pairs: which worker put two items into one group or kept them apart (methods note 1).

`Pairs` sorts the judgements for the updates: one group per worker and item, with all items that were judged with it.
The updates only need sums over these groups, so the only value per judgement is one weight.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benthoscope.engine.problems import Problem, fail

# Models keep arrays with one row per number. Larger numbers are probably identifiers of another system.
LARGEST_COUNT = {"items": 10_000_000, "workers": 100_000}
UNUSED_NUMBERS, NUMBERS_PER_JUDGEMENT = 1_000, 100  # used if the number of items or workers is not given
UNMARKED_AT_MOST = 0.1  # an answer that leaves out a larger fraction of its items is not reliable


@dataclass(frozen=True)
class Sorting:
    """The answer of a worker to a task: the items shown, and the group of each item or None."""

    worker: int
    items: Sequence[int]
    groups: Sequence[Any]

    def marked(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the items that were put into a group (n,), and the numbers of their groups (n,)."""
        marked = [(item, group) for item, group in zip(self.items, self.groups, strict=True) if group is not None]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(group for _, group in marked))}
        return (
            np.array([item for item, _ in marked], np.int64),
            np.array([numbers[group] for _, group in marked], np.int64),
        )


@dataclass(frozen=True, eq=False)
class Judgements:
    """T pairs of different items, each judged by one worker in one task.

    A pair may occur several times; each judgement counts. Items and workers without judgements keep their numbers.
    """

    first: np.ndarray  # (T,) int32, item number
    second: np.ndarray  # (T,) int32
    worker: np.ndarray  # (T,) int32
    same: np.ndarray  # (T,) bool
    task: np.ndarray  # (T,) int32, the answer that contains the pair; pairs of one answer are dependent
    n_items: int
    n_workers: int
    item_names: np.ndarray | None = None  # (n_items,), if names are known
    worker_names: np.ndarray | None = None  # (n_workers,), if names are known

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sign(self) -> np.ndarray:
        """Return +1 for together and -1 for apart (T,)."""
        return np.where(self.same, 1, -1).astype(np.int8)

    def take(self, selection: np.ndarray) -> "Judgements":
        """Return some of the judgements, for the same items and workers."""
        columns = {name: getattr(self, name)[selection] for name in ("first", "second", "worker", "same", "task")}
        return replace(self, **columns)

    def of_tasks(self, tasks: Iterable[int]) -> "Judgements":
        return self.take(np.isin(self.task, np.fromiter(tasks, np.int64)))

    def split(self, share: float, rng: np.random.Generator) -> tuple["Judgements", "Judgements"]:
        """Return (training judgements, held-out judgements). Whole answers are held out, because pairs of one answer
        predict each other."""
        tasks = np.unique(self.task)
        held_out = np.isin(self.task, rng.choice(tasks, max(1, round(share * len(tasks))), replace=False))
        return self.take(~held_out), self.take(held_out)

    def per_worker(self) -> np.ndarray:
        """Return the number of judgements of each worker (J,)."""
        return np.bincount(self.worker, minlength=self.n_workers)

    def answers_per_worker(self) -> np.ndarray:
        """Return the number of tasks each worker has answered (J,)."""
        answered = np.unique(np.stack([self.worker, self.task]), axis=1)[0]
        return np.bincount(answered, minlength=self.n_workers)

    def per_item(self) -> np.ndarray:
        """Return the number of judgements of each item (N,)."""
        return np.bincount(self.first, minlength=self.n_items) + np.bincount(self.second, minlength=self.n_items)


@dataclass(frozen=True)
class Expanded:
    """The pairs of many answers, and the problems found in the answers."""

    judgements: Judgements
    problems: tuple[Problem, ...] = field(default_factory=tuple)


def judgements_of(
    sortings: Sequence[Sorting],
    n_items: int | None = None,
    n_workers: int | None = None,
    *,
    unmarked_at_most: float = UNMARKED_AT_MOST,
) -> Expanded:
    """Return all pairs of all answers. Items without a group are left out. Answers with too many of them, or with an
    item twice, are rejected and reported."""
    pair_tables, problems = [_nothing()], []
    for number, sorting in enumerate(sortings):
        items, groups = sorting.marked()
        trouble = _trouble(sorting, items, unmarked_at_most)
        if trouble:
            problems.append(Problem(f"answer {number + 1}", trouble, "the answer is ignored"))
            continue
        if len(items) < len(sorting.items):
            skipped = len(sorting.items) - len(items)
            problems.append(
                Problem(
                    f"answer {number + 1}",
                    f"has no group for {skipped} of {len(sorting.items)} items",
                    "these items are ignored",
                )
            )
        pair_tables.append(_pairs(items, groups, sorting.worker, number))
    return Expanded(_checked(np.concatenate(pair_tables), n_items, n_workers), tuple(problems))


def as_judgements(X: Any, *, n_items: int | None = None, n_workers: int | None = None) -> Judgements:
    """Return Judgements from an array of rows (item, item, worker, same[, task]), where same is 1 or 0, or 1 or -1.
    Judgements are returned unchanged."""
    if isinstance(X, Judgements):
        return X
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.shape[1] not in (4, 5):
        raise fail("judgements", f"cannot read an array of shape {rows.shape}", "give rows (item, item, worker, same)")
    integers = rows.astype(np.int64)
    if not np.array_equal(integers, rows):
        raise fail("judgements", "contains a value that is not a whole number", "number items and workers from 0")
    if not np.isin(integers[:, 3], (-1, 0, 1)).all():
        raise fail("judgements", "has a pair that is neither together nor apart", "write 1 or 0 (or -1)")
    if integers.shape[1] == 4:  # without tasks, all pairs are independent
        integers = np.column_stack([integers, np.arange(len(integers))])
    return _checked(integers, n_items, n_workers)


def _pairs(items: np.ndarray, groups: np.ndarray, worker: int, task: int) -> np.ndarray:
    a, b = np.triu_indices(len(items), 1)
    constant = np.full(len(a), worker), np.full(len(a), task)
    return np.column_stack([items[a], items[b], constant[0], groups[a] == groups[b], constant[1]])


def _nothing() -> np.ndarray:
    return np.empty((0, 5), np.int64)


def _trouble(sorting: Sorting, marked: np.ndarray, unmarked_at_most: float) -> str:
    shown = len(sorting.items)
    if len(set(sorting.items)) < shown:
        return "contains an item twice"
    unmarked = shown - len(marked)
    if unmarked > unmarked_at_most * shown:
        return f"has no group for {unmarked} of {shown} items"
    return ""


def _checked(rows: np.ndarray, n_items: int | None, n_workers: int | None) -> Judgements:
    a, b, worker, same, task = rows.T
    if (a == b).any():
        raise fail("judgements", f"row {int(np.argmax(a == b)) + 1} pairs an item with itself", "remove these rows")
    if len(rows) and rows[:, :3].min() < 0:
        raise fail("judgements", "contains a negative number", "number items and workers from 0")
    items = _room("items", np.maximum(a, b), n_items)
    workers = _room("workers", worker, n_workers)
    first, second, judge, answer = (column.astype(np.int32) for column in (a, b, worker, task))
    return Judgements(first, second, judge, same == 1, answer, items, workers)


def _room(name: str, numbers: np.ndarray, stated: int | None) -> int:
    """Return the number of items or workers. Raises for numbers that would need far too much memory."""
    least = int(numbers.max()) + 1 if len(numbers) else 0
    usual = UNUSED_NUMBERS + NUMBERS_PER_JUDGEMENT * len(numbers)
    most = LARGEST_COUNT[name] if stated is not None else min(LARGEST_COUNT[name], usual)
    if max(least, stated or 0) > most:
        number = least - 1 if stated is None or least > stated else stated
        raise fail(
            "judgements",
            f"{name} are numbered up to {number}, but there are only {len(numbers)} judgements",
            f"number {name} from 0 without large gaps, or give a table (DataFrame) with names",
        )
    if stated is not None and stated < least:
        raise fail("judgements", f"number {least - 1} among {stated} {name}", f"number {name} from 0")
    return least if stated is None else int(stated)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Each pair occurs twice, in the group of each of its items. Pairs judged several times are merged.

    Groups are sorted by worker, then by item. G groups, E entries: twice the C different pairs.
    """

    start: np.ndarray  # (G + 1,) int64, group g has the entries start[g] to start[g + 1]
    item: np.ndarray  # (G,) int32, item of the group
    worker: np.ndarray  # (G,) int32
    other: np.ndarray  # (E,) int32, the item judged together with it
    mirror: np.ndarray  # (E,) int64, entry of the same pair in the other item's group
    count: np.ndarray  # (E,) float64, judgements of this pair (times the weight of a judgement)
    net: np.ndarray  # (E,) float64, number of `together` minus number of `apart`
    item_groups: np.ndarray  # (G,) int32, groups sorted by item
    item_start: np.ndarray  # (N + 1,) int64, groups of item i: item_groups[item_start[i] : item_start[i + 1]]
    worker_start: np.ndarray  # (J + 1,) int64, groups of worker j: worker_start[j] to worker_start[j + 1]

    @property
    def n_items(self) -> int:
        return len(self.item_start) - 1

    @property
    def n_workers(self) -> int:
        return len(self.worker_start) - 1

    @property
    def n_judgements(self) -> float:
        return float(self.count.sum() / 2)

    def per_worker(self, values: np.ndarray) -> np.ndarray:
        """Return sums (J,) of values (E,) over the contiguous entries of each worker."""
        total = np.concatenate([[0.0], values.cumsum()])[self.start[self.worker_start]]
        return np.diff(total)


def pairs_of(judgements: Judgements, weight: float = 1.0) -> Pairs:
    """Group the judgements. A `weight` below 1 reduces the influence of each judgement, because pairs of one answer are
    dependent."""
    keys, count, net = _merged(judgements)
    worker, first, second = keys
    C = len(worker)
    columns = (np.concatenate([worker, worker]), np.concatenate([first, second]), np.concatenate([second, first]))
    order = np.lexsort(columns[::-1])
    position = np.empty(2 * C, np.int64)
    position[order] = np.arange(2 * C)
    mirror = np.concatenate([position[C:], position[:C]])[order]
    worker, item, other = (column[order] for column in columns)
    opens = np.flatnonzero(np.r_[True, (np.diff(worker) != 0) | (np.diff(item) != 0)]) if C else np.empty(0, np.int64)
    weighted_count, weighted_net = (weight * np.concatenate([column, column])[order] for column in (count, net))
    item, worker = item[opens].astype(np.int32), worker[opens].astype(np.int32)
    return Pairs(
        np.append(opens, 2 * C),
        item,
        worker,
        other.astype(np.int32),
        mirror,
        weighted_count,
        weighted_net,
        np.argsort(item, kind="stable").astype(np.int32),
        _starts(item, judgements.n_items),
        _starts(worker, judgements.n_workers),
    )


def _merged(judgements: Judgements) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different (worker, lower item, higher item) (3, C), the number of judgements (C,) and the net answer
    (C,) of each."""
    low, high = np.minimum(judgements.first, judgements.second), np.maximum(judgements.first, judgements.second)
    N = max(judgements.n_items, 1)
    key = (judgements.worker.astype(np.int64) * N + low) * N + high
    keys, inverse = np.unique(key, return_inverse=True)
    count = np.bincount(inverse, minlength=len(keys)).astype(float)
    net = np.bincount(inverse, judgements.sign, minlength=len(keys))
    return np.stack([keys // N // N, keys // N % N, keys % N]), count, net


def _starts(sorted_or_not: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.bincount(sorted_or_not, minlength=n).cumsum()]).astype(np.int64)
