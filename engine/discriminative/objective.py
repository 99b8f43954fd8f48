"""What regularised information maximisation climbs, with its gradient (methods note 2, 3, 8).

    F = tau * [ -(1/N) sum_i H(p_i) + H(share) (- cross-entropy to a prior of class sizes) ]
        + sum over labelled rows of log p(y_i | x_i) - lambda * sum_k |w_k|^2
"""

from dataclasses import dataclass

import numpy as np

from engine.discriminative.logit import Coefficients, blocks, log_softmax

TINY = 1e-300      # keeps the logarithm of a dead class's share finite
KEPT = 32_000_000  # log-probabilities remembered between the two sweeps (256 MB); beyond that they are made twice


@dataclass(frozen=True)
class Labelled:
    """Rows whose class is known, each counted `weights` times."""

    X: np.ndarray        # (M, D)
    y: np.ndarray        # (M,) class numbers
    weights: np.ndarray  # (M,)

    def value(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """Weighted log-likelihood and its gradient."""
        lp = coefficients.log_probabilities(self.X)
        rows = np.arange(len(self.y))
        residual = -np.exp(lp) * self.weights[:, None]
        residual[rows, self.y] += self.weights
        return float(lp[rows, self.y] @ self.weights), gradient_of(residual, self.X)


@dataclass(frozen=True)
class Information:
    """Mutual information of row and class. `log_sizes` (K,) is a prior of class sizes in its place of the uniform one;
    without `balance` only the certainty of rows counts (Grandvalet and Bengio)."""

    X: np.ndarray  # (N, D)
    balance: bool = True
    log_sizes: np.ndarray | None = None

    def value(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """In nats per row, and its gradient; in two sweeps, for the shares must be known before the slopes."""
        certainty, shares, kept = self._first_sweep(coefficients)
        against = self.reference(shares)
        return float(certainty - shares @ against), self._second_sweep(coefficients, against, kept)

    def reference(self, shares: np.ndarray) -> np.ndarray:
        """(K,): what the log-probability of a class is held against."""
        balanced = np.log(np.maximum(shares, TINY)) if self.balance else np.zeros(len(shares))
        return balanced if self.log_sizes is None else balanced - self.log_sizes

    def _first_sweep(self, coefficients: Coefficients) -> tuple[float, np.ndarray, list[np.ndarray]]:
        """(minus the mean entropy of rows, shares of classes, log-probabilities where they may be kept)."""
        N, K = len(self.X), len(coefficients.biases)
        certainty, shares, kept = 0.0, np.zeros(K), []
        for block in blocks(N):
            lp = coefficients.log_probabilities(self.X[block])
            P = np.exp(lp)
            certainty += float(np.einsum("nk,nk->", P, lp, dtype=np.float64))
            shares += P.sum(0, dtype=np.float64)
            if N * K <= KEPT:
                kept.append(lp)
        return certainty / N, shares / N, kept

    def _second_sweep(self, coefficients: Coefficients, against: np.ndarray, kept: list[np.ndarray]) -> Coefficients:
        N = len(self.X)
        total = np.zeros(coefficients.weights.size + coefficients.biases.size)
        for number, block in enumerate(blocks(N)):
            X = self.X[block]
            lp = kept[number] if kept else coefficients.log_probabilities(X)
            total += gradient_of(slopes(lp, against), X).packed()
        return Coefficients.unpacked(total / N, len(coefficients.biases))


@dataclass(frozen=True)
class Objective:
    """`penalty` is lambda, `information_weight` tau."""

    penalty: float
    information: Information | None = None
    labelled: Labelled | None = None
    information_weight: float = 1.0

    def __call__(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """F and its gradient. Biases are not penalised, so that a class may leave for nothing."""
        F = -self.penalty * float((coefficients.weights**2).sum())
        slope = np.concatenate([-2 * self.penalty * coefficients.weights.ravel(), np.zeros(len(coefficients.biases))])
        for weight, term in self._terms():
            value, gradient = term.value(coefficients)
            F, slope = F + weight * value, slope + weight * gradient.packed()
        return F, Coefficients.unpacked(slope, len(coefficients.biases))

    def _terms(self) -> list[tuple[float, Information | Labelled]]:
        given = ((self.information_weight, self.information), (1.0, self.labelled))
        return [(weight, term) for weight, term in given if term is not None and weight]


def slopes(lp: np.ndarray, against: np.ndarray) -> np.ndarray:
    """(N, K): d information / d scores, times N."""
    P, held = np.exp(lp), lp - against.astype(lp.dtype, copy=False)
    return P * (held - np.einsum("nk,nk->n", P, held)[:, None])


def gradient_of(of_scores: np.ndarray, X: np.ndarray) -> Coefficients:
    return Coefficients((of_scores.T @ X).astype(np.float64), of_scores.sum(0, dtype=np.float64))


def mutual_information(scores: np.ndarray) -> float:
    """Of row and class, in nats: between 0 and log K."""
    lp = log_softmax(scores)
    P = np.exp(lp)
    shares = P.mean(0)
    return float((P * lp).sum() / len(lp) - shares @ np.log(np.maximum(shares, TINY)))
