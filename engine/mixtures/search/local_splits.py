"""Split all clusters at the same time, each into several parts, on its own rows.

A cluster that hides several others is often worth splitting into all of them, but not in two. Every cluster gets a few
cells, a mixture of the cells is fitted to the rows of the cluster, and superfluous cells are merged at exact prices.
The fits of all clusters share their iterations, so that the cost hardly depends on the number of clusters.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benthoscope.engine.distributions import (
    Clusters,
    ProductsOfFeatures,
    WeightsPrior,
    log_evidence,
    log_evidence_of_weights,
)
from benthoscope.engine.mixtures.inference import Fit, step
from benthoscope.engine.mixtures.model import Model, Scorer
from benthoscope.engine.mixtures.search.cells import DAMPING, kmeans_cells
from benthoscope.engine.mixtures.search.greedy import Task

MOST_CELLS = 6  # of a cluster
ROWS_A_CELL = 3  # per dimension
ROWS_OF_A_CLUSTER = 3_000  # that are looked at
ROWS_AT_FIRST, ROWS_AT_FIRST_A_DIMENSION = 750, 8  # the larger one; for a first look at clusters with many more rows
WORTH_A_FIRST_LOOK = 1.25  # times as many rows
BROAD = 2  # times the mean number of rows; larger clusters may hide many others, so a first look decides nothing
# A split whose two parts explain the rows of the first look better by fewer nats per statistic fits noise: measured are
# 0 to 0.33 for one Gaussian in 20 dimensions, and mostly 0.9 or more where the split raises the bound with all rows.
NOISE = 0.35
BATCH_BYTES = 2**25  # of the features of the clusters that share their iterations
DAMPED, NORMAL = 5, 4  # iterations before the first merge
BETWEEN_JOINS = 2
SMALLEST_PART = 1.0  # rows
MANY_COLUMNS = 32  # from here, products without stored features are faster for so few cells


@dataclass(frozen=True)
class LocalSplit:
    """The parts of one cluster and what they add to the lower bound on the rows that were looked at."""

    cluster: int
    gain: float
    coefficients: np.ndarray  # (m, F)
    log_weights: np.ndarray  # (J or 1, m) within the cluster


def local_splits(task: Task, fit: Fit, labels: np.ndarray, tried: np.ndarray) -> list[LocalSplit]:
    """Return the splits that raise the bound on the rows of their cluster. `labels` (N,) are the most likely clusters;
    those that were `tried` (K,) before are left out."""
    sizes = np.bincount(labels, minlength=fit.n_clusters)
    large = sizes >= 2 * ROWS_A_CELL * task.model.clusters.n_features
    by_cluster = np.split(np.argsort(labels, kind="stable"), sizes.cumsum()[:-1])
    rows = {int(k): _some(by_cluster[k], ROWS_OF_A_CLUSTER, task.rng) for k in np.flatnonzero(large & ~tried)}
    narrow = {k: members for k, members in rows.items() if sizes[k] <= BROAD * len(labels) / len(sizes)}
    worth_all = _worth_all_rows(task, narrow) | (set(rows) - set(narrow))
    rows = {k: members for k, members in rows.items() if k in worth_all}
    return [split for batch in _fitted_batches(task, rows) for split in batch.splits(task)]


def _worth_all_rows(task: Task, rows: dict[int, np.ndarray]) -> set[int]:
    """Return the clusters whose split may raise the bound, judged by a part of their rows."""
    few = max(ROWS_AT_FIRST, ROWS_AT_FIRST_A_DIMENSION * task.model.clusters.n_features)
    at_first = {
        k: _some(members, few, task.rng) for k, members in rows.items() if len(members) > WORTH_A_FIRST_LOOK * few
    }
    worth = set(rows) - set(at_first)
    for batch in _fitted_batches(task, at_first):
        worth |= {k for p, k in enumerate(batch.numbers) if batch.sizes[p] > 1 or not batch.fits_noise(p)}
    return worth


def _fitted_batches(task: Task, rows: dict[int, np.ndarray]) -> "Iterator[_Cells]":
    for clusters in _batches(rows, task.model):
        task.course.pulse()
        cells = _Cells(task, clusters, [rows[k] for k in clusters])
        cells.fit()
        task.course.worked(cells.edges[-1])
        yield cells


def split_locally(
    task: Task, fit: Fit, tried: np.ndarray, labels: np.ndarray | None = None
) -> tuple[Fit, np.ndarray] | None:
    """Split all clusters that gain by it. Returns the fit after one iteration and, for each of its clusters, whether
    it was not split. `tried` (K,) are clusters whose split failed before; they are not tried again. `labels` (N,) are
    the most likely clusters of the rows, if known. None if the bound does not rise."""
    parted = split_into_parts(task, fit, tried, labels)
    return None if parted is None else (parted[0], np.arange(parted[0].n_clusters) < len(parted[1]))


def split_into_parts(
    task: Task, fit: Fit, tried: np.ndarray, labels: np.ndarray | None = None
) -> tuple[Fit, np.ndarray] | None:
    """Split as `split_locally` does. Returns the fit after one iteration and the former numbers of the clusters that
    were not split. They come first, in this order."""
    tried = np.resize(tried, fit.n_clusters) if len(tried) else np.zeros(fit.n_clusters, bool)
    if not task.may_grow(fit) or tried.all():
        return None
    splits = local_splits(task, fit, task.data.nearest(fit.scorer)[0] if labels is None else labels, tried)
    most = (task.max_clusters or len(task.data)) - fit.n_clusters
    splits = _within_limit(sorted(splits, key=lambda split: -split.gain), most)
    while splits:
        swept = replace(task.data.sweep(with_splits(fit, splits)), owners=fit.statistics.owners)
        result = step(task.model, task.data, swept)
        task.course.worked(2 * len(task.data))
        if task.gains(fit, result):
            return result, _not_split(fit, splits)
        splits = splits[: len(splits) // 2]
    return None


def _not_split(fit: Fit, splits: list[LocalSplit]) -> np.ndarray:
    return np.setdiff1d(np.arange(fit.n_clusters), [split.cluster for split in splits])


def _within_limit(splits: list[LocalSplit], most: int) -> list[LocalSplit]:
    added = np.cumsum([len(split.coefficients) - 1 for split in splits])
    return splits[: int(np.searchsorted(added, most, side="right"))]


def _some(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False, shuffle=False))


def _batches(rows: dict[int, np.ndarray], model: Model) -> Iterator[list[int]]:
    """Yield lists of clusters whose features fit in memory together."""
    most, size = BATCH_BYTES // (4 * model.clusters.n_statistics), 0
    batch: list[int] = []
    for k, members in rows.items():
        if batch and size + len(members) > most:
            yield batch
            batch, size = [], 0
        batch.append(k)
        size += len(members)
    if batch:
        yield batch


class _Cells:
    """Local mixtures of several clusters in one batch. Slot s of cluster p is one of its cells."""

    def __init__(self, task: Task, numbers: list[int], members: list[np.ndarray]):
        model, data, self.numbers = task.model, task.data, numbers
        order = np.argsort(np.concatenate(members), kind="stable")
        subset = data.take(np.concatenate(members)[order])
        back = np.argsort(order, kind="stable")
        rows = np.asarray(subset.source, float)[back]
        Z = ((rows - data.frame.origin) / data.frame.scale).T
        self.model, self.clusters = model, model.clusters
        self.edges = np.cumsum([0, *map(len, members)])
        self.features = _features(model.clusters, np.ascontiguousarray(Z, np.float32))
        self._group(subset.groups[back], len(members))
        most = [min(MOST_CELLS, len(rows) // (ROWS_A_CELL * len(Z))) for rows in members]
        self.last_pair: dict[int, np.ndarray] = {}  # responsibilities of the parts of clusters that had two left
        self.resp = [_one_hot(kmeans_cells(Z.T[self._rows(p)], m, task.rng), m) for p, m in enumerate(most)]

    def fit(self) -> None:
        """Iterate, and merge cells while that raises the bound."""
        for iteration in range(DAMPED + NORMAL):
            self.iterate(damped=iteration < DAMPED)
        while self.join():
            for _ in range(BETWEEN_JOINS):
                self.iterate()

    def splits(self, task: Task) -> list[LocalSplit]:
        """Return the splits that raise the bound."""
        worth = []
        for p, k in enumerate(self.numbers):
            if self.sizes[p] == 1:
                continue
            moments = self.moments([p])
            gain = self.gain(p, moments)
            if gain > 0:
                coefficients = self.clusters.posterior(moments).coefficients()
                worth.append(LocalSplit(k, gain, coefficients, _of_all_groups(task, self, p)))
        return worth

    def fits_noise(self, p: int) -> bool:
        """Return whether the last two parts of cluster p, which were merged, explained its rows hardly better than one
        does. False if they were never two."""
        parts = self.last_pair.get(p)
        if parts is None:
            return False
        moments = (parts @ self.features[:, self._rows(p)].T).astype(np.float64)
        both = np.vstack([moments, moments.sum(0)])
        explained = (self.clusters.posterior(both).coefficients() * both).sum(1)
        sizes = moments[:, 0]
        better = explained[0] + explained[1] - explained[2] + _entropy(parts)
        better += float((sizes * np.log(sizes / sizes.sum())).sum())
        return bool(better < NOISE * self.clusters.n_statistics)

    def _group(self, groups: np.ndarray, count: int) -> None:
        """Number the pairs of a cluster and a group that have rows; each has weights of its own."""
        if not self.model.sees_groups:
            groups = np.zeros(len(groups), int)
        parent = np.repeat(np.arange(count), np.diff(self.edges))
        pairs, index = np.unique(np.stack([parent, groups], axis=1), axis=0, return_inverse=True)
        self.pairs, self.index = pairs, index.reshape(-1)
        self.pair_edges = np.searchsorted(pairs[:, 0], np.arange(count + 1))

    def _rows(self, p: int) -> slice:
        return slice(self.edges[p], self.edges[p + 1])

    def counts(self, p: int) -> np.ndarray:
        """Return the rows of each group in each cell of cluster p (groups with rows, m)."""
        first, last = self.pair_edges[p], self.pair_edges[p + 1]
        index = self.index[self._rows(p)] - first
        return np.stack([np.bincount(index, r, minlength=last - first) for r in self.resp[p]], axis=1)

    def moments(self, clusters: list[int]) -> np.ndarray:
        """Return the moments of the cells of these clusters, one below the other."""
        of_clusters = [self.resp[p] @ self.features[:, self._rows(p)].T for p in clusters]
        return np.concatenate(of_clusters).astype(np.float64)

    @property
    def sizes(self) -> list[int]:
        return [len(r) for r in self.resp]

    def iterate(self, damped: bool = False) -> None:
        """Update the clusters and the responsibilities of all cells; drop empty cells."""
        active = [p for p, size in enumerate(self.sizes) if size > 1]
        if not active:
            return
        coefficients = self.clusters.posterior(self.moments(active)).coefficients().astype(np.float32)
        log_weights, at = self.damped_weights(active) if damped else self.log_weights(active), 0
        for p in active:
            size = len(self.resp[p])
            log_joint = coefficients[at : at + size] @ self.features[:, self._rows(p)]
            of_groups = log_weights[p].astype(np.float32).T
            log_joint += of_groups[:, self.index[self._rows(p)] - self.pair_edges[p]]
            log_joint -= log_joint.max(0)
            resp = np.exp(log_joint, out=log_joint)
            resp /= resp.sum(0)
            self.resp[p] = resp[resp.sum(1) >= SMALLEST_PART]
            at += size

    def damped_weights(self, clusters: list[int]) -> dict[int, np.ndarray]:
        """Return the damped log weights of the cells of each of these clusters (1, m), the same for all its groups."""
        damped = {}
        for p in clusters:
            sizes = self.resp[p].sum(1)
            share = DAMPING * np.log(sizes / sizes.sum())[None]
            damped[p] = np.repeat(share, self.pair_edges[p + 1] - self.pair_edges[p], axis=0)
        return damped

    def log_weights(self, clusters: list[int]) -> dict[int, np.ndarray]:
        """Return the log weights of the cells of each of these clusters (groups with rows, m)."""
        log_weights: dict[int, np.ndarray] = {}
        for alike, counts, edges in self._counts_of_alike(clusters):
            expected = self.model.weights.posterior(counts, counts.sum(1)).expected_log
            log_weights |= dict(zip(alike, np.split(expected, edges[1:-1]), strict=True))
        return log_weights

    def _counts_of_alike(self, clusters: list[int]) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Yield the clusters with the same number of cells, their counts below each other, and where each begins."""
        for size in sorted({len(self.resp[p]) for p in clusters}):
            alike = [p for p in clusters if len(self.resp[p]) == size]
            counts = [self.counts(p) for p in alike]
            yield alike, np.concatenate(counts), np.cumsum([0, *map(len, counts)])

    def join(self) -> bool:
        """Merge pairs of cells within each cluster where that raises its bound. Returns whether any did."""
        active = [p for p, size in enumerate(self.sizes) if size > 1]
        if not active:
            return False
        self.last_pair |= {p: self.resp[p] for p in active if len(self.resp[p]) == 2}
        moments, first = self.moments(active), np.cumsum([0, *(len(self.resp[p]) for p in active)])
        pairs = {p: np.stack(np.triu_indices(len(self.resp[p]), 1)) for p in active}
        i, j = np.concatenate([pairs[p] + at for p, at in zip(active, first[:-1], strict=True)], axis=1)
        alone = log_evidence(self.clusters, moments)
        of_cells = log_evidence(self.clusters, moments[i] + moments[j]) - alone[i] - alone[j]
        ends = np.cumsum([pairs[p].shape[1] for p in active])[:-1]
        gains = dict(zip(active, np.split(of_cells, ends), strict=True))
        for alike, counts, edges in self._counts_of_alike(active):
            of_weights = _gains_of_weights(self.model.weights, counts, pairs[alike[0]])
            for p, gain in zip(alike, np.add.reduceat(of_weights, edges[:-1], axis=1).T, strict=True):
                gains[p] += gain - _entropy_lost(self.resp[p], pairs[p])
        joined = [self._join_within(p, pairs[p].T, gains[p]) for p in active]
        return any(joined)

    def _join_within(self, p: int, pairs: np.ndarray, gains: np.ndarray) -> bool:
        used, resp = set(), self.resp[p].copy()
        for at in np.argsort(-gains, kind="stable"):
            a, b = pairs[at].tolist()
            if gains[at] > 0 and a not in used and b not in used:
                used |= {a, b}
                resp[a] += resp[b]
                resp[b] = 0.0
        self.resp[p] = resp[resp.sum(1) >= SMALLEST_PART]
        return bool(used)

    def gain(self, p: int, moments: np.ndarray) -> float:
        """Return the bound of the mixture of cluster p, whose cells have these moments, less that of one cluster."""
        counts, weights = self.counts(p), self.model.weights
        total = moments.sum(0, keepdims=True)
        of_cells = log_evidence(self.clusters, moments).sum() - log_evidence(self.clusters, total).sum()
        of_weights = log_evidence_of_weights(weights, counts).sum()
        of_weights -= log_evidence_of_weights(weights, counts.sum(1, keepdims=True)).sum()
        return float(of_cells + of_weights + _entropy(self.resp[p]))


