"""HDBSCAN of scikit-learn as a model that makes runs: with progress and cancellation.

scikit-learn builds the minimum spanning tree of all rows in one call, during which no other thread of the program can
run. Here the tree is built in parts, and scikit-learn finds the clusters in it. Many edges have the same length, the
distance to a common neighbour. The order of such edges can move single rows, as the order of the rows does.
"""

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array
from sklearn.cluster import HDBSCAN as TreeClusters
from sklearn.neighbors import NearestNeighbors

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distance_models.distance_clustering import DistanceClustering, by_size, usable_rows, whole
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore

BLOCK = 2_000  # rows whose neighbours are searched at once
PAIRS = 20_000_000  # compared between two reports of progress: less than a second
SHORTEST = 1e-12  # length of an edge between equal rows, as a fraction of the longest one; scikit-learn omits 0
SELECTIONS = ("eom", "leaf")


class HDBSCAN(DistanceClustering):
    """Clusters are regions that are denser than their surroundings; rows between them have no cluster.

    Parameters
    ----------
    min_cluster_size : int
        Smallest number of rows of a cluster.
    min_samples : int or None
        Number of neighbours, with the row itself, by whose distance the density at a row is measured. Larger values
        leave more rows without a cluster. None is `min_cluster_size`.
    cluster_selection_method : "eom" or "leaf"
        Whether the clusters are those that last longest while the density rises, or the smallest ones.
    cluster_selection_epsilon : float
        Clusters at a smaller distance from each other are joined.
    random_state : int or None
        Has no effect: nothing is random. For compatibility with other models.

    Attributes
    ----------
    labels_ : ndarray (N,)
        Cluster of each row, -1 for none; clusters are numbered by size, largest first.
    probabilities_ : ndarray (N,)
        How near to the densest part of its cluster a row is, from 0 to 1; 0 without a cluster.
    """

    most_rows: ClassVar = 100_000  # all pairs are compared; this many rows of 32 numbers take one to two minutes
    _arrays: ClassVar = ("labels", "probabilities")

    def __init__(
        self,
        *,
        min_cluster_size=5,
        min_samples=None,
        cluster_selection_method="eom",
        cluster_selection_epsilon=0.0,
        random_state=None,
    ):
        self.min_cluster_size, self.min_samples = min_cluster_size, min_samples
        self.cluster_selection_method, self.cluster_selection_epsilon = (
            cluster_selection_method,
            cluster_selection_epsilon,
        )
        self.random_state = random_state

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
        neighbours = int(self.min_samples or self.min_cluster_size)
        fewest = max(2, int(self.min_cluster_size), neighbours)
        if len(rows) < fewest:
            raise fail(
                "X",
                f"n_samples={len(rows)}, but at least {fewest} rows are needed",
                "give more images, or smaller values of min_cluster_size and min_samples",
            )
        self.refuse_many(len(rows))
        self._clear_fit()
        self._record_columns(X)
        with blas_threads(1):
            labels, self.probabilities_ = self._clusters(len(rows), *_tree(rows, neighbours, on_step))
        self.labels_, order = by_size(labels)
        self._store_fit(rows.shape[1], len(order), 1, True)
        return self

    def refuse_many(self, count: int) -> None:
        """Raise if there are more rows than can be compared in pairs."""
        if count > self.most_rows:
            raise fail(
                "hdbscan",
                f"compares all pairs of images, at most {self.most_rows:,} images (got {count:,})",
                "cluster one collection alone, or use kmeans, gmc or mbvdp",
            )

    def assign(self, X: Any, groups: Any = None, *, compute: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the cluster of each row of the fit, -1 for none, and its probability. HDBSCAN has no rule for other
        rows."""
        self._check_fitted()
        shape = checking.width_of(checking.rows_of(X))
        checking.same_columns(shape[1], self.n_features_in_, type(self).__name__)
        if shape[0] != len(self.labels_):
            raise fail("X", f"has {shape[0]} rows, the fit had {len(self.labels_)}", "give the rows of the fit")
        return self.labels_, self.probabilities_

    def _check_parameters(self) -> None:
        whole("min_cluster_size", self.min_cluster_size, 2)
        if self.min_samples is not None:
            whole("min_samples", self.min_samples)
        if self.cluster_selection_method not in SELECTIONS:
            raise unknown("cluster_selection_method", str(self.cluster_selection_method), SELECTIONS)
        epsilon = self.cluster_selection_epsilon
        if not (isinstance(epsilon, int | float) and 0 <= epsilon < np.inf):
            raise fail("cluster_selection_epsilon", f"must be a number of at least 0 (got {epsilon})")

    def _clusters(self, N: int, edges: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the label (-1 for none) and the probability of each row from a minimum spanning tree."""
        lengths = np.maximum(lengths, SHORTEST * (lengths.max() or 1.0))
        tree = coo_array((lengths, (edges[:, 0], edges[:, 1])), shape=(N, N)).tocsr()
        model = TreeClusters(
            min_cluster_size=int(self.min_cluster_size),
            min_samples=1,  # the lengths contain the distances to neighbours already
            cluster_selection_method=self.cluster_selection_method,
            cluster_selection_epsilon=float(self.cluster_selection_epsilon),
            metric="precomputed",
            copy=False,
        )
        model.fit((tree + tree.T).tocsr())
        return model.labels_, model.probabilities_


def _tree(rows: np.ndarray, neighbours: int, on_step: OnStep) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (N - 1, 2) and the lengths (N - 1,) of a minimum spanning tree by mutual reachability."""
    from benthoscope.engine.distance_models.spanning_tree import extend_tree

    N = len(rows)
    outside = np.array(rows, np.float64, order="C")  # the loop changes its order
    core = _core_distances(outside, neighbours, on_step) ** 2
    numbers, nearest, source = np.arange(N), np.full(N, np.inf), np.zeros(N, np.int64)
    edges, lengths = np.empty((N - 1, 2), np.int64), np.empty(N - 1)
    step, pairs = 0, N * (N - 1) / 2
    while step < N - 1:
        left = N - step
        on_step(Progress(pairs - left * (left - 1) / 2, pairs, "comparing pairs of images"))
        end = min(step + max(PAIRS // left, 1), N - 1)
        extend_tree(outside, core, numbers, nearest, source, edges, lengths, step, end)
        step = end
    return edges, np.sqrt(lengths)


def _core_distances(rows: np.ndarray, neighbours: int, on_step: OnStep) -> np.ndarray:
    """Return the distance of each row to its nearest rows, of which it is the first itself."""
    search, distances = NearestNeighbors(n_neighbors=neighbours).fit(rows), np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        on_step(Progress(start, len(rows), "measuring the density at each image"))
        block = rows[start : start + BLOCK]
        distances[start : start + BLOCK] = search.kneighbors(block)[0][:, -1]
    return distances
