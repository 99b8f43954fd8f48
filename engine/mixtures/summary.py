"""What is known of the rows before a model sees them: extent, mean, covariance, and whether all of them are numbers."""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from engine.compute import Compute, RowChunk, rows
from engine.mixtures.observations import read_rows
from engine.problems import fail


@dataclass(frozen=True)
class Summary:
    """Adds over chunks, by Chan's formula, without losing digits to a large common offset."""

    count: int
    mean: np.ndarray      # (D,)
    scatter: np.ndarray   # (D, D)  sum of (x - mean)(x - mean)'
    lowest: float
    bad: int              # rows with a value that is not a finite number
    first_bad: int        # number of the first of them, or -1
    trouble: str          # which value it has

    def __add__(self, other: "Summary") -> "Summary":
        count = self.count + other.count
        apart, share = other.mean - self.mean, other.count / max(count, 1)
        scatter = self.scatter + other.scatter + self.count * share * np.outer(apart, apart)
        first = self if self.first_bad >= 0 else other
        return Summary(count, self.mean + share * apart, scatter, min(self.lowest, other.lowest),
                       self.bad + other.bad, first.first_bad, first.trouble)

    @property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.count

    @property
    def largest_variance(self) -> float:
        """Along the first principal axis; 1 where all rows are alike."""
        found = float(np.linalg.eigvalsh(self.covariance)[-1])
        floor = np.finfo(float).eps ** 2 * float(np.square(self.mean).max(initial=0.0))
        return found if found > floor else 1.0


def summarised(source, compute: Compute, pulse=None, name: str = "X") -> Summary:
    """Raises where a value is not a finite number; `name` is what the rows are called."""
    return _sound(compute.map_reduce(rows(source), _of_chunk, _added, after_each=pulse), name)


def refuse_gaps(source, compute: Compute) -> None:
    """Raises where a value is not a finite number; cheaper where nothing else of a summary is wanted."""
    troubled = [found for found in compute.map(rows(source), _trouble_in) if found is not None]
    if troubled:
        _sound(reduce(_added, troubled))


def _sound(found: Summary, name: str = "X") -> Summary:
    if found.bad:
        raise fail(f"{name} row {found.first_bad}", f"contains {found.trouble} ({found.bad} such rows in all)",
                   "leave these rows out or fill the gaps first")
    return found


def _added(a: Summary, b: Summary) -> Summary:
    return a + b


def _trouble_in(chunk: RowChunk) -> Summary | None:
    X = _values(chunk)
    with np.errstate(invalid="ignore", over="ignore"):
        return None if np.isfinite(X.sum()) else _with_trouble(chunk, X)


def _values(chunk: RowChunk) -> np.ndarray:
    held = read_rows(chunk.source, chunk.start, chunk.stop) if chunk.travels_light else chunk.read()
    return np.asarray(held, dtype=np.float64)


def _of_chunk(chunk: RowChunk) -> Summary:
    X = _values(chunk)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = X.mean(0)
    if np.isfinite(mean).all():
        Z = X - mean
        return Summary(len(X), mean, Z.T @ Z, float(X.min()), 0, -1, "")
    return _with_trouble(chunk, X)


def _with_trouble(chunk: RowChunk, X: np.ndarray) -> Summary:
    D, bad = X.shape[1], np.flatnonzero(~np.isfinite(X).all(1))
    if not len(bad):
        return Summary(len(X), np.zeros(D), np.zeros((D, D)), 0.0, 1, chunk.start, "values whose sum is inf")
    column = int(np.flatnonzero(~np.isfinite(X[bad[0]]))[0])
    trouble = f"{'NaN' if np.isnan(X[bad[0], column]) else 'inf'} in column {column}"
    return Summary(len(X), np.zeros(D), np.zeros((D, D)), 0.0, len(bad), chunk.start + int(bad[0]), trouble)
