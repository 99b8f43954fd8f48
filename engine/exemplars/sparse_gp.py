"""Gaussian-process regression on an active set: predictions condition on a few rows, chosen by StreamGreedy."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.exemplars.active_set import CRITERIA, ActiveSet
from benthoscope.engine.exemplars.gaussian_process import SquaredExponential, fitted_kernel, log_marginal_likelihood
from benthoscope.engine.exemplars.race import Race
from benthoscope.engine.exemplars.stream_greedy import blocks_in_a_pass, cycling, stream_greedy
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.value_checks import require_usable_values

RANDOM = "random"
PER_ACTIVE_ROW = 10  # validation rows per active row; fewer let the selection overfit them
AT_LEAST = 2_000  # validation rows
ROWS_AT_ONCE = 4_096


class SparseGPRegressor(RegressorMixin, BaseEstimator):
    """Predict a number with its uncertainty from `n_active` of the rows, chosen by streaming through X and swapping.

    The kernel is squared-exponential. Its hyper-parameters maximise the marginal likelihood of a random subset.

    Parameters
    ----------
    criterion : {"error", "variance", "information", "random"}
        What the active rows are chosen for: the squared error of predictions, the variance that they explain, or
        their own information. "random" chooses nothing, for comparison.
    lengthscales : {"each", "common"}
        One length scale for each column of X, or one for all columns.
    kernel : SquaredExponential or None
        A kernel to use as it is. None fits one.
    kernel_rows : int
        Number of random rows on which the kernel is fitted.
    validation : int or None
        Number of rows on which the criterion is measured. None selects a sufficient number.
    race : float or None
        Probability of a wrong decision with which a step may stop before all validation rows are read. None reads
        all.

    Attributes
    ----------
    active_ : ndarray
        Row numbers of the active set.
    active_rows_ : ndarray (k, D)
    kernel_ : SquaredExponential
    mean_ : float
        Mean of y, which predictions return far from all active rows.
    log_marginal_likelihood_ : float
        Of the active set.
    criterion_history_ : ndarray
        The criterion on the validation rows during the search.
    converged_ : bool
        Whether a whole pass ended without a swap.
    """

    def __init__(
        self,
        n_active: int = 200,
        *,
        criterion: str = "error",
        lengthscales: str = "each",
        kernel: SquaredExponential | None = None,
        kernel_rows: int = 1_000,
        block_size: int = 100,
        validation: int | None = None,
        max_passes: int = 2,
        eager: bool = True,
        race: float | None = None,
        random_state=None,
    ):
        self.n_active, self.criterion, self.lengthscales = n_active, criterion, lengthscales
        self.kernel, self.kernel_rows, self.block_size = kernel, kernel_rows, block_size
        self.validation, self.max_passes, self.eager = validation, max_passes, eager
        self.race, self.random_state = race, random_state

    def fit(self, X, y, *, on_step: OnStep = ignore):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        X, y = require_usable_values(X), require_usable_values(np.asarray(y, float)[:, None], "y")[:, 0]
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        self.mean_ = float(y.mean())
        residual = y - self.mean_
        with blas_threads(1):  # the matrices are small: a second thread mostly waits, and slows other work
            self.kernel_ = self.kernel or self._fitted_kernel(X, residual, rng, on_step)
            self.active_ = self._selected(X, residual, rng, on_step)
            self.active_rows_, self._residual = X[self.active_], residual[self.active_]
            self._condition()
        return self

    def predict(self, X, return_std: bool = False):
        """Return the predictions (n,) and, on request, the standard deviations (n,) of a new measurement: those of the
        function and of the noise together."""
        check_is_fitted(self)
        X = require_usable_values(validate_data(self, X, reset=False, dtype=np.float64))
        with blas_threads(1):
            blocks = [self._predicted(X[at : at + ROWS_AT_ONCE]) for at in range(0, len(X), ROWS_AT_ONCE)]
        mean, deviation = (np.concatenate(column) for column in zip(*blocks, strict=True))
        return (mean, deviation) if return_std else mean

    def _condition(self) -> None:
        noisy = self.kernel_(self.active_rows_, self.active_rows_)
        noisy.flat[:: len(noisy) + 1] += self.kernel_.diagonal_noise
        self._factor = cho_factor(noisy, lower=True)
        self._weights = cho_solve(self._factor, self._residual)
        self.log_marginal_likelihood_ = log_marginal_likelihood(self.kernel_, self.active_rows_, self._residual)[0]

    def _predicted(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with_active = self.kernel_(X, self.active_rows_)
        explained = np.einsum("nk,kn->n", with_active, cho_solve(self._factor, with_active.T))
        latent = np.maximum(self.kernel_.variance - explained, 0)
        return self.mean_ + with_active @ self._weights, np.sqrt(latent + self.kernel_.noise)

    def _fitted_kernel(
        self, X: np.ndarray, residual: np.ndarray, rng: np.random.Generator, on_step: OnStep
    ) -> SquaredExponential:
        rows = np.arange(len(X))
        if len(X) > self.kernel_rows:
            rows = rng.choice(len(X), self.kernel_rows, replace=False)
        return fitted_kernel(X[rows], residual[rows], each_column=self.lengthscales == "each", on_step=on_step)

    def _selected(self, X: np.ndarray, residual: np.ndarray, rng: np.random.Generator, on_step: OnStep) -> np.ndarray:
        self.criterion_history_, self.converged_, self.n_steps_ = np.empty(0), True, 0
        if self.n_active >= len(X):
            return np.arange(len(X))
        if self.criterion == RANDOM:
            return np.sort(rng.choice(len(X), self.n_active, replace=False))
        cycle = blocks_in_a_pass(len(X), self.block_size)
        result = stream_greedy(
            self._objective(X, residual, cycle, rng),
            cycling(len(X), self.block_size, rng),
            self.n_active,
            cycle=cycle,
            eager=self.eager,
            max_steps=self._most_steps(cycle),
            on_step=on_step,
        )
        self.criterion_history_, self.converged_, self.n_steps_ = result.values, result.converged, result.steps
        return result.items

    def _objective(self, X: np.ndarray, residual: np.ndarray, cycle: int, rng: np.random.Generator) -> ActiveSet:
        size = self.validation or max(AT_LEAST, PER_ACTIVE_ROW * self.n_active)
        rows = None if size >= len(X) else rng.choice(len(X), size, replace=False)
        objective = ActiveSet(X, residual, self.kernel_, criterion=self.criterion, validation=rows)
        if self.race is not None:
            swaps = self.n_active * self.block_size + 1
            tests = 40  # of one step, with geometrically growing numbers of points
            objective.race = Race(self.race, objective.span, self._most_steps(cycle) * swaps * tests, rng)
        return objective

    def _most_steps(self, cycle: int) -> int:
        """Return the number of blocks. Without eager swaps, the fill takes one block per active row."""
        return self.max_passes * cycle + (0 if self.eager else self.n_active)

    def _check_parameters(self) -> None:
        for name in ("n_active", "kernel_rows", "block_size", "max_passes"):
            if not (isinstance(getattr(self, name), int | np.integer) and getattr(self, name) > 0):
                raise fail(name, f"must be a whole number greater than 0 (got {getattr(self, name)!r})")
        if self.criterion not in (*CRITERIA, RANDOM):
            raise unknown("criterion", str(self.criterion), (*CRITERIA, RANDOM))
        if self.lengthscales not in ("each", "common"):
            raise unknown("lengthscales", str(self.lengthscales), ("each", "common"))
        if self.race is not None and not 0 < self.race < 1:
            raise fail("race", f"must be a probability between 0 and 1 (got {self.race!r})")
