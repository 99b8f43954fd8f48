"""The interface for heavy computations and its two local backends: in order, and on threads.

Results are summed in a fixed order, so that rounding does not depend on which chunk finishes first. BLAS is limited to
one thread per worker thread.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol, TypeVar

from threadpoolctl import ThreadpoolController

from benthoscope.engine.problems import fail

R = TypeVar("R")


def combine_pairwise(results: Iterable[R], combine: Callable[[R, R], R]) -> R:
    """Combine neighbouring results in a balanced tree, with only log2(n) partial results in memory."""
    waiting: list[tuple[int, R]] = []  # (level, partial result); levels decrease from bottom to top of the stack
    for result in results:
        level = 0
        while waiting and waiting[-1][0] == level:
            result = combine(waiting.pop()[1], result)
            level += 1
        waiting.append((level, result))
    if not waiting:
        raise fail("chunks", "there are no rows", "give at least one row")
    total = waiting.pop()[1]
    while waiting:
        total = combine(waiting.pop()[1], total)
    return total


def cores() -> int:
    """Return the number of cores this process may use; in a container, fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def blas_threads(count: int) -> AbstractContextManager:
    """Limit BLAS and OpenMP to `count` threads per call within the block."""
    return _controller().limit(limits=count)


@lru_cache(maxsize=1)  # finding the libraries takes milliseconds, setting their limit microseconds
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


C = TypeVar("C")
AHEAD = 2  # chunks submitted per worker: enough that none waits, few enough that results do not accumulate


class Compute(Protocol):
    """Applies `function(chunk, *shared)` to chunks. `after_each` runs in the caller's thread and may raise to stop."""

    @property
    def workers(self) -> int:
        """Return the number of chunks that are processed at the same time."""

    def map(
        self,
        chunks: Sequence[C],
        function: Callable[..., R],
        *shared: Any,
        after_each: Callable[[], None] | None = None,
    ) -> Generator[R, None, None]:
        """Yield the results in the order of the chunks."""
        ...

    def map_reduce(
        self,
        chunks: Sequence[C],
        function: Callable[..., R],
        combine: Callable[[R, R], R],
        *shared: Any,
        after_each: Callable[[], None] | None = None,
    ) -> R:
        """Return the results combined in a fixed tree over the order of the chunks."""
        ...


class _ByMap:
    """Implements `map_reduce` with `map`."""

    def map_reduce(self, chunks, function, combine, *shared, after_each=None):
        return combine_pairwise(self.map(chunks, function, *shared, after_each=after_each), combine)


class InOrder(_ByMap):
    """Processes one chunk after the other in the caller's thread. BLAS keeps its threads."""

    workers = 1

    def map(self, chunks, function, *shared, after_each=None):
        for chunk in chunks:
            yield function(chunk, *shared)
            if after_each:
                after_each()


class LocalThreads(_ByMap):
    """Processes chunks on threads of this process, with one BLAS thread each. The function must release the GIL to run
    in parallel."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or cores()

    def map(self, chunks, function, *shared, after_each=None):
        with blas_threads(1), ThreadPoolExecutor(self.workers, "compute") as pool:
            ahead = (pool.submit(function, chunk, *shared) for chunk in chunks)
            yield from _drained(ahead, self.workers * AHEAD, after_each)


def _drained(ahead: Iterator[Future], window: int, after_each: Callable[[], None] | None) -> Iterator:
    """Yield the results of futures in order, with at most `window` submitted. After an error, futures not yet started
    are cancelled."""
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
