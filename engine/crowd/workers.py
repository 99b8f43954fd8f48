"""What each worker goes by, and how well: tables of merged clusters, quality, schools of thought (methods note 3)."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform
from scipy.special import expit

from engine.crowd.beliefs import Beliefs
from engine.crowd.judgements import Judgements
from engine.crowd.platonic import PlatonicClusters
from engine.crowd.symmetric import multiplicity, packed, spreading

MERGED = 0.5  # chance of one group from which two clusters count as one to a worker
SUREST = 0.01  # chances are kept this far from 0 and 1: nobody is that sure of what a worker does
APART = 0.2   # root mean square difference of two tables beyond which their workers belong to different schools


@dataclass(frozen=True, eq=False)
class Confusion:
    """For every worker the chance (J, K, K) that a draw of one cluster and a draw of another come into one group.

    `bound` is the source's estimate, biased low where the worker is uncertain; `normalised` is the one to show;
    `certainty` is below 1 where little is known.
    """

    bound: np.ndarray
    normalised: np.ndarray
    certainty: np.ndarray

    def atoms(self, worker: int) -> np.ndarray:
        """(K,) number of the merged category each cluster falls into for this worker."""
        return _cut(1 - self.normalised[worker], MERGED)

    def order(self, worker: int) -> np.ndarray:
        """Clusters in an order that brings the table near block form."""
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


def quality(judgements: Judgements, found: Confusion, clusters: PlatonicClusters) -> np.ndarray:
    """Nats per judgement (J,) that a worker's own table explains beyond the worker's share of `together`; 0: nothing.

    Tables of few clusters cannot learn a worker's noise by heart as positions of items can. Who puts everything
    together, or everything apart, explains nothing and ranks beside those who click at random. NaN for workers who
    judged no item that has a cluster.
    """
    labels, J = clusters.labels, judgements.n_workers
    placed = judgements.take((labels[judgements.first] >= 0) & (labels[judgements.second] >= 0))
    chance = found.normalised[placed.worker, labels[placed.first], labels[placed.second]]
    chance = np.clip(chance, SUREST, 1 - SUREST)
    told = np.log(np.where(placed.same, chance, 1 - chance))
    count, positive, explained = (np.bincount(placed.worker, column, minlength=J)
                                  for column in (np.ones(len(placed)), placed.same, told))
    with np.errstate(invalid="ignore", divide="ignore"):
        return explained / count + _binary_entropy(positive / count)


def looking(quality_of_workers: np.ndarray, share: float) -> np.ndarray:
    """(J,) whether each explains at least this share of what the median worker does; who did nothing yet is trusted."""
    known = quality_of_workers[np.isfinite(quality_of_workers)]
    least = share * max(float(np.median(known)), 0.0) if len(known) else 0.0
    return ~(quality_of_workers < least)


def schools(found: Confusion, clusters: PlatonicClusters, trusted: np.ndarray, apart: float = APART) -> np.ndarray:
    """(J,) number of the school, largest first, of workers who merge clusters alike; -1 for those not trusted.

    Tables are compared by the pairs of items they speak of, so large clusters count for more.
    """
    labels, who = np.full(len(trusted), -1), np.flatnonzero(trusted)
    if len(who) == 0:
        return labels
    share = clusters.sizes / clusters.sizes.sum()
    weight = np.sqrt(np.outer(share, share)[np.triu_indices(len(share))])
    rows = found.normalised[who][:, *np.triu_indices(len(share))] * weight
    numbers = fcluster(linkage(rows, "average"), apart, "distance") if len(who) > 1 else np.ones(1, int)
    labels[who] = by_size(numbers)
    return labels


def by_size(numbers: np.ndarray) -> np.ndarray:
    """The same groups numbered from 0, the largest first."""
    names, index, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    rank = np.empty(len(names), int)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(names))
    return rank[index]


def block_order(distance: np.ndarray) -> np.ndarray:
    """Leaves of average linkage, arranged so that neighbours are alike."""
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
    np.fill_diagonal(even, 0.0)  # a cluster the worker splits is still one row of the table
    return squareform(np.maximum(even, 0.0), checks=False)


def _binary_entropy(rate: np.ndarray) -> np.ndarray:
    safe = np.clip(rate, 1e-12, 1 - 1e-12)
    return -(safe * np.log(safe) + (1 - safe) * np.log(1 - safe))