def _features(clusters: Clusters, Z: np.ndarray) -> Any:
    """Return the features of the rows, or what stands for them in products."""
    if len(Z) >= MANY_COLUMNS and isinstance(clusters, ProductsOfFeatures):
        return clusters.products(Z)
    return clusters.features(Z)


def _of_all_groups(task: Task, cells: _Cells, p: int) -> np.ndarray:
    """Return the log weights of the parts for all groups. Groups without rows of the cluster get the overall shares."""
    counts = cells.counts(p).sum(0)
    overall = np.log(counts / counts.sum())[None]
    if not task.model.sees_groups:
        return overall
    log_weights = np.repeat(overall, task.data.n_groups, axis=0)
    present = cells.pairs[cells.pair_edges[p] : cells.pair_edges[p + 1], 1]
    log_weights[present] = cells.log_weights([p])[p]
    return log_weights


def with_splits(fit: Fit, splits: list[LocalSplit]) -> Scorer:
    """Return the scorer in which the cells of the splits replace their clusters."""
    scorer = fit.scorer
    K = scorer.n_clusters
    remaining = _not_split(fit, splits)
    log_weights = [scorer.log_weights[:, [split.cluster]] + split.log_weights for split in splits]
    beyond = np.arange(K, len(scorer.coefficients))
    return replace(
        scorer,
        coefficients=np.vstack(
            [scorer.coefficients[remaining], *[split.coefficients for split in splits], scorer.coefficients[beyond]]
        ),
        log_weights=np.hstack([scorer.log_weights[:, remaining], *log_weights, scorer.log_weights[:, beyond]]),
        present=None,
    )


def _one_hot(labels: np.ndarray, most: int) -> np.ndarray:
    return np.eye(int(labels.max()) + 1, dtype=np.float32)[:, labels]


def _gains_of_weights(weights: WeightsPrior, counts: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the change of the evidence of the weights of each row of counts (n, m) by each merge of a pair (2, P):
    (P, n)."""
    after = np.stack([np.delete(counts, b, axis=1) for b in pairs[1]])
    for merged, a, b in zip(after, *pairs, strict=True):
        merged[:, a] += counts[:, b]
    fewer = log_evidence_of_weights(weights, after.reshape(-1, after.shape[2])).reshape(len(after), -1)
    return fewer - log_evidence_of_weights(weights, counts)


def _entropy_lost(resp: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the entropy that each merge of a pair (2, P) of cells removes (P,)."""
    a, b = pairs
    alone = _entropies(resp)
    return alone[a] + alone[b] - _entropies(resp[a] + resp[b])


def _entropies(resp: np.ndarray) -> np.ndarray:
    return -(resp * np.log(np.maximum(resp, np.finfo(resp.dtype).tiny))).sum(1, dtype=np.float64)


def _entropy(resp: np.ndarray) -> float:
    return float(_entropies(resp).sum())
