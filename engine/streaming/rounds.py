"""How many rows a round of a fit has, and how many similar rows enter it together."""

from collections.abc import Iterator
from typing import Any

MANY = 200_000  # rows of a fit that gathers similar rows before each round
GATHERED = 32  # rows that enter a round together in such a fit
FIRST = 20_000  # rows that enter singly before any are gathered: clusters of few rows divide the others badly
GROWTH = 0.2  # rows of its rounds, as a share of the rows seen, so that new clusters are found early
LARGEST_ROUND = 80_000  # rows


def rows_together(model: Any, seen: float, total: float | None) -> int:
    """Return how many rows enter the next round together. `total` is the number of rows of a fit, None in a stream."""
    if seen < FIRST:
        return 1
    chosen = getattr(model, "gather", 1)
    if chosen is not None:
        return chosen
    return GATHERED if total is not None and total >= MANY else 1


def next_round(model: Any, seen: int, total: int) -> int:
    """Return the number of rows of the next round of a fit to `total` rows. If rows are gathered, the rounds grow."""
    grown = 0 if rows_together(model, seen, total) == 1 else min(int(GROWTH * seen), LARGEST_ROUND)
    return min(max(model.epoch, grown), total - seen)


def rounds_of(model: Any, total: int) -> Iterator[int]:
    """Yield the number of rows of each round of a fit."""
    seen = 0
    while seen < total:
        rows = next_round(model, seen, total)
        yield rows
        seen += rows
