"""Selection in one pass with thresholds (methods note 11): weaker than swapping, but each item is seen once.

All of them guess how much an item has to gain from the largest gain m that one item alone has had so far.
"""

import math
from collections.abc import Iterable

import numpy as np

from engine.exemplars.objective import Objective, State


def sieve_streaming(objective: Objective, blocks: Iterable[np.ndarray], k: int, *, error: float = 0.1) -> State:
    """At least 1/2 - error of the best: one selection for every guess (1 + error)^i of the best utility."""
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
    """The same promise with fewer items kept: guesses below what has been reached are dropped."""
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


def three_sieves(objective: Objective, blocks: Iterable[np.ndarray], k: int, *, error: float = 0.1,
                 patience: int = 50, largest: float = 0.0) -> State:
    """One selection and one threshold, lowered after `patience` items in a row were refused.

    `largest` is the greatest gain of one item alone, where that is known; each greater one met starts it anew."""
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
    """The largest gain of one item alone so far."""

    def __init__(self, objective: Objective):
        self._nothing = objective.begin(1)
        self.largest = 0.0

    def note(self, evidence, at: int) -> None:
        self.largest = max(self.largest, self._nothing.gain(evidence, at))


def _items(objective: Objective, blocks: Iterable[np.ndarray]):
    """Every item that could be of any use, with the evidence of its block and its place there."""
    singles = _Singles(objective)
    for block in blocks:
        evidence = objective.evidence(block)
        for at in range(len(block)):
            singles.note(evidence, at)
            if singles.largest > 0:
                yield singles, evidence, at


def _keep_powers(sieves: dict[int, State], low: float, high: float, error: float, begin) -> None:
    """Exactly one sieve for each power of (1 + error) in [low, high]."""
    step = math.log1p(error)
    wanted = range(math.ceil(math.log(low) / step), math.floor(math.log(high) / step) + 1)
    for power in [power for power in sieves if power not in wanted]:
        del sieves[power]
    for power in wanted:
        if power not in sieves:
            sieves[power] = begin()


def _room(state: State, k: int) -> bool:
    return len(state.chosen) < k


def _richest(states: Iterable[State], objective: Objective, k: int) -> State:
    return max(states, key=lambda state: state.value, default=None) or objective.begin(k)
