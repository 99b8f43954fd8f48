"""Any utility given as a function of a list of items: asked anew for every change, so for small problems."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.exemplars.objective import Swap, best_of

Utility = Callable[[Sequence[int]], float]


class SetFunction:
    """`utility` should be monotone and submodular; the utility of nothing need not be zero."""

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
        return [*self.chosen[:slot], item, *self.chosen[slot + 1:]]

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
