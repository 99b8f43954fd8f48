"""The scale of rows decides what a penalty means, so it is fixed before and stored with the model (methods note 4)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Scale:
    """Rows become (x - centre) / scale."""

    centre: np.ndarray  # (D,)
    scale: np.ndarray   # (D,), all positive

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return ((X - self.centre) / self.scale).astype(X.dtype, copy=False)


def overall(X: np.ndarray) -> Scale:
    """Centred, with a mean squared norm of rows of one: directions keep their share of the spread."""
    centre = _mean(X)
    norm = np.sqrt(float(np.square(X - centre).sum(dtype=np.float64)) / len(X))
    return Scale(centre, np.full(X.shape[1], norm or 1.0))


def standard(X: np.ndarray) -> Scale:
    """Every column centred and divided by its standard deviation, then as `overall`."""
    return _columnwise(X, X.std(0, dtype=np.float64))


def variance(X: np.ndarray) -> Scale:
    """Every column centred and divided by its variance, as the source printed for spike shapes."""
    return _columnwise(X, X.var(0, dtype=np.float64))


def unscaled(X: np.ndarray) -> Scale:
    return Scale(np.zeros(X.shape[1]), np.ones(X.shape[1]))


SCALES: dict[str, Callable[[np.ndarray], Scale]] = {
    "overall": overall, "standard": standard, "variance": variance, "none": unscaled,
}


def _columnwise(X: np.ndarray, by: np.ndarray) -> Scale:
    centre, divisor = _mean(X), np.where(by > 0, by, 1.0)
    norm = np.sqrt(float((np.square(X - centre).sum(0, dtype=np.float64) / divisor**2).sum()) / len(X))
    return Scale(centre, divisor * (norm or 1.0))


def _mean(X: np.ndarray) -> np.ndarray:
    return X.mean(0, dtype=np.float64)
