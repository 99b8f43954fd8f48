"""Gaussian clusters with independent columns under a Gaussian-Gamma prior. The cost is linear in D, not cubic."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from benthoscope.engine.distributions.base import in_arrays


@dataclass(frozen=True)
class GaussianGamma:
    """Per column: precision ~ Gamma(shape, rate), mu | precision ~ N(mean, 1 / (strength precision))."""

    mean: np.ndarray  # (K, D)
    strength: np.ndarray  # (K,)
    shape: np.ndarray  # (K,)
    rate: np.ndarray  # (K, D)

    @classmethod
    def prior(cls, mean: np.ndarray, variance: float) -> "GaussianGamma":
        """Return the prior with expected precision 1 / variance and the weight of one observation."""
        return cls(mean[None].astype(float), np.ones(1), np.full(1, 0.5), np.full((1, len(mean)), 0.5 * variance))

    @property
    def n_features(self) -> int:
        return self.mean.shape[1]

    @property
    def n_statistics(self) -> int:
        return 1 + 2 * self.n_features

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.concatenate([np.ones((1, Z.shape[1]), Z.dtype), Z, Z * Z], out=out)

    def posterior(self, moments: np.ndarray) -> "GaussianGamma":
        D, prior_mean = self.n_features, self.mean[0]
        count, total, square = moments[:, 0], moments[:, 1 : D + 1], moments[:, D + 1 :]
        strength = self.strength + count
        shift = (total - count[:, None] * prior_mean) / strength[:, None]
        about = square - 2 * prior_mean * total + count[:, None] * prior_mean**2
        spread = np.maximum(about - strength[:, None] * shift**2, 0.0)
        return GaussianGamma(prior_mean + shift, strength, self.shape + count / 2, self.rate + spread / 2)

    def coefficients(self) -> np.ndarray:
        log_precision = psi(self.shape)[:, None] - np.log(self.rate)
        constant = 0.5 * (log_precision - np.log(2 * np.pi)).sum(1) - 0.5 * self.n_features / self.strength
        return self._packed(constant)

    def point_coefficients(self) -> np.ndarray:
        """Return the coefficients at the posterior mean and the expected precision."""
        return self._packed(0.5 * np.log(self._precision / (2 * np.pi)).sum(1))

    def kl(self, prior: "GaussianGamma") -> np.ndarray:
        D, ratio, shape, precision = self.n_features, prior.strength / self.strength, self.shape, self._precision
        moved = (prior.strength[:, None] * precision * (self.mean - prior.mean) ** 2).sum(1)
        of_mean = 0.5 * (D * (ratio - np.log(ratio) - 1) + moved)
        gain = (shape - prior.shape) * psi(shape) - gammaln(shape) + gammaln(prior.shape) - shape
        of_rate = prior.shape[:, None] * np.log(self.rate / prior.rate) + prior.rate * precision
        return of_mean + D * gain + of_rate.sum(1)

    def cut(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the planes through the means that split the column with the largest variance."""
        normal = np.eye(self.n_features)[self.rate.argmax(1)]
        return normal, (normal * self.mean).sum(1)

    def log_predictive(self, X: np.ndarray) -> np.ndarray:
        """Return the log density (N, K), a product of Student's t densities."""
        shrink = (self.strength / (1 + self.strength))[:, None] / (2 * self.rate)
        norm = gammaln(self.shape + 0.5) - gammaln(self.shape) + 0.5 * np.log(shrink / np.pi).sum(1) / self.n_features
        far = np.stack([np.log1p((X - m) ** 2 * s).sum(1) for m, s in zip(self.mean, shrink, strict=True)], axis=1)
        return self.n_features * norm - (self.shape + 0.5) * far

    def covariance(self) -> np.ndarray:
        """Return the inverse of the expected precision, a diagonal matrix (K, D, D)."""
        return np.eye(self.n_features) / self._precision[:, None, :]

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(cluster), self.n_features))
        return self.mean[cluster] + noise / np.sqrt(self._precision)[cluster]

    def moved(self, origin: np.ndarray, scale: float) -> "GaussianGamma":
        return GaussianGamma(origin + scale * self.mean, self.strength, self.shape, scale**2 * self.rate)

    def arrays(self) -> dict[str, np.ndarray]:
        return in_arrays(self)

    @property
    def _precision(self) -> np.ndarray:
        return self.shape[:, None] / self.rate

    def _packed(self, constant: np.ndarray) -> np.ndarray:
        precision = self._precision
        head = constant - 0.5 * (precision * self.mean**2).sum(1)
        return np.concatenate([head[:, None], precision * self.mean, -0.5 * precision], axis=1)
