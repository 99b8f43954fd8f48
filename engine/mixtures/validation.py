"""Validate the inputs of the estimators. Each error message is one line."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.problems import fail


def rows_of(X: Any) -> np.ndarray | Path:
    """Return (N, D) numbers: an array (or a value converted to one), a memmap, or the path of a .npy file, which stays
    a path."""
    if isinstance(X, str | os.PathLike):
        path = Path(X)
        _check_shape(_opened(path))
        return path
    if isinstance(X, np.memmap) and X.filename is not None and _is_whole_file(X):
        return Path(X.filename)
    if hasattr(X, "tocsr"):
        raise fail("X", "is a sparse matrix, which Gaussian mixtures do not support", "give X.toarray()")
    return _check_shape(_numeric(X if isinstance(X, np.ndarray) else np.asarray(X)))


def _is_whole_file(mapped: np.memmap) -> bool:
    """Return whether an array maps a whole file. Such rows are passed on as a path, so that each process reads only its
    part."""
    # c: pages changed in memory only
    if mapped.filename is None or Path(mapped.filename).suffix != ".npy" or mapped.mode == "c":
        return False
    file_rows = np.load(mapped.filename, mmap_mode="r", allow_pickle=False)
    same = (file_rows.shape, file_rows.strides, file_rows.dtype) == (mapped.shape, mapped.strides, mapped.dtype)
    if not (same and mapped.ndim == 2):
        return False
    return np.array_equal(file_rows[:1], mapped[:1]) and np.array_equal(file_rows[-1:], mapped[-1:])


def _opened(path: Path) -> np.ndarray:
    if not path.is_file():
        raise fail(str(path), "no such file", "give an array or the path of a .npy file")
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise fail(str(path), f"is not a .npy file of numbers ({error})", "write it with numpy.save") from error
    if matrix.dtype.kind not in "fiub":
        raise fail(str(path), f"contains {matrix.dtype}, not numbers", "write it with numpy.save from a numeric array")
    return matrix


def _numeric(X: np.ndarray) -> np.ndarray:
    if X.dtype.kind == "c":
        raise fail("X", "Complex data not supported", "give the real and imaginary parts as separate columns")
    if X.dtype.kind in "fiub":
        return X
    try:
        return X.astype(np.float64)
    except ValueError as error:
        raise fail("X", f"contains a value that is not a number ({error})", "give numeric columns only") from error


def _check_shape(X: np.ndarray) -> np.ndarray:
    if X.ndim != 2:
        raise fail(
            "X",
            f"has {X.ndim} dimensions (shape {X.shape}); expected rows and columns",
            "Reshape your data with X.reshape(-1, 1) if it has one column, X.reshape(1, -1) if it is one row",
        )
    if not len(X):
        raise fail("X", f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required")
    if not X.shape[1]:
        raise fail("X", f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def width_of(rows: np.ndarray | Path) -> tuple[int, int]:
    return (np.load(rows, mmap_mode="r") if isinstance(rows, Path) else rows).shape


def same_columns(columns: int, expected: int, name: str) -> None:
    if columns != expected:
        raise fail(
            "X",
            f"X has {columns} features, but {name} is expecting {expected} features as input",
            "give the same columns as in the fit",
        )


def group_column(groups: Any, rows: int) -> np.ndarray:
    """Return one group id per row, either numbers or strings."""
    names = np.asarray(groups)
    if names.ndim != 1 or len(names) != rows:
        raise fail("groups", f"has shape {names.shape} for {rows} rows of X", "give one dive or album per row")
    if names.dtype.kind == "f" and not np.isfinite(names).all():
        _missing(int(np.flatnonzero(~np.isfinite(names))[0]))
    if names.dtype.kind != "O":
        return names
    for row, entry in enumerate(names):
        if entry is None or entry != entry:  # NaN differs from itself
            _missing(row)
    return names.astype(str)


def _missing(row: int) -> None:
    raise fail("groups", f"row {row} has no group", "give the dive or album of each row")


def numbered(groups: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct ids, and the position of each row's id among them."""
    if groups is None:
        return np.zeros(1, int), np.zeros(rows, np.int32)
    column = group_column(groups, rows)
    if column.dtype.kind in "iu" and len(column) and int(column.max()) - int(column.min()) < 4 * rows:
        return _numbered_by_count(column)
    ids, index = np.unique(column, return_inverse=True)
    return ids, index.astype(np.int32)


def _numbered_by_count(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Like numpy.unique, but without sorting, which saves almost a second and 300 MB for ten million rows."""
    least = int(column.min())
    steps = column.astype(np.int64) - least
    used = np.bincount(steps) > 0
    number = np.cumsum(used, dtype=np.int32) - 1
    return (np.flatnonzero(used) + least).astype(column.dtype), number[steps]


def labels_column(labels: Any, rows: int, name: str = "start") -> np.ndarray:
    """Return one cluster number, 0 or more, per row."""
    values = np.asarray(labels)
    if values.shape != (rows,) or values.dtype.kind not in "iu" or values.min() < 0:
        raise fail(
            name,
            f"{values.dtype} of shape {values.shape} for {rows} rows",
            "give one cluster number of 0 or more per row",
        )
    return values


def positive(where: str, value: Any, *, least: float = 0.0, integer: bool = False) -> None:
    """Raise unless the value is a number greater than `least`."""
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least < value < float("inf"):
        kind = "a whole number" if integer else "a number"
        raise fail(where, f"must be {kind} greater than {least:g} (got {value!r})")


def limits_reached(*limits: tuple[str, int | None, int]) -> list[str]:
    """Return the names of the limits (name, limit or None, number of clusters) that the number of clusters
    has reached."""
    return [name for name, limit, count in limits if limit is not None and count >= limit]
