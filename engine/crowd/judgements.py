"""What people said: who put which two items into one group, and who kept them apart (methods note 1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.problems import Problem, fail

UNMARKED_AT_MOST = 0.1  # an answer that leaves out more of what it was shown says little on the rest


@dataclass(frozen=True)
class Sorting:
    """One worker's answer to one task: the items shown, and for each the group it was put in or None."""

    worker: int
    items: Sequence[int]
    groups: Sequence[Any]

    def marked(self) -> tuple[np.ndarray, np.ndarray]:
        """Items that were put into a group (n,), and numbers of their groups (n,)."""
        kept = [(item, group) for item, group in zip(self.items, self.groups, strict=True) if group is not None]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(group for _, group in kept))}
        return (np.array([item for item, _ in kept], np.int64),
                np.array([numbers[group] for _, group in kept], np.int64))


@dataclass(frozen=True, eq=False)
class Judgements:
    """T pairs of different items, each judged by one worker while sorting one task.

    Pairs may come again and count each time. Items and workers nobody judged or who judged nothing keep their places.
    """

    first: np.ndarray   # (T,) int32, item number
    second: np.ndarray  # (T,) int32
    worker: np.ndarray  # (T,) int32
    same: np.ndarray    # (T,) bool
    task: np.ndarray    # (T,) int32, the answer a pair came from: pairs of one answer hang together
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.first)

    @property
    def sign(self) -> np.ndarray:
        """(T,) +1 where together, -1 where apart."""
        return np.where(self.same, 1, -1).astype(np.int8)

    def take(self, wanted: np.ndarray) -> "Judgements":
        """Some of the judgements, among the same items and workers."""
        columns = {name: getattr(self, name)[wanted] for name in ("first", "second", "worker", "same", "task")}
        return replace(self, **columns)

    def of_tasks(self, tasks: Iterable[int]) -> "Judgements":
        return self.take(np.isin(self.task, np.fromiter(tasks, np.int64)))

    def split(self, share: float, rng: np.random.Generator) -> tuple["Judgements", "Judgements"]:
        """(the rest, held out): whole answers are held out, for pairs of one answer foretell each other."""
        tasks = np.unique(self.task)
        held = np.isin(self.task, rng.choice(tasks, max(1, round(share * len(tasks))), replace=False))
        return self.take(~held), self.take(held)

    def per_worker(self) -> np.ndarray:
        """Judgements of each worker (J,)."""
        return np.bincount(self.worker, minlength=self.n_workers)

    def answers_per_worker(self) -> np.ndarray:
        """Tasks each worker has answered (J,)."""
        answered = np.unique(np.stack([self.worker, self.task]), axis=1)[0]
        return np.bincount(answered, minlength=self.n_workers)

    def per_item(self) -> np.ndarray:
        """Judgements each item takes part in (N,)."""
        return np.bincount(self.first, minlength=self.n_items) + np.bincount(self.second, minlength=self.n_items)


@dataclass(frozen=True)
class Expanded:
    """The pairs of many answers, and what in the answers could not be used."""

    judgements: Judgements
    problems: tuple[Problem, ...] = field(default_factory=tuple)


def judgements_of(sortings: Sequence[Sorting], n_items: int | None = None, n_workers: int | None = None, *,
                  unmarked_at_most: float = UNMARKED_AT_MOST) -> Expanded:
    """All pairs of every answer. Unmarked items are left out; answers with too many of them, or with an item twice,
    are left out whole and told."""
    parts, problems = [_nothing()], []
    for number, sorting in enumerate(sortings):
        items, groups = sorting.marked()
        trouble = _trouble(sorting, items, unmarked_at_most)
        if trouble:
            problems.append(Problem(f"answer {number + 1}", trouble, "it is left out"))
            continue
        if len(items) < len(sorting.items):
            left = len(sorting.items) - len(items)
            problems.append(Problem(f"answer {number + 1}", f"leaves {left} of {len(sorting.items)} items unmarked",
                                    "they are left out"))
        parts.append(_pairs(items, groups, sorting.worker, number))
    return Expanded(_checked(np.concatenate(parts), n_items, n_workers), tuple(problems))


def as_judgements(given: Any, *, n_items: int | None = None, n_workers: int | None = None) -> Judgements:
    """Judgements, or an array of rows (item, item, worker, same[, task]) with same 1 or 0, or 1 or -1."""
    if isinstance(given, Judgements):
        return given
    rows = np.asarray(given)
    if rows.ndim != 2 or rows.shape[1] not in (4, 5):
        raise fail("judgements", f"an array of shape {rows.shape}", "give rows (item, item, worker, same)")
    whole = rows.astype(np.int64)
    if not np.array_equal(whole, rows):
        raise fail("judgements", "holds what is no whole number", "number items and workers from 0")
    if not np.isin(whole[:, 3], (-1, 0, 1)).all():
        raise fail("judgements", "says of some pair neither together nor apart", "write 1 or 0 (or -1)")
    if whole.shape[1] == 4:  # without tasks every pair stands alone
        whole = np.column_stack([whole, np.arange(len(whole))])
    return _checked(whole, n_items, n_workers)


def _pairs(items: np.ndarray, groups: np.ndarray, worker: int, task: int) -> np.ndarray:
    a, b = np.triu_indices(len(items), 1)
    constant = np.full(len(a), worker), np.full(len(a), task)
    return np.column_stack([items[a], items[b], constant[0], groups[a] == groups[b], constant[1]])


def _nothing() -> np.ndarray:
    return np.empty((0, 5), np.int64)


def _trouble(sorting: Sorting, marked: np.ndarray, unmarked_at_most: float) -> str:
    shown = len(sorting.items)
    if len(set(sorting.items)) < shown:
        return "shows an item twice"
    unmarked = shown - len(marked)
    if unmarked > unmarked_at_most * shown:
        return f"leaves {unmarked} of {shown} items unmarked"
    return ""


def _checked(rows: np.ndarray, n_items: int | None, n_workers: int | None) -> Judgements:
    a, b, worker, same, task = rows.T
    if (a == b).any():
        raise fail("judgements", f"row {int(np.argmax(a == b)) + 1} pairs an item with itself", "leave such rows out")
    if len(rows) and rows[:, :3].min() < 0:
        raise fail("judgements", "holds a negative number", "number items and workers from 0")
    items = _room("items", np.maximum(a, b), n_items)
    workers = _room("workers", worker, n_workers)
    whole = (column.astype(np.int32) for column in (a, b, worker))
    return Judgements(*whole, same == 1, task.astype(np.int32), items, workers)


def _room(what: str, numbers: np.ndarray, told: int | None) -> int:
    least = int(numbers.max()) + 1 if len(numbers) else 0
    if told is not None and told < least:
        raise fail("judgements", f"number {least - 1} among {told} {what}", f"number {what} from 0")
    return least if told is None else int(told)
