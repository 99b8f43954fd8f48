"""The squared-exponential kernel of a Gaussian process, and its hyper-parameters by marginal likelihood."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from benthoscope.engine.exemplars.distances import squared_euclidean
from benthoscope.engine.progress import OnStep, Progress, ignore

JITTER = 1e-8  # smallest noise, as a fraction of the kernel's variance; keeps the matrices positive definite
SMALLEST_EXPONENT = -200.0  # e to this power counts as zero; products of smaller numbers are subnormal and very slow
FIRST_NOISE = 0.1  # fraction of the variance of the target that the search starts from
FARTHEST = 7.0  # largest change of the logarithm of a hyper-parameter from its start: a factor of about 1,000
MOST_STEPS = 60


@dataclass(frozen=True)
class SquaredExponential:
    """k(x, x') = variance * exp(-sum_d (x_d - x'_d)^2 / (2 lengthscales_d^2)); measurements add `noise` (a variance).

    `lengthscales` is (D,).
    """

    variance: float
    lengthscales: np.ndarray
    noise: float

    @property
    def diagonal_noise(self) -> float:
        """The variance added to the diagonal: the noise, but never less than a small fraction of the variance."""
        return max(self.noise, JITTER * self.variance)

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the covariances (n, m) of the rows of X (n, D) and Y (m, D), without noise."""
        far = squared_euclidean(X / self.lengthscales, Y / self.lengthscales)
        far *= -0.5
        np.exp(np.maximum(far, SMALLEST_EXPONENT, out=far), out=far)
        far *= self.variance
        return far


def fitted_kernel(
    X: np.ndarray, residual: np.ndarray, *, each_column: bool = True, on_step: OnStep = ignore
) -> SquaredExponential:
    """Return the kernel that maximises the marginal likelihood of `residual` (n,), targets without their mean.

    Without `each_column`, one length scale holds for all columns of X (n, D).
    """
    spread = X.std(0)
    constant = spread <= 1e-12 * max(float(np.abs(X).max(initial=0.0)), 1e-300)
    scale = np.where(constant, 1.0, spread)
    if not each_column:
        scale = np.full(len(scale), float(np.sqrt(np.mean(np.where(constant, 0.0, spread) ** 2))) or 1.0)
    target_variance = float(residual @ residual) / len(residual)
    usual = scale * np.sqrt(len(scale))
    if target_variance <= 0:
        return SquaredExponential(1.0, usual, FIRST_NOISE)
    scaled, target = X / usual, residual / np.sqrt(target_variance)
    start = np.zeros((len(scale) if each_column else 1) + 2)
    start[-1] = np.log(FIRST_NOISE)
    steps = 0

    def report(_: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        on_step(Progress(steps, MOST_STEPS, "fitting the kernel"))

    result = minimize(
        lambda logs: _negative(logs, scaled, target),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(each - FARTHEST, each + FARTHEST) for each in start],
        options={"maxiter": MOST_STEPS},
        callback=report,
    )
    logs = result.x
    lengthscales = usual * np.exp(logs[:-2])
    return SquaredExponential(
        target_variance * float(np.exp(logs[-2])), lengthscales, target_variance * float(np.exp(logs[-1]))
    )


def log_marginal_likelihood(
    kernel: SquaredExponential, X: np.ndarray, residual: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the log marginal likelihood, and its gradient by the logarithms of the length scales (D,), of the
    variance and of the noise."""
    covariance = kernel(X, X)
    noisy = covariance.copy()
    noisy.flat[:: len(X) + 1] += kernel.diagonal_noise
    factor = cho_factor(noisy, lower=True, overwrite_a=True)
    alpha = cho_solve(factor, residual)
    inverse = cho_solve(factor, np.eye(len(X)))
    value = (
        -0.5 * float(residual @ alpha)
        - float(np.log(np.diag(factor[0])).sum())
        - 0.5 * len(X) * float(np.log(2 * np.pi))
    )
    M = np.multiply.outer(alpha, alpha)
    M -= inverse
    trace = float(np.trace(M))
    M *= covariance
    scaled = X / kernel.lengthscales
    # sum_ij M_ij (x_i - x_j)^2 for each column, by one matrix product
    by_lengthscale = 0.5 * (2 * (M.sum(1) @ scaled**2) - 2 * np.einsum("id,id->d", scaled, M @ scaled))
    gradient = np.concatenate([by_lengthscale, [0.5 * float(M.sum()), 0.5 * trace * kernel.noise]])
    return value, gradient


def _negative(logs: np.ndarray, X: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the log marginal likelihood per row and its gradient, by the logarithms of the free parameters."""
    lengthscales = np.broadcast_to(np.exp(logs[:-2]), X.shape[1:])
    kernel = SquaredExponential(float(np.exp(logs[-2])), lengthscales, float(np.exp(logs[-1])))
    try:
        value, gradient = log_marginal_likelihood(kernel, X, target)
    except np.linalg.LinAlgError:  # not positive definite by rounding: a step too far
        return 1e10, np.zeros_like(logs)
    by_lengthscale = gradient[:-2] if len(logs) == len(gradient) else gradient[:-2].sum(keepdims=True)
    return -value / len(X), -np.concatenate([by_lengthscale, gradient[-2:]]) / len(X)
