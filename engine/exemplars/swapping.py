"""StreamGreedy (methods note 3): fills k slots from a stream, then swaps whenever a swap gains enough."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.exemplars.objective import Objective, Table
from engine.exemplars.streams import Blocks
from engine.progress import OnStep, Progress, ignore

SIGNIFICANT = 1e-4  # of the utility after the fill: what a swap has to gain where nobody says otherwise
ROUNDING = 1e-12    # of the utility: a gain below it may be none, and two such gains could swap for ever


@dataclass(frozen=True)
class Chosen:
    """`items` in slot order; `values` are the utilities after every block; `swaps` after the fill."""

    items: np.ndarray
    value: float
    values: np.ndarray
    swaps: int
    converged: bool  # a whole cycle went by without a swap that gains enough

    @property
    def steps(self) -> int:
        return len(self.values)


def stream_greedy(
    objective: Objective, blocks: Blocks, k: int, *, cycle: int, least_gain: float | None = None, eager: bool = True,
    max_steps: int | None = None, on_step: OnStep = ignore,
) -> Chosen:
    """`cycle` blocks bring every item by. One change per block, or with `eager` as many as gain more than
    `least_gain` (on the scale of the mean utility; by default a share of the utility after the fill)."""
    search = _Search(objective, k, cycle, least_gain, eager)
    for block in blocks:
        search.step(block)
        on_step(Progress(search.steps, max_steps, f"utility {search.state.value:.5g}", {"utility": search.state.value}))
        if search.converged or search.steps == max_steps:
            break
    return search.result()


class _Search:
    def __init__(self, objective: Objective, k: int, cycle: int, least_gain: float | None, eager: bool):
        self._objective, self._cycle, self._least, self._eager = objective, cycle, least_gain, eager
        self._k = min(k, objective.count)
        self._quota = max(1, -(-4 * k // cycle)) if eager else 1
        self.state = objective.begin(self._k)
        self._idle = self._swaps = 0
        self._values: list[float] = []

    @property
    def steps(self) -> int:
        return len(self._values)

    @property
    def converged(self) -> bool:
        everything = len(self.state.chosen) == self._objective.count
        return everything or self._idle > self._cycle

    def step(self, block: np.ndarray) -> None:
        table = self.state.table(self._objective.evidence(block))
        changed = sum(self._changes(table)) > 0
        self._idle = 0 if changed else self._idle + 1
        self._values.append(self.state.value)

    def result(self) -> Chosen:
        value, values = self.state.value, np.array(self._values)
        return Chosen(np.array(self.state.chosen, np.int64), value, values, self._swaps, self.converged)

    def _changes(self, table: Table) -> Iterator[int]:
        """Makes the changes this block may make, one by one."""
        room = min(self._quota, self._k - len(self.state.chosen))
        filling = room > 0
        while room > 0 and self._added(table):
            room -= 1
            yield 1
        if filling and (not self._eager or len(self.state.chosen) < self._k):
            return
        while self._swapped(table):
            yield 1
            if not self._eager:
                return

    def _added(self, table: Table) -> bool:
        gains = table.addition_gains()
        at = int(np.argmax(gains))
        if gains[at] == -np.inf:
            return False
        table.add(at)
        return True

    def _swapped(self, table: Table) -> bool:
        best = table.best_swap(self._threshold())
        if best is None:
            return False
        table.swap(best.slot, best.at)
        self._swaps += 1
        return True

    def _threshold(self) -> float:
        if self._least is None:
            self._least = SIGNIFICANT * self.state.value
        return max(self._least, ROUNDING * abs(self.state.value))
