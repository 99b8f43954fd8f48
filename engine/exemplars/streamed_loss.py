"""The exemplar loss with little memory: all points are read again in each step.

With a `failure` probability, a step stops reading points as soon as the best swap is certain enough (methods note 7).
The points are then read in random order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benthoscope.engine.exemplars.distances import Dissimilarity, Nearest, accumulate, squared_euclidean
from benthoscope.engine.exemplars.loss import Phantom, checked, origin, refuse_infinite
from benthoscope.engine.exemplars.objective import Swap, best_of
from benthoscope.engine.exemplars.race import Race
from benthoscope.engine.exemplars.stream_greedy import partition


class StreamedLoss:
    """The utility of `ExemplarLoss` over all rows. X may be a memory map."""

    def __init__(
        self,
        X: np.ndarray,
        *,
        dissimilarity: Dissimilarity = squared_euclidean,
        phantom: Phantom = origin,
        chunk: int = 2048,
        race: Race | None = None,
    ):
        self.X, self.dissimilarity, self.phantom = X, dissimilarity, phantom
        self.count, self.chunk, self.race = len(X), chunk, race

    def evidence(self, items: np.ndarray) -> np.ndarray:
        return np.asarray(items)

    def begin(self, k: int) -> "StreamedState":
        return StreamedState(self, k)

    def far(self, points: np.ndarray, items: np.ndarray) -> np.ndarray:
        distances = np.ascontiguousarray(self.dissimilarity(self.X[points], self.X[items]))
        distances[points[:, None] == items] = 0
        return distances

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield all points, in the order of the data or, for a race, shuffled and in growing chunks."""
        if self.race is None:
            yield from (np.arange(at, min(at + self.chunk, self.count)) for at in range(0, self.count, self.chunk))
            return
        order, at = self.race.rng.permutation(self.count), 0
        for size in self.race.sizes(self.count):
            yield from partition(order[at:size], self.chunk)
            at = size


class StreamedState:
    def __init__(self, loss: StreamedLoss, k: int):
        self.loss, self.k = loss, k
        self.chosen: list[int] = []
        self.value = 0.0

    def table(self, items: np.ndarray) -> "StreamedTable":
        return StreamedTable(self, items)

    def gain(self, items: np.ndarray, at: int) -> float:
        return float(self.table(items[at : at + 1]).addition_gains()[0])

    def add(self, items: np.ndarray, at: int) -> None:
        self.chosen.append(int(items[at]))
        self.value = self.mean_utility()

    def nearest(self, points: np.ndarray) -> Nearest:
        """Compute the nearest exemplars of these points."""
        rows = refuse_infinite(self.loss.X[points])
        nearest = Nearest(checked(self.loss.phantom(rows, self.loss.dissimilarity)), self.k)
        if self.chosen:
            far = self.loss.far(points, np.array(self.chosen))
            for column in far.T:
                nearest.add(column)
        return nearest

    def mean_utility(self) -> float:
        total = 0.0
        for points in self.loss.chunks():
            nearest = self.nearest(points)
            total += float((nearest.to_phantom - nearest.first).sum(dtype=np.float64))
        return total / self.loss.count


class StreamedTable:
    """Gains that are computed on request, and again after each change."""

    def __init__(self, state: StreamedState, items: np.ndarray):
        self._state, self._items = state, items

    def addition_gains(self) -> np.ndarray:
        return np.where(self._chosen(), -np.inf, self._all_points().additions / self._state.loss.count)

    def swap_gains(self) -> np.ndarray:
        return self._swap_gains(self._all_points())

    def best_swap(self, least: float) -> Swap | None:
        race = self._state.loss.race
        return best_of(self.swap_gains(), least) if race is None else self._raced(race, least)

    def add(self, at: int) -> None:
        self._state.add(self._items, at)

    def swap(self, slot: int, at: int) -> None:
        self._state.chosen[slot] = int(self._items[at])
        self._state.value = self._state.mean_utility()

    def _raced(self, race: Race, least: float) -> Swap | None:
        total = self._state.loss.count
        tests = race.sizes(total)
        for sums in self._sums():
            if sums.points < tests[0]:
                continue
            tests = tests[1:]
            decided, best = race.decided(self._swap_gains(sums), sums.points, total, least)
            if decided:
                return best
        return None

    def _sums(self) -> Iterator["_Sums"]:
        sums = self._nothing()
        for points in self._state.loss.chunks():
            sums = sums.with_points(self._state, points, self._items)
            yield sums

    def _all_points(self) -> "_Sums":
        *_, last = self._sums()
        return last

    def _nothing(self) -> "_Sums":
        return _Sums(np.zeros(len(self._items)), np.zeros((self._state.k, len(self._items))), 0)

    def _swap_gains(self, sums: "_Sums") -> np.ndarray:
        gains = (sums.additions - sums.removals[: len(self._state.chosen)]) / sums.points
        gains[:, self._chosen()] = -np.inf
        return gains

    def _chosen(self) -> np.ndarray:
        return np.isin(self._items, self._state.chosen)


@dataclass(frozen=True)
class _Sums:
    additions: np.ndarray
    removals: np.ndarray
    points: int

    def with_points(self, state: StreamedState, points: np.ndarray, items: np.ndarray) -> "_Sums":
        """These sums and those of more points; adds in place, for the sums before are of no more use."""
        columns = state.nearest(points).statistics()
        accumulate(state.loss.far(points, items), np.arange(len(points)), columns, 1.0, self.additions, self.removals)
        return _Sums(self.additions, self.removals, self.points + len(points))
