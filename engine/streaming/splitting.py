"""Splits of groups of units in two, evaluated for many groups at the same time (Gomes et al., 4.1 and 4.2).

A group is cut across its principal axis. Two clusters then refine the halves with updates of this group only. To build
a model, the updates are soft; to compress, they are hard and each unit counts `magnification` times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np
from scipy.special import entr, expit, gammaln

from benthoscope.engine.distributions import Clusters, NestedSticks, log_evidence
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.streaming.units import UnitRows

REFINEMENTS = 10
TOGETHER = 2**22  # statistics (32 MB) of the groups that are split together
POWER_STEPS = 60  # of the power iteration for a principal axis; its exact direction does not matter


@dataclass(frozen=True, eq=False)
class UnitSplit:
    """The shares of the second half in the units of a group, and by how much the split raises the objective."""

    members: np.ndarray  # numbers of the units
    share: np.ndarray  # between 0 and 1; 0 or 1 for hard splits
    gain: float
    spread: float = 0.0  # by how much the split lowers the sum of the squared distances to the mean

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        second = self.share > 0.5
        return self.members[~second], self.members[second]


@dataclass(frozen=True, eq=False)
class UnitGroups:
    """The units of several groups, one group after the other."""

    members: np.ndarray  # (n,)
    group: np.ndarray  # (n,) int64
    weights: np.ndarray  # (n,)
    averages: np.ndarray  # (n, F)
    count: int
    totals: np.ndarray  # (P, F) summed statistics of each group

    @classmethod
    def of(cls, rows: UnitRows, subsets: list[np.ndarray]) -> "UnitGroups":
        members = np.concatenate(subsets)
        group = np.repeat(np.arange(len(subsets)), [len(subset) for subset in subsets])
        averages, weights = rows.averages(members), rows.weights[members]
        totals = sums_of_halves(averages, weights, group, np.zeros(len(members)), len(subsets))[:, 0]
        return cls(members, group, weights, averages, len(subsets), totals)

    def any_in(self, flags: np.ndarray) -> np.ndarray:
        """Return for each group whether any of its units has the flag (P,)."""
        return np.bincount(self.group, flags, minlength=self.count) > 0

    def sums(self, share: np.ndarray) -> np.ndarray:
        """Return the summed statistics of the halves (P, 2, F)."""
        return sums_of_halves(self.averages, self.weights, self.group, share, self.count)

    def cut(self, n_features: int) -> np.ndarray:
        """Return True for the units beyond the plane through the mean across the principal axis (n,)."""
        values = slice(1, n_features + 1)
        means = self.totals[:, values] / self.totals[:, :1]
        apart = self.averages[:, values] - means[self.group]
        axes = principal_axes(self._covariances(means, apart))
        return np.einsum("nd,nd->n", apart, axes[self.group]) > 0

    def _covariances(self, means: np.ndarray, apart: np.ndarray) -> np.ndarray:
        """Return the scatter of each group about its mean, divided by its weight (P, D, D)."""
        D = means.shape[1]
        scatter = scatter_of_groups(apart, self.weights, self.group, self.count) / self.totals[:, :1, None]
        if self.totals.shape[1] == 1 + 2 * D:  # squares of each column: clumps have a variance of their own
            square = self.totals[:, D + 1 :] / self.totals[:, :1] - means**2
            scatter[:, np.arange(D), np.arange(D)] = np.maximum(square, 0.0)
        elif self.totals.shape[1] == 1 + D + D * (D + 1) // 2:  # all products
            upper = np.triu_indices(D)
            products = (self.totals[:, D + 1 :] / self.totals[:, :1]) - means[:, upper[0]] * means[:, upper[1]]
            scatter[:, upper[0], upper[1]] = scatter[:, upper[1], upper[0]] = products
        return scatter


class PairWeights(Protocol):
    """The weights of the two clusters of each group of units."""

    def contrast(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        """Return by how much the second cluster is expected more for each unit (n,), given the shares of the second
        half."""
        ...

    def gain(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        """Return what the weights add to the gain of each split (P,)."""
        ...


@dataclass(frozen=True)
class StickWeights:
    """Pairs of sticks of a Dirichlet process. In a compression, `partition` gives the change of the probability of the
    partition of all rows, which does not depend on the other groups."""

    sticks: NestedSticks
    magnification: float = 1.0
    partition: bool = False

    def contrast(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        expected_log = self.sticks.posterior(self._counts(groups, share)).expected_log
        return (expected_log[:, 1] - expected_log[:, 0])[groups.group]

    def gain(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        counts = self._counts(groups, share)
        total = counts.sum(1)
        if self.partition:
            return partition_worth(self.sticks, counts).sum(1) - partition_worth(self.sticks, total)
        return self.sticks.log_evidence(counts) - self.sticks.log_evidence(total[:, None])

    def _counts(self, groups: UnitGroups, share: np.ndarray) -> np.ndarray:
        second = np.bincount(groups.group, groups.weights * share, minlength=groups.count)
        return self.magnification * np.stack([groups.totals[:, 0] - second, second], axis=1)


def sticks_of(model: Model) -> NestedSticks:
    """Return the prior of the weights of a Dirichlet process mixture."""
    if not isinstance(model.weights, NestedSticks):
        raise TypeError(f"a stream needs nested sticks, not {type(model.weights).__name__}")
    return model.weights


def partition_worth(sticks: NestedSticks, counts: np.ndarray) -> np.ndarray:
    """Return what a group of this many rows adds to the log probability of a partition under a Dirichlet process.
    It does not depend on the other groups."""
    return np.log(sticks.concentration) + gammaln(np.maximum(counts, np.finfo(float).tiny))


def soft_splits(
    prior: Clusters, rows: UnitRows, subsets: list[np.ndarray], weights: PairWeights
) -> list[UnitSplit | None]:
    """Return a soft split of each group with the gain of the lower bound of these units, or None if it has no halves.

    The gain compares a mixture of two clusters with one cluster, for the units of the group alone.
    """
    return [split for batch in _batches(rows, subsets) for split in _soft(prior, UnitGroups.of(rows, batch), weights)]


def hard_splits(
    prior: Clusters,
    rows: UnitRows,
    subsets: list[np.ndarray],
    weights: PairWeights,
    magnification: float,
    smallest: float = 0.0,
) -> list[UnitSplit | None]:
    """Return a hard split of each group with its gain of the magnified objective, or None if it has no halves.

    `smallest` is the least number of rows of a half.
    """
    batches = _batches(rows, subsets)
    return [
        split
        for batch in batches
        for split in _hard(prior, UnitGroups.of(rows, batch), weights, magnification, smallest)
    ]


def _batches(rows: UnitRows, subsets: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """Return the groups in batches whose statistics fit in memory."""
    most = max(TOGETHER // rows.units.kind.n_statistics, 1)
    batch: list[np.ndarray] = []
    for subset in subsets:
        if batch and sum(map(len, batch)) + len(subset) > most:
            yield batch
            batch = []
        batch.append(subset)
    yield batch


def _soft(prior: Clusters, groups: UnitGroups, weights: PairWeights) -> list[UnitSplit | None]:
    cut = groups.cut(prior.n_features)
    share = cut.astype(float)
    for _ in range(REFINEMENTS):
        share = expit(_scores(prior, groups, share, weights, 1.0))
    gain = gain_of_clusters(prior, groups.sums(share)) + weights.gain(groups, share)
    entropy = np.bincount(groups.group, groups.weights * (entr(share) + entr(1 - share)), minlength=groups.count)
    return _separate(groups, share, gain + entropy, groups.any_in(cut))


def _hard(
    prior: Clusters, groups: UnitGroups, weights: PairWeights, magnification: float, smallest: float
) -> list[UnitSplit | None]:
    cut = groups.cut(prior.n_features)
    side, active = cut.copy(), groups.any_in(cut)
    for _ in range(REFINEMENTS):
        if not active.any():
            break
        scores = _scores(prior, groups, side.astype(float), weights, magnification, np.flatnonzero(active))
        moved_side = np.where(active[groups.group], scores > 0, side)
        active = groups.any_in(moved_side != side)
        side = moved_side
    emptied = ~groups.any_in(side) | ~groups.any_in(~side)
    side = np.where(emptied[groups.group], cut, side).astype(float)
    sums = groups.sums(side)
    has_halves = sums[:, :, 0].min(1) > smallest
    gain = gain_of_clusters(prior, magnification * sums) + weights.gain(groups, side)
    return _separate(groups, side, gain, has_halves, _separation(sums, prior.n_features))


def _separation(sums: np.ndarray, n_features: int) -> np.ndarray:
    """Return by how much halves with these statistics (P, 2, F) lower the sum of the squared distances of the rows to
    their mean (P,)."""
    sizes = np.maximum(sums[:, :, 0], np.finfo(float).tiny)
    means = sums[:, :, 1 : n_features + 1] / sizes[:, :, None]
    return sizes.prod(1) / sizes.sum(1) * ((means[:, 1] - means[:, 0]) ** 2).sum(1)


def _scores(
    prior: Clusters,
    groups: UnitGroups,
    share: np.ndarray,
    weights: PairWeights,
    magnification: float,
    chosen: np.ndarray | None = None,
) -> np.ndarray:
    """Return by how much the second cluster explains each unit better (n,). Only the groups `chosen` are evaluated;
    units of others get any value."""
    chosen = np.arange(groups.count) if chosen is None else chosen
    sums = magnification * groups.sums(share)[chosen]
    coefficients = prior.posterior(sums.reshape(2 * len(chosen), -1)).coefficients().reshape(sums.shape)
    position = np.full(groups.count, -1)
    position[chosen] = np.arange(len(chosen))
    difference = np.ascontiguousarray(coefficients[:, 1] - coefficients[:, 0])
    return contrasts(groups.averages, position[groups.group], difference) + weights.contrast(groups, share)


def gain_of_clusters(prior: Clusters, halves: np.ndarray) -> np.ndarray:
    """Return the gain of log evidence if one cluster becomes two with these statistics (P, 2, F)."""
    P, _, F = halves.shape
    of_halves = log_evidence(prior, halves.reshape(2 * P, F)).reshape(P, 2).sum(1)
    return of_halves - log_evidence(prior, halves.sum(1))


def _separate(
    groups: UnitGroups, share: np.ndarray, gain: np.ndarray, has_halves: np.ndarray, spread: np.ndarray | None = None
) -> list[UnitSplit | None]:
    ends = np.cumsum(np.bincount(groups.group, minlength=groups.count))
    spread = np.zeros(groups.count) if spread is None else spread
    return [
        UnitSplit(groups.members[start:end], share[start:end], float(gain[number]), float(spread[number]))
        if has_halves[number]
        else None
        for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
    ]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def principal_axes(covariances):
    """Return the direction of the largest variance of each matrix (P, D), by power iteration from the column of the
    largest diagonal entry. It is 0 for a matrix of zeros."""
    P, D, _ = covariances.shape
    axes = np.zeros((P, D))
    for p in range(P):
        largest = np.diag(covariances[p]).argmax()
        axis = covariances[p, largest].copy()
        for _ in range(POWER_STEPS):
            length = np.sqrt((axis * axis).sum())
            if length == 0.0:
                break
            axis = axis / length
            following = np.zeros(D)
            for i in range(D):
                total = 0.0
                for j in range(D):
                    total += covariances[p, i, j] * axis[j]
                following[i] = total
            axis = following
        axes[p] = axis
    return axes


@numba.njit(cache=True, nogil=True)
def sums_of_halves(averages, weights, group, share, count):
    """Return the summed statistics of both halves of each group (count, 2, F)."""
    n, F = averages.shape
    sums = np.zeros((count, 2, F))
    for u in range(n):
        second = weights[u] * share[u]
        first = weights[u] - second
        if first > 0.0:
            target = sums[group[u], 0]
            for f in range(F):
                target[f] += first * averages[u, f]
        if second > 0.0:
            target = sums[group[u], 1]
            for f in range(F):
                target[f] += second * averages[u, f]
    return sums


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def contrasts(averages, position, contrast):
    """Return the product of each unit's statistics with the row of `contrast` at its position; 0 for position -1."""
    n, F = averages.shape
    result = np.zeros(n)
    for u in range(n):
        at = position[u]
        if at >= 0:
            total = 0.0
            for f in range(F):
                total += contrast[at, f] * averages[u, f]
            result[u] = total
    return result


@numba.njit(cache=True, nogil=True)
def scatter_of_groups(apart, weights, group, count):
    """Return the weighted sum of the outer products of the rows of each group (count, D, D)."""
    n, D = apart.shape
    scatter = np.zeros((count, D, D))
    for u in range(n):
        target = scatter[group[u]]
        for i in range(D):
            scaled = weights[u] * apart[u, i]
            for j in range(D):
                target[i, j] += scaled * apart[u, j]
    return scatter
