"""Baseline algorithms of the papers: Gaussian mixtures selected by BIC, spectral clustering and restarts (5.1). k-means
is in `engine.distance_models`."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans as Lloyd
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.bayesian import BayesianMixture
from benthoscope.engine.mixtures.estimator import ClusteringEstimator
from benthoscope.engine.mixtures.models import BGMM
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import require_usable_values

__all__ = ["BayesianRestarts", "GaussianMixtureByBIC", "SelfTuningSpectral"]

REGULARISATION = 1e-6  # as a fraction of the largest variance; added to the diagonal of covariances


def _rows(X: Any, fewest: int) -> np.ndarray:
    source = checking.rows_of(X)
    rows = np.asarray(np.load(source) if not isinstance(source, np.ndarray) else source, float)
    require_usable_values(rows)
    if len(rows) < fewest:
        raise fail(
            "X",
            f"{len(rows)} rows for {fewest} clusters (n_samples={len(rows)})",
            "give more rows or request fewer clusters",
        )
    return rows


class GaussianMixtureByBIC(ClusteringEstimator):
    """Full-covariance EM for each number of clusters, started from k-means. The fit with the lowest BIC is kept."""

    def __init__(self, *, fewest=2, most=20, starts=20, random_state=None):
        self.fewest, self.most, self.starts, self.random_state = fewest, most, starts, random_state

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> Self:
        """Cluster the rows X (N, D). `groups` and `y` are ignored."""
        self._refuse_target(y, "fit")
        rows = _rows(X, self.fewest)
        numbers = range(self.fewest, min(self.most, len(rows)) + 1)
        fits = [self._of(rows, K) for K in numbers]
        self.bic_ = dict(zip(numbers, (float(fit.bic(rows)) for fit in fits), strict=True))
        self.mixture_ = fits[int(np.argmin(list(self.bic_.values())))]
        self.labels_, self.n_clusters_ = self.mixture_.predict(rows), self.mixture_.n_components
        self.n_features_in_ = rows.shape[1]
        return self

    def _of(self, rows: np.ndarray, K: int) -> GaussianMixture:
        labels = Lloyd(K, init="random", n_init=self.starts, random_state=self.random_state).fit_predict(rows)
        start = _moments_of(rows, labels, K)
        return GaussianMixture(
            K,
            reg_covar=start.ridge,
            weights_init=start.weights,
            means_init=start.means,
            precisions_init=np.linalg.inv(start.covariances),
            max_iter=500,
            random_state=self.random_state,
        ).fit(rows)

    def predict(self, X: Any) -> np.ndarray:
        self._check_fitted()
        return self.mixture_.predict(_rows(X, 1))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log density of each row under the maximum-likelihood parameters."""
        self._check_fitted()
        return self.mixture_.score_samples(_rows(X, 1))

    def score(self, X: Any, y: None = None, *, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of the rows, weighted by `sample_weight`. `y` is ignored."""
        self._refuse_target(y, "score")
        return float(np.average(self.score_samples(X), weights=sample_weight))


@dataclass(frozen=True)
class _Begun:
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    ridge: float


def _moments_of(rows: np.ndarray, labels: np.ndarray, K: int) -> _Begun:
    """Return the initial parameters of EM. Clusters too small for their own covariance use the covariance of
    all rows."""
    D = rows.shape[1]
    overall = np.cov(rows.T, bias=True).reshape(D, D)
    ridge = REGULARISATION * max(float(np.linalg.eigvalsh(overall)[-1]), np.finfo(float).tiny)
    by_cluster = [rows[labels == k] for k in range(K)]
    covariances = [
        np.cov(members.T, bias=True).reshape(D, D) if len(members) > D else overall for members in by_cluster
    ]
    weights = np.maximum([len(members) for members in by_cluster], 1) / len(rows)
    return _Begun(
        weights / weights.sum(),
        np.stack([members.mean(0) for members in by_cluster]),
        np.stack(covariances) + ridge * np.eye(D),
        ridge,
    )


class SelfTuningSpectral(ClusteringEstimator):
    """Spectral clustering with a local scale per row. The first wide gap between eigenvalues sets the number of
    clusters."""

    def __init__(self, *, threshold=0.025, scale_neighbour=7, neighbours=50, most=30, replicates=10, random_state=None):
        self.threshold, self.scale_neighbour, self.neighbours = threshold, scale_neighbour, neighbours
        self.most, self.replicates, self.random_state = most, replicates, random_state

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> Self:
        """Cluster the rows X (N, D). `groups` and `y` are ignored."""
        self._refuse_target(y, "fit")
        rows = _rows(X, 3)
        rng = np.random.default_rng(self.random_state)
        values, vectors = _spectrum(self._affinity(rows), min(self.most + 1, len(rows) - 1), rng)
        self.eigenvalues_, self.n_clusters_ = values, self._number(values)
        faces = vectors[:, : self.n_clusters_]
        faces = faces / np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), np.finfo(float).tiny)
        seed = int(rng.integers(2**31))
        self.labels_ = Lloyd(self.n_clusters_, n_init=self.replicates, random_state=seed).fit_predict(faces)
        self.n_features_in_ = rows.shape[1]
        return self

    def _affinity(self, rows: np.ndarray) -> coo_array:
        """Return the symmetric affinities exp(-d^2 / (s_m s_n)) of neighbours; s is the distance to the scale
        neighbour."""
        number = min(self.neighbours, len(rows) - 1)
        far, index = NearestNeighbors(n_neighbors=number + 1).fit(rows).kneighbors(rows)
        scale = np.maximum(far[:, min(self.scale_neighbour, number)], np.finfo(float).tiny)
        near = np.exp(-(far[:, 1:] ** 2) / (scale[:, None] * scale[index[:, 1:]]))
        owner = np.repeat(np.arange(len(rows)), number)
        affinity = coo_array((near.ravel(), (owner, index[:, 1:].ravel())), shape=(len(rows), len(rows))).tocsr()
        return affinity.maximum(affinity.T)

    def _number(self, values: np.ndarray) -> int:
        """Return the smallest k >= 2 whose gap to the next eigenvalue exceeds the threshold, or else the k with the
        widest gap."""
        gaps = np.diff(values)[1:]
        wide = np.flatnonzero(gaps > self.threshold)
        return int(wide[0] if len(wide) else gaps.argmax()) + 2


def _spectrum(affinity, number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues of the normalised Laplacian in ascending order, and their eigenvectors."""
    degree = np.maximum(np.asarray(affinity.sum(axis=1)).ravel(), np.finfo(float).tiny)
    root = diags_array(1 / np.sqrt(degree))
    similar = root @ affinity @ root
    if number >= affinity.shape[0] - 1:
        values, vectors = np.linalg.eigh(similar.toarray())
    else:
        values, vectors = eigsh(similar, k=number, which="LA", v0=rng.standard_normal(affinity.shape[0]))
    order = np.argsort(-values)[:number]
    return 1 - values[order], vectors[:, order]


class BayesianRestarts(ClusteringEstimator):
    """Variational Bayes from several random starts with too many clusters. The highest bound is kept (Alg. 2.1)."""

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def __init__(self, *, model=BGMM, restarts=10, surplus=30, width=0.05, random_state=None):
        self.model, self.restarts, self.surplus = model, restarts, surplus
        self.width, self.random_state = width, random_state

    def fit(self, X: Any, y: None = None, *, groups: Any = None) -> Self:
        """Cluster the rows X (N, D). Grouped models use `groups`; `y` is ignored."""
        self._refuse_target(y, "fit")
        rng = np.random.default_rng(self.random_state)
        fits = [self._once(int(rng.integers(2**31))).fit(X, groups=groups) for _ in range(self.restarts)]
        self.best_ = max(fits, key=lambda fit: fit.lower_bound_)
        self.lower_bounds_ = [fit.lower_bound_ for fit in fits]
        self.labels_, self.n_clusters_ = self.best_.labels_, self.best_.n_clusters_
        self.lower_bound_, self.n_features_in_ = self.best_.lower_bound_, self.best_.n_features_in_
        return self

    def _once(self, seed: int) -> BayesianMixture:
        return self.model(
            width=self.width, search="random", search_rows=None, max_clusters=self.surplus, random_state=seed
        )

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        self._check_fitted()
        return self.best_.predict(X, groups)

    def score(self, X: Any, y: None = None, *, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of the rows, weighted by `sample_weight`. `y` is ignored."""
        self._refuse_target(y, "score")
        self._check_fitted()
        return self.best_.score(X, groups=groups, sample_weight=sample_weight)
