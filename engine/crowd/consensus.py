"""Platonic clusters: the finest groups that any worker distinguishes, estimated as a mixture over item positions (note
2.9).

The mixture is a Dirichlet process with the components and updates of `benthoscope.engine.mixtures`. Only the search
differs: a few points in few dimensions are clustered from many starts, because splitting fails on symmetric layouts.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from benthoscope.engine.distributions import GaussianWishart, NestedSticks
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, converge
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.progress import OnStep, Progress, ignore

MOST = 15  # largest number of clusters tried at first; doubled if the best fit reaches it
STARTS = 3  # per number of clusters
STRENGTH = 0.01  # prior pseudo-observations of a cluster's mean
WIDTH = 0.2  # prior width of a cluster, as a fraction of the largest spread of all positions
ROUGH, FINE = StoppingRule(1e-5, 100), StoppingRule(1e-7, 500)
TRACE = 0.5  # clusters that own less than this part of an item are dropped
ALIKE = 1e-4  # fits whose bounds differ by less, relatively, count as the same fit
FLAT = 1e-8  # spread below which all positions count as equal


@dataclass(frozen=True, eq=False)
class PlatonicClusters:
    """K clusters, largest first."""

    labels: np.ndarray  # (N,) int, -1 for items without judgements
    probability: np.ndarray  # (N, K), zero for those items
    mean: np.ndarray  # (K, D)
    covariance: np.ndarray  # (K, D, D)
    distance: np.ndarray  # (N, K) Mahalanobis distance

    @property
    def K(self) -> int:
        return len(self.mean)

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.labels[self.labels >= 0], minlength=self.K)

    def exemplars(self, cluster: int, count: int) -> np.ndarray:
        """Return the most certain members. The distance to the centre breaks ties."""
        members = np.flatnonzero(self.labels == cluster)
        order = np.lexsort((self.distance[members, cluster], -self.probability[members, cluster]))
        return members[order[:count]]


def platonic_clusters(
    position: np.ndarray,
    judged: np.ndarray,
    rng: np.random.Generator,
    *,
    count: int = 1,
    width: float = WIDTH,
    on_step: OnStep = ignore,
) -> list[PlatonicClusters]:
    """Cluster the positions (N, D) of the judged items (N,) bool; the number of clusters is estimated.

    Returns the `count` clusterings with the highest bounds, best first, because the answers may prefer another one.
    """
    rows = np.ascontiguousarray(position[judged])
    if not len(rows):
        return [_placed(np.zeros((0, 1)), position, judged, None)]
    model, data = _model(rows, width), _observed(rows)
    fits = _best(model, rows, count, rng, on_step)
    return [_placed(data.responsibilities(fit.scorer), position, judged, fit) for fit in fits]


def given_number(position: np.ndarray, judged: np.ndarray, K: int, rng: np.random.Generator) -> PlatonicClusters:
    """Cluster by k-means with a known number of clusters. The mixture then only estimates their shapes."""
    rows = np.ascontiguousarray(position[judged])
    K = min(K, len(np.unique(rows, axis=0)))
    labels = KMeans(K, n_init=10, random_state=int(rng.integers(2**31))).fit_predict(rows)
    resp = np.zeros((len(position), K))
    resp[judged] = np.eye(K)[labels]
    return of_members(position, resp)


def of_members(position: np.ndarray, resp: np.ndarray) -> PlatonicClusters:
    """Return the clusters of items with memberships resp (N, K). Items with a zero row count as not judged."""
    judged = resp.sum(1) > 0
    rows, shares = np.ascontiguousarray(position[judged]), np.ascontiguousarray(resp[judged])
    model, data = _model(rows, WIDTH), _observed(rows)
    fit = converge(model, data, data.statistics_of(model.clusters, shares), StoppingRule(1e-6, 1))
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


def _best(model: Model, rows: np.ndarray, count: int, rng: np.random.Generator, on_step: OnStep) -> list[Fit]:
    """Return the converged fits with the highest bounds among starts with 1 to `most` clusters."""
    data, fits = _observed(rows), []
    least, most = 1, min(MOST, max(1, len(data) // 4))
    while True:
        for K in range(least, most + 1):
            on_step(Progress(K, most, f"clustering positions: {K} clusters tried"))
            for _ in range(STARTS if K > 1 else 1):
                fits.append(converge(model, data, data.labelled(model.clusters, _start(rows, K, rng)), ROUGH))
        fits = _different(fits, count)
        if _is_used(fits[0].statistics.owned).sum() < most or most >= len(data) // 4:
            return [converge(model, data, fit.statistics, FINE) for fit in fits]
        least, most = most + 1, min(2 * most, len(data) // 4)


def _different(fits: list[Fit], count: int) -> list[Fit]:
    """Return the best fits, without those that match a better one."""
    distinct: list[Fit] = []
    for fit in sorted(fits, key=lambda fit: -fit.bound):
        if not distinct or distinct[-1].bound - fit.bound > ALIKE * abs(fit.bound):
            distinct.append(fit)
    return distinct[:count]


def _start(rows: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """Assign rows to the nearest of K distant rows. Empty clusters are not counted."""
    centres, _ = kmeans_plusplus(rows, K, random_state=int(rng.integers(2**31)))
    near = ((rows[:, None] - centres) ** 2).sum(2).argmin(1)
    return np.unique(near, return_inverse=True)[1]


def _is_used(owned: np.ndarray) -> np.ndarray:
    return owned >= TRACE


def _placed(resp: np.ndarray, position: np.ndarray, judged: np.ndarray, fit: Fit | None) -> PlatonicClusters:
    """Drop almost empty clusters, number the others by size, and leave items without judgements unassigned."""
    N, D = position.shape
    used = np.flatnonzero(_is_used(resp.sum(0)))
    labels, probability = np.full(N, -1), np.zeros((N, len(used)))
    if fit is None:
        return PlatonicClusters(labels, probability, np.zeros((0, D)), np.zeros((0, D, D)), probability)
    shares = resp[:, used] / resp[:, used].sum(1, keepdims=True)
    order = np.argsort(-np.bincount(shares.argmax(1), minlength=len(used)), kind="stable")
    # skip clusters that are the most likely one for no item
    order = order[np.bincount(shares.argmax(1), minlength=len(used))[order] > 0]
    shares = shares[:, order] / shares[:, order].sum(1, keepdims=True)
    ordered, probability = used[order], np.zeros((N, len(order)))
    labels[judged], probability[judged] = shares.argmax(1), shares
    clusters = fit.parameters.clusters
    if not isinstance(clusters, GaussianWishart):
        raise TypeError(f"the clusters of items are {type(clusters).__name__}, not GaussianWishart")
    mean, covariance = clusters.mean[ordered], _covariance(clusters)[ordered]
    return PlatonicClusters(labels, probability, mean, covariance, _distances(position, mean, covariance))


def _covariance(clusters: GaussianWishart) -> np.ndarray:
    """Return the mean of the inverse Wishart if it exists, else the inverse of the expected precision."""
    D, eta = clusters.n_features, clusters.freedom
    scale = clusters.factor @ clusters.factor.mT
    return scale / np.where(eta > D + 2, eta - D - 1, eta)[:, None, None]


def _distances(position: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    away = position[:, None] - mean
    return np.sqrt(np.einsum("nkd,kde,nke->nk", away, np.linalg.inv(covariance), away))
