"""What a selection is asked of: a monotone submodular utility, seen only through gains.

An objective makes `evidence` of a block of items once, and begins a `State` for up to k of them; a state makes a
`Table` of evidence, which is kept up to date while items go in and out.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np


class Table(Protocol):
    """The worth of every change that the items of one block allow; gains are on the scale of the utility."""

    def addition_gains(self) -> np.ndarray:
        """(b,): -inf for those already chosen."""

    def swap_gains(self) -> np.ndarray:
        """(chosen, b): of putting item b in the place of each chosen one."""

    def best_swap(self, least: float) -> "Swap | None":
        """The best change that gains more than `least`; ties go to the lowest slot, then to the earliest item."""

    def add(self, at: int) -> None: ...

    def swap(self, slot: int, at: int) -> None: ...


class State(Protocol):
    """A selection: `chosen` are item numbers in the order of their slots, `value` is their utility."""

    chosen: list[int]
    value: float

    def table(self, evidence: Any) -> Table: ...

    def gain(self, evidence: Any, at: int) -> float:
        """Of adding one item of the block."""

    def add(self, evidence: Any, at: int) -> None: ...


class Objective(Protocol):
    count: int  # items there are

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
    found = Swap(int(slot), int(at), float(gains[slot, at]))
    return found if found.gain > least else None
