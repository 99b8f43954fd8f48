"""Platonic clusters: the finest groups any worker tells apart, found as a mixture over item positions (note 2.9).

The mixture is the Dirichlet process's, with the parts and updates of `engine.mixtures`; only the search is of its own:
few points in few dimensions are clustered from many starts, for splitting stalls on symmetric layouts.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from engine.distributions import GaussianWishart, NestedSticks
from engine.mixtures.model import Model
from engine.mixtures.observations import Frame, Observations
from engine.mixtures.variational import Fit, Rule, converge
from engine.progress import OnStep, Progress, ignore

MOST = 15             # clusters tried at first; doubled while the best has that many
STARTS = 3            # for every number of clusters
STRENGTH = 0.01       # pseudo-observations behind a cluster's mean
WIDTH = 0.2           # of a cluster, in shares of the largest spread of all positions
ROUGH, FINE = Rule(1e-5, 100), Rule(1e-7, 500)
TRACE = 0.5           # of an item: clusters that own less are dropped
ALIKE = 1e-4          # relative difference of bounds below which two fits are one
FLAT = 1e-8           # spread below which positions are all one


@dataclass(frozen=True, eq=False)
class PlatonicClusters:
    """K clusters, the largest first."""

    labels: np.ndarray          # (N,) int, -1 for items nobody judged
    probability: np.ndarray     # (N, K), zero for those
    mean: np.ndarray            # (K, D)
    covariance: np.ndarray      # (K, D, D)
    distance: np.ndarray        # (N, K) Mahalanobis

    @property
    def K(self) -> int:
        return len(self.mean)

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels[self.labels >= 0], minlength=self.K)

    def exemplars(self, cluster: int, count: int) -> np.ndarray:
        """The surest members, ties by nearness to the centre."""
        members = np.flatnonzero(self.labels == cluster)
        order = np.lexsort((self.distance[members, cluster], -self.probability[members, cluster]))
        return members[order[:count]]


def platonic_clusters(position: np.ndarray, judged: np.ndarray, rng: np.random.Generator, *, count: int = 1,
                      width: float = WIDTH, on_step: OnStep = ignore) -> list[PlatonicClusters]:
    """Clusters the positions (N, D) of judged items (N,) bool, however many clusters there are.

    The `count` clusterings that bound highest, best first: what answers say of them may choose otherwise.
    """
    rows = np.ascontiguousarray(position[judged])
    if not len(rows):
        return [_placed(np.zeros((0, 1)), position, judged, None)]
    model, data = _model(rows, width), _observed(rows)
    fits = _best(model, data, count, rng, on_step)
    return [_placed(data.responsibilities(fit.scorer), position, judged, fit) for fit in fits]


def given_number(position: np.ndarray, judged: np.ndarray, K: int, rng: np.random.Generator) -> PlatonicClusters:
    """Clusters by k-means where their number is known; the mixture then only gives their shapes."""
    rows = np.ascontiguousarray(position[judged])
    K = min(K, len(np.unique(rows, axis=0)))
    labels = KMeans(K, n_init=10, random_state=int(rng.integers(2**31))).fit_predict(rows)
    resp = np.zeros((len(position), K))
    resp[judged] = np.eye(K)[labels]
    return of_members(position, resp)


def of_members(position: np.ndarray, resp: np.ndarray) -> PlatonicClusters:
    """The clusters that own items with weights resp (N, K); items with none of it are unjudged."""
    judged = resp.sum(1) > 0
    rows, shares = np.ascontiguousarray(position[judged]), np.ascontiguousarray(resp[judged])
    model, data = _model(rows, WIDTH), _observed(rows)
    fit = converge(model, data, data.given(model.clusters, shares), Rule(1e-6, 1))
    return _placed(shares, position, judged, fit)


def _model(rows: np.ndarray, width: float) -> Model:
    D = rows.shape[1]
    spread = max(float(np.linalg.eigvalsh(np.cov(rows.T).reshape(D, D))[-1]) if len(rows) > 1 else 0.0, FLAT)
    factor = np.sqrt(width * D * spread) * np.eye(D)[None]
    prior = GaussianWishart(rows.mean(0)[None], np.full(1, STRENGTH), np.full(1, float(D)), factor)
    return Model(NestedSticks(1.0), prior)


def _observed(rows: np.ndarray) -> Observations:
    N, D = rows.shape
    return Observations(rows, np.zeros(N, np.int32), 1, Frame(np.zeros(D), 1.0), chunk_rows=max(N, 1))


def _best(model: Model, data: Observations, count: int, rng: np.random.Generator, on_step: OnStep) -> list[Fit]:
    """Of starts with 1 to `most` clusters those that bound highest, converged."""
    least, most, fits = 1, min(MOST, max(1, len(data) // 4)), []
    while True:
        for K in range(least, most + 1):
            on_step(Progress(K, most, f"clusters of positions: {K} tried"))
            for _ in range(STARTS if K > 1 else 1):
                fits.append(converge(model, data, data.labelled(model.clusters, _start(data.source, K, rng)), ROUGH))
        fits = _different(fits, count)
        if _kept(fits[0].statistics.owned).sum() < most or most >= len(data) // 4:
            return [converge(model, data, fit.statistics, FINE) for fit in fits]
        least, most = most + 1, min(2 * most, len(data) // 4)


def _different(fits: list[Fit], count: int) -> list[Fit]:
    """The best, skipping those that came to the same end as a better one."""
    kept: list[Fit] = []
    for fit in sorted(fits, key=lambda fit: -fit.bound):
        if not kept or kept[-1].bound - fit.bound > ALIKE * abs(fit.bound):
            kept.append(fit)
    return kept[:count]


def _start(rows: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """Rows by the nearest of K far-apart ones; only clusters somebody is in are counted."""
    centres, _ = kmeans_plusplus(rows, K, random_state=int(rng.integers(2**31)))
    near = ((rows[:, None] - centres) ** 2).sum(2).argmin(1)
    return np.unique(near, return_inverse=True)[1]


def _kept(owned: np.ndarray) -> np.ndarray:
    return owned >= TRACE


def _placed(resp: np.ndarray, position: np.ndarray, judged: np.ndarray, fit: Fit | None) -> PlatonicClusters:
    """Drops what owns next to nothing, numbers by size, and puts unjudged items into no cluster."""
    N, D = position.shape
    kept = np.flatnonzero(_kept(resp.sum(0)))
    labels, probability = np.full(N, -1), np.zeros((N, len(kept)))
    if fit is None:
        return PlatonicClusters(labels, probability, np.zeros((0, D)), np.zeros((0, D, D)), probability)
    shares = resp[:, kept] / resp[:, kept].sum(1, keepdims=True)
    order = np.argsort(-np.bincount(shares.argmax(1), minlength=len(kept)), kind="stable")
    order = order[np.bincount(shares.argmax(1), minlength=len(kept))[order] > 0]  # a cluster nobody is surest of
    shares = shares[:, order] / shares[:, order].sum(1, keepdims=True)
    found, probability = kept[order], np.zeros((N, len(order)))
    labels[judged], probability[judged] = shares.argmax(1), shares
    mean, covariance = fit.parameters.clusters.mean[found], _covariance(fit.parameters.clusters)[found]
    return PlatonicClusters(labels, probability, mean, covariance, _distances(position, mean, covariance))


def _covariance(clusters: GaussianWishart) -> np.ndarray:
    """The mean of the inverse Wishart where it has one, else the inverse of the expected precision."""
    D, eta = clusters.n_features, clusters.freedom
    scale = clusters.factor @ clusters.factor.mT
    return scale / np.where(eta > D + 2, eta - D - 1, eta)[:, None, None]


def _distances(position: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    away = position[:, None] - mean
    return np.sqrt(np.einsum("nkd,kde,nke->nk", away, np.linalg.inv(covariance), away))
