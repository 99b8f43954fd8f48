"""Common base class of the crowd models: read judgements, and map names of items and workers to numbers.

Any object with `columns` and `table["name"]` counts as a table; pandas is not required. Tables have one of the two
layouts of the exported files:

    first, second, worker, same[, task]   one row per judged pair; same is 1 or 0 (or -1)
    worker, item, group[, task]           one row per item of an answer; group is empty if the item was left out
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from benthoscope.engine.crowd.judgements import Judgements, Sorting, as_judgements, judgements_of
from benthoscope.engine.problems import fail

PAIR_COLUMNS, ANSWER_COLUMNS = ("first", "second", "worker", "same"), ("worker", "item", "group")


def is_table(X: Any) -> bool:
    return hasattr(X, "columns") and not isinstance(X, Judgements)


class NameNumbers:
    """Numbers names in the order of their first appearance, after the names that already have a number."""

    def __init__(self, names: Iterable[Hashable] = ()):
        self.numbers = {name: number for number, name in enumerate(names)}

    def of(self, names: Iterable[Hashable]) -> np.ndarray:
        return np.array([self.numbers.setdefault(name, len(self.numbers)) for name in names], np.int64)

    @property
    def names(self) -> np.ndarray:
        """Return the names in the order of their numbers."""
        column = np.empty(len(self.numbers), object)
        column[:] = list(self.numbers)
        return column


def named_judgements(table: Any, items: Sequence[Hashable] = (), workers: Sequence[Hashable] = ()) -> Judgements:
    """Return the judgements of a table. The names in `items` and `workers` keep the numbers 0, 1, ...; new names
    follow."""
    columns = {str(name).strip().lower(): name for name in table.columns}
    item_numbers, worker_numbers = NameNumbers(items), NameNumbers(workers)
    if all(name in columns for name in PAIR_COLUMNS):
        judgements = _from_pairs(table, columns, item_numbers, worker_numbers)
    elif all(name in columns for name in ANSWER_COLUMNS):
        judgements = _from_answers(table, columns, item_numbers, worker_numbers)
    else:
        raise fail(
            "judgements",
            f"cannot read a table with the columns {', '.join(map(str, table.columns))}",
            f"rename the columns to {', '.join(PAIR_COLUMNS)}, or {', '.join(ANSWER_COLUMNS)}",
        )
    return replace(judgements, item_names=item_numbers.names, worker_names=worker_numbers.names)


def _from_pairs(table: Any, columns: dict[str, Any], items: NameNumbers, workers: NameNumbers) -> Judgements:
    first, second, worker = (_names(table, columns, name) for name in ("first", "second", "worker"))
    in_order = items.of(name for pair in zip(first, second, strict=True) for name in pair).reshape(-1, 2)
    try:
        same = np.asarray(table[columns["same"]]).astype(float)
    except (TypeError, ValueError) as error:
        raise fail("judgements", f"column same: {error}", "write 1 or 0 (or -1)") from error
    columns_ = [in_order, workers.of(worker)[:, None], same[:, None]]
    if "task" in columns:
        columns_.append(NameNumbers().of(_names(table, columns, "task"))[:, None])
    return as_judgements(np.hstack(columns_), n_items=len(items.numbers), n_workers=len(workers.numbers))


def _from_answers(table: Any, columns: dict[str, Any], items: NameNumbers, workers: NameNumbers) -> Judgements:
    worker, item = (_names(table, columns, name) for name in ("worker", "item"))
    task = _names(table, columns, "task") if "task" in columns else [0] * len(item)
    answers: dict[tuple[Hashable, Hashable], list[tuple[int, Any]]] = {}
    for key, number, group in zip(
        zip(worker, task, strict=True), items.of(item), np.asarray(table[columns["group"]]).tolist(), strict=True
    ):
        answers.setdefault(key, []).append((int(number), None if _is_missing(group) else group))
    sortings = [
        Sorting(int(workers.of([name])[0]), *zip(*entries, strict=True)) for (name, _), entries in answers.items()
    ]
    expanded = judgements_of(sortings, len(items.numbers), len(workers.numbers))
    if expanded.problems and not len(expanded.judgements):
        raise fail("judgements", str(expanded.problems[0]), "give answers that sort items into groups")
    return expanded.judgements


def _names(table: Any, columns: dict[str, Any], column: str) -> list[Hashable]:
    names = np.asarray(table[columns[column]]).tolist()
    for row, name in enumerate(names):
        if _is_missing(name):
            raise fail(f"judgements row {row}", f"column {column} is empty", f"give the {column} of each row")
    return names


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, pandas' NA or an empty text. NaN differs from itself; for NA this comparison
    is undefined."""
    if value is None or value == "":
        return True
    different = value != value
    return different is True or different not in (True, False)


class CrowdEstimator(ClusterMixin, BaseEstimator):
    """Base class of the crowd models. After a fit to a table with names, `item_names_` has the names of the items in
    the order of `labels_`, and `worker_names_` those of the workers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # rows are judgements, not features
        return tags

    def _read(self, X: Any, n_items: int | None, n_workers: int | None) -> Judgements:
        """Return the judgements of X; raise if there are none."""
        if is_table(X):
            if n_items is not None or n_workers is not None:
                raise fail(
                    "judgements",
                    "a table already contains the names of items and workers",
                    "remove n_items and n_workers",
                )
            judgements = named_judgements(X)
        else:
            judgements = as_judgements(X, n_items=n_items, n_workers=n_workers)
        if not len(judgements):
            raise fail("judgements", "there are no judgements", "collect some answers first")
        return judgements

    def _keep_names(self, judgements: Judgements) -> None:
        for attribute, names in (("item_names_", judgements.item_names), ("worker_names_", judgements.worker_names)):
            if names is not None:
                setattr(self, attribute, names)
            elif hasattr(self, attribute):
                delattr(self, attribute)

    def _item_numbers(self, items: Any) -> np.ndarray:
        return _numbers(items, getattr(self, "item_names_", None), "item")

    def _worker_numbers(self, workers: Any) -> np.ndarray:
        return _numbers(workers, getattr(self, "worker_names_", None), "worker")


def refuse_target(y: Any, method: str) -> None:
    """Raise unless y is None. scikit-learn passes y as the second argument, and crowd clustering has no target."""
    if y is not None:
        raise fail("y", "crowd clustering has no target", f"write {method}(judgements) without y")


def _numbers(values: Any, names: np.ndarray | None, subject: str) -> np.ndarray:
    """Return numbers of items or workers. Names are converted if the fit had names."""
    if names is None:
        return np.asarray(values, int)
    number_of = {name: number for number, name in enumerate(names)}
    column = np.asarray(values, object)
    unknown_names = [name for name in column.ravel().tolist() if name not in number_of]
    if unknown_names:
        raise fail(
            subject, f"{unknown_names[0]!r} is not among the {len(names)} of the fit", f"give a {subject} of the fit"
        )
    return np.array([number_of[name] for name in column.ravel().tolist()], int).reshape(column.shape)
