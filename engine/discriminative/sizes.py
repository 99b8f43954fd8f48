"""What is believed of class sizes beforehand (methods note 8.2): the largest class gets the largest share."""

import numpy as np
from scipy.optimize import brentq

STEEPEST = 20.0  # of the power law: beyond that the first class has everything


def power_law(classes: int, gamma: float) -> np.ndarray:
    """Shares proportional to k to the power of -gamma, largest first."""
    weights = np.arange(1, classes + 1, dtype=float) ** -gamma
    return weights / weights.sum()


def slope_of_gamma(shares: np.ndarray, gamma: float) -> float:
    """d/d gamma of sum_k shares_k log D_k(gamma), shares (K,) sorted downwards."""
    ranks = np.log(np.arange(1, len(shares) + 1))
    return float(power_law(len(shares), gamma) @ ranks - shares @ ranks)


def fitted_gamma(shares: np.ndarray) -> float:
    """The exponent, 0 or greater, under which the shares (K,) are likeliest."""
    falling = np.sort(shares)[::-1] / shares.sum()
    if slope_of_gamma(falling, 0.0) <= 0:
        return 0.0
    if slope_of_gamma(falling, STEEPEST) >= 0:
        return STEEPEST
    return float(brentq(lambda gamma: slope_of_gamma(falling, gamma), 0.0, STEEPEST))


def tied_by_rank(sizes: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """log sizes (K,), in the order of the classes: the largest size for the class with the largest share."""
    order, tied = np.argsort(-shares, kind="stable"), np.empty(len(shares))
    tied[order] = np.sort(sizes)[::-1]
    return np.log(np.maximum(tied / tied.sum(), 1e-300))
