"""Crowd answers as CSV and in the formats of other studies.

    task,worker,item,group      one row for each image of each answer; group is empty if it was left out
    first,second,worker,same    one row for each pair; same is 1 or 0

Items and workers are names; `Numbered` has the number of each. Columns may have the names of other crowd platforms (see
`NAMES`), so that their results can be imported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.crowd import Judgements, Sorting, as_judgements, judgements_of
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, named_rows, unguarded
from benthoscope.engine.exchange.parsing.tables import Table
from benthoscope.engine.problems import Problem, fail
from benthoscope.engine.workspace.crowd.records import Answer

NAMES = {
    "task": ("task", "hit", "task_id", "hit_id", "assignment", "assignmentid", "round"),
    "worker": ("worker", "worker_id", "workerid", "performer", "person", "participant", "user", "sorter"),
    "item": ("item", "image", "card", "card_id", "picture", "object"),
    "group": ("group", "cluster", "label", "category", "category_id", "class"),
    "first": ("first", "left", "item_a", "a"),
    "second": ("second", "right", "item_b", "b"),
    "same": ("same", "label", "answer", "together"),
}
YES, NO = {"1", "true", "yes", "same", "together"}, {"0", "-1", "false", "no", "different", "apart"}


@dataclass(frozen=True, eq=False)
class Numbered:
    """Judgements, the names of items and workers in the order of their numbers, and the problems found."""

    judgements: Judgements
    items: tuple[str, ...]
    workers: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def read_judgements(table: Table, *, source: str, items: Sequence[str] = ()) -> Numbered:
    """Read answers or pairs, depending on the columns. `items` keep their numbers; new items follow."""
    columns = {name.strip().lower() for name in table.header}
    if _has(columns, "first", "second", "same"):
        return _pairs(table, source, items)
    if _has(columns, "worker", "item", "group"):
        return _sortings(table, source, items)
    raise fail(source, "has neither task, worker, item, group nor first, second, worker, same", "rename its columns")


def write_answers(answers: Iterable[Answer], items: Sequence[str], workers: Sequence[str]) -> Iterator[bytes]:
    """Yield a table of answers in pieces. `workers` are nicknames and may be empty."""
    rows = (
        (
            answer.task,
            answer.worker,
            workers[answer.worker],
            items[item],
            "" if group is None else group,
            f"{answer.seconds:.1f}",
        )
        for answer in answers
        for item, group in zip(answer.items, answer.groups, strict=True)
    )
    return csv_chunks(("task", "worker", "nickname", "item", "group", "seconds"), rows)


def write_pairs(judgements: Judgements, items: Sequence[str], workers: Sequence[str]) -> Iterator[bytes]:
    rows = (
        (items[a], items[b], workers[j], int(same), task)
        for a, b, j, same, task in zip(
            judgements.first, judgements.second, judgements.worker, judgements.same, judgements.task, strict=True
        )
    )
    return csv_chunks(("first", "second", "worker", "same", "task"), rows)


def numbered(answers: Sequence[Answer], n_items: int, n_workers: int) -> Numbered:
    """Return the judgements of a campaign's answers, whose items and workers already have numbers."""
    expanded = judgements_of(
        [Sorting(answer.worker, answer.items, answer.groups) for answer in answers], n_items, n_workers
    )
    return Numbered(expanded.judgements, (), (), expanded.problems)


def adjacency_judgements(together: np.ndarray, asked: np.ndarray) -> Judgements:
    """Return judgements from symmetric 0/1 matrices of pairs put together and of judged pairs, as answers of a single
    worker."""
    together, asked = np.asarray(together), np.asarray(asked)
    if together.shape != asked.shape or together.ndim != 2 or together.shape[0] != together.shape[1]:
        raise fail("pairs", f"cannot read matrices of shape {together.shape} and {asked.shape}", "give two square ones")
    a, b = np.nonzero(np.triu(asked, 1))
    rows = np.column_stack([a, b, np.zeros_like(a), together[a, b] > 0])
    return as_judgements(rows, n_items=len(asked), n_workers=1)


def read_pair_array(rows: np.ndarray) -> Judgements:
    """Return judgements from rows (item, item, worker, 0 or 1). Items and workers are renumbered from 0."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise fail("pairs", f"cannot read an array of shape {rows.shape}", "give rows (item, item, worker, same)")
    items, item_number = np.unique(rows[:, :2], return_inverse=True)
    workers, worker = np.unique(rows[:, 2], return_inverse=True)
    a, b = item_number.reshape(-1, 2).T
    return as_judgements(np.column_stack([a, b, worker, rows[:, 3]]), n_items=len(items), n_workers=len(workers))


def _has(columns: set[str], *names: str) -> bool:
    return all(columns & set(NAMES[name]) for name in names)


def _cell(row: Mapping[str, str], name: str) -> str:
    """Return the cell of a column by any of its names; the first that exists."""
    for known in NAMES[name]:
        if known in row:
            return unguarded(row[known].strip())
    return ""


def _sortings(table: Table, source: str, items: Sequence[str]) -> Numbered:
    names, workers = _Numbers(items), _Numbers()
    answers: dict[tuple[str, str], dict[int, Any]] = {}
    problems = []
    for number, row in named_rows(table):
        worker, item = _cell(row, "worker"), _cell(row, "item")
        if not worker or not item:
            problems.append(Problem(f"{source} line {number}", "has no worker or no item", "the row is ignored"))
            continue
        shown = answers.setdefault((worker, _cell(row, "task")), {})
        if names.number(item) in shown:
            problems.append(
                Problem(f"{source} line {number}", f"contains '{item}' a second time", "the first one is used")
            )
            continue
        shown[names.number(item)] = _cell(row, "group") or None
    sortings = [
        Sorting(workers.number(worker), list(shown), list(shown.values())) for (worker, _), shown in answers.items()
    ]
    expanded = judgements_of(sortings, len(names.names), len(workers.names))
    return Numbered(expanded.judgements, tuple(names.names), tuple(workers.names), (*problems, *expanded.problems))


def _pairs(table: Table, source: str, items: Sequence[str]) -> Numbered:
    names, workers, tasks = _Numbers(items), _Numbers(), _Numbers()
    rows, problems = [], []
    for number, row in named_rows(table):
        first, second, answer = _cell(row, "first"), _cell(row, "second"), _cell(row, "same").lower()
        trouble = _trouble(first, second, answer)
        if trouble:
            problems.append(Problem(f"{source} line {number}", trouble, "the row is ignored"))
            continue
        task = _cell(row, "task") or f"line {number}"
        rows.append(
            (
                names.number(first),
                names.number(second),
                workers.number(_cell(row, "worker")),
                answer in YES,
                tasks.number(task),
            )
        )
    judgements = as_judgements(
        np.array(rows, np.int64).reshape(-1, 5), n_items=len(names.names), n_workers=len(workers.names)
    )
    return Numbered(judgements, tuple(names.names), tuple(workers.names), tuple(problems))


def _trouble(first: str, second: str, answer: str) -> str:
    if not first or not second:
        return "has fewer than two items"
    if first == second:
        return f"pairs '{first}' with itself"
    return "" if answer in YES | NO else f"has '{answer}' instead of 1 or 0"


class _Numbers:
    """Names in the order of their first appearance, with their numbers."""

    def __init__(self, known: Sequence[str] = ()):
        self.names = list(known)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]
