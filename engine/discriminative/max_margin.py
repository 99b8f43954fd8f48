"""Maximum margin clustering by alternation (Zhang, Tsang and Kwok 2007): a baseline that splits clusters in two
repeatedly."""

import numpy as np
from sklearn.svm import SVR

from benthoscope.engine.discriminative.optimisation import spectral

ROUNDS = 50
BALANCE = 0.1  # largest difference between the numbers of rows on both sides, as a fraction of all rows


def max_margin_halves(matrix: np.ndarray, rng: np.random.Generator, penalty: float = 1.0) -> np.ndarray:
    """Return the sides -1 and +1 of the rows of this kernel matrix, starting from a spectral split."""
    side = np.where(spectral(matrix, 2, rng) > 0, 1.0, -1.0)
    for _ in range(ROUNDS):
        score = SVR(kernel="precomputed", C=penalty, epsilon=0.0).fit(matrix, side).predict(matrix)
        moved = _balanced_sides(score, side)
        if np.array_equal(moved, side):
            break
        side = moved
    return side


def max_margin_clusters(matrix: np.ndarray, levels: int, rng: np.random.Generator) -> np.ndarray:
    """Return up to 2 ** levels clusters (N,); each level splits every cluster in two."""
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
    """Return the signs of the scores. If they are too unbalanced, return the balanced split that agrees best with
    `side`."""
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
