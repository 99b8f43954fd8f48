"""Greedy selection with all items at hand: naive, lazy (the same result with fewer questions), stochastic."""

import numpy as np

from engine.exemplars.objective import Objective, State
from engine.exemplars.streams import partition
from engine.progress import OnStep, Progress, ignore

AT_ONCE = 512  # items weighed by one matrix product
STALE = 32     # of the most promising items, asked anew together: one matrix product instead of many


def greedy(objective: Objective, k: int, *, on_step: OnStep = ignore) -> State:
    """Every time the item that gains most, the earliest of equals."""
    everything = np.arange(objective.count)
    return _chosen(objective, k, lambda state: _best(objective, state, everything), on_step)


def lazy_greedy(objective: Objective, k: int, *, on_step: OnStep = ignore) -> State:
    """The same items as `greedy`: gains only fall, so whoever leads with a fresh gain need not be compared."""
    return _chosen(objective, k, _Lazy(objective).best, on_step)


def stochastic_greedy(objective: Objective, k: int, rng: np.random.Generator, *, error: float = 0.1,
                      on_step: OnStep = ignore) -> State:
    """Every time the best of a random (n / k) log(1 / error) items: 1 - 1/e - error in expectation."""
    size = min(objective.count, int(np.ceil(objective.count / k * np.log(1 / error))))

    def best(state: State) -> int:
        left = np.setdiff1d(np.arange(objective.count), state.chosen)
        return _best(objective, state, np.sort(rng.choice(left, min(size, len(left)), replace=False)))

    return _chosen(objective, k, best, on_step)


def gains_of(objective: Objective, state: State, items: np.ndarray) -> np.ndarray:
    """What each of the items would add, (len(items),), with bounded memory."""
    parts = [state.table(objective.evidence(part)).addition_gains() for part in partition(items, AT_ONCE)]
    return np.concatenate(parts) if parts else np.empty(0)


class _Lazy:
    """Upper bounds of all gains: those of some earlier, smaller selection."""

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
        found = np.argpartition(bounds, -few)[-few:]
        return np.sort(found[bounds[found] > -np.inf])


def _best(objective: Objective, state: State, items: np.ndarray) -> int:
    return int(items[np.argmax(gains_of(objective, state, items))])


def _chosen(objective: Objective, k: int, best, on_step: OnStep) -> State:
    state = objective.begin(min(k, objective.count))
    for number in range(min(k, objective.count)):
        state.add(objective.evidence(np.array([best(state)])), 0)
        on_step(Progress(number + 1, k, f"utility {state.value:.5g}"))
    return state
