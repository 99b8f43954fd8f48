"""Compression (Gomes et al., 4.2): find groups of units that no future row will separate, and merge each into a clump.

The groups start as the clusters of the model. The split that raises the magnified objective most is carried out first,
until no split fits into the budget. A split never lowers the quality that the model can reach, so splits with a
negative gain are carried out as well while there is room.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from benthoscope.engine.distributions import log_evidence
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.streaming.splitting import StickWeights, UnitSplit, hard_splits, partition_worth, sticks_of
from benthoscope.engine.streaming.units import UnitRows, Units, do_nothing

AHEAD = 32  # splits whose halves are evaluated together
LEVELS = 2  # of halves of halves that are evaluated with them


@dataclass(frozen=True, eq=False)
class Compressed:
    """The units after compression. `clump_of` (U,) is the number of the new clump of each old unit, or -1 if the unit
    stays; `remaining` are the old units that stay, in their new order: rows, then clumps. New clumps come last."""

    units: Units
    remaining: np.ndarray
    clump_of: np.ndarray
    merged_parts: int  # clusters that had to share a clump because of the budget

    @property
    def new_clumps(self) -> int:
        return int(self.clump_of.max(initial=-1)) + 1


@dataclass(frozen=True)
class Budget:
    """`values` is the largest number of stored numbers; a clump takes `clump` of them and a row `row`."""

    values: int
    clump: int
    row: int

    def cost(self, units: Units, subset: np.ndarray) -> int:
        """Return what a group of units takes: a clump, or its rows if they take less."""
        if len(subset) == 1:
            return self.row if subset[0] < len(units.points) else self.clump
        return min(self.clump, self.row * len(subset)) if self._all_rows(units, subset) else self.clump

    def is_leaf(self, units: Units, subset: np.ndarray) -> bool:
        """Return whether the units stay as they are: a single unit, or so few rows that a clump would take more."""
        return len(subset) < 2 or (self._all_rows(units, subset) and self.row * len(subset) <= self.clump)

    def _all_rows(self, units: Units, subset: np.ndarray) -> bool:
        return bool((subset < len(units.points)).all())


class UnitDivision(Protocol):
    """How a model divides and values groups of units."""

    def splits(self, subsets: list[np.ndarray]) -> list[UnitSplit | None]:
        """Return a split of each group with its gain of the magnified objective, or None."""
        ...

    def rank(self, split: UnitSplit) -> tuple[float, ...]:
        """Return the sort key of a split. The split with the smallest key is carried out first."""
        ...

    def moments(self, subset: np.ndarray) -> np.ndarray:
        """Return sums over the units of a group from which `worth` follows."""
        ...

    def worth(self, moments: np.ndarray) -> np.ndarray:
        """Return the magnified objective of each group with these sums."""
        ...


@dataclass(frozen=True, eq=False)
class MixtureDivision:
    """Groups of units of a Dirichlet process mixture."""

    model: Model
    rows: UnitRows
    magnification: float
    smallest: float = 0.0

    def splits(self, subsets: list[np.ndarray]) -> list[UnitSplit | None]:
        weights = StickWeights(sticks_of(self.model), self.magnification, partition=True)
        return hard_splits(self.model.clusters, self.rows, subsets, weights, self.magnification, self.smallest)

    def rank(self, split: UnitSplit) -> tuple[float, ...]:
        return (-split.gain,)

    def moments(self, subset: np.ndarray) -> np.ndarray:
        return self.rows.weights[subset] @ self.rows.averages(subset)

    def worth(self, moments: np.ndarray) -> np.ndarray:
        magnified = self.magnification * moments
        return log_evidence(self.model.clusters, magnified) + partition_worth(sticks_of(self.model), magnified[:, 0])


def compress(
    division: UnitDivision,
    units: Units,
    assignments: np.ndarray,
    budget: Budget,
    pulse: Callable[[], None] = do_nothing,
) -> Compressed:
    """Merge units into clumps until they fit the budget. `assignments` (U,) are their clusters."""
    subsets = [np.flatnonzero(assignments == k) for k in np.unique(assignments)]
    subsets, merged = _fitting(division, units, subsets, budget)
    subsets = _GreedyDivision(division, units, budget, pulse).divided(subsets)
    return replace(_merged(units, subsets, budget), merged_parts=merged)


class _GreedyDivision:
    """Carries out the best split first, while splits fit the budget."""

    def __init__(self, division: UnitDivision, units: Units, budget: Budget, pulse: Callable[[], None]):
        self._division, self._units, self._budget, self._pulse = division, units, budget, pulse
        self._heap: list[tuple[tuple[float, ...], int, UnitSplit]] = []
        self._halves: dict[UnitSplit, list[UnitSplit | None]] = {}  # splits of the halves of a split
        self._count = 0

    def divided(self, subsets: list[np.ndarray]) -> list[np.ndarray]:
        units, budget = self._units, self._budget
        room = budget.values - sum(budget.cost(units, subset) for subset in subsets)
        final = self._push(subsets, self._evaluated(subsets))
        while self._heap:
            self._pulse()
            split = heapq.heappop(self._heap)[-1]
            halves = split.halves
            extra = sum(budget.cost(units, half) for half in halves) - budget.cost(units, split.members)
            if extra > room:
                final.append(split.members)
                continue
            room -= extra
            final += self._push(list(halves), self._splits_of_halves(split))
        return final

    def _push(self, subsets: list[np.ndarray], splits: list[UnitSplit | None]) -> list[np.ndarray]:
        """Queue the subsets that can be split; return the others."""
        final = []
        for subset, split in zip(subsets, splits, strict=True):
            if split is None:
                final.append(subset)
            else:
                heapq.heappush(self._heap, (self._division.rank(split), self._count, split))
                self._count += 1
        return final

    def _splits_of_halves(self, split: UnitSplit) -> list[UnitSplit | None]:
        """Return the splits of both halves. If they are not known, those of the next best splits and of the halves of
        all these are computed as well, because many small groups together take little more time than one."""
        if split not in self._halves:
            best = [split, *(queued for *_, queued in heapq.nsmallest(AHEAD - 1, self._heap))]
            for _ in range(LEVELS):
                best = self._with_halves([queued for queued in best if queued not in self._halves])
        return self._halves.pop(split)

    def _with_halves(self, splits: list[UnitSplit]) -> list[UnitSplit]:
        """Evaluate the halves of the splits. Returns the splits of the halves."""
        evaluated = self._evaluated([half for split in splits for half in split.halves])
        for at, split in enumerate(splits):
            self._halves[split] = evaluated[2 * at : 2 * at + 2]
        return [split for split in evaluated if split is not None]

    def _evaluated(self, subsets: list[np.ndarray]) -> list[UnitSplit | None]:
        results: list[UnitSplit | None] = [None] * len(subsets)
        divisible = [number for number, subset in enumerate(subsets) if not self._budget.is_leaf(self._units, subset)]
        if divisible:
            splits = self._division.splits([subsets[number] for number in divisible])
            for number, split in zip(divisible, splits, strict=True):
                results[number] = split
        return results


def _fitting(
    division: UnitDivision, units: Units, subsets: list[np.ndarray], budget: Budget
) -> tuple[list[np.ndarray], int]:
    """Return the subsets and the number of merges. If they do not fit the budget, they are merged until a clump of each
    does. The pair that loses least is merged first. Splits use the remaining room.
    """
    if sum(budget.cost(units, subset) for subset in subsets) <= budget.values:
        return subsets, 0
    room = budget.values // budget.clump
    group = join_by_evidence(division.worth, np.stack([division.moments(subset) for subset in subsets]), room)
    names, index = np.unique(group, return_inverse=True)
    merged = [np.concatenate([subsets[k] for k in np.flatnonzero(index == j)]) for j in range(len(names))]
    return merged, len(subsets) - len(merged)


def join_by_evidence(evidence: Callable[[np.ndarray], np.ndarray], moments: np.ndarray, most: int) -> np.ndarray:
    """Group clusters with moments (K, F). Merges the pair that loses least until at most `most` groups remain.

    Returns the group of each cluster (K,), numbered by one of its members. `evidence` maps moments to log evidence.
    """
    group, sums, alone = np.arange(len(moments)), moments.copy(), evidence(moments)
    gains = np.full((len(moments), len(moments)), -np.inf)
    for a in range(len(moments) - 1):
        gains[a, a + 1 :] = evidence(sums[a] + sums[a + 1 :]) - alone[a] - alone[a + 1 :]
    for _ in range(len(moments) - most):
        a, b = divmod(int(gains.argmax()), len(gains))
        sums[a], alone[a] = sums[a] + sums[b], alone[a] + alone[b] + gains[a, b]
        group[group == b] = a
        gains[[a, b]] = gains[:, [a, b]] = -np.inf
        other_groups = np.setdiff1d(np.unique(group), a)
        if len(other_groups):
            joined = evidence(sums[a] + sums[other_groups]) - alone[a] - alone[other_groups]
            gains[np.minimum(a, other_groups), np.maximum(a, other_groups)] = joined
    return group


def _merged(units: Units, subsets: list[np.ndarray], budget: Budget) -> Compressed:
    is_leaf = [budget.is_leaf(units, subset) for subset in subsets]
    remaining = [subset for subset, leaf in zip(subsets, is_leaf, strict=True) if leaf]
    clumps = [subset for subset, leaf in zip(subsets, is_leaf, strict=True) if not leaf]
    staying = np.sort(np.concatenate(remaining)) if remaining else np.empty(0, np.int64)
    clump_of = np.full(len(units), -1)
    for number, subset in enumerate(clumps):
        clump_of[subset] = number
    points, old_clumps = staying[staying < len(units.points)], staying[staying >= len(units.points)]
    sums = [_sum_of(units, subset) for subset in clumps]
    new_units = Units(
        units.kind,
        units.points[points],
        np.concatenate([units.sums[old_clumps - len(units.points)], np.reshape(sums, (-1, units.sums.shape[1]))]),
    )
    return Compressed(new_units, staying, clump_of, 0)


def _sum_of(units: Units, subset: np.ndarray) -> np.ndarray:
    """Return the summed statistics of some units (F,)."""
    points, clumps = subset[subset < len(units.points)], subset[subset >= len(units.points)]
    return replace(units, points=units.points[points], sums=units.sums[clumps - len(units.points)]).total()
