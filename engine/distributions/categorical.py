"""Clusters of words under a Dirichlet prior. A row is one word of a vocabulary, given as an indicator vector.

With symmetric Dirichlet weights per group, this is smoothed latent Dirichlet allocation.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from benthoscope.engine.distributions.base import in_arrays


@dataclass(frozen=True)
class DirichletCategorical:
    """x is a row of an identity matrix, p(word v) = beta_v, beta ~ Dirichlet(pseudo)."""

    pseudo: np.ndarray  # (K, V)

    @classmethod
    def prior(cls, words: int, pseudo: float = 1.0) -> "DirichletCategorical":
        return cls(np.full((1, words), float(pseudo)))

    @property
    def n_features(self) -> int:
        return self.pseudo.shape[1]

    @property
    def n_statistics(self) -> int:
        return 1 + self.n_features

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.concatenate([np.ones((1, Z.shape[1]), Z.dtype), Z], out=out)

    def posterior(self, moments: np.ndarray) -> "DirichletCategorical":
        return DirichletCategorical(self.pseudo + moments[:, 1:])

    def coefficients(self) -> np.ndarray:
        return _on_words(psi(self.pseudo) - psi(self.pseudo.sum(1, keepdims=True)))

    def point_coefficients(self) -> np.ndarray:
        return _on_words(np.log(self.pseudo / self.pseudo.sum(1, keepdims=True)))

    def kl(self, prior: "DirichletCategorical") -> np.ndarray:
        expected_log = psi(self.pseudo) - psi(self.pseudo.sum(1, keepdims=True))
        moved = ((self.pseudo - prior.pseudo) * expected_log).sum(1)
        return moved + _log_norm(self.pseudo) - _log_norm(prior.pseudo)

    def cut(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the plane that separates the most frequent word from all others."""
        return np.eye(self.n_features)[self.pseudo.argmax(1)], np.full(len(self.pseudo), 0.5)

    def log_predictive(self, X: np.ndarray) -> np.ndarray:
        return X @ self.point_coefficients()[:, 1:].T

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        upto = (self.pseudo / self.pseudo.sum(1, keepdims=True)).cumsum(1)[cluster]
        word = (rng.random((len(cluster), 1)) > upto[:, :-1]).sum(1)
        return np.eye(self.n_features)[word]

    def moved(self, origin: np.ndarray, scale: float) -> "DirichletCategorical":
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        return in_arrays(self)


def _on_words(log_probability: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((len(log_probability), 1)), log_probability], axis=1)


def _log_norm(pseudo: np.ndarray) -> np.ndarray:
    return gammaln(pseudo.sum(1)) - gammaln(pseudo).sum(1)
