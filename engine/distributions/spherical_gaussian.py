"""Gaussian clusters with one variance for all columns, under a Gaussian-Gamma prior. The cheapest shape for many
columns; its limit is k-means."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from benthoscope.engine.distributions.base import in_arrays


@dataclass(frozen=True)
class SphericalGaussian:
    """precision ~ Gamma(shape, rate), mu | precision ~ N(mean, I / (strength precision))."""

    mean: np.ndarray  # (K, D)
    strength: np.ndarray  # (K,)
    shape: np.ndarray  # (K,)
    rate: np.ndarray  # (K,)

    @classmethod
    def prior(
        cls, mean: np.ndarray, variance: float, strength: float = 1.0, shape: float | None = None
    ) -> "SphericalGaussian":
        """Return the prior with expected precision 1 / variance. The mean has the weight of `strength` observations,
        the precision that of 2 shape / D (by default one)."""
        shape = len(mean) / 2 if shape is None else shape
        return cls(
            np.asarray(mean, float)[None], np.full(1, float(strength)), np.full(1, float(shape)),
            np.full(1, float(shape) * variance),
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        return self.mean.shape[1]

    @property
    def n_statistics(self) -> int:
        return 2 + self.n_features

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return 1, the D values and the squared length of each column of Z."""
        D, n = Z.shape
        out = np.empty((D + 2, n), Z.dtype) if out is None else out
        out[0], out[1 : D + 1] = 1, Z
        np.einsum("dn,dn->n", Z, Z, out=out[D + 1])
        return out

    def posterior(self, moments: np.ndarray) -> "SphericalGaussian":
        D, prior_mean = self.n_features, self.mean[0]
        count, total, square = moments[:, 0], moments[:, 1 : D + 1], moments[:, D + 1]
        strength = self.strength + count
        shift = (total - count[:, None] * prior_mean) / strength[:, None]
        about = square - 2 * total @ prior_mean + count * (prior_mean @ prior_mean)
        spread = np.maximum(about - strength * (shift**2).sum(1), 0.0)
        return SphericalGaussian(prior_mean + shift, strength, self.shape + count * D / 2, self.rate + spread / 2)

    def moments_about(self, means: np.ndarray) -> np.ndarray:
        """Return the moments (K, F) whose posterior is this prior with the given means (K, D)."""
        shift = means - self.mean[0]
        total = self.strength[0] * shift
        square = self.strength[0] * (shift**2).sum(1) + 2 * total @ self.mean[0]
        return np.concatenate([np.zeros((len(means), 1)), total, square[:, None]], axis=1)

    def coefficients(self) -> np.ndarray:
        D = self.n_features
        return self._packed(0.5 * D * (psi(self.shape) - np.log(self.rate) - np.log(2 * np.pi) - 1 / self.strength))

    def point_coefficients(self) -> np.ndarray:
        """Return the coefficients at the posterior mean and the expected precision."""
        return self._packed(0.5 * self.n_features * np.log(self.precision / (2 * np.pi)))

    def kl(self, prior: "SphericalGaussian") -> np.ndarray:
        D, ratio, shape = self.n_features, prior.strength / self.strength, self.shape
        moved = prior.strength * self.precision * ((self.mean - prior.mean) ** 2).sum(1)
        of_mean = 0.5 * (D * (ratio - np.log(ratio) - 1) + moved)
        gain = (shape - prior.shape) * psi(shape) - gammaln(shape) + gammaln(prior.shape) - shape
        return of_mean + gain + prior.shape * np.log(self.rate / prior.rate) + prior.rate * self.precision

    def cut(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the planes through the means across the first column, because no direction has a larger variance."""
        normal = np.tile(np.eye(self.n_features)[0], (len(self.mean), 1))
        return normal, self.mean[:, 0]

    def log_predictive(self, X: np.ndarray) -> np.ndarray:
        """Return the log density (N, K) of Student's t, with the parameters integrated out."""
        D = self.n_features
        shrink = self.strength / (1 + self.strength)
        far = np.stack([((X - m) ** 2).sum(1) for m in self.mean], axis=1) * (0.5 * shrink / self.rate)
        norm = gammaln(self.shape + D / 2) - gammaln(self.shape)
        return norm + 0.5 * D * np.log(shrink / (2 * np.pi * self.rate)) - (self.shape + D / 2) * np.log1p(far)

    def covariance(self) -> np.ndarray:
        """Return the inverse of the expected precision, a multiple of the identity (K, D, D)."""
        return np.eye(self.n_features) / self.precision[:, None, None]

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_normal((len(cluster), self.n_features))
        return self.mean[cluster] + noise / np.sqrt(self.precision)[cluster, None]

    def moved(self, origin: np.ndarray, scale: float) -> "SphericalGaussian":
        return SphericalGaussian(origin + scale * self.mean, self.strength, self.shape, scale**2 * self.rate)

    def arrays(self) -> dict[str, np.ndarray]:
        return in_arrays(self)

    @property
    def precision(self) -> np.ndarray:
        """Return the expected precision (K,)."""
        return self.shape / self.rate

    def _packed(self, constant: np.ndarray) -> np.ndarray:
        precision = self.precision[:, None]
        head = constant[:, None] - 0.5 * precision * (self.mean**2).sum(1, keepdims=True)
        return np.concatenate([head, precision * self.mean, -0.5 * precision], axis=1)
