"""Baselines: greedy selection (naive, lazy, stochastic) and threshold selection in one pass (methods note 11).

Greedy selection needs all items at hand. The threshold methods see each item once and give worse results than swapping.
They guess the best utility from m, the largest gain of a single item so far.
"""

import heapq
import math
from collections.abc import Iterable

import numpy as np

from benthoscope.engine.exemplars.distances import gain_of_column
from benthoscope.engine.exemplars.loss import ExemplarLoss, LossState, SampledDistances
from benthoscope.engine.exemplars.objective import Objective, State
from benthoscope.engine.exemplars.stream_greedy import partition
from benthoscope.engine.progress import OnStep, Progress, ignore

LARGEST_TABLE = 500_000_000  # bytes of dissimilarities that stay in memory
AT_ONCE = 512  # items evaluated by one matrix product
STALE = 32  # most promising items whose gains are recomputed together, by one matrix product


def greedy(objective: Objective, k: int, *, on_step: OnStep = ignore) -> State:
    """Add the item with the largest gain k times. Ties go to the earliest item."""
    everything = np.arange(objective.count)
    return _chosen(objective, k, lambda state: _best(objective, state, everything), on_step)


def lazy_greedy(objective: Objective, k: int, *, on_step: OnStep = ignore) -> State:
    """Return the same items as `greedy`. Gains only fall, so an item with an up-to-date largest gain need not be
    compared with others. Small tables of dissimilarities stay in memory, because most are needed several times."""
    if isinstance(objective, ExemplarLoss) and objective.columns_size <= LARGEST_TABLE:
        table = _LazyTable(objective)
        return _chosen(objective, k, table.best, on_step, table.evidence)
    return _chosen(objective, k, _Lazy(objective).best, on_step)


def stochastic_greedy(
    objective: Objective, k: int, rng: np.random.Generator, *, error: float = 0.1, on_step: OnStep = ignore
) -> State:
    """Add the best of (n / k) log(1 / error) random items k times: 1 - 1/e - error of the best utility in
    expectation."""
    size = min(objective.count, int(np.ceil(objective.count / k * np.log(1 / error))))

    def best(state: State) -> int:
        candidates = np.setdiff1d(np.arange(objective.count), state.chosen)
        return _best(objective, state, np.sort(rng.choice(candidates, min(size, len(candidates)), replace=False)))

    return _chosen(objective, k, best, on_step)


def gains_of(objective: Objective, state: State, items: np.ndarray) -> np.ndarray:
    """Return the gain of each item (len(items),) with bounded memory."""
    blocks = [state.table(objective.evidence(block)).addition_gains() for block in partition(items, AT_ONCE)]
    return np.concatenate(blocks) if blocks else np.empty(0)


class _LazyTable:
    """The dissimilarities of all items in memory, and a heap of upper bounds of their gains."""

    def __init__(self, loss: ExemplarLoss):
        self._columns = loss.columns()
        self._bounds = [(-gain_of_column(column, loss.to_phantom), item) for item, column in enumerate(self._columns)]
        heapq.heapify(self._bounds)

    def best(self, state: LossState) -> int:
        first = state.nearest.first
        while True:
            _, item = heapq.heappop(self._bounds)
            bound = (-gain_of_column(self._columns[item], first), item)
            if not self._bounds or bound <= self._bounds[0]:
                return item
            heapq.heappush(self._bounds, bound)

    def evidence(self, items: np.ndarray) -> SampledDistances:
        return SampledDistances(items, self._columns[items].T)


class _Lazy:
    """Upper bounds of all gains: their values for an earlier, smaller selection."""

    def __init__(self, objective: Objective):
        self._objective = objective
        self._bounds = np.full(objective.count, np.inf)

    def best(self, state: State) -> int:
        fresh = np.zeros(len(self._bounds), bool)
        while True:
            leader = int(np.argmax(self._bounds))
            if fresh[leader]:
                return leader
            stale = self._most_promising(fresh)
            self._bounds[stale] = gains_of(self._objective, state, stale)
            fresh[stale] = True

    def _most_promising(self, fresh: np.ndarray) -> np.ndarray:
        bounds = np.where(fresh, -np.inf, self._bounds)
        if bounds.max() == np.inf:
            return np.flatnonzero(bounds == np.inf)
        few = min(STALE, len(bounds))
        promising = np.argpartition(bounds, -few)[-few:]
        return np.sort(promising[bounds[promising] > -np.inf])


