"""Compute a coarser and a finer clustering around a fitted one, so that the three form a tree.

The coarser clustering joins clusters of the run that share neighbours. The finer one splits each cluster on its own
rows under a smaller width. A row never leaves its branch, so labels can be transferred in both directions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads, blas_threads
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.data import Frame, Observations, Summary, summarised
from benthoscope.engine.mixtures.models import VDP
from benthoscope.engine.mixtures.neighbour_joins import join_by_neighbours, linked_rows
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

STEP = 4.0  # the fine level is narrower than the run by this factor
MOST_COARSE = 0.5  # the coarse level has at most this fraction of the run's clusters
FEWEST_COARSE = 0.25  # and at least this fraction, even if more of them share neighbours
SMALLEST_SPLIT = 12  # clusters with fewer rows are not split
NO_CLUSTER = -1  # parent of a cluster without rows


@dataclass(frozen=True)
class ClusterHierarchy:
    """Three nested clusterings of N rows. Clusters of each level are numbered from 0.

    The middle level is the run with its own cluster numbers, K clusters. Coarse clusters are numbered by size, largest
    first; fine clusters by their parent, then by size.
    """

    coarse: np.ndarray  # (N,) int32
    middle: np.ndarray  # (N,) int32
    fine: np.ndarray  # (N,) int32
    coarse_parent: np.ndarray  # (K,) int32       coarse cluster of each middle cluster, -1 if it has no rows
    middle_parent: np.ndarray  # (K_fine,) int32  middle cluster of each fine cluster
    widths: tuple[float, float, float]  # of the coarse, middle and fine level; the coarse one has that of the run

    @property
    def n_clusters(self) -> tuple[int, int, int]:
        """Numbers of clusters of the coarse, middle and fine level."""
        used = self.coarse_parent[self.coarse_parent >= 0]
        return len(np.unique(used)), len(self.coarse_parent), len(self.middle_parent)


def cluster_hierarchy(
    X: Any,
    labels: Any,
    *,
    width: float = 0.05,
    n_clusters: int | None = None,
    compute: Compute | None = None,
    on_step: OnStep = ignore,
    random_state: Any = None,
) -> ClusterHierarchy:
    """Compute a coarser and a finer level for the clusters `labels` (N,) of rows X (N, D), an array or .npy file.

    `width` is the width of the run. Give `n_clusters` if some clusters of the run have no rows. Works for labels of any
    model. `on_step` is called for each cluster and may raise Cancelled.
    """
    source = checking.rows_of(X)
    N = checking.width_of(source)[0]
    middle = checking.labels_column(labels, N, "labels").astype(np.int32)
    checking.positive("width", width)
    K = int(middle.max()) + 1 if n_clusters is None else int(n_clusters)
    if middle.max() >= K:
        raise fail("labels", f"cluster {middle.max()} with n_clusters={K}", "give the number of clusters of the run")
    with blas_threads(1):
        summary = summarised(source, compute or LocalThreads())
        frame = Frame(summary.mean, float(np.sqrt(summary.largest_variance)))
        data = Observations(source, np.zeros(N, np.int32), 1, frame, compute or LocalThreads())
        coarse_parent = _joined_parents(data, middle, K)
    fine, middle_parent = _split(data, middle, K, _Splitter(summary, width / STEP, random_state), on_step)
    coarse = coarse_parent[middle]
    return ClusterHierarchy(coarse, middle, fine, coarse_parent, middle_parent, (width, width, width / STEP))


def _joined_parents(data: Observations, labels: np.ndarray, K: int) -> np.ndarray:
    """Return the coarse cluster of each cluster (K,)."""
    used, index, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    most, fewest = (max(int(np.ceil(share * len(used))), min(2, len(used))) for share in (MOST_COARSE, FEWEST_COARSE))
    linked = linked_rows(index)
    rows = np.asarray(data.take(linked).source, np.float64)
    parent = np.full(K, NO_CLUSTER, np.int32)
    parent[used] = _by_size(join_by_neighbours(rows, index[linked], most, fewest), sizes)
    return parent


def _by_size(groups: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Renumber the groups from 0 by their number of rows, largest first."""
    names, index = np.unique(groups, return_inverse=True)
    order = np.argsort(-np.bincount(index, sizes, minlength=len(names)), kind="stable")
    return np.argsort(order, kind="stable")[index].astype(np.int32)


@dataclass(frozen=True)
class _Splitter:
    """Splits the rows of one cluster with a width relative to all data."""

    summary: Summary
    width: float
    random_state: Any

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if len(rows) < SMALLEST_SPLIT:
            return np.zeros(len(rows), np.int32)
        model = VDP(
            width=self.width * self.summary.largest_variance,
            scaled_prior=False,
            observation="diagonal",
            random_state=self.random_state,
        )
        return _by_size(model.fit(rows).labels_, np.ones(len(rows)))


def _split(
    data: Observations, labels: np.ndarray, K: int, splitter: Callable[[np.ndarray], np.ndarray], on_step: OnStep
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels (N,) of the fine level and the middle cluster of each fine cluster."""
    fine = np.empty(len(labels), np.int32)
    parents: list[int] = []
    for k in range(K):
        on_step(Progress(k, K, f"split cluster {k + 1} of {K}"))
        members = np.flatnonzero(labels == k)
        if not len(members):
            continue
        halves = splitter(np.asarray(data.take(members).source, np.float64))
        fine[members] = len(parents) + halves
        parents += [k] * (int(halves.max()) + 1)
    return fine, np.array(parents, np.int32)
