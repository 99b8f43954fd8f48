"""What people hand in, made into what the models work on, or refused in one line."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from engine.problems import fail


def rows_of(X: Any) -> np.ndarray | Path:
    """(N, D) numbers: an array (or what becomes one), a memmap, or the path of a .npy file, which stays a path."""
    if isinstance(X, str | os.PathLike):
        path = Path(X)
        _check_shape(_opened(path))
        return path
    if isinstance(X, np.memmap) and _is_whole_file(X):
        return Path(X.filename)
    if hasattr(X, "tocsr"):
        raise fail("X", "is a sparse matrix, and Gaussians of sparse rows are dense", "give X.toarray()")
    return _check_shape(_numeric(X if isinstance(X, np.ndarray) else np.asarray(X)))


def _is_whole_file(mapped: np.memmap) -> bool:
    """True for what numpy.load maps: such rows go by their file, of which other processes read their own part."""
    if mapped.filename is None or Path(mapped.filename).suffix != ".npy" or mapped.mode == "c":  # c: changed unseen
        return False
    whole = np.load(mapped.filename, mmap_mode="r", allow_pickle=False)
    same = (whole.shape, whole.strides, whole.dtype) == (mapped.shape, mapped.strides, mapped.dtype)
    if not (same and mapped.ndim == 2):
        return False
    return np.array_equal(whole[:1], mapped[:1]) and np.array_equal(whole[-1:], mapped[-1:])


def _opened(path: Path) -> np.ndarray:
    if not path.is_file():
        raise fail(str(path), "no such file", "give an array or the path of a .npy file")
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise fail(str(path), f"is no .npy file of numbers ({error})", "write it with numpy.save") from error
    if found.dtype.kind not in "fiub":
        raise fail(str(path), f"holds {found.dtype}, not numbers", "write it with numpy.save from a numeric array")
    return found


def _numeric(X: np.ndarray) -> np.ndarray:
    if X.dtype.kind == "c":
        raise fail("X", "Complex data not supported", "give real and imaginary parts as columns of their own")
    if X.dtype.kind in "fiub":
        return X
    try:
        return X.astype(np.float64)
    except ValueError as error:
        raise fail("X", f"holds something that is not a number ({error})", "give numeric columns only") from error


def _check_shape(X: np.ndarray) -> np.ndarray:
    if X.ndim != 2:
        raise fail("X", f"has {X.ndim} dimensions where rows and columns are expected (shape {X.shape})",
                   "Reshape your data with X.reshape(-1, 1) if it has one column, X.reshape(1, -1) if it is one row")
    if not len(X):
        raise fail("X", f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required")
    if not X.shape[1]:
        raise fail("X", f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def width_of(rows: np.ndarray | Path) -> tuple[int, int]:
    return (np.load(rows, mmap_mode="r") if isinstance(rows, Path) else rows).shape


def same_columns(found: int, expected: int, name: str) -> None:
    if found != expected:
        raise fail("X", f"X has {found} features, but {name} is expecting {expected} features as input",
                   "give the same columns the model was fitted to")


def group_column(groups: Any, rows: int) -> np.ndarray:
    """One group id per row, of numbers or strings."""
    given = np.asarray(groups)
    if given.ndim != 1 or len(given) != rows:
        raise fail("groups", f"shape {given.shape} for {rows} rows of X", "give one dive or album per row")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        _missing(int(np.flatnonzero(~np.isfinite(given))[0]))
    if given.dtype.kind != "O":
        return given
    for row, entry in enumerate(given):
        if entry is None or entry != entry:  # NaN differs from itself
            _missing(row)
    return given.astype(str)


def _missing(row: int) -> None:
    raise fail("groups", f"row {row} has no group", "name the dive or album of every row")


def numbered(groups: Any, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ids in order, and each row's number among them."""
    if groups is None:
        return np.zeros(1, int), np.zeros(rows, np.int32)
    column = group_column(groups, rows)
    if column.dtype.kind in "iu" and len(column) and int(column.max()) - int(column.min()) < 4 * rows:
        return _numbered_by_count(column)
    ids, index = np.unique(column, return_inverse=True)
    return ids, index.astype(np.int32)


def _numbered_by_count(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What numpy.unique gives, without sorting: for ten million rows that is most of a second and 300 MB."""
    least = int(column.min())
    steps = column.astype(np.int64) - least
    used = np.bincount(steps) > 0
    number = np.cumsum(used, dtype=np.int32) - 1
    return (np.flatnonzero(used) + least).astype(column.dtype), number[steps]


def labels_column(labels: Any, rows: int) -> np.ndarray:
    """A cluster number from 0 up per row."""
    given = np.asarray(labels)
    if given.shape != (rows,) or given.dtype.kind not in "iu" or given.min() < 0:
        raise fail("start", f"{given.dtype} of shape {given.shape} for {rows} rows",
                   "give one cluster number, 0 or greater, per row")
    return given


def positive(where: str, value: Any, *, least: float = 0.0, integer: bool = False) -> None:
    """Refuses what is no number, or not above `least`."""
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not least < value < float("inf"):
        what = "a whole number" if integer else "a number"
        raise fail(where, f"{value!r} is not {what} above {least:g}", f"give {what} above {least:g}")