def _best(objective: Objective, state: State, items: np.ndarray) -> int:
    return int(items[np.argmax(gains_of(objective, state, items))])


def _chosen(objective: Objective, k: int, best, on_step: OnStep, evidence=None) -> State:
    state = objective.begin(min(k, objective.count))
    for number in range(min(k, objective.count)):
        state.add((evidence or objective.evidence)(np.array([best(state)])), 0)
        on_step(Progress(number + 1, k, f"utility {state.value:.5g}"))
    return state


def sieve_streaming(objective: Objective, blocks: Iterable[np.ndarray], k: int, *, error: float = 0.1) -> State:
    """Select at least 1/2 - error of the best utility, with one selection per guess (1 + error)^i of the best
    utility."""
    sieves: dict[int, State] = {}
    for singles, evidence, at in _items(objective, blocks):
        _keep_powers(sieves, singles.largest, 2 * k * singles.largest, error, lambda: objective.begin(k))
        for power, state in sieves.items():
            missing = (1 + error) ** power / 2 - state.value
            if _room(state, k) and state.gain(evidence, at) >= missing / (k - len(state.chosen)):
                state.add(evidence, at)
    return _richest(sieves.values(), objective, k)


def sieve_streaming_plus_plus(
    objective: Objective, blocks: Iterable[np.ndarray], k: int, *, error: float = 0.1
) -> State:
    """Give the same guarantee with fewer stored items: guesses below the current utility are dropped."""
    sieves: dict[int, State] = {}
    reached = 0.0
    for singles, evidence, at in _items(objective, blocks):
        lowest = max(reached, singles.largest) / (2 * k)
        _keep_powers(sieves, lowest, singles.largest, error, lambda: objective.begin(k))
        for power, state in sieves.items():
            if _room(state, k) and state.gain(evidence, at) >= (1 + error) ** power:
                state.add(evidence, at)
                reached = max(reached, state.value)
    return _richest(sieves.values(), objective, k)


def three_sieves(
    objective: Objective,
    blocks: Iterable[np.ndarray],
    k: int,
    *,
    error: float = 0.1,
    patience: int = 50,
    largest: float = 0.0,
) -> State:
    """Select with one selection and one threshold, which is lowered after `patience` successive rejections.

    `largest` is the largest gain of a single item, if known. A larger gain restarts the selection.
    """
    state, guess, refused, known = objective.begin(k), k * largest, 0, largest
    for singles, evidence, at in _items(objective, blocks):
        if singles.largest > known:
            known, guess, refused = singles.largest, k * singles.largest, 0
            state = objective.begin(k)
        if not _room(state, k):
            continue
        if state.gain(evidence, at) >= (guess / 2 - state.value) / (k - len(state.chosen)):
            state.add(evidence, at)
            refused = 0
        elif (refused := refused + 1) >= patience:
            guess, refused = guess / (1 + error), 0
    return state


class _Singles:
    """Tracks the largest gain of a single item."""

    def __init__(self, objective: Objective):
        self._nothing = objective.begin(1)
        self.largest = 0.0

    def note(self, evidence, at: int) -> None:
        self.largest = max(self.largest, self._nothing.gain(evidence, at))


def _items(objective: Objective, blocks: Iterable[np.ndarray]):
    """Yield each item that may be useful, with the evidence of its block and its position in the block."""
    singles = _Singles(objective)
    for block in blocks:
        evidence = objective.evidence(block)
        for at in range(len(block)):
            singles.note(evidence, at)
            if singles.largest > 0:
                yield singles, evidence, at


def _keep_powers(sieves: dict[int, State], low: float, high: float, error: float, begin) -> None:
    """Keep exactly one sieve for each power of (1 + error) in [low, high]."""
    step = math.log1p(error)
    powers = range(math.ceil(math.log(low) / step), math.floor(math.log(high) / step) + 1)
    for power in [power for power in sieves if power not in powers]:
        del sieves[power]
    for power in powers:
        if power not in sieves:
            sieves[power] = begin()


def _room(state: State, k: int) -> bool:
    return len(state.chosen) < k


def _richest(states: Iterable[State], objective: Objective, k: int) -> State:
    return max(states, key=lambda state: state.value, default=None) or objective.begin(k)
