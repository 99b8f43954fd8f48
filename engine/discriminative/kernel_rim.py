"""RIM with curved boundaries: the linear model on rows that stand for a kernel."""

from typing import Any, Self

import numpy as np

from engine.compute import blas_threads
from engine.discriminative.kernels import KERNELS, Factor, Kernel, check_matrix, factored, normalised
from engine.discriminative.rim import Clustering, given_start
from engine.discriminative.rows import at_least_two, finite_rows, whole_above_zero
from engine.discriminative.starting import KERNEL_STARTS
from engine.mixtures import checking
from engine.problems import fail, unknown
from engine.progress import OnStep, ignore


class KernelRIM(Clustering):
    """Regularised information maximisation with the boundaries of a kernel.

    `kernel` is "rbf" (`gamma` by default one over the median squared distance), "cosine", or "precomputed", where X is
    the kernel matrix and, for new rows, their values against the fitted ones. `n_components` leading directions of the
    kernel are kept. Of more than `landmarks` rows the kernel is factored on that many and the others are mapped.
    `init` is "spectral", "kernel_kmeans" or "kmeans" (of X itself: can be trapped where clusters are curved).
    """

    def __init__(self, *, n_clusters=20, strength=1.0, kernel="rbf", gamma=None, n_components=150, landmarks=2000,
                 init="kernel_kmeans", balance=True, sizes=None, n_init=10, max_iter=1000, tol=1e-9,
                 random_state=None):
        self.n_clusters, self.strength, self.kernel, self.gamma = n_clusters, strength, kernel, gamma
        self.n_components, self.landmarks, self.init = n_components, landmarks, init
        self.balance, self.sizes, self.n_init = balance, sizes, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(self, X: Any, groups: Any = None, *, start: Any = None, compute: Any = None, on_step: OnStep = ignore,
            checkpoint: Any = None) -> Self:
        """Learns from rows X (N, D), or from a kernel matrix (N, N); groups, machine and checkpoint as in RIM."""
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        rows = at_least_two(self._square(X) if self._precomputed else finite_rows(X))
        with blas_threads(1):
            self._forget()
            self.n_features_in_ = rows.shape[1]
            matrix = self._learn_map(rows, rng)
            phi = self._mapped(rows)
            found = self._searched(phi, self._starts(rows, phi, matrix, start, rng), on_step)
        kept = found.coefficients.take(self._keep(found))
        self.coef_, self.intercept_ = kept.weights, kept.biases
        self.dual_coef_ = self.factor_.dual(self.coef_)
        return self

    @property
    def _precomputed(self) -> bool:
        return self.kernel == "precomputed"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_above_zero("landmarks", self.landmarks)
        if self.n_components is not None:
            whole_above_zero("n_components", self.n_components)
        if not self._precomputed and self.kernel not in KERNELS:
            raise unknown("kernel", str(self.kernel), [*KERNELS, "precomputed"])
        if self.init not in KERNEL_STARTS:
            raise unknown("init", str(self.init), KERNEL_STARTS)
        if self.gamma is not None:
            checking.positive("gamma", self.gamma)

    def _square(self, X: Any) -> np.ndarray:
        found = check_matrix(X)
        self._lengths = np.sqrt(np.maximum(np.diagonal(found), 1e-300))
        return normalised(found)

    def _learn_map(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sets the kernel, its landmarks and their factor; the kernel matrix of the landmarks."""
        if self._precomputed:
            matrix = rows
        else:
            chosen = _landmarks(len(rows), int(self.landmarks), rng)
            self.kernel_: Kernel = KERNELS[self.kernel](rows, self.gamma)
            self.landmarks_ = np.asarray(rows[chosen], np.float64)
            matrix = self.kernel_(self.landmarks_, self.landmarks_)
        self.factor_: Factor = factored(matrix, self.n_components)
        return matrix

    def _mapped(self, rows: np.ndarray) -> np.ndarray:
        return self.factor_(rows if self._precomputed else self.kernel_(rows, self.landmarks_))

    def _rows(self, X: Any) -> np.ndarray:
        """Rows phi of new rows; precomputed values are taken as if every new row had length one in its space."""
        rows = super()._rows(X)
        return self._mapped(rows / self._lengths if self._precomputed else rows)

    def _map_arrays(self) -> dict[str, np.ndarray]:
        factor = {"axes": self.factor_.axes, "mean": self.factor_.mean,
                  "scalars": np.array([self.factor_.grand, self.factor_.scale])}
        if self._precomputed:
            return {**factor, "lengths": self._lengths}
        return {**factor, "landmarks": self.landmarks_, "kernel": np.array([getattr(self.kernel_, "gamma", 0.0)])}

    def _take_map(self, arrays: dict[str, np.ndarray]) -> None:
        grand, scale = np.asarray(arrays["scalars"]).tolist()
        self.factor_ = Factor(np.asarray(arrays["axes"]), np.asarray(arrays["mean"]), grand, scale)
        if self._precomputed:
            self._lengths = np.asarray(arrays["lengths"])
        else:
            self.landmarks_ = np.asarray(arrays["landmarks"])
            self.kernel_ = KERNELS[self.kernel](self.landmarks_, float(arrays["kernel"][0]))
        self.dual_coef_ = self.factor_.dual(self.coef_)

    def _starts(self, rows: np.ndarray, phi: np.ndarray, matrix: np.ndarray, start: Any,
                rng: np.random.Generator) -> list[np.ndarray]:
        if start is not None:
            return [given_start(start, len(phi), self.n_clusters)]
        if self.init == "spectral" and len(matrix) < len(phi):
            raise fail("init", f"spectral needs the kernel of all {len(phi)} rows and landmarks={len(matrix)}",
                       "raise landmarks or take kernel_kmeans")
        begin = KERNEL_STARTS[self.init]
        plain = None if self._precomputed else rows
        return [begin(plain, phi, matrix, int(self.n_clusters), rng) for _ in range(int(self.n_init))]


def _landmarks(rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
