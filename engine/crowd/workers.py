"""Criteria and quality of each worker: tables of merged clusters, information, schools of thought (methods note 3).

`agreement` measures how similarly people sorted the same task; it needs no clustering.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from scipy.special import expit

from benthoscope.engine.crowd.consensus import PlatonicClusters
from benthoscope.engine.crowd.judgements import Judgements, Sorting
from benthoscope.engine.crowd.posterior import Beliefs, multiplicity, packed, spreading
from benthoscope.engine.metrics import adjusted_rand

MERGED = 0.5  # probability of one group above which a worker counts as merging two clusters
SUREST = 0.01  # probabilities stay at least this far from 0 and 1, because a worker's behaviour is never certain
APART = 0.2  # root mean square difference of two tables above which their workers belong to different schools


@dataclass(frozen=True, eq=False)
class Confusion:
    """For each worker, the probability (J, K, K) that a random item of one cluster and one of another come into one
    group.

    `bound` is the paper's estimate, which is too low for uncertain workers. Show `normalised` to users. `certainty` is
    below 1 for workers with little data.
    """

    bound: np.ndarray
    normalised: np.ndarray
    certainty: np.ndarray

    def atoms(self, worker: int) -> np.ndarray:
        """Return the number of the merged category of each cluster for this worker (K,)."""
        return _cut(1 - self.normalised[worker], MERGED)

    def order(self, worker: int) -> np.ndarray:
        """Return an order of the clusters that brings the table near block form."""
        return block_order(1 - self.normalised[worker])


def confusion(beliefs: Beliefs, clusters: PlatonicClusters) -> Confusion:
    mean, D = clusters.mean, beliefs.D
    moment = packed(mean[:, :, None] * mean[:, None, :] + clusters.covariance)
    product = np.einsum("kd,jde,le->jkl", mean, beliefs.matrix, mean)
    spread = spreading(beliefs.matrix, beliefs.matrix_variance)
    square = np.einsum("km,jmn,ln->jkl", moment * multiplicity(D), spread, moment)
    bias, variance = beliefs.bias[:, None, None], beliefs.bias_variance[:, None, None]
    activity = product + bias
    delta = np.sqrt(np.maximum(square + 2 * bias * product + bias**2 + variance, 0.0))
    together, apart = (expit(delta) * np.exp((sign * activity - delta) / 2) for sign in (1, -1))
    return Confusion(together, expit(activity), together + apart)


def quality(judgements: Judgements, confusion: Confusion, clusters: PlatonicClusters) -> np.ndarray:
    """Return the nats per judgement (J,) that a worker's own table explains beyond the worker's fraction of `together`;
    0 means nothing.

    Tables of few clusters cannot overfit a worker's noise, as positions of items can. A worker who puts everything
    together, or everything apart, explains nothing and ranks with workers who click at random. NaN for workers who
    judged no item of a cluster.
    """
    labels, J = clusters.labels, judgements.n_workers
    placed = judgements.take((labels[judgements.first] >= 0) & (labels[judgements.second] >= 0))
    chance = confusion.normalised[placed.worker, labels[placed.first], labels[placed.second]]
    chance = np.clip(chance, SUREST, 1 - SUREST)
    log_chance = np.log(np.where(placed.same, chance, 1 - chance))
    count, positive, explained = (
        np.bincount(placed.worker, column, minlength=J) for column in (np.ones(len(placed)), placed.same, log_chance)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return explained / count + _binary_entropy(positive / count)


def looking(quality_of_workers: np.ndarray, share: float) -> np.ndarray:
    """Return whether each worker explains at least this fraction of what the median worker explains (J,). Workers
    without judgements are trusted."""
    known = quality_of_workers[np.isfinite(quality_of_workers)]
    least = share * max(float(np.median(known)), 0.0) if len(known) else 0.0
    return ~(quality_of_workers < least)


def schools(confusion: Confusion, clusters: PlatonicClusters, trusted: np.ndarray, apart: float = APART) -> np.ndarray:
    """Return the school of each trusted worker, by size (J,): workers of a school merge the same clusters. -1 for
    untrusted workers.

    Tables are weighted by the number of item pairs in their entries, so large clusters count more.
    """
    labels, workers = np.full(len(trusted), -1), np.flatnonzero(trusted)
    if len(workers) == 0:
        return labels
    share = clusters.sizes / clusters.sizes.sum()
    weight = np.sqrt(np.outer(share, share)[np.triu_indices(len(share))])
    rows = confusion.normalised[workers][:, *np.triu_indices(len(share))] * weight
    numbers = fcluster(linkage(rows, "average"), apart, "distance") if len(workers) > 1 else np.ones(1, int)
    labels[workers] = by_size(numbers)
    return labels


def by_size(numbers: np.ndarray) -> np.ndarray:
    """Renumber the groups from 0 by size, largest first."""
    names, index, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    rank = np.empty(len(names), int)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(names))
    return rank[index]


def block_order(distance: np.ndarray) -> np.ndarray:
    """Return the leaves of average linkage, ordered so that neighbours are similar."""
    if len(distance) < 3:
        return np.arange(len(distance))
    condensed = _condensed(distance)
    return leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))


def _cut(distance: np.ndarray, at: float) -> np.ndarray:
    if len(distance) < 2:
        return np.zeros(len(distance), int)
    return by_size(fcluster(linkage(_condensed(distance), "average"), at, "distance"))


def _condensed(distance: np.ndarray) -> np.ndarray:
    even = (distance + distance.T) / 2
    np.fill_diagonal(even, 0.0)  # a cluster that the worker splits is still one row of the table
    return squareform(np.maximum(even, 0.0), checks=False)


def _binary_entropy(rate: np.ndarray) -> np.ndarray:
    safe = np.clip(rate, 1e-12, 1 - 1e-12)
    return -(safe * np.log(safe) + (1 - safe) * np.log(1 - safe))


def agreement(tasks: Sequence[int], sortings: Sequence[Sorting]) -> float | None:
    """Return the mean adjusted Rand index between successive workers of the same task: 1 for equal groups, 0 for
    chance. `tasks` is the task of each sorting. None if no task has two sortings."""
    by_task: dict[int, list[Sorting]] = defaultdict(list)
    for task, sorting in zip(tasks, sortings, strict=True):
        by_task[task].append(sorting)
    likenesses = [likeness(first, second) for answers in by_task.values() for first, second in pairwise(answers)]
    known = [share for share in likenesses if share is not None]
    return float(np.mean(known)) if known else None


def likeness(first: Sorting, second: Sorting) -> float | None:
    """Return the adjusted Rand index over items that both grouped; None if there are fewer than two."""
    (items, groups), (their_items, their_groups) = first.marked(), second.marked()
    _, in_first, in_second = np.intersect1d(items, their_items, return_indices=True)
    return adjusted_rand(groups[in_first], their_groups[in_second]) if len(in_first) > 1 else None
