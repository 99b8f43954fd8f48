"""Dissimilarities between items, and the nearest exemplars of the validation points.

A dissimilarity maps rows (a, D) and rows (b, D) to non-negative numbers (a, b). Entry (i, j) is the cost of
representing item i by item j. It need not be symmetric or a metric.

`Nearest` keeps the nearest and the second nearest exemplar of each validation point. Slots number the exemplars; slot
-1 is the phantom, slot -2 means that there is no second.
"""

from collections.abc import Callable
from functools import cached_property

import numba
import numpy as np

from benthoscope.engine.problems import fail

Dissimilarity = Callable[[np.ndarray, np.ndarray], np.ndarray]
TILE = 256  # rows and columns of a part of a matrix that fits into the cache


def squared_euclidean(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return squared distances by one matrix product. Negative rounding errors are set to zero."""
    far = X @ Y.T
    far *= -2
    far += np.einsum("ij,ij->i", X, X)[:, None]
    far += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(far, 0, out=far)


def euclidean(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    far = squared_euclidean(X, Y)
    return np.sqrt(far, out=far)


def cosine(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return 1 - cosine, from 0 to 2; 1 for the origin."""
    far = _unit(X) @ _unit(Y).T
    np.subtract(1, far, out=far)
    return np.maximum(far, 0, out=far)


def of_kernel(kernel: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Dissimilarity:
    """Return the squared distance in the space of a kernel: k(x, x) + k(y, y) - 2 k(x, y)."""

    def far(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        squared = _self(kernel, X)[:, None] + _self(kernel, Y) - 2 * kernel(X, Y)
        return np.maximum(squared, 0, out=squared)

    return far


class Precomputed:
    """The dissimilarities in a square matrix: `matrix[i, j]` is the cost of representing i by j."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = matrix

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        rows, columns = X[:, 0], Y[:, 0]
        if np.array_equal(columns, np.arange(len(self.matrix))):
            return self.matrix[rows]  # whole rows are copied many times faster than single numbers
        return self.matrix[np.ix_(rows, columns)]

    @cached_property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose. It is compared in tiles that fit into the cache."""
        cuts = [slice(at, at + TILE) for at in range(0, len(self.matrix), TILE)]
        return all(
            np.array_equal(self.matrix[above, beside], self.matrix[beside, above].T)
            for number, above in enumerate(cuts)
            for beside in cuts[number:]
        )


def precomputed(matrix: np.ndarray) -> Precomputed:
    """Return a dissimilarity that looks up `matrix[i, j]`, the cost of representing i by j. Its items are
    `numbers(matrix)`."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise fail("dissimilarities", f"have shape {matrix.shape}", "give a square matrix")
    if not (matrix >= 0).all():  # also rejects NaN
        raise fail("dissimilarities", "contain negative or missing values", "give numbers of 0 or more")
    return Precomputed(matrix)


def is_symmetric(dissimilarity: Dissimilarity) -> bool:
    """Return whether the dissimilarity is known to be equal in both directions."""
    return dissimilarity in (squared_euclidean, euclidean, cosine) or getattr(dissimilarity, "symmetric", False)


def numbers(matrix: np.ndarray) -> np.ndarray:
    """Return the items of a precomputed matrix: their row numbers, as one column."""
    return np.arange(len(matrix))[:, None]


def _unit(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def _self(kernel: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    return np.array([kernel(row[None], row[None])[0, 0] for row in X])


PHANTOM, NOBODY = -1, -2


NearestColumns = tuple[np.ndarray, np.ndarray, np.ndarray]  # first, slot and second of `Nearest`


class Nearest:
    """`first`, `slot`, `second`, `second_slot` are (W,); `columns` (k, W) holds the dissimilarities to all
    exemplars."""

    def __init__(self, to_phantom: np.ndarray, k: int):
        self.to_phantom = to_phantom
        self.first = to_phantom.copy()
        self.slot = np.full(len(to_phantom), PHANTOM, np.int32)
        self.second = np.full(len(to_phantom), np.inf, to_phantom.dtype)
        self.second_slot = np.full(len(to_phantom), NOBODY, np.int32)
        self.columns = np.empty((k, len(to_phantom)), to_phantom.dtype)
        self.count = 0

    def add(self, far: np.ndarray) -> np.ndarray:
        """Add an exemplar with dissimilarities `far` (W,). Returns the points that changed."""
        self.count += 1
        return self.swap(self.count - 1, far)

    def swap(self, slot: int, far: np.ndarray) -> np.ndarray:
        """Replace the exemplar in a slot. Returns the points that changed."""
        self.columns[slot] = far
        touched = np.zeros(len(far), np.bool_)
        _replace(
            self.columns,
            self.count,
            slot,
            self.to_phantom,
            self.first,
            self.slot,
            self.second,
            self.second_slot,
            touched,
        )
        return np.flatnonzero(touched)

    def statistics(self) -> NearestColumns:
        """(first, slot, second): all that the worth of a swap depends on."""
        return self.first, self.slot, self.second


def accumulate(
    far: np.ndarray,
    points: np.ndarray,
    nearest: NearestColumns,
    sign: float,
    additions: np.ndarray,
    removals: np.ndarray,
) -> None:
    """Add the contributions of the points for each candidate to `additions` (b,) and `removals` (k, b), methods note 5.

    `far` is (W, b). A point gains first - far if the candidate is nearer. If its own exemplar is removed, it loses
    clip(far, first, second) - first, because the candidate may become its nearest exemplar; the formula in the papers
    omits this case.
    """
    first, slot, second = nearest
    _accumulate(far, points, first, slot, second, sign, additions, removals)


# The order of a sum may change, so that the processor adds several numbers at once.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def gain_of_column(far, first):
    """Return the sum over points of first - far where the candidate is nearer. `far` and `first` are (W,)."""
    total = 0.0
    for i in range(len(first)):
        total += max(first[i] - far[i], 0.0)
    return total


@numba.njit(cache=True, nogil=True)
def _replace(columns, count, slot, to_phantom, first, first_slot, second, second_slot, touched):
    for i in range(len(first)):
        far = columns[slot, i]
        if first_slot[i] == slot or second_slot[i] == slot:
            first[i], first_slot[i] = to_phantom[i], PHANTOM
            second[i], second_slot[i] = np.inf, NOBODY
            for j in range(count):
                _insert(columns[j, i], j, i, first, first_slot, second, second_slot)
            touched[i] = True
        else:
            touched[i] = _insert(far, slot, i, first, first_slot, second, second_slot)


@numba.njit(cache=True, nogil=True, inline="always")
def _insert(far, slot, i, first, first_slot, second, second_slot):
    if far < first[i]:
        second[i], second_slot[i] = first[i], first_slot[i]
        first[i], first_slot[i] = far, slot
        return True
    if far < second[i]:
        second[i], second_slot[i] = far, slot
        return True
    return False


@numba.njit(cache=True, nogil=True)
def _accumulate(far, points, first, slot, second, sign, additions, removals):
    for i in points:
        row, near, other, owner = far[i], first[i], second[i], slot[i]
        for s in range(len(row)):
            additions[s] += sign * max(near - row[s], 0.0)
        if owner >= 0:
            into = removals[owner]
            for s in range(len(row)):
                into[s] += sign * (min(max(row[s], near), other) - near)
