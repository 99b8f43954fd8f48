"""The bytes and the work that a stream takes, from the settings alone."""

from dataclasses import dataclass
from typing import Any

from benthoscope.engine.streaming.rounds import rounds_of, rows_together
from benthoscope.engine.streaming.units import CACHED

NUMBER = 8  # bytes of a stored number
COPIES = 4  # of the rows of a round, while they are gathered
UNITS_A_PART = 2  # parts are half full on average
OFTEN = 20  # a unit of a round is read about this many times more often than a row that is gathered or assigned


@dataclass(frozen=True)
class MemoryNeed:
    rounds: int  # number of rounds; 0 for a stream of unknown length
    largest_round: int  # rows
    clumps: int  # largest number of clumps that fit the budget
    budget_bytes: int  # the memory between rounds
    working_bytes: int  # largest working set of a round


def values_per_clump(observation: str, n_features: int) -> int:
    """Return the number of stored numbers of a clump: the count, the sums, and the sums of squares or products."""
    squares = {"diagonal": n_features, "full": n_features * (n_features + 1) // 2}.get(observation, 0)
    return 1 + n_features + squares


def memory_need(model: Any, n_features: int, rows: int | None = None) -> MemoryNeed:
    """Return what the settings of a memory-bounded model need for rows with this number of features. `rows` is their
    number if one fit gets all of them."""
    clump = values_per_clump(model.observation, n_features)
    budget = model.memory * n_features
    clumps = budget // clump
    rounds = [model.epoch] if rows is None else list(rounds_of(model, rows))
    largest, together = max(rounds), rows_together(model, rows or 0, rows)
    in_round = max(model.epoch, -(-UNITS_A_PART * largest // together)) if together > 1 else largest
    units = model.memory + in_round
    clusters = max(clumps // 2, 1) if model.max_clusters is None else model.max_clusters
    statistics = min(units * clump, CACHED)
    new = (1 if together == 1 else COPIES) * largest * n_features
    read = 5 * statistics // 2  # the statistics, a copy for sums, and one in single precision
    recent = getattr(model, "recent", 0) * n_features  # rows that novelty compares with; topics have none
    working = budget + recent + new + 3 * clusters * units + 4 * clusters * n_features**2 + read
    return MemoryNeed(0 if rows is None else len(rounds), largest, clumps, NUMBER * budget, NUMBER * working)


def round_work(model: Any, n_features: int, rows: int) -> float:
    """Return the work of one fit to this many rows, of which each enters one round: the statistics that rounds read.

    The time of two fits on one machine has about the ratio of their work, also if one of them gathers similar rows.
    """
    units, rows_before = 0.0, 0
    for count in rounds_of(model, rows):
        units += model.memory / 2 + count / rows_together(model, rows_before, rows) + count / OFTEN
        rows_before += count
    return units * values_per_clump(model.observation, n_features)
