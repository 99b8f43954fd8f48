"""The exemplar loss (methods note 2.1): how much nearer the chosen items are to all others than the phantom is."""

from typing import NamedTuple

import numpy as np

from engine.exemplars.dissimilarity import Dissimilarity, squared_euclidean
from engine.exemplars.nearest import Nearest, accumulate
from engine.exemplars.objective import Swap, best_of
from engine.exemplars.phantom import Phantom, origin
from engine.problems import fail


class Evidence(NamedTuple):
    items: np.ndarray  # (b,)
    far: np.ndarray    # (W, b)


class ExemplarLoss:
    """F(A) = mean over the validation set of d(x, x0) - min(d(x, x0), min over A of d(x, x_c)).

    `validation` are row numbers, all where None. Each item stands for itself at no cost, whatever d says.
    """

    def __init__(self, X: np.ndarray, *, dissimilarity: Dissimilarity = squared_euclidean, phantom: Phantom = origin,
                 validation: np.ndarray | None = None):
        if X.ndim != 2 or not len(X):
            raise fail("X", f"has shape {X.shape}", "give at least one row")
        self.X, self.dissimilarity = X, dissimilarity
        self.count = len(X)
        self.validation = np.arange(len(X)) if validation is None else np.unique(validation)
        self._rows = X if validation is None else X[self.validation]
        self.to_phantom = checked(phantom(self._rows, dissimilarity))

    @property
    def span(self) -> float:
        """The largest value one point can add: the B of the guarantees."""
        return float(self.to_phantom.max())

    def evidence(self, items: np.ndarray) -> Evidence:
        items = np.asarray(items)
        far = np.ascontiguousarray(self.dissimilarity(self._rows, self.X[items]), self.to_phantom.dtype)
        at = np.searchsorted(self.validation, items)
        known = (at < len(self.validation)) & (self.validation[np.minimum(at, len(self.validation) - 1)] == items)
        far[at[known], np.flatnonzero(known)] = 0  # rounding of 1e-14 would be 1e-7 after a square root
        return Evidence(items, far)

    def begin(self, k: int) -> "LossState":
        return LossState(self, k)


class LossState:
    def __init__(self, loss: ExemplarLoss, k: int):
        self.chosen: list[int] = []
        self.nearest = Nearest(loss.to_phantom, k)
        self._worst = float(loss.to_phantom.mean(dtype=np.float64))

    @property
    def value(self) -> float:
        return self._worst - float(self.nearest.first.mean(dtype=np.float64))

    def table(self, evidence: Evidence) -> "LossTable":
        return LossTable(self, evidence)

    def gain(self, evidence: Evidence, at: int) -> float:
        if evidence.items[at] in self.chosen:
            return -np.inf
        return float(np.maximum(self.nearest.first - evidence.far[:, at], 0).mean(dtype=np.float64))

    def add(self, evidence: Evidence, at: int) -> np.ndarray:
        """The validation points for which something changed."""
        self.chosen.append(int(evidence.items[at]))
        return self.nearest.add(evidence.far[:, at])

    def swap(self, slot: int, evidence: Evidence, at: int) -> np.ndarray:
        self.chosen[slot] = int(evidence.items[at])
        return self.nearest.swap(slot, evidence.far[:, at])


class LossTable:
    """Sums over the validation set; a change only redoes the points it touched, about 2/k of them."""

    def __init__(self, state: LossState, evidence: Evidence):
        self._state, self._evidence = state, evidence
        self._additions = np.zeros(len(evidence.items))
        self._removals = np.zeros((len(state.nearest.columns), len(evidence.items)))
        self._count(np.arange(len(state.nearest.first)), state.nearest.parts(), 1.0)

    def addition_gains(self) -> np.ndarray:
        return np.where(self._taken(), -np.inf, self._additions / self._points)

    def swap_gains(self) -> np.ndarray:
        gains = (self._additions - self._removals[:len(self._state.chosen)]) / self._points
        gains[:, self._taken()] = -np.inf
        return gains

    def best_swap(self, least: float) -> Swap | None:
        return best_of(self.swap_gains(), least)

    def add(self, at: int) -> None:
        before = self._before()
        self._redo(before, self._state.add(self._evidence, at))

    def swap(self, slot: int, at: int) -> None:
        before = self._before()
        self._redo(before, self._state.swap(slot, self._evidence, at))

    @property
    def _points(self) -> int:
        return len(self._evidence.far)

    def _taken(self) -> np.ndarray:
        return np.isin(self._evidence.items, self._state.chosen)

    def _before(self) -> tuple[np.ndarray, ...]:
        return tuple(part.copy() for part in self._state.nearest.parts())

    def _redo(self, before: tuple[np.ndarray, ...], touched: np.ndarray) -> None:
        self._count(touched, before, -1.0)
        self._count(touched, self._state.nearest.parts(), 1.0)

    def _count(self, points: np.ndarray, nearest: tuple[np.ndarray, ...], sign: float) -> None:
        accumulate(self._evidence.far, points, nearest, sign, self._additions, self._removals)


def checked(to_phantom: np.ndarray) -> np.ndarray:
    """Refuses what would make every comparison false later on."""
    found = np.ascontiguousarray(to_phantom)
    if not np.isfinite(found).all():
        raise fail("X", "has rows that are not finite, or infinitely far from the phantom", "leave those rows out")
    return found
