"""The interface of the cluster distributions of a mixture: conjugate exponential-family priors (methods note 3.6).

Rows are the columns of Z (D, n). `features(Z)` (F, n) are the sufficient statistics; the first one is 1. For clusters
that own the rows with weights R (K, n), the moments are R @ features.T (K, F), and the expected log-likelihood is
coefficients @ features (K, n): two matrix products for any distribution.
"""

from dataclasses import fields
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np


class Clusters(Protocol):
    """The distributions of K clusters. A prior has K = 1."""

    @property
    def n_features(self) -> int: ...  # D

    @property
    def n_statistics(self) -> int: ...  # F

    def features(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray: ...  # (F, n), into `out` if given

    def posterior(self, moments: np.ndarray) -> Self: ...  # for K clusters, from moments (K, F)

    def coefficients(self) -> np.ndarray: ...  # (K, F): E[log p(x)] = coefficients @ features

    def kl(self, prior: Self) -> np.ndarray: ...  # (K,)

    # normals (K, D), offsets (K,) of a plane that splits each cluster
    def cut(self) -> tuple[np.ndarray, np.ndarray]: ...

    def point_coefficients(self) -> np.ndarray: ...  # (K, F): log p(x) at the posterior's point summary

    def log_predictive(self, X: np.ndarray) -> np.ndarray: ...  # (N, K), parameters integrated out

    def draw(self, cluster: np.ndarray, rng: np.random.Generator) -> np.ndarray: ...  # (N, D), one row per entry

    def moved(self, origin: np.ndarray, scale: float) -> Self: ...  # the clusters in the units origin + scale * x

    def arrays(self) -> dict[str, np.ndarray]: ...


@runtime_checkable
class ClosedEvidence(Protocol):
    """Clusters that compute their log evidence without the posterior's coefficients, which is faster."""

    def log_evidence(self, moments: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class ProductsOfFeatures(Protocol):
    """Clusters whose features can be multiplied by a matrix without storing them."""

    @property
    def n_features(self) -> int: ...  # D

    def products(self, Z: np.ndarray) -> Any: ...  # stands for the features (F, n) in products with a matrix


def log_evidence(prior: Clusters, moments: np.ndarray) -> np.ndarray:
    """Return log p(rows of each cluster) (K,) with the parameters integrated out. Rows count by their ownership."""
    if isinstance(prior, ClosedEvidence):
        return prior.log_evidence(moments)
    best = prior.posterior(moments)
    return (best.coefficients() * moments).sum(1) - best.kl(prior)


def expected_log_likelihood(clusters: Clusters, X: np.ndarray) -> np.ndarray:
    """Return E[log p(x)] of each row of X (N, D) under each cluster (N, K)."""
    return (clusters.coefficients() @ clusters.features(np.ascontiguousarray(X.T))).T


def moments(clusters: Clusters, X: np.ndarray, resp: np.ndarray) -> np.ndarray:
    """Return the moments (K, F) of rows X (N, D) that the clusters own with weights resp (N, K)."""
    return resp.T @ clusters.features(np.ascontiguousarray(X.T)).T


def in_arrays(clusters: Any) -> dict[str, np.ndarray]:
    """Return the fields of a frozen dataclass of arrays."""
    return {field.name: np.asarray(getattr(clusters, field.name)) for field in fields(clusters)}
