"""What a mixture asks of its clusters: a conjugate exponential-family prior (methods note 3.6).

Rows enter as columns of Z (D, n). `features(Z)` (F, n) are the sufficient statistics, the first of them 1, so that the
moments of clusters that own the rows with weights R (K, n) are R @ features.T (K, F) and the expected log-likelihood is
coefficients @ features (K, n): two matrix products, whatever the distribution.
"""

from dataclasses import fields
from typing import Any, Protocol, Self

import numpy as np


class Clusters(Protocol):
    """K clusters, of which a prior is the case K = 1."""

    @property
    def n_features(self) -> int: ...                                # D

    @property
    def n_statistics(self) -> int: ...                              # F

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray: ...  # (F, n), into `out` if given

    def posterior(self, moments: np.ndarray) -> Self: ...           # of K clusters, for moments (K, F)

    def coefficients(self) -> np.ndarray: ...                       # (K, F): E[log p(x)] = coefficients @ features

    def kl(self, prior: Self) -> np.ndarray: ...                    # (K,)

    def cut(self) -> tuple[np.ndarray, np.ndarray]: ...             # normals (K, D), offsets (K,) of a halving plane

    def point_coefficients(self) -> np.ndarray: ...                 # (K, F): log p(x) at the posterior's point summary

    def log_predictive(self, X: np.ndarray) -> np.ndarray: ...      # (N, K), parameters integrated out

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...  # (N, D), one row per entry

    def moved(self, origin: np.ndarray, scale: float) -> Self: ...  # the clusters of origin + scale * x

    def arrays(self) -> dict[str, np.ndarray]: ...


def log_evidence(prior: Clusters, moments: np.ndarray) -> np.ndarray:
    """log p(the rows of each cluster) (K,), with its parameters integrated out; fractional ownership counts in part."""
    best = prior.posterior(moments)
    return (best.coefficients() * moments).sum(1) - best.kl(prior)


def expected_log_likelihood(clusters: Clusters, X: np.ndarray) -> np.ndarray:
    """E[log p(x)] of every row of X (N, D) under every cluster, (N, K)."""
    return (clusters.coefficients() @ clusters.features(np.ascontiguousarray(X.T))).T


def moments(clusters: Clusters, X: np.ndarray, resp: np.ndarray) -> np.ndarray:
    """What rows X (N, D) say about the clusters that own them with weights resp (N, K): (K, F)."""
    return resp.T @ clusters.features(np.ascontiguousarray(X.T)).T


def in_arrays(clusters: Any) -> dict[str, np.ndarray]:
    """The fields of a frozen dataclass of arrays."""
    return {field.name: np.asarray(getattr(clusters, field.name)) for field in fields(clusters)}
