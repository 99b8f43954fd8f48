"""Kernel rows as plain rows: with kernel matrix = Phi Phi', kernel RIM is linear RIM on Phi (methods note 4).

Climbing on the kernel's own coefficients needs ten times the steps, because the matrix enters the slope twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist, pdist

from engine.problems import fail

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
NEGLIGIBLE = 1e-10  # of the largest eigenvalue: directions below are rounding


@dataclass(frozen=True)
class Rbf:
    """exp(-gamma |a - b|^2)"""

    gamma: float

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-self.gamma * cdist(A, B, "sqeuclidean"))


@dataclass(frozen=True)
class Cosine:
    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        lengths = [np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in (A, B)]
        return (A / lengths[0]) @ (B / lengths[1]).T


def rbf(X: np.ndarray, gamma: float | None) -> Kernel:
    """By default gamma is one over the median squared distance."""
    sample = X[:: max(len(X) // 1000, 1)]
    typical = float(np.median(pdist(sample, "sqeuclidean"))) if gamma is None and len(sample) > 1 else 1.0
    return Rbf(1 / (typical or 1.0) if gamma is None else float(gamma))


def cosine(X: np.ndarray, gamma: float | None) -> Kernel:
    return Cosine()


KERNELS: dict[str, Callable[[np.ndarray, float | None], Kernel]] = {"rbf": rbf, "cosine": cosine}


@dataclass(frozen=True)
class Factor:
    """The map from kernel values against the landmarks to rows phi, and what centring and scale it needs."""

    axes: np.ndarray     # (L, r)  U / sqrt(eigenvalues)
    mean: np.ndarray     # (L,)    mean kernel value of every landmark
    grand: float         # mean of them all
    scale: float         # mean diagonal after centring

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Rows phi (N, r) of kernel values (N, L) against the landmarks."""
        centred = values - values.mean(1, keepdims=True) - self.mean + self.grand
        return (centred / self.scale) @ self.axes

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients (K, L) of the kernel expansion that equals weights (K, r) on phi."""
        return weights @ self.axes.T


def factored(matrix: np.ndarray, components: int | None = None) -> Factor:
    """Double-centred, divided by the mean diagonal, and cut to the leading `components`."""
    mean, grand = matrix.mean(0), float(matrix.mean())
    centred = matrix - mean - mean[:, None] + grand
    scale = max(float(np.trace(centred)) / len(matrix), 0.0) or 1.0
    values, vectors = eigh(centred / scale)
    order = np.argsort(values)[::-1][:components]
    order = order[values[order] > NEGLIGIBLE * max(values.max(), NEGLIGIBLE)]
    if not len(order):
        order = np.array([len(values) - 1])  # all rows alike: one direction without extent
    spread = np.sqrt(np.maximum(values[order], NEGLIGIBLE))
    return Factor(vectors[:, order] / spread, mean, grand, scale)


def normalised(matrix: np.ndarray) -> np.ndarray:
    """With ones on the diagonal: every row has the length one in the kernel's space."""
    lengths = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    return matrix / lengths[:, None] / lengths


def check_matrix(matrix: Any) -> np.ndarray:
    """A symmetric kernel matrix, as float64."""
    found = np.asarray(matrix, np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise fail("X", f"shape {found.shape} is no kernel matrix", "give (N, N) with kernel='precomputed'")
    if not np.isfinite(found).all():
        raise fail("X", "the kernel matrix holds NaN or infinity", "leave those rows out")
    if not np.allclose(found, found.T, rtol=1e-6, atol=1e-8 * max(np.abs(found).max(), 1e-300)):
        raise fail("X", "the kernel matrix is not symmetric", "give kernel values of the same rows both ways")
    return found
