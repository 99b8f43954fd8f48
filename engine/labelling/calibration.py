"""Making a model's probabilities honest: of images said to be sure at 90 %, 90 % should be right."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from engine.discriminative.logit import log_softmax

# Of the logarithm of a temperature: where nothing held out was foretold wrongly, still not sure without end.
RANGE = (np.log(0.5), np.log(5.0))


@dataclass(frozen=True)
class Reliability:
    """For a calibration plot: of images in each range of confidence, the mean confidence and the share right."""

    confidence: np.ndarray
    right: np.ndarray
    weight: np.ndarray  # share of all images in the range

    @property
    def error(self) -> float:
        """Expected calibration error: how far confidence and truth are apart, on average."""
        return float(self.weight @ np.abs(self.confidence - self.right))


def temperature(scores: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The divisor of held-out scores (N, K) under which their true classes y (N,) are likeliest."""
    w = np.ones(len(y)) if weights is None else weights
    rows = np.arange(len(y))

    def loss(log_t: float) -> float:
        return float(-(w * log_softmax(scores / np.exp(log_t))[rows, y]).sum())

    return float(np.exp(minimize_scalar(loss, bounds=RANGE, method="bounded").x))


def reliability(confidence: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None,
                bins: int = 10) -> Reliability:
    """In ranges of equal width between 0 and 1; empty ranges are left out."""
    w = np.ones(len(right)) if weights is None else weights
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    total = np.bincount(place, w, bins)
    kept = total > 0
    mean = [np.bincount(place, w * values, bins)[kept] / total[kept] for values in (confidence, right)]
    return Reliability(mean[0], mean[1], total[kept] / total.sum())
