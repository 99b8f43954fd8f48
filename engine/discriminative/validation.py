"""Checks and scaling of the rows for the discriminative models, and the priors of class sizes (methods note 4, 8.2).

The effect of a penalty depends on the scale of the rows, so the scale is fixed before the fit and stored with the
model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import require_usable_values


def finite_rows(X: Any) -> np.ndarray:
    """Return rows (N, D); float32 stays float32, all else becomes float64."""
    matrix = checking.rows_of(X)
    matrix = np.load(matrix, mmap_mode="r", allow_pickle=False) if isinstance(matrix, Path) else matrix
    rows = np.asarray(matrix, matrix.dtype if matrix.dtype == np.float32 else np.float64)
    return require_usable_values(rows)


def at_least_two(X: np.ndarray) -> np.ndarray:
    if len(X) < 2:
        raise fail("X", f"n_samples={len(X)}, but at least two rows are needed", "give more images")
    return X


def whole_above_zero(where: str, value: Any) -> int:
    checking.positive(where, value, integer=True)
    return int(value)


@dataclass(frozen=True)
class Scale:
    """Maps rows to (x - centre) / scale."""

    centre: np.ndarray  # (D,)
    scale: np.ndarray  # (D,), all positive

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.centre) / self.scale).astype(X.dtype, copy=False)


def overall(X: np.ndarray) -> Scale:
    """Return a scale that centres the rows and gives them a mean squared norm of one. Directions keep their relative
    spread."""
    centre = _mean(X)
    norm = np.sqrt(float(np.square(X - centre).sum(dtype=np.float64)) / len(X))
    return Scale(centre, np.full(X.shape[1], norm or 1.0))


def standard(X: np.ndarray) -> Scale:
    """Return a scale that divides each centred column by its standard deviation, then applies `overall`."""
    return _columnwise(X, X.std(0, dtype=np.float64))


def variance(X: np.ndarray) -> Scale:
    """Return a scale that divides each centred column by its variance, as the paper does for spike shapes."""
    return _columnwise(X, X.var(0, dtype=np.float64))


def unscaled(X: np.ndarray) -> Scale:
    return Scale(np.zeros(X.shape[1]), np.ones(X.shape[1]))


SCALES: dict[str, Callable[[np.ndarray], Scale]] = {
    "overall": overall,
    "standard": standard,
    "variance": variance,
    "none": unscaled,
}


def _columnwise(X: np.ndarray, by: np.ndarray) -> Scale:
    centre, divisor = _mean(X), np.where(by > 0, by, 1.0)
    norm = np.sqrt(float((np.square(X - centre).sum(0, dtype=np.float64) / divisor**2).sum()) / len(X))
    return Scale(centre, divisor * (norm or 1.0))


def _mean(X: np.ndarray) -> np.ndarray:
    return X.mean(0, dtype=np.float64)


STEEPEST = 20.0  # largest exponent of the power law; above it, the first class gets everything
ZIPF = 1.0  # mean of the exponent's prior; the usual value for sizes in nature


def power_law(classes: int, gamma: float) -> np.ndarray:
    """Return shares proportional to k to the power of -gamma, largest first."""
    weights = np.arange(1, classes + 1, dtype=float) ** -gamma
    return weights / weights.sum()


def slope_of_gamma(shares: np.ndarray, gamma: float) -> float:
    """Return d/d gamma of sum_k shares_k log D_k(gamma), for shares (K,) in descending order."""
    ranks = np.log(np.arange(1, len(shares) + 1))
    return float(power_law(len(shares), gamma) @ ranks - shares @ ranks)


def fitted_gamma(shares: np.ndarray, prior: float = 0.0) -> float:
    """Return the most likely exponent, 0 or more, for the shares (K,).

    `prior` is the precision of a Gaussian prior around ZIPF. Without a prior, the likelihood of a single class grows
    with the exponent without limit.
    """
    falling = np.sort(shares)[::-1] / shares.sum()

    def slope(gamma: float) -> float:
        return slope_of_gamma(falling, gamma) - prior * (gamma - ZIPF)

    if slope(0.0) <= 0:
        return 0.0
    if slope(STEEPEST) >= 0:
        return STEEPEST
    return float(scipy.optimize.brentq(slope, 0.0, STEEPEST))


def tied_by_rank(sizes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return log sizes (K,) in the order of the classes; the class with the largest share gets the largest size."""
    order, tied = np.argsort(-shares, kind="stable"), np.empty(len(shares))
    tied[order] = np.sort(sizes)[::-1]
    return np.log(np.maximum(tied / tied.sum(), 1e-300))
