"""Over-segmentations to begin with: too many groups rather than too few, for classes die but are never born."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans

SAMPLE = 20_000  # rows k-means learns from; the rest are assigned


def kmeans(X: np.ndarray, count: int, rng: np.random.Generator, restarts: int = 1) -> np.ndarray:
    """Groups of rows (N,), numbered from 0."""
    rows = X if len(X) <= SAMPLE else X[rng.choice(len(X), SAMPLE, replace=False)]
    count = min(count, len(np.unique(rows, axis=0)))
    model = KMeans(count, n_init=restarts, random_state=int(rng.integers(2**31))).fit(rows)
    return (model.labels_ if len(rows) == len(X) else model.predict(X)).astype(np.int64)


def spectral(affinity: np.ndarray, count: int, rng: np.random.Generator, restarts: int = 10) -> np.ndarray:
    """Normalised spectral clustering (Ng, Jordan, Weiss) of a non-negative affinity matrix."""
    graph = np.maximum(affinity, 0.0)
    np.fill_diagonal(graph, 0.0)
    degree = np.maximum(graph.sum(1), 1e-300)
    scaled = graph / np.sqrt(degree[:, None] * degree)
    count = min(count, len(graph))
    vectors = eigh(scaled, subset_by_index=[len(graph) - count, len(graph) - 1])[1]
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return kmeans(vectors / lengths, count, rng, restarts)


def _by_kernel_kmeans(X, phi, matrix, count, rng):
    return kmeans(phi, count, rng)  # distances between rows of phi are those of the kernel's space


def _by_kmeans(X, phi, matrix, count, rng):
    return kmeans(phi if X is None else X, count, rng)


def _by_spectral(X, phi, matrix, count, rng):
    return spectral(matrix, count, rng, restarts=1)


KernelStart = Callable[[np.ndarray | None, np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]
KERNEL_STARTS: dict[str, KernelStart] = {
    "kernel_kmeans": _by_kernel_kmeans, "kmeans": _by_kmeans, "spectral": _by_spectral,
}
