"""The interface of selection objectives: a monotone submodular utility, used only through gains.

An objective computes the `evidence` of a block of items once, and creates a `State` for up to k items. A state creates
a `Table` from evidence and updates it while items are added and removed. `SetFunction` wraps any utility of a list of
items; it is evaluated for each change, so it suits small problems.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class GainTable(Protocol):
    """Gains of all changes possible with the items of one block, in units of the utility."""

    def addition_gains(self) -> np.ndarray:
        """Return the gains of additions (b,); -inf for items already chosen."""

    def swap_gains(self) -> np.ndarray:
        """Return the gains (chosen, b) of replacing each chosen item by item b."""

    def best_swap(self, least: float) -> "Swap | None":
        """Return the best change that gains more than `least`. Ties go to the lowest slot, then to the earliest
        item."""

    def add(self, at: int) -> None: ...

    def swap(self, slot: int, at: int) -> None: ...


class State(Protocol):
    """A selection: `chosen` has item numbers in the order of their slots, `value` is their utility."""

    chosen: list[int]

    @property
    def value(self) -> float: ...

    def table(self, evidence: Any) -> GainTable: ...

    def gain(self, evidence: Any, at: int) -> float:
        """Return the gain of adding one item of the block."""

    def add(self, evidence: Any, at: int) -> object: ...


class Objective(Protocol):
    count: int  # number of items

    def begin(self, k: int) -> State: ...

    def evidence(self, items: np.ndarray) -> Any: ...


class Swap(NamedTuple):
    slot: int
    at: int  # position in the block
    gain: float


def best_of(gains: np.ndarray, least: float) -> Swap | None:
    if not gains.size:
        return None
    slot, at = np.unravel_index(np.argmax(gains), gains.shape)
    swap = Swap(int(slot), int(at), float(gains[slot, at]))
    return swap if swap.gain > least else None


Utility = Callable[[Sequence[int]], float]


class SetFunction:
    """An objective from any function of a list of items. `utility` should be monotone and submodular; the utility of
    the empty list need not be zero."""

    def __init__(self, utility: Utility, count: int):
        self.utility, self.count = utility, count

    def evidence(self, items: np.ndarray) -> np.ndarray:
        return np.asarray(items)

    def begin(self, k: int) -> "SetState":
        return SetState(self.utility)


class SetState:
    def __init__(self, utility: Utility):
        self.utility = utility
        self.chosen: list[int] = []
        self.value = utility([])

    def table(self, items: np.ndarray) -> "SetTable":
        return SetTable(self, items)

    def gain(self, items: np.ndarray, at: int) -> float:
        item = int(items[at])
        return -np.inf if item in self.chosen else self.utility([*self.chosen, item]) - self.value

    def add(self, items: np.ndarray, at: int) -> None:
        self._become([*self.chosen, int(items[at])])

    def swap_gain(self, slot: int, item: int) -> float:
        return -np.inf if item in self.chosen else self.utility(self._swapped(slot, item)) - self.value

    def swap(self, slot: int, item: int) -> None:
        self._become(self._swapped(slot, item))

    def _swapped(self, slot: int, item: int) -> list[int]:
        return [*self.chosen[:slot], item, *self.chosen[slot + 1 :]]

    def _become(self, chosen: list[int]) -> None:
        self.chosen, self.value = chosen, self.utility(chosen)


class SetTable:
    def __init__(self, state: SetState, items: np.ndarray):
        self._state, self._items = state, items

    def addition_gains(self) -> np.ndarray:
        return np.array([self._state.gain(self._items, at) for at in range(len(self._items))])

    def swap_gains(self) -> np.ndarray:
        slots = range(len(self._state.chosen))
        return np.array([[self._state.swap_gain(slot, int(item)) for item in self._items] for slot in slots])

    def best_swap(self, least: float) -> Swap | None:
        return best_of(self.swap_gains(), least)

    def add(self, at: int) -> None:
        self._state.add(self._items, at)

    def swap(self, slot: int, at: int) -> None:
        self._state.swap(slot, int(self._items[at]))
