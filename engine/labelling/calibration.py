"""Calibrate the probabilities of a model, so that suggestions with 90 % confidence are correct in 90 % of cases.

Also: prediction sets that contain the true term with a chosen probability for any model (split conformal prediction),
and accuracy against coverage, to choose a threshold of confidence.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from benthoscope.engine.discriminative.coefficients import log_softmax
from benthoscope.engine.problems import fail

RANGE = (0.7, 12.0)  # limits of a temperature
WITHIN_ACTS = (1.0, 3.0)  # limits of a temperature from labels of the same events, which resemble each other
PULL = 10.0  # weight of the temperature of all held-out labels: that of about 20 random draws


@dataclass(frozen=True)
class Reliability:
    """Data of a calibration plot: for the images in each range of confidence, the mean confidence and the fraction
    correct."""

    confidence: np.ndarray
    right: np.ndarray
    weight: np.ndarray  # fraction of all images in the range

    @property
    def error(self) -> float:
        """Return the expected calibration error: the mean difference between confidence and accuracy."""
        return float(self.weight @ np.abs(self.confidence - self.right))


def temperature(
    scores: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None, *, prior: float | None = None
) -> float:
    """Return the divisor of held-out scores (N, K) that maximises the likelihood of the true classes y (N,). With
    `prior`, the result is shrunk towards that temperature, with the weight of about twenty labels."""
    w = np.ones(len(y)) if weights is None else weights
    rows = np.arange(len(y))

    def loss(log_t: float) -> float:
        pull = 0.0 if prior is None else PULL * (log_t - np.log(prior)) ** 2
        return float(pull - (w * log_softmax(scores / np.exp(log_t))[rows, y]).sum())

    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=np.log(RANGE), method="bounded").x))


def reliability(
    confidence: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None, bins: int = 10
) -> Reliability:
    """Return the calibration in ranges of equal width between 0 and 1. Empty ranges are left out."""
    w = np.ones(len(right)) if weights is None else weights
    bin_number = np.minimum((confidence * bins).astype(int), bins - 1)
    total = np.bincount(bin_number, w, bins)
    is_used = total > 0
    mean = [np.bincount(bin_number, w * values, bins)[is_used] / total[is_used] for values in (confidence, right)]
    return Reliability(mean[0], mean[1], total[is_used] / total.sum())


def conformal_threshold(of_truth: np.ndarray, error: float, weights: np.ndarray | None = None) -> float:
    """Return the smallest probability with which a term belongs to a prediction set, so that the set of a new image
    misses the true term with a probability of at most `error`.

    `of_truth` (n,) are held-out probabilities of the true terms; `weights` the number of images that each represents.
    Returns 0, so that all terms are in the set, if there are too few images for a guarantee.
    """
    if not 0 < error < 1:
        raise fail("conformal sets", f"an error of {error}", "give a number between 0 and 1")
    w = np.ones(len(of_truth)) if weights is None else np.asarray(weights, float)
    order = np.argsort(of_truth)[::-1]  # most probable first
    share = np.cumsum(w[order]) / (w.sum() + w.mean()) if len(order) else np.empty(0)  # the new image counts as one
    enough = np.flatnonzero(share >= 1 - error)
    return float(of_truth[order[enough[0]]]) if len(enough) else 0.0


def conformal_sets(probabilities: np.ndarray, threshold: float) -> np.ndarray:
    """Return the terms in each image's set (N, K) bool. The most likely term is always included."""
    sets = probabilities >= threshold
    sets[np.arange(len(sets)), probabilities.argmax(1)] = True
    return sets


@dataclass(frozen=True)
class Curve:
    """Fraction of images above each threshold of confidence (descending), their accuracy, and its lower bound
    at 95 %."""

    thresholds: np.ndarray
    coverage: np.ndarray
    accuracy: np.ndarray
    at_least: np.ndarray

    def threshold_for(self, precision: float, *, careful: bool = True) -> float | None:
        """Return the smallest threshold with the wanted precision, by its lower bound, or by its estimate if not
        `careful`. None if no threshold reaches it."""
        good = np.flatnonzero((self.at_least if careful else self.accuracy) >= precision)
        return float(self.thresholds[good[-1]]) if len(good) else None


def accuracy_coverage(confidence: np.ndarray, right: np.ndarray, weights: np.ndarray | None = None) -> Curve:
    """Return accuracy against coverage from held-out confidences (n,) and whether the first guess was correct.
    `weights` say how many images each represents. The bounds are exact binomial ones for the effective number of
    images."""
    w = np.ones(len(right)) if weights is None else np.asarray(weights, float)
    order = np.argsort(-confidence, kind="stable")
    decided, good = np.cumsum(w[order]), np.cumsum((w * right)[order])
    effective = decided**2 / np.cumsum(w[order] ** 2)
    accuracy = good / decided
    last = np.append(np.diff(confidence[order]) != 0, True)  # equal confidences are on the same side of the threshold
    lower = scipy.special.betaincinv(accuracy * effective, (1 - accuracy) * effective + 1, 0.05)
    at_least = np.where(accuracy > 0, lower, 0.0)
    return Curve(confidence[order][last], (decided / decided[-1])[last], accuracy[last], at_least[last])
