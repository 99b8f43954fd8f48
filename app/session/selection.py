"""The one selection of a page: every view changes it and shows it."""

from collections.abc import Callable

import numpy as np
import param

from engine.problems import unknown

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of masks

NOTHING = np.empty(0, np.int64)
COMBINATIONS: dict[str, Combine] = {
    "replace": lambda old, new: new,
    "add": np.logical_or,
    "subtract": lambda old, new: old & ~new,
    "intersect": np.logical_and,
}


class Selection(param.Parameterized):
    """Sorted positions among the images of the catalogue."""

    positions = param.Array(default=NOTHING, doc="What is selected now.")
    previous = param.Array(default=NOTHING, doc="What was selected before: a slip of the lasso is one key away.")
    origin = param.Dict(default={}, doc="How it came about: which tool, in which view.")

    def combine(self, how: str, positions: np.ndarray, origin: dict | None = None) -> None:
        """`how` is replace, add, subtract or intersect."""
        if how not in COMBINATIONS:
            raise unknown("ways to combine selections", how, COMBINATIONS)
        positions = np.asarray(positions, np.int64)
        length = 1 + max(positions.max(initial=-1), self.positions.max(initial=-1))
        masks = (_mask(self.positions, length), _mask(positions, length))  # sorting a million takes far longer
        self.become(np.flatnonzero(COMBINATIONS[how](*masks)), origin)

    def become(self, positions: np.ndarray, origin: dict | None = None) -> None:
        found = np.asarray(positions, np.int64)
        if not np.array_equal(found, self.positions):
            self.param.update(positions=found, previous=self.positions, origin=origin or {})

    def clear(self) -> None:
        self.become(NOTHING)

    def invert(self, among: np.ndarray) -> None:
        """Selects what was not, of the positions `among`."""
        self.become(np.setdiff1d(among, self.positions, assume_unique=True), {"tool": "invert"})

    def back(self) -> None:
        """To what was selected before; twice leads forth again."""
        self.become(self.previous, {"tool": "back"})

    def __len__(self) -> int:
        return len(self.positions)


def _mask(positions: np.ndarray, length: int) -> np.ndarray:
    mask = np.zeros(length, bool)
    mask[positions] = True
    return mask
