"""The work on one chunk of rows: E-step and sums as two matrix products per block (methods note 5.3).

Blocks hold the features as (F, n), rows last: sums over clusters then run along contiguous memory. Measured in 20
dimensions with 15 clusters, this form takes 0.52 CPU s a million rows in float64; triangular factors take 0.72.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.mixtures.model import Scorer, Statistics

BLOCK = 2**19  # features held at once, 4 MB: fits the cache and is long enough for matrix products
ROWS = (64, 8192)  # a block's fewest and most rows


@dataclass(frozen=True)
class Division:
    """What the two halves of each of P clusters would own, halves side by side, and the entropy their parting adds."""

    halves: Statistics    # of 2 P clusters
    entropy: np.ndarray   # (P,)

    def __add__(self, other: "Division") -> "Division":
        return Division(self.halves + other.halves, self.entropy + other.entropy)


def statistics(chunk, scorer: Scorer) -> Statistics:
    total, scorer = _Sum(chunk, scorer.clusters, scorer.n_clusters), _local(chunk, scorer)
    for features, groups in _blocks(chunk, scorer.clusters):
        for features_, groups_, kept in _runs(features, groups, scorer):
            resp, log_norm = _e_step(features_, groups_, scorer, kept)
            total.add(features_, groups_, resp, log_norm, kept)
    return total.statistics()


def division(chunk, scorer: Scorer, halves: Scorer, parents: np.ndarray) -> Division:
    P = len(parents)
    total, entropy = _Sum(chunk, scorer.clusters, 2 * P), np.zeros(P)
    scorer, halves = _local(chunk, scorer), _local(chunk, halves)
    for features, groups in _blocks(chunk, scorer.clusters):
        resp, _ = _e_step(features, groups, scorer, None)
        shares, gained = _parted(features, groups, halves, resp[parents])
        entropy += gained
        total.add(features, groups, shares, np.zeros(1), None)
    return Division(total.statistics(), entropy)


def nearest(chunk, scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
    labels, sure = np.empty(len(chunk), np.int32), np.empty(len(chunk), np.float32)
    for at, resp, _ in _scored(chunk, scorer):
        own = resp[: scorer.n_clusters]
        labels[at], sure[at] = own.argmax(0), own.max(0)
    return labels, sure


def responsibilities(chunk, scorer: Scorer) -> np.ndarray:
    out = np.empty((len(chunk), scorer.n_clusters))
    for at, resp, _ in _scored(chunk, scorer):
        out[at] = resp[: scorer.n_clusters].T
    return out


def log_norms(chunk, scorer: Scorer) -> np.ndarray:
    out = np.empty(len(chunk))
    for at, _, log_norm in _scored(chunk, scorer):
        out[at] = log_norm
    return out


def evidence(chunk, scorer: Scorer) -> np.ndarray:
    """(groups of the chunk, T): log densities of each group's rows, summed, under each of T rows of weights."""
    total = np.zeros((chunk.n_groups, len(scorer.log_weights)))
    weights = np.exp(scorer.log_weights)
    for features, groups in _blocks(chunk, scorer.clusters):
        log_joint = scorer.coefficients @ features
        top = log_joint.max(0)
        mixed = weights @ np.exp(log_joint - top)
        add_by_group(total, groups, np.log(np.maximum(mixed, np.finfo(float).tiny)) + top)
    return total


def given(chunk, clusters, resp: np.ndarray) -> Statistics:
    """The statistics of responsibilities (N, K) that are given."""
    return _of_given(chunk, clusters, resp[chunk.start : chunk.stop])


def labelled(chunk, clusters, labels: np.ndarray, K: int) -> Statistics:
    """The statistics of whole rows owned by the cluster of their label."""
    mine = np.zeros((len(chunk), K))
    mine[np.arange(len(chunk)), labels[chunk.start : chunk.stop]] = 1.0
    return _of_given(chunk, clusters, mine)


def _of_given(chunk, clusters, resp: np.ndarray) -> Statistics:
    total, start = _Sum(chunk, clusters, resp.shape[1]), 0
    for features, groups in _blocks(chunk, clusters):
        mine = np.ascontiguousarray(resp[start : start + len(groups)].T)
        total.add(features, groups, mine, np.zeros(1), None)
        start += len(groups)
    return total.statistics()


