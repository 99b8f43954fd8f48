"""The order in which items come by: blocks of item numbers, for ever."""

from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np

Blocks = Iterator[np.ndarray]


def cycling(count: int, size: int, rng: np.random.Generator | None = None) -> Blocks:
    """The same partition into blocks over and over, shuffled once where a generator is given."""
    order = np.arange(count) if rng is None else rng.permutation(count)
    return chain.from_iterable(repeat(partition(order, size)))


def partition(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[at : at + size] for at in range(0, len(order), size)]


def blocks_in_a_pass(count: int, size: int) -> int:
    return -(-count // size)
