"""Sets of terms that hold the true one with a chosen probability, whatever the model (split conformal prediction)."""

import numpy as np

from engine.problems import fail


def conformal_threshold(of_truth: np.ndarray, error: float, weights: np.ndarray | None = None) -> float:
    """The least probability a term needs to be in the set, from held-out probabilities of the true terms (n,), so
    that a new image of the same kind misses its term in a share `error` at most. Weights say for how many images each
    held-out one stands. 0, so that every term is in, where there are too few images to promise anything."""
    if not 0 < error < 1:
        raise fail("conformal sets", f"an error of {error}", "give a number between 0 and 1")
    w = np.ones(len(of_truth)) if weights is None else np.asarray(weights, float)
    order = np.argsort(of_truth)[::-1]  # from well foretold to badly foretold
    share = np.cumsum(w[order]) / (w.sum() + w.mean()) if len(order) else np.empty(0)  # the new image counts as one
    enough = np.flatnonzero(share >= 1 - error)
    return float(of_truth[order[enough[0]]]) if len(enough) else 0.0


def conformal_sets(probabilities: np.ndarray, threshold: float) -> np.ndarray:
    """(N, K) bool: the terms in the set of every image; the likeliest is always in."""
    sets = probabilities >= threshold
    sets[np.arange(len(sets)), probabilities.argmax(1)] = True
    return sets