class _Sum:
    """Statistics under way."""

    def __init__(self, chunk, clusters, K: int):
        self.counts = np.zeros((chunk.n_groups, K))
        self.moments = np.zeros((K, clusters.n_statistics))
        self.sizes = np.bincount(chunk.groups, minlength=chunk.n_groups).astype(float)
        self.log_norm, self.pairs, self.first = 0.0, 0, chunk.first

    def add(self, features, groups, resp, log_norm, kept) -> None:
        self.pairs += resp.size
        self.log_norm += float(log_norm.sum())
        if kept is None:
            own = resp[: len(self.moments)]
            self.moments += own @ features.T
            add_by_group(self.counts, groups, own)
        else:
            self.moments[kept] += resp @ features.T
            self.counts[groups[0], kept] += resp.sum(1)

    def statistics(self) -> Statistics:
        return Statistics(self.counts, self.moments, self.sizes, self.log_norm, self.pairs, self.first)


def _blocks(chunk, clusters) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features (F, n) and groups (n,) of block after block; the features' memory is used again for the next."""
    X, frame = chunk.read(), chunk.frame
    size = int(np.clip(BLOCK // clusters.n_statistics, *ROWS))
    memory = np.empty((clusters.n_statistics, min(size, len(X))))
    for start in range(0, len(X), size):
        Z = np.subtract(X[start : start + size].T, frame.origin[:, None], dtype=np.float64, order="C")
        Z /= frame.scale
        out = memory if Z.shape[1] == memory.shape[1] else None
        yield clusters.features(Z, out), chunk.groups[start : start + size]


def _runs(features, groups, scorer: Scorer) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """The block whole, or cut by group with the clusters present in each."""
    if scorer.present is None:
        yield features, groups, None
        return
    order = np.argsort(groups, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        yield features[:, members], groups[members], np.flatnonzero(scorer.present[groups[members[0]]])


def _e_step(features, groups, scorer: Scorer, kept) -> tuple[np.ndarray, np.ndarray]:
    """Responsibilities (K, n), of the clusters kept if some are left out, and log normalisers (n,)."""
    if kept is None:
        resp = scorer.coefficients @ features
        resp += _of_rows(scorer.log_weights, groups)
    else:
        resp = scorer.coefficients[kept] @ features
        resp += scorer.log_weights[groups[0], kept][:, None]
    return _normalised(resp)


def _normalised(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Overwrites log_joint (K, n)."""
    top = log_joint.max(0)
    log_joint -= top
    resp = np.exp(log_joint, out=log_joint)
    total = resp.sum(0)
    resp /= total
    return resp, np.log(total) + top


def _parted(features, groups, halves: Scorer, owned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What rows owned (P, n) by clusters give to the two halves of each (2 P, n), and the entropy it adds (P,)."""
    log_joint = halves.coefficients @ features
    log_joint += _of_rows(halves.log_weights, groups)
    margin = log_joint[0::2] - log_joint[1::2]
    first = 1 / (1 + np.exp(np.clip(-margin, -500, 500)))
    shares = np.empty_like(log_joint)
    shares[0::2], shares[1::2] = owned * first, owned * (1 - first)
    return shares, (owned * _binary_entropy(first)).sum(1)


def _binary_entropy(share: np.ndarray) -> np.ndarray:
    tiny = np.finfo(float).tiny
    return -share * np.log(np.maximum(share, tiny)) - (1 - share) * np.log(np.maximum(1 - share, tiny))


def _of_rows(log_weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(K, n) from (J, K)."""
    return log_weights.T if len(log_weights) == 1 else np.take(log_weights.T, groups, axis=1)


def add_by_group(counts: np.ndarray, groups: np.ndarray, resp: np.ndarray) -> None:
    """counts (J, K) += the sum of resp (K, n) over the rows of each group."""
    if len(counts) == 1:
        counts[0] += resp.sum(1)
        return
    starts = _run_starts(groups)
    if len(starts) > 2 * len(counts):
        order = np.argsort(groups, kind="stable")
        groups, resp = groups[order], resp[:, order]
        starts = _run_starts(groups)
    np.add.at(counts, groups[starts], np.add.reduceat(resp, starts, axis=1).T)


def _run_starts(groups: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.flatnonzero(groups[1:] != groups[:-1]) + 1])


def _scored(chunk, scorer: Scorer) -> Iterator[tuple[slice | np.ndarray, np.ndarray, np.ndarray]]:
    """Responsibilities (K, n) and log normalisers of block after block, and the rows of the chunk they belong to."""
    scorer = _local(chunk, scorer)
    start, dense = 0, scorer.log_weights if scorer.present is None else _masked(scorer)
    for features, groups in _blocks(chunk, scorer.clusters):
        resp, log_norm = _normalised(scorer.coefficients @ features + _of_rows(dense, groups))
        yield slice(start, start + len(groups)), resp, log_norm
        start += len(groups)


def _local(chunk, scorer: Scorer) -> Scorer:
    return scorer.of_groups(chunk.first, chunk.n_groups)


def _masked(scorer: Scorer) -> np.ndarray:
    return np.where(scorer.present, scorer.log_weights, -np.inf)
