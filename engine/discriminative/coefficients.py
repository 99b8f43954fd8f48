"""The coefficients of multinomial logistic regression, p(y = k | x) proportional to exp(w_k'x + b_k), and its
probabilities."""

from dataclasses import dataclass
from typing import Self

import numpy as np

BLOCK = 8192  # number of rows per block; the scores of twenty classes then fit the cache


@dataclass(frozen=True)
class Coefficients:
    weights: np.ndarray  # (K, D)
    biases: np.ndarray  # (K,)

    @classmethod
    def zeros(cls, classes: int, width: int) -> Self:
        return cls(np.zeros((classes, width)), np.zeros(classes))

    @classmethod
    def unpacked(cls, flat: np.ndarray, classes: int) -> Self:
        return cls(flat[:-classes].reshape(classes, -1), flat[-classes:])

    def packed(self) -> np.ndarray:
        return np.concatenate([self.weights.ravel(), self.biases])

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return scores (N, K) in the precision of X."""
        return X @ self.weights.T.astype(X.dtype, copy=False) + self.biases.astype(X.dtype, copy=False)

    def log_probabilities(self, X: np.ndarray) -> np.ndarray:
        """Return the log probabilities (N, K)."""
        return log_softmax(self.scores(X))

    def take(self, classes: np.ndarray) -> Self:
        return type(self)(self.weights[classes], self.biases[classes])


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return the log probabilities of each row (N, K). The result is finite even for very large scores."""
    shifted = scores - scores.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def entropies(log_probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy of each row (N,) in nats: 0 for a certain class, log K for equal probabilities."""
    return -(np.exp(log_probabilities) * log_probabilities).sum(1)


def blocks(rows: int) -> list[slice]:
    return [slice(at, at + BLOCK) for at in range(0, rows, BLOCK)]
