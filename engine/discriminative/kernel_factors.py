"""Kernels, and the factor Phi of a kernel matrix: the linear model on its rows equals the model of the kernel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
NEGLIGIBLE = 1e-10  # fraction of the largest eigenvalue; smaller eigenvalues are rounding errors


@dataclass(frozen=True)
class Rbf:
    """exp(-gamma |a - b|^2)"""

    gamma: float

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-self.gamma * scipy.spatial.distance.cdist(A, B, "sqeuclidean"))


@dataclass(frozen=True)
class Cosine:
    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        lengths = [np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300) for rows in (A, B)]
        return (A / lengths[0]) @ (B / lengths[1]).T


def rbf(X: np.ndarray, gamma: float | None) -> Kernel:
    """Return the RBF kernel. By default, gamma is one over the median squared distance."""
    sample = X[:: max(len(X) // 1000, 1)]
    typical = (
        float(np.median(scipy.spatial.distance.pdist(sample, "sqeuclidean")))
        if gamma is None and len(sample) > 1
        else 1.0
    )
    return Rbf(1 / (typical or 1.0) if gamma is None else float(gamma))


def cosine(X: np.ndarray, gamma: float | None) -> Kernel:
    return Cosine()


KERNELS: dict[str, Callable[[np.ndarray, float | None], Kernel]] = {"rbf": rbf, "cosine": cosine}


@dataclass(frozen=True)
class Factor:
    """The map from kernel values of the landmarks to rows phi, with its centring and scale."""

    axes: np.ndarray  # (L, r)  U / sqrt(eigenvalues)
    mean: np.ndarray  # (L,)    mean kernel value of each landmark
    grand: float  # mean of all kernel values
    scale: float  # mean of the diagonal after centring

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the rows phi (N, r) for kernel values (N, L) with the landmarks."""
        centred = values - values.mean(1, keepdims=True) - self.mean + self.grand
        return (centred / self.scale) @ self.axes

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """Return the coefficients (K, L) of the kernel expansion that equals weights (K, r) on phi."""
        return weights @ self.axes.T


def factored(matrix: np.ndarray, components: int | None = None) -> Factor:
    """Factor the matrix after double centring and division by the mean diagonal. Keeps the leading `components`."""
    mean, grand = matrix.mean(0), float(matrix.mean())
    centred = matrix - mean - mean[:, None] + grand
    scale = max(float(np.trace(centred)) / len(matrix), 0.0) or 1.0
    values, vectors = scipy.linalg.eigh(centred / scale)
    order = np.argsort(values)[::-1][:components]
    order = order[values[order] > NEGLIGIBLE * max(values.max(), NEGLIGIBLE)]
    if not len(order):
        order = np.array([len(values) - 1])  # all rows are equal: one direction of length zero
    spread = np.sqrt(np.maximum(values[order], NEGLIGIBLE))
    return Factor(vectors[:, order] / spread, mean, grand, scale)


def normalised(matrix: np.ndarray) -> np.ndarray:
    """Return the kernel matrix with ones on the diagonal: each row has length one in the kernel's space."""
    lengths = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    return matrix / lengths[:, None] / lengths
