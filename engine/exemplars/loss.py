"""The exemplar loss (methods note 2.1): how much nearer the exemplars are to all items than the phantom is.

The phantom exemplar x0 always exists and is never counted, so that the utility of the empty selection is zero. A
`Phantom` gives the dissimilarity of each row to x0 (n,). `deviation` bounds the error of a mean over a sample without
replacement (methods note 4).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benthoscope.engine.exemplars.distances import (
    Dissimilarity,
    Nearest,
    NearestColumns,
    Precomputed,
    accumulate,
    is_symmetric,
    squared_euclidean,
)
from benthoscope.engine.exemplars.objective import Swap, best_of
from benthoscope.engine.problems import fail

Phantom = Callable[[np.ndarray, Dissimilarity], np.ndarray]


def origin(X: np.ndarray, dissimilarity: Dissimilarity) -> np.ndarray:
    """Return x0 = 0. For rows of unit length, it represents rows with a cosine below one half to all exemplars."""
    return dissimilarity(X, np.zeros_like(X[:1]))[:, 0]


def at(point: np.ndarray) -> Phantom:
    return lambda X, dissimilarity: dissimilarity(X, point[None].astype(X.dtype))[:, 0]


def constant(far: float) -> Phantom:
    """Return a phantom with the same dissimilarity to all rows, for dissimilarities without coordinates."""
    return lambda X, dissimilarity: np.full(len(X), far)


def random_direction(width: int, rng: np.random.Generator) -> Phantom:
    """Return a random Gaussian vector, centred and scaled to unit length like the rows of normalised data."""
    point = rng.standard_normal(width)
    point -= point.mean()
    return at(point / np.linalg.norm(point))


class SampledDistances(NamedTuple):
    items: np.ndarray  # (b,)
    far: np.ndarray  # (W, b)


class ExemplarLoss:
    """F(A) = mean over the validation set of d(x, x0) - min(d(x, x0), min over A of d(x, x_c)).

    `validation` are row numbers; None uses all rows. Each item represents itself at no cost, whatever d gives.
    """

    def __init__(
        self,
        X: np.ndarray,
        *,
        dissimilarity: Dissimilarity = squared_euclidean,
        phantom: Phantom = origin,
        validation: np.ndarray | None = None,
    ):
        if X.ndim != 2 or not len(X):
            raise fail("X", f"has shape {X.shape}", "give at least one row")
        self.X, self.dissimilarity = X, dissimilarity
        self.count = len(X)
        self.validation = np.arange(len(X)) if validation is None else np.unique(validation)
        self._rows = X if validation is None else X[self.validation]
        self.to_phantom = checked(phantom(refuse_infinite(self._rows), dissimilarity))

    @property
    def span(self) -> float:
        """Return the largest possible contribution of one point: B in the guarantees."""
        return float(self.to_phantom.max())

    def evidence(self, items: np.ndarray) -> SampledDistances:
        items = np.asarray(items)
        far = np.ascontiguousarray(self.dissimilarity(self._rows, self.X[items]), self.to_phantom.dtype)
        known, at = self._among_validation(items)
        far[at, known] = 0  # a rounding error of 1e-14 would become 1e-7 after a square root
        return SampledDistances(items, far)

    def _among_validation(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the items are validation points, and which points they are."""
        at = np.searchsorted(self.validation, items)
        known = (at < len(self.validation)) & (self.validation[np.minimum(at, len(self.validation) - 1)] == items)
        return np.flatnonzero(known), at[known]

    def columns(self) -> np.ndarray:
        """Return the dissimilarities (n, W) of the validation points to each item, one item after another in memory.

        The result may be the matrix of a precomputed dissimilarity, so it must not be changed.
        """
        items = np.arange(self.count)
        if isinstance(self.dissimilarity, Precomputed) and self._is_whole_matrix(self.dissimilarity.matrix):
            return self.dissimilarity.matrix
        if is_symmetric(self.dissimilarity):
            far = np.ascontiguousarray(self.dissimilarity(self.X, self._rows), self._column_type)
        else:
            far = np.ascontiguousarray(self.dissimilarity(self._rows, self.X).T, self._column_type)
        known, at = self._among_validation(items)
        far[known, at] = 0
        return far

    @property
    def columns_size(self) -> int:
        """Return the number of bytes of `columns`."""
        return self.count * len(self.validation) * self._column_type.itemsize

    @property
    def _column_type(self) -> np.dtype:
        """The type of dissimilarities; not more exact than those to the phantom, with which they are compared."""
        return min(np.result_type(self.X.dtype, np.float32), self.to_phantom.dtype, key=lambda each: each.itemsize)

    def _is_whole_matrix(self, matrix: np.ndarray) -> bool:
        """Whether a precomputed matrix has the columns of this loss, without a change."""
        in_order = np.arange(self.count)
        return (
            len(matrix) == len(self.validation) == self.count
            and matrix.dtype.itemsize <= self.to_phantom.dtype.itemsize
            and np.array_equal(self.X[:, 0], in_order)
            and is_symmetric(self.dissimilarity)
            and not np.diagonal(matrix).any()
        )

    def begin(self, k: int) -> "LossState":
        return LossState(self, k)


