"""The objective of regularised information maximisation and its gradient (methods note 2, 3, 8).

F = tau * [ -(1/N) sum_i H(p_i) + H(share) (- cross-entropy to a prior of class sizes) ]
    + sum over labelled rows of log p(y_i | x_i) - lambda * sum_k |w_k|^2
"""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.discriminative.coefficients import Coefficients, blocks, log_softmax

TINY = 1e-300  # keeps the logarithm of an empty class's share finite
KEPT = 32_000_000  # log-probabilities stored between the two passes (256 MB); larger tables are computed twice


@dataclass(frozen=True)
class WeightedExamples:
    """Rows with known class and weight."""

    X: np.ndarray  # (M, D)
    y: np.ndarray  # (M,) class numbers
    weights: np.ndarray  # (M,)

    def value(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """Return the weighted log-likelihood and its gradient."""
        lp = coefficients.log_probabilities(self.X)
        rows = np.arange(len(self.y))
        residual = -np.exp(lp) * self.weights[:, None]
        residual[rows, self.y] += self.weights
        return float(lp[rows, self.y] @ self.weights), gradient_of(residual, self.X)


@dataclass(frozen=True)
class UncertainExamples:
    """Rows of uncertain class: `log_likelihoods` says how probable the observation of a row is in each class. A known
    class has 0 and the others minus infinity."""

    X: np.ndarray  # (M, D)
    log_likelihoods: np.ndarray  # (M, K), finite for at least one class of each row
    weights: np.ndarray  # (M,)

    def value(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """Return the weighted log-likelihood of the observations, summed over the classes, and its gradient."""
        lp = coefficients.log_probabilities(self.X)
        joint = lp + self.log_likelihoods
        largest = joint.max(1, keepdims=True)
        posterior = np.exp(joint - largest)
        total = posterior.sum(1, keepdims=True)
        residual = (posterior / total - np.exp(lp)) * self.weights[:, None]
        return float((largest + np.log(total))[:, 0] @ self.weights), gradient_of(residual, self.X)


@dataclass(frozen=True)
class Information:
    """Mutual information between rows and classes.

    `log_sizes` (K,) replaces the uniform prior of class sizes. Without `balance`, only the certainty of the rows counts
    (Grandvalet and Bengio).
    """

    X: np.ndarray  # (N, D)
    balance: bool = True
    log_sizes: np.ndarray | None = None

    def value(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """Return the information in nats per row and its gradient. Uses two passes, because the gradient needs the
        class shares."""
        certainty, shares, log_probabilities = self._first_sweep(coefficients)
        against = self.reference(shares)
        return float(certainty - shares @ against), self._second_sweep(coefficients, against, log_probabilities)

    def reference(self, shares: np.ndarray) -> np.ndarray:
        """Return the reference of the log-probabilities of each class (K,)."""
        balanced = np.log(np.maximum(shares, TINY)) if self.balance else np.zeros(len(shares))
        return balanced if self.log_sizes is None else balanced - self.log_sizes

    def _first_sweep(self, coefficients: Coefficients) -> tuple[float, np.ndarray, list[np.ndarray]]:
        """Return (minus the mean entropy of the rows, class shares, log-probabilities if they fit into memory)."""
        N, K = len(self.X), len(coefficients.biases)
        certainty, shares, log_probabilities = 0.0, np.zeros(K), []
        for block in blocks(N):
            lp = coefficients.log_probabilities(self.X[block])
            P = np.exp(lp)
            certainty += float(np.einsum("nk,nk->", P, lp, dtype=np.float64))
            shares += P.sum(0, dtype=np.float64)
            if N * K <= KEPT:
                log_probabilities.append(lp)
        return certainty / N, shares / N, log_probabilities

    def _second_sweep(
        self, coefficients: Coefficients, against: np.ndarray, log_probabilities: list[np.ndarray]
    ) -> Coefficients:
        N = len(self.X)
        total = np.zeros(coefficients.weights.size + coefficients.biases.size)
        for number, block in enumerate(blocks(N)):
            X = self.X[block]
            lp = log_probabilities[number] if log_probabilities else coefficients.log_probabilities(X)
            total += gradient_of(slopes(lp, against), X).packed()
        return Coefficients.unpacked(total / N, len(coefficients.biases))


@dataclass(frozen=True)
class InformationObjective:
    """The complete objective. `penalty` is lambda, `information_weight` is tau."""

    penalty: float
    information: Information | None = None
    labelled: WeightedExamples | UncertainExamples | None = None
    information_weight: float = 1.0

    def __call__(self, coefficients: Coefficients) -> tuple[float, Coefficients]:
        """Return F and its gradient. Biases have no penalty, so that a class can become empty at no cost."""
        F = -self.penalty * float((coefficients.weights**2).sum())
        slope = np.concatenate([-2 * self.penalty * coefficients.weights.ravel(), np.zeros(len(coefficients.biases))])
        for weight, term in self._terms():
            value, gradient = term.value(coefficients)
            F, slope = F + weight * value, slope + weight * gradient.packed()
        return F, Coefficients.unpacked(slope, len(coefficients.biases))

    def _terms(self) -> list[tuple[float, Information | WeightedExamples | UncertainExamples]]:
        weighted = ((self.information_weight, self.information), (1.0, self.labelled))
        return [(weight, term) for weight, term in weighted if term is not None and weight]


def slopes(lp: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Return d information / d scores, times N (N, K)."""
    P, score = np.exp(lp), lp - against.astype(lp.dtype, copy=False)
    return P * (score - np.einsum("nk,nk->n", P, score)[:, None])


def gradient_of(of_scores: np.ndarray, X: np.ndarray) -> Coefficients:
    return Coefficients((of_scores.T @ X).astype(np.float64), of_scores.sum(0, dtype=np.float64))


def mutual_information(scores: np.ndarray) -> float:
    """Return the mutual information between rows and classes in nats: between 0 and log K."""
    lp = log_softmax(scores)
    P = np.exp(lp)
    shares = P.mean(0)
    return float((P * lp).sum() / len(lp) - shares @ np.log(np.maximum(shares, TINY)))
