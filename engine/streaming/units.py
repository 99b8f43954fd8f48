"""The units of a bounded memory: single rows, and clumps of rows that stay together for good (Gomes et al., 4).

A clump has the summed sufficient statistics of its rows; the first statistic is their number. Its assignment is shared,
so in an update it acts as one row with the average of these statistics and with the weight of its rows. The statistics
are those of `engine.distributions`, so any of its cluster distributions works with units.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.distributions import Clusters
from benthoscope.engine.mixtures.model import Scorer, Statistics

CACHED = 2**24  # statistics (128 MB) that are computed once for a round; larger rounds compute them again in each sweep
BLOCK = 2**19  # statistics per block of a sweep
# The largest product of the number of rows and a statistic for sweeps in single precision: its rounding errors are then
# small beside the prior, so that every covariance stays positive definite.
LARGEST_IN_SINGLE_PRECISION = 2.0**22


def do_nothing() -> None:
    """Do nothing; the default for `pulse`."""


@dataclass(frozen=True, eq=False)
class Units:
    """Rows first, then clumps. `kind` is any distribution of the family; it computes the statistics of rows."""

    kind: Clusters
    points: np.ndarray  # (P, D) rows that stay as they are
    sums: np.ndarray  # (C, F) summed statistics of the clumps

    @classmethod
    def of_rows(cls, kind: Clusters, rows: np.ndarray) -> "Units":
        return cls(kind, rows, np.empty((0, kind.n_statistics)))

    def __len__(self) -> int:
        return len(self.points) + len(self.sums)

    @property
    def weights(self) -> np.ndarray:
        """Return the number of rows of each unit (U,)."""
        return np.concatenate([np.ones(len(self.points)), self.sums[:, 0]])

    @property
    def values(self) -> int:
        """Return the number of stored numbers: the memory that these units take."""
        return self.points.size + self.sums.size

    @property
    def means(self) -> np.ndarray:
        """Return the mean row of each unit (U, D). The statistics after the first are the values of the row."""
        return np.concatenate([self.points, self.sums[:, 1 : self.kind.n_features + 1] / self.sums[:, :1]])

    def with_rows(self, rows: np.ndarray) -> "Units":
        """Return the units with new rows after the present ones."""
        return replace(self, points=np.concatenate([self.points, rows]))

    def averages(self, index: np.ndarray | slice) -> np.ndarray:
        """Return the average statistics of some units (n, F), contiguous by unit."""
        numbers = np.arange(len(self))[index]
        result = np.empty((len(numbers), self.kind.n_statistics))
        is_point = numbers < len(self.points)
        points = np.ascontiguousarray(self.points[numbers[is_point]].T)
        result[is_point] = self.kind.features(points).T
        clumps = self.sums[numbers[~is_point] - len(self.points)]
        result[~is_point] = clumps / clumps[:, :1]
        return result

    def total(self) -> np.ndarray:
        """Return the summed statistics of all units (F,)."""
        points = self.kind.features(np.ascontiguousarray(self.points.T)).sum(1) if len(self.points) else 0.0
        return points + self.sums.sum(0)


class UnitRows:
    """The units of one round as the data of a fit: the sweeps of `engine.mixtures.inference` run over them."""

    n_groups = 1
    whole_groups = False

    def __init__(self, units: Units, pulse: Callable[[], None] = do_nothing):
        self.units, self.pulse = units, pulse
        self.weights = units.weights
        self.total = float(self.weights.sum())
        F = units.kind.n_statistics
        self._averages = units.averages(slice(None)) if len(units) * F <= CACHED else None
        self._swept = self._averages  # the ones that sweeps read
        self._block_rows = max(64, BLOCK // F)

    def __len__(self) -> int:
        """Return the number of rows in all units."""
        return round(self.total)

    def in_single_precision(self) -> "UnitRows":
        """Return the same units with sweeps in single precision, for a search. They are nearly twice as fast. Sums over
        blocks remain in double precision. Returns the units themselves if their statistics are too large."""
        if self._averages is None:
            return self
        largest = max(self._averages.max(), -self._averages.min())
        if self.total * largest > LARGEST_IN_SINGLE_PRECISION:
            return self
        rounded = copy(self)
        rounded._swept = self._averages.astype(np.float32)
        return rounded

    def averages(self, index: np.ndarray) -> np.ndarray:
        return self.units.averages(index) if self._averages is None else self._averages[index]

    def sweep(self, scorer: Scorer) -> Statistics:
        """Run one E-step over all units and return the statistics of its responsibilities."""
        K, F = scorer.coefficients.shape
        counts, moments, log_norm = np.zeros((self.n_groups, K)), np.zeros((K, F)), 0.0
        for block, averages in self.blocks():
            owned, norms = e_step(averages, scorer.coefficients, self.log_weights(scorer, block))
            owned *= self.weights[block]
            counts += self.counts(owned, block)
            moments += owned.astype(averages.dtype, copy=False) @ averages
            log_norm += float(norms @ self.weights[block])
            self.pulse()
        return Statistics(counts, moments, self.sizes, log_norm)

    def responsibilities(self, scorer: Scorer) -> np.ndarray:
        """Return the responsibilities (K, U)."""
        return np.concatenate([owned for _, owned in self.owned_blocks(scorer)], axis=1)

    def owned_blocks(self, scorer: Scorer) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the responsibilities (K, n) of blocks of units."""
        for block, averages in self.blocks():
            yield block, e_step(averages, scorer.coefficients, self.log_weights(scorer, block))[0]

    @property
    def sizes(self) -> np.ndarray:
        """Return the number of rows of each group (J,)."""
        return np.array([self.total])

    def log_weights(self, scorer: Scorer, block: slice) -> np.ndarray:
        """Return the log weights of the clusters for units of a block (K, n) or, if they are all equal, (K, 1)."""
        return scorer.log_weights.T

    def counts(self, owned: np.ndarray, block: slice) -> np.ndarray:
        """Return the rows of each group in each cluster (J, K), from those of the units of a block (K, n)."""
        return owned.sum(1)[None]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._swept is not None and self._swept is self._averages:
            yield slice(None), self._averages
            return
        for start in range(0, len(self.units), self._block_rows):
            block = slice(start, start + self._block_rows)
            yield block, self.units.averages(block) if self._swept is None else self._swept[block]


def e_step(averages: np.ndarray, coefficients: np.ndarray, log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the responsibilities (K, n) and the log normaliser (n,) of units with these average statistics, in double
    precision. The products have the precision of the averages."""
    joint = np.asarray(coefficients.astype(averages.dtype, copy=False) @ averages.T, float)
    joint += log_weights
    top = joint.max(0)
    joint -= top
    np.exp(joint, out=joint)
    norm = joint.sum(0)
    joint /= norm
    return joint, top + np.log(norm)
