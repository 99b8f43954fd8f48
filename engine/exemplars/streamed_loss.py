"""The exemplar loss where nothing of the size of the data is kept: points are gone through again at every step.

With a `failure` probability a step stops going through points as soon as the best swap is beyond doubt (methods
note 7); points then come in random order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from engine.exemplars.dissimilarity import Dissimilarity, squared_euclidean
from engine.exemplars.loss import checked
from engine.exemplars.nearest import Nearest, accumulate
from engine.exemplars.objective import Swap, best_of
from engine.exemplars.phantom import Phantom, origin
from engine.exemplars.sampling import deviation
from engine.exemplars.streams import partition

GROWTH = 1.3  # of the points between looks at a race: few looks, for each takes its share of the failure probability


@dataclass
class Race:
    """How a race is run: `span` is the largest utility of one point, `comparisons` how many there may ever be."""

    failure: float
    span: float
    comparisons: int
    rng: np.random.Generator
    first_look: int = 256
    seen: list[float] = field(default_factory=list)  # the share of the points every step needed

    def band(self, points: int, total: int) -> float:
        return deviation(points, total, failure=self.failure / self.comparisons, span=self.span)


class StreamedLoss:
    """The utility of `ExemplarLoss` over all rows; X may be mapped from disk."""

    def __init__(self, X: np.ndarray, *, dissimilarity: Dissimilarity = squared_euclidean, phantom: Phantom = origin,
                 chunk: int = 2048, race: Race | None = None):
        self.X, self.dissimilarity, self.phantom = X, dissimilarity, phantom
        self.count, self.chunk, self.race = len(X), chunk, race

    def evidence(self, items: np.ndarray) -> np.ndarray:
        return np.asarray(items)

    def begin(self, k: int) -> "StreamedState":
        return StreamedState(self, k)

    def far(self, points: np.ndarray, items: np.ndarray) -> np.ndarray:
        found = np.ascontiguousarray(self.dissimilarity(self.X[points], self.X[items]))
        found[points[:, None] == items] = 0
        return found

    def chunks(self) -> Iterator[np.ndarray]:
        """All points: in the order of the data or, for a race, shuffled and in chunks that grow."""
        if self.race is None:
            yield from (np.arange(at, min(at + self.chunk, self.count)) for at in range(0, self.count, self.chunk))
            return
        order, at, look = self.race.rng.permutation(self.count), 0, float(self.race.first_look)
        while at < self.count:
            yield from partition(order[at : int(look)], self.chunk)
            at, look = int(look), look * GROWTH


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
        """What `ExemplarLoss` keeps for its points, made anew for these."""
        found = Nearest(checked(self.loss.phantom(self.loss.X[points], self.loss.dissimilarity)), self.k)
        if self.chosen:
            far = self.loss.far(points, np.array(self.chosen))
            for column in far.T:
                found.add(column)
        return found

    def mean_utility(self) -> float:
        total = 0.0
        for points in self.loss.chunks():
            nearest = self.nearest(points)
            total += float((nearest.to_phantom - nearest.first).sum(dtype=np.float64))
        return total / self.loss.count


class StreamedTable:
    """Sums are taken when they are asked for, and again after every change."""

    def __init__(self, state: StreamedState, items: np.ndarray):
        self._state, self._items = state, items

    def addition_gains(self) -> np.ndarray:
        return np.where(self._taken(), -np.inf, self._whole().additions / self._state.loss.count)

    def swap_gains(self) -> np.ndarray:
        return self._swap_gains(self._whole())

    def best_swap(self, least: float) -> Swap | None:
        race = self._state.loss.race
        return best_of(self.swap_gains(), least) if race is None else self._raced(race, least)

    def add(self, at: int) -> None:
        self._state.add(self._items, at)

    def swap(self, slot: int, at: int) -> None:
        self._state.chosen[slot] = int(self._items[at])
        self._state.value = self._state.mean_utility()

    def _raced(self, race: Race, least: float) -> Swap | None:
        total, sums, look = self._state.loss.count, self._nothing(), race.first_look
        for sums in self._sums():
            if sums.points < min(look, total):
                continue
            look, band = int(look * GROWTH), 2 * race.band(sums.points, total)  # one for each of the sets compared
            gains = self._swap_gains(sums)
            best = best_of(gains, least + band)
            if best or sums.points == total or gains.max() + band <= least:
                race.seen.append(sums.points / total)
                return best
        return None

    def _sums(self) -> Iterator["_Sums"]:
        sums = self._nothing()
        for points in self._state.loss.chunks():
            sums = sums.with_points(self._state, points, self._items)
            yield sums

    def _whole(self) -> "_Sums":
        *_, last = self._sums()
        return last

    def _nothing(self) -> "_Sums":
        return _Sums(np.zeros(len(self._items)), np.zeros((self._state.k, len(self._items))), 0)

    def _swap_gains(self, sums: "_Sums") -> np.ndarray:
        gains = (sums.additions - sums.removals[:len(self._state.chosen)]) / sums.points
        gains[:, self._taken()] = -np.inf
        return gains

    def _taken(self) -> np.ndarray:
        return np.isin(self._items, self._state.chosen)


@dataclass(frozen=True)
class _Sums:
    additions: np.ndarray
    removals: np.ndarray
    points: int

    def with_points(self, state: StreamedState, points: np.ndarray, items: np.ndarray) -> "_Sums":
        """These sums and those of more points; adds in place, for the sums before are of no more use."""
        parts = state.nearest(points).parts()
        accumulate(state.loss.far(points, items), np.arange(len(points)), parts, 1.0, self.additions, self.removals)
        return _Sums(self.additions, self.removals, self.points + len(points))
