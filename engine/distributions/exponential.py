"""Clusters of non-negative values under a Gamma prior. Each column is exponential with its own rate."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from benthoscope.engine.distributions.base import in_arrays


@dataclass(frozen=True)
class GammaExponential:
    """x_d ~ Exponential(lambda_d), lambda_d ~ Gamma(shape, rate_d)."""

    shape: np.ndarray  # (K,)
    rate: np.ndarray  # (K, D)

    @classmethod
    def prior(cls, mean: np.ndarray, scale: float) -> "GammaExponential":
        """Return the prior with expected rates 1 / (scale mean) and the weight of one observation."""
        return cls(np.ones(1), scale * np.asarray(mean, float)[None])

    @property
    def n_features(self) -> int:
        return self.rate.shape[1]

    @property
    def n_statistics(self) -> int:
        return 1 + self.n_features

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.concatenate([np.ones((1, Z.shape[1]), Z.dtype), Z], out=out)

    def posterior(self, moments: np.ndarray) -> "GammaExponential":
        return GammaExponential(self.shape + moments[:, 0], self.rate + moments[:, 1:])

    def coefficients(self) -> np.ndarray:
        constant = self.n_features * psi(self.shape) - np.log(self.rate).sum(1)
        return np.concatenate([constant[:, None], -self.shape[:, None] / self.rate], axis=1)

    def point_coefficients(self) -> np.ndarray:
        """Return the coefficients at the expected rates."""
        rate = self.shape[:, None] / self.rate
        return np.concatenate([np.log(rate).sum(1, keepdims=True), -rate], axis=1)

    def kl(self, prior: "GammaExponential") -> np.ndarray:
        shape = self.shape
        gain = (shape - prior.shape) * psi(shape) - gammaln(shape) + gammaln(prior.shape) - shape
        of_rate = prior.shape[:, None] * np.log(self.rate / prior.rate) + shape[:, None] * prior.rate / self.rate
        return self.n_features * gain + of_rate.sum(1)

    def cut(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the planes through the means that split the column with the largest mean, which also has the largest
        spread."""
        mean = self.rate / self.shape[:, None]
        normal = np.eye(self.n_features)[mean.argmax(1)]
        return normal, (normal * mean).sum(1)

    def log_predictive(self, X: np.ndarray) -> np.ndarray:
        """Return the log density (N, K), a product of Lomax densities."""
        far = np.stack([np.log1p(X / rate).sum(1) for rate in self.rate], axis=1)
        return self.n_features * np.log(self.shape) - np.log(self.rate).sum(1) - (self.shape + 1) * far

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        mean = self.rate / self.shape[:, None]
        return rng.standard_exponential((len(cluster), self.n_features)) * mean[cluster]

    def moved(self, origin: np.ndarray, scale: float) -> "GammaExponential":
        """Return the clusters in other units. `origin` must be zero, because the distribution cannot be shifted."""
        return GammaExponential(self.shape, scale * self.rate)

    def arrays(self) -> dict[str, np.ndarray]:
        return in_arrays(self)
