"""The one call of heavy work, and its two forms on this machine: in order, and on threads."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeVar

from engine.compute.reduction import combine_pairwise
from engine.compute.threads import blas_threads, cores

C = TypeVar("C")
R = TypeVar("R")
AHEAD = 2  # chunks in hand per worker: enough that none waits, few enough that results do not pile up


class Compute(Protocol):
    """Applies `function(chunk, *shared)` to chunks. `after_each` runs in the caller's thread; it may raise to stop."""

    workers: int

    def map(self, chunks: Sequence[C], function: Callable[..., R], *shared: Any,
            after_each: Callable[[], None] | None = None) -> Iterator[R]:
        """The results in the order of the chunks."""
        ...

    def map_reduce(self, chunks: Sequence[C], function: Callable[..., R], combine: Callable[[R, R], R], *shared: Any,
                   after_each: Callable[[], None] | None = None) -> R:
        """The results combined as one fixed tree over the order of the chunks."""
        ...


class _ByMap:
    """`map_reduce` for whoever has `map`."""

    def map_reduce(self, chunks, function, combine, *shared, after_each=None):
        return combine_pairwise(self.map(chunks, function, *shared, after_each=after_each), combine)


class InOrder(_ByMap):
    """One chunk after the other in the caller's thread; BLAS keeps the threads it has."""

    workers = 1

    def map(self, chunks, function, *shared, after_each=None):
        for chunk in chunks:
            yield function(chunk, *shared)
            if after_each:
                after_each()


class LocalThreads(_ByMap):
    """Chunks on threads of this process, one BLAS thread in each. The function must release the GIL to gain by it."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or cores()

    def map(self, chunks, function, *shared, after_each=None):
        with blas_threads(1), ThreadPoolExecutor(self.workers, "compute") as pool:
            ahead = (pool.submit(function, chunk, *shared) for chunk in chunks)
            yield from _drained(ahead, self.workers * AHEAD, after_each)


def _drained(ahead: Iterator[Future], window: int, after_each: Callable[[], None] | None) -> Iterator:
    """Results of futures in order, at most `window` under way; on an error those not yet begun are dropped."""
    under_way: deque[Future] = deque(islice(ahead, window))
    try:
        while under_way:
            result = under_way.popleft().result()
            under_way.extend(islice(ahead, 1))
            yield result
            if after_each:
                after_each()
    finally:
        for future in under_way:
            future.cancel()
