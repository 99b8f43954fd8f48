"""How many suggestions can be taken unseen: accuracy against coverage, and the threshold to set."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta


@dataclass(frozen=True)
class Curve:
    """At every threshold of confidence (falling): the share of images decided, the share of those right, and the
    lower bound of that at 95 %."""

    thresholds: np.ndarray
    coverage: np.ndarray
    accuracy: np.ndarray
    at_least: np.ndarray

    def threshold_for(self, wanted: float, *, careful: bool = True) -> float | None:
        """The least threshold at which what is decided is right as often as wanted: by its lower bound, or without
        care by its estimate. None where no threshold is good enough."""
        good = np.flatnonzero((self.at_least if careful else self.accuracy) >= wanted)
        return float(self.thresholds[good[-1]]) if len(good) else None


def accuracy_coverage(confidence: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None) -> Curve:
    """From held-out confidences (n,) and whether the first guess was right; weights say for how many images each
    stands. The bounds are exact binomial ones for the effective number of images."""
    w = np.ones(len(right)) if weights is None else np.asarray(weights, float)
    order = np.argsort(-confidence, kind="stable")
    decided, good = np.cumsum(w[order]), np.cumsum((w * right)[order])
    effective = decided**2 / np.cumsum(w[order] ** 2)
    accuracy = good / decided
    last = np.append(np.diff(confidence[order]) != 0, True)  # equal confidences are decided together
    lower = beta.ppf(0.05, accuracy * effective, (1 - accuracy) * effective + 1)
    at_least = np.where(accuracy > 0, lower, 0.0)
    return Curve(confidence[order][last], (decided / decided[-1])[last], accuracy[last], at_least[last])
