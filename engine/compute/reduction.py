"""Sums of many parts in a fixed order, so that rounding does not depend on who finished first."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from engine.problems import fail

R = TypeVar("R")


def combine_pairwise(results: Iterable[R], combine: Callable[[R, R], R]) -> R:
    """Combines neighbours, then neighbours of those, as a balanced tree, holding only log2(n) partial results."""
    waiting: list[tuple[int, R]] = []  # (level, partial result); levels fall from bottom to top of the stack
    for result in results:
        level = 0
        while waiting and waiting[-1][0] == level:
            result = combine(waiting.pop()[1], result)
            level += 1
        waiting.append((level, result))
    if not waiting:
        raise fail("chunks", "there are none", "give at least one row")
    total = waiting.pop()[1]
    while waiting:
        total = combine(waiting.pop()[1], total)
    return total
