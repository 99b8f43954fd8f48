"""How unlike two items are: functions of rows (a, D) and rows (b, D) that give (a, b) non-negative numbers.

Entry (i, j) is what it costs to let item j stand for item i; it need be neither symmetric nor a metric.
"""

from collections.abc import Callable

import numpy as np

from engine.problems import fail

Dissimilarity = Callable[[np.ndarray, np.ndarray], np.ndarray]


def squared_euclidean(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """By one matrix product; rounding below zero is taken away."""
    far = X @ Y.T
    far *= -2
    far += np.einsum("ij,ij->i", X, X)[:, None]
    far += np.einsum("ij,ij->i", Y, Y)
    return np.maximum(far, 0, out=far)


def euclidean(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    far = squared_euclidean(X, Y)
    return np.sqrt(far, out=far)


def cosine(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """1 - cosine, from 0 to 2; to the origin it is 1."""
    far = 1 - _unit(X) @ _unit(Y).T
    return np.maximum(far, 0, out=far)


def of_kernel(kernel: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Dissimilarity:
    """The squared distance in the space of a kernel, k(x, x) + k(y, y) - 2 k(x, y)."""

    def far(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        found = _self(kernel, X)[:, None] + _self(kernel, Y) - 2 * kernel(X, Y)
        return np.maximum(found, 0, out=found)

    return far


def precomputed(matrix: np.ndarray) -> Dissimilarity:
    """Looks the numbers up: `matrix[i, j]` is what it costs to let j stand for i. The items are `numbers(matrix)`."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise fail("dissimilarities", f"have shape {matrix.shape}", "give as many rows as columns")
    if not (matrix >= 0).all():  # catches NaN too
        raise fail("dissimilarities", "are negative or missing somewhere", "give numbers of 0 or more")
    return lambda X, Y: matrix[np.ix_(X[:, 0], Y[:, 0])]


def numbers(matrix: np.ndarray) -> np.ndarray:
    """The items of a precomputed matrix: their row numbers, as one column."""
    return np.arange(len(matrix))[:, None]


def _unit(X: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def _self(kernel: Callable[[np.ndarray, np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
    return np.array([kernel(row[None], row[None])[0, 0] for row in X])
