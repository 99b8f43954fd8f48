"""k-means of scikit-learn as a model that makes runs: with progress, cancellation, and rows that stay in their file."""

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans as Lloyd
from sklearn.cluster import MiniBatchKMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distance_models.distance_clustering import DistanceClustering, by_size, usable_rows, whole
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

MOST_WHOLE = 100_000  # rows of which every iteration reads all; of more, it reads random batches
BATCH = 10_000  # rows of a batch and of a block
PASSES = 2  # over all rows in batches; more improve the inertia of a million rows of 60 Gaussians by less than 0.01 %
ITERATIONS = 5  # between two reports of progress


class KMeans(DistanceClustering):
    """k-means with a given number of clusters, for comparisons with the mixtures.

    From 100,000 rows on, the starts use a random sample of that size, and the best one is refined on random batches of
    all rows (mini-batch k-means).

    Parameters
    ----------
    n_clusters : int
        Number of clusters. It is smaller in the result if there are fewer distinct rows.
    n_init : int
        Number of starts with k-means++; the one with the smallest inertia is kept.
    max_iter : int
        Largest number of iterations of a start.
    tol : float
        A start has converged if its centres move by less than this, as a fraction of the variance of the rows.

    Attributes
    ----------
    labels_ : ndarray (N,)
        Cluster of each row; clusters are numbered by size, largest first.
    cluster_centers_ : ndarray (K, D)
    inertia_ : float
        Sum of the squared distances of the rows to their centres.
    variance_ : float
        Mean squared distance per column; `predict_proba` uses it.
    """

    _arrays: ClassVar = ("labels", "cluster_centers", "inertia", "variance")

    def __init__(self, *, n_clusters=40, n_init=10, max_iter=1000, tol=1e-4, random_state=None):
        self.n_clusters, self.n_init, self.max_iter = n_clusters, n_init, max_iter
        self.tol, self.random_state = tol, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        compute: Any = None,
        on_step: OnStep = ignore,
        checkpoint: Any = None,
    ) -> Self:
        """Fit to rows X (N, D), an array or a .npy file. `groups` and `y` are ignored. `on_step` may raise Cancelled.
        `compute` and `checkpoint` exist only for compatibility with the mixtures."""
        self._refuse_target(y, "fit")
        self._check_parameters()
        rows = usable_rows(X)
        if len(rows) < self.n_clusters:
            raise fail(
                "n_clusters",
                f"{self.n_clusters} clusters of {len(rows)} rows (n_samples={len(rows)})",
                "request fewer clusters or give more rows",
            )
        self._clear_fit()
        self._record_columns(X)
        rng = np.random.default_rng(self.random_state)
        with blas_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters; counted below
            best = self._best_start(rows, rng, on_step)
            centres = best.cluster_centers_ if len(rows) <= MOST_WHOLE else _refined(rows, best, rng, on_step)
            self._keep(rows, centres, best, on_step)
        return self

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the cluster of each row, the one with the nearest centre."""
        return self.assign(X)[0]

    def predict_proba(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the probability of each cluster for each row (N, K), if clusters are equally common round Gaussians of
        the same width. k-means is the limit of this model, but has no probabilities itself."""
        rows = self._rows(X)
        return np.concatenate([self._probabilities(block) for block in _blocks(rows)])

    def assign(self, X: Any, groups: Any = None, *, compute: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of each row and its probability, (N,) each; see `predict_proba`."""
        probabilities = (self._probabilities(block) for block in _blocks(self._rows(X)))
        best = [(P.argmax(1), P.max(1)) for P in probabilities]  # never those of all rows and clusters at once
        return np.concatenate([labels for labels, _ in best]), np.concatenate([values for _, values in best])

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            whole(name, getattr(self, name))
        checking.positive("tol", self.tol)

    def _rows(self, X: Any) -> np.ndarray:
        self._check_fitted()
        rows = usable_rows(X)
        self._check_columns(X)
        checking.same_columns(rows.shape[1], self.n_features_in_, type(self).__name__)
        return rows

    def _probabilities(self, rows: np.ndarray) -> np.ndarray:
        return softmax(_squared_distances(rows, self.cluster_centers_) / (-2 * self.variance_), axis=1)

    def _best_start(self, rows: np.ndarray, rng: np.random.Generator, on_step: OnStep) -> Lloyd:
        sample = rows if len(rows) <= MOST_WHOLE else rows[np.sort(rng.choice(len(rows), MOST_WHOLE, replace=False))]
        fits = (self._one_start(sample, start, rng, on_step) for start in range(int(self.n_init)))
        return min(fits, key=lambda fit: fit.inertia_)

    def _one_start(self, rows: np.ndarray, start: int, rng: np.random.Generator, on_step: OnStep) -> Lloyd:
        """Return the fit of one start. It stops a few times on its way to report progress."""
        said = f"start {start + 1} of {self.n_init}"
        on_step(Progress(start, self.n_init, f"{said}: choosing centres"))
        seed = int(rng.integers(2**31))
        centres, iterations, most = kmeans_plusplus(rows, self.n_clusters, random_state=seed)[0], 0, int(self.max_iter)
        while True:
            steps = min(ITERATIONS, most - iterations)
            fit = Lloyd(self.n_clusters, init=centres, n_init=1, max_iter=steps, tol=self.tol, random_state=seed)
            fit.fit(rows)
            iterations, centres = iterations + fit.n_iter_, fit.cluster_centers_
            on_step(Progress(start, self.n_init, f"{said}: iteration {iterations}"))
            if fit.n_iter_ < steps or iterations >= most:
                fit.converged_, fit.n_iter_ = fit.n_iter_ < steps, iterations
                return fit

    def _keep(self, rows: np.ndarray, centres: np.ndarray, best: Lloyd, on_step: OnStep) -> None:
        """Store the clusters that have rows, the largest first."""
        labels, inertia = np.empty(len(rows), np.int64), 0.0
        for number, block in enumerate(_blocks(rows)):
            on_step(Progress(number * BATCH, len(rows), "assigning images"))
            squared = _squared_distances(block, centres)
            labels[number * BATCH : number * BATCH + len(block)] = squared.argmin(1)
            inertia += float(squared.min(1).sum())
        self.labels_, order = by_size(labels)
        self.cluster_centers_, self.inertia_ = centres[order].astype(np.float64), inertia
        self.variance_ = max(inertia / rows.size, np.finfo(np.float64).tiny)
        self._store_fit(rows.shape[1], len(order), best.n_iter_, best.converged_)


def _refined(rows: np.ndarray, best: Lloyd, rng: np.random.Generator, on_step: OnStep) -> np.ndarray:
    """Return the centres of the best start after some passes over all rows in random batches."""
    model = MiniBatchKMeans(
        best.n_clusters,
        init=best.cluster_centers_,
        n_init=1,
        batch_size=BATCH,
        reassignment_ratio=0,
        random_state=int(rng.integers(2**31)),
    )
    batches = -(-len(rows) // BATCH)
    for step in range(PASSES * batches):
        on_step(Progress(step, PASSES * batches, f"pass {step // batches + 1} of {PASSES} over all images"))
        model.partial_fit(rows[np.sort(rng.choice(len(rows), BATCH, replace=False))])
    return model.cluster_centers_


def _blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
    return (np.asarray(rows[start : start + BATCH], np.float64) for start in range(0, len(rows), BATCH))


def _squared_distances(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the squared distances (N, K), from the mean of the centres, so that large values lose no digits."""
    origin = centres.mean(0)
    rows, centres = rows - origin, centres - origin
    squared = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)
    return np.maximum(squared, 0)
