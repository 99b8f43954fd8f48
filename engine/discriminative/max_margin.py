"""Maximum margin clustering by alternation (Zhang, Tsang and Kwok 2007): a baseline that halves again and again."""

import numpy as np
from sklearn.svm import SVR

from engine.discriminative.starting import spectral

ROUNDS = 50
BALANCE = 0.1  # |rows on one side - rows on the other| as a share of all


def max_margin_halves(matrix: np.ndarray, rng: np.random.Generator, penalty: float = 1.0) -> np.ndarray:
    """Sides -1 and +1 of rows whose kernel matrix this is, begun with spectral halves."""
    side = np.where(spectral(matrix, 2, rng) > 0, 1.0, -1.0)
    for _ in range(ROUNDS):
        score = SVR(kernel="precomputed", C=penalty, epsilon=0.0).fit(matrix, side).predict(matrix)
        moved = _balanced_sides(score, side)
        if np.array_equal(moved, side):
            break
        side = moved
    return side


def max_margin_clusters(matrix: np.ndarray, levels: int, rng: np.random.Generator) -> np.ndarray:
    """Up to 2 ** levels clusters (N,): every part halved once a level."""
    labels = np.zeros(len(matrix), np.int64)
    for _ in range(levels):
        halves = [(label, np.flatnonzero(labels == label)) for label in range(labels.max() + 1)]
        for label, rows in halves:
            if len(rows) > 2:
                side = max_margin_halves(matrix[np.ix_(rows, rows)], rng)
                labels[rows] = np.where(side > 0, label + len(halves), label)
        labels = np.unique(labels, return_inverse=True)[1]
    return labels


def _balanced_sides(score: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Signs of the scores; where that is too uneven, cut where the fit to the sides is best among balanced cuts."""
    N = len(score)
    allowed = max(BALANCE * N, 1)
    plain = np.where(score >= 0, 1.0, -1.0)
    if abs(plain.sum()) <= allowed:
        return plain
    ordered = np.sort(score)
    cuts = (ordered[1:] + ordered[:-1]) / 2
    below = np.arange(1, N)
    cuts = cuts[np.abs(N - 2 * below) <= allowed]
    losses = [np.abs(side - (score - cut)).sum() for cut in cuts]
    return np.where(score >= cuts[int(np.argmin(losses))], 1.0, -1.0)
