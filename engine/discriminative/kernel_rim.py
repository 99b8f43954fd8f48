"""RIM with curved boundaries: the linear model on rows that represent a kernel.

With kernel matrix = Phi Phi', kernel RIM equals linear RIM on Phi (methods note 4). Optimising the coefficients of the
kernel expansion directly needs ten times more steps, because the matrix enters the gradient twice.
"""

from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.discriminative.kernel_factors import KERNELS, Factor, Kernel, factored, normalised
from benthoscope.engine.discriminative.optimisation import KERNEL_STARTS
from benthoscope.engine.discriminative.rim import Clustering, given_start
from benthoscope.engine.discriminative.validation import at_least_two, finite_rows, whole_above_zero
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, ignore


def check_matrix(matrix: Any) -> np.ndarray:
    """Return a symmetric kernel matrix as float64; raise otherwise."""
    checked = np.asarray(matrix, np.float64)
    if checked.ndim != 2 or checked.shape[0] != checked.shape[1]:
        raise fail(
            "X", f"shape {checked.shape} is not that of a kernel matrix", "give (N, N) with kernel='precomputed'"
        )
    if not np.isfinite(checked).all():
        raise fail("X", "the kernel matrix contains NaN or infinity", "remove these rows")
    if not np.allclose(checked, checked.T, rtol=1e-6, atol=1e-8 * max(np.abs(checked).max(), 1e-300)):
        raise fail("X", "the kernel matrix is not symmetric", "give the kernel values of the same rows on both sides")
    return checked


class KernelRIM(Clustering):
    """Regularised information maximisation with the boundaries of a kernel.

    Parameters
    ----------
    kernel : {"rbf", "cosine", "precomputed"}
        With "precomputed", X is the kernel matrix. New rows are then given by their kernel values with the fitted rows.
    gamma : float or None
        Parameter of the "rbf" kernel; by default one over the median squared distance.
    n_components : int
        Number of leading directions of the kernel to keep.
    landmarks : int
        Largest number of rows that are factored. Further rows are mapped.
    init : {"spectral", "kernel_kmeans", "kmeans"}
        Method for the starts. "kmeans" clusters X itself and can end in a poor optimum if clusters are curved.
    """

    def __init__(
        self,
        *,
        n_clusters=20,
        strength=1.0,
        kernel="rbf",
        gamma=None,
        n_components=150,
        landmarks=2000,
        init="kernel_kmeans",
        balance=True,
        sizes=None,
        n_init=10,
        max_iter=1000,
        tol=1e-9,
        random_state=None,
    ):
        self.n_clusters, self.strength, self.kernel, self.gamma = n_clusters, strength, kernel, gamma
        self.n_components, self.landmarks, self.init = n_components, landmarks, init
        self.balance, self.sizes, self.n_init = balance, sizes, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        start: Any = None,
        compute: Any = None,
        on_step: OnStep = ignore,
        checkpoint: Any = None,
    ) -> Self:
        """Fit to rows X (N, D), or to a kernel matrix (N, N). Other options as in RIM."""
        self._refuse_target(y, "fit")
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        rows = at_least_two(self._square(X) if self._precomputed else finite_rows(X))
        with blas_threads(1):
            self._clear_fit()
            self._record_columns(X)
            self.n_features_in_ = rows.shape[1]
            matrix = self._learn_map(rows, rng)
            phi = self._mapped(rows)
            fitted = self._searched(phi, self._starts(rows, phi, matrix, start, rng), on_step)
        used = fitted.coefficients.take(self._keep(fitted))
        self.coef_, self.intercept_ = used.weights, used.biases
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
        kernel_matrix = check_matrix(X)
        self._lengths = np.sqrt(np.maximum(np.diagonal(kernel_matrix), 1e-300))
        return normalised(kernel_matrix)

    def _learn_map(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Set the kernel, its landmarks and their factor. Returns the kernel matrix of the landmarks."""
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
        """Return the rows phi of new rows. Precomputed values are used as if each new row had length one in the
        kernel's space."""
        rows = super()._rows(X)
        return self._mapped(rows / self._lengths if self._precomputed else rows)

    def _map_arrays(self) -> dict[str, np.ndarray]:
        factor = {
            "axes": self.factor_.axes,
            "mean": self.factor_.mean,
            "scalars": np.array([self.factor_.grand, self.factor_.scale]),
        }
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

    def _starts(
        self, rows: np.ndarray, phi: np.ndarray, matrix: np.ndarray, start: Any, rng: np.random.Generator
    ) -> list[np.ndarray]:
        if start is not None:
            return [given_start(start, len(phi), self.n_clusters)]
        if self.init == "spectral" and len(matrix) < len(phi):
            raise fail(
                "init",
                f"spectral needs the kernel of all {len(phi)} rows, but landmarks={len(matrix)}",
                "increase landmarks or use kernel_kmeans",
            )
        begin = KERNEL_STARTS[self.init]
        plain = None if self._precomputed else rows
        return [begin(plain, phi, matrix, int(self.n_clusters), rng) for _ in range(int(self.n_init))]


def _landmarks(rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
