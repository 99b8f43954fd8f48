"""The bytes that a stream takes, from the settings alone."""

from dataclasses import dataclass
from typing import Any

from benthoscope.engine.streaming.units import CACHED

NUMBER = 8  # bytes of a stored number


@dataclass(frozen=True)
class MemoryNeed:
    epoch: int  # rows of a round
    clumps: int  # largest number of clumps that fit the budget
    budget_bytes: int  # the memory between rounds
    working_bytes: int  # largest working set of a round


def values_per_clump(observation: str, n_features: int) -> int:
    """Return the number of stored numbers of a clump: the count, the sums, and the sums of squares or products."""
    squares = {"diagonal": n_features, "full": n_features * (n_features + 1) // 2}.get(observation, 0)
    return 1 + n_features + squares


def memory_need(model: Any, n_features: int) -> MemoryNeed:
    """Return what the settings of a memory-bounded model need for rows with this number of features."""
    clump = values_per_clump(model.observation, n_features)
    budget = model.memory * n_features
    clumps = budget // clump
    units = model.memory + model.epoch
    clusters = max(clumps // 2, 1) if model.max_clusters is None else model.max_clusters
    statistics = min(units * clump, CACHED)
    working = budget + model.epoch * n_features + 3 * clusters * units + 4 * clusters * n_features**2 + 2 * statistics
    return MemoryNeed(model.epoch, clumps, NUMBER * budget, NUMBER * working)