class LossState:
    def __init__(self, loss: ExemplarLoss, k: int):
        self.chosen: list[int] = []
        self.nearest = Nearest(loss.to_phantom, k)
        self._worst = float(loss.to_phantom.mean(dtype=np.float64))

    @property
    def value(self) -> float:
        return self._worst - float(self.nearest.first.mean(dtype=np.float64))

    def table(self, evidence: SampledDistances) -> "LossTable":
        return LossTable(self, evidence)

    def gain(self, evidence: SampledDistances, at: int) -> float:
        if evidence.items[at] in self.chosen:
            return -np.inf
        return float(np.maximum(self.nearest.first - evidence.far[:, at], 0).mean(dtype=np.float64))

    def add(self, evidence: SampledDistances, at: int) -> np.ndarray:
        """Add an item. Returns the validation points that changed."""
        self.chosen.append(int(evidence.items[at]))
        return self.nearest.add(evidence.far[:, at])

    def swap(self, slot: int, evidence: SampledDistances, at: int) -> np.ndarray:
        self.chosen[slot] = int(evidence.items[at])
        return self.nearest.swap(slot, evidence.far[:, at])


class LossTable:
    """Sums over the validation set. A change updates only the affected points, about 2/k of them."""

    def __init__(self, state: LossState, evidence: SampledDistances):
        self._state, self._evidence = state, evidence
        self._additions = np.zeros(len(evidence.items))
        self._removals = np.zeros((len(state.nearest.columns), len(evidence.items)))
        self._count(np.arange(len(state.nearest.first)), state.nearest.statistics(), 1.0)

    def addition_gains(self) -> np.ndarray:
        return np.where(self._chosen(), -np.inf, self._additions / self._points)

    def swap_gains(self) -> np.ndarray:
        gains = (self._additions - self._removals[: len(self._state.chosen)]) / self._points
        gains[:, self._chosen()] = -np.inf
        return gains

    def best_swap(self, least: float) -> Swap | None:
        return best_of(self.swap_gains(), least)

    def add(self, at: int) -> None:
        before = self._before()
        self._redo(before, self._state.add(self._evidence, at))

    def swap(self, slot: int, at: int) -> None:
        before = self._before()
        self._redo(before, self._state.swap(slot, self._evidence, at))

    @property
    def _points(self) -> int:
        return len(self._evidence.far)

    def _chosen(self) -> np.ndarray:
        return np.isin(self._evidence.items, self._state.chosen)

    def _before(self) -> NearestColumns:
        first, slot, second = self._state.nearest.statistics()
        return first.copy(), slot.copy(), second.copy()

    def _redo(self, before: NearestColumns, touched: np.ndarray) -> None:
        self._count(touched, before, -1.0)
        self._count(touched, self._state.nearest.statistics(), 1.0)

    def _count(self, points: np.ndarray, nearest: NearestColumns, sign: float) -> None:
        accumulate(self._evidence.far, points, nearest, sign, self._additions, self._removals)


def refuse_infinite(rows: np.ndarray) -> np.ndarray:
    """Return the rows. Raises if a row contains NaN or infinity, because all its dissimilarities would be NaN."""
    if not np.isfinite(rows).all():
        raise fail("X", "has rows that are not finite", "remove these rows")
    return rows


def checked(to_phantom: np.ndarray) -> np.ndarray:
    """Return the dissimilarities. Raises if one is infinite, because later comparisons would fail."""
    distances = np.ascontiguousarray(to_phantom)
    if not np.isfinite(distances).all():
        raise fail("X", "has rows that are infinitely far from the phantom", "remove these rows")
    return distances


def validation_size(total: int, *, error: float, failure: float, span: float = 1.0) -> int:
    """Return the sample size for which the error of a mean of values in [0, span] exceeds `error` with a probability
    below `failure`."""
    alone = span**2 * np.log(2 / failure) / (2 * error**2)
    return min(total, int(np.ceil(1 / (1 / alone + 1 / total))))


def deviation(n_seen: int, total: int, *, failure: float, span: float = 1.0) -> float:
    """Return Serfling's bound on the error of a mean over `n_seen` of `total` values; 0 if all values were used."""
    if n_seen >= total:
        return 0.0
    return float(span * np.sqrt(np.log(2 / failure) / 2 * (1 - (n_seen - 1) / total) / n_seen))
