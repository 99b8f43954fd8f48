"""A race (methods note 7): read points in random order, and stop when the best swap is certain enough."""

from dataclasses import dataclass, field

import numpy as np

from benthoscope.engine.exemplars.loss import deviation
from benthoscope.engine.exemplars.objective import Swap, best_of

# growth factor of the points between two tests of a race; each test uses a part of the failure probability
GROWTH = 1.3


@dataclass
class Race:
    """Settings of a race: `span` is the largest utility of one point, `comparisons` the largest total number of
    comparisons."""

    failure: float
    span: float
    comparisons: int
    rng: np.random.Generator
    first_look: int = 256
    shares: list[float] = field(default_factory=list)  # the fraction of points that each step needed

    def band(self, points: int, total: int) -> float:
        return deviation(points, total, failure=self.failure / self.comparisons, span=self.span)

    def sizes(self, total: int) -> list[int]:
        """Return the numbers of points after which a step tests its gains; the last one is all points."""
        sizes, size = [], float(self.first_look)
        while size < total:
            sizes.append(int(size))
            size *= GROWTH
        return [*sizes, total]

    def decided(self, gains: np.ndarray, points: int, total: int, least: float) -> tuple[bool, Swap | None]:
        """Return whether the gains measured on some of the points decide the step, and the swap that wins."""
        band = 2 * self.band(points, total)  # one for each of the two sets compared
        best = best_of(gains, least + band)
        decided = best is not None or points == total or bool(gains.max(initial=-np.inf) + band <= least)
        if decided:
            self.shares.append(points / total)
        return decided, best
