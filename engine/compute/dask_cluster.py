"""The backend for a Dask cluster: chunks stay on the workers between calls; only parameters and sums are
transferred."""

import ctypes
import time
from collections.abc import Callable, Generator, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from benthoscope.engine.compute.backends import blas_threads, combine_pairwise
from benthoscope.engine.compute.chunks import RowChunk
from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.engine.problems import fail

TRIES = 4  # attempts of a call after workers died; more failures have a systematic cause
PATIENCE = 60  # seconds to wait for the first worker, for a worker to return, and for idle workers to go on
CHECK = 10  # seconds between two looks at what the workers do
MOST_TOGETHER = 16  # chunks of rows in a task, a power of two
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # numbers of the settings in malloc.h
LARGEST_KEPT, MOST_KEPT = 32 << 20, 128 << 20  # bytes of an array, the largest that may be set, and of all freed memory
TASKS_A_WORKER = 4  # at least, so that all workers end at about the same time


class Stalled(Exception):
    """No worker executes anything, but the result is not there. A scheduler can lose a task when workers die or tasks
    are cancelled."""


class DaskCluster:
    """Runs on the workers of the scheduler at `address`. The work of workers that die is repeated."""

    def __init__(self, address: str, *, patience: float = PATIENCE):
        distributed = import_optional("distributed")
        self.address, self.patience = address, patience
        try:
            self._client = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            raise fail(
                address,
                f"no Dask scheduler answers ({error})",
                "start one with `dask scheduler --port 8786` and give tcp://HOST:8786",
            ) from error
        self._resident: WeakKeyDictionary[RowChunk, tuple[int, Any]] = WeakKeyDictionary()  # by the first of a task
        self._await_workers()

    @property
    def workers(self) -> int:
        return sum(self._client.nthreads().values()) or 1

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> "DaskCluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self, chunks: Sequence, function: Callable, *shared: Any, after_each: Callable[[], None] | None = None
    ) -> Generator[Any, None, None]:
        groups = self._together(chunks)
        results = self._persistent(lambda: self._gathered(self._tasks(groups, _each, function, None, shared)))
        for of_group in results:
            for result in of_group:
                yield result
                if after_each:
                    after_each()

    def map_reduce(
        self,
        chunks: Sequence,
        function: Callable,
        combine: Callable,
        *shared: Any,
        after_each: Callable[[], None] | None = None,
    ) -> Any:
        if not len(chunks):
            raise fail("chunks", "there are no rows", "give at least one row")
        return self._persistent(lambda: self._reduced(chunks, function, combine, shared, after_each))

    def _reduced(self, chunks, function, combine, shared, after_each):
        groups = self._together(chunks)
        tasks = self._tasks(groups, _combined, function, combine, shared)
        root = _tree(tasks, lambda a, b: self._client.submit(combine, a, b, pure=False))
        try:
            if after_each:
                self._watched(tasks, groups, after_each)
            return self._gathered([root])[0]
        except BaseException:
            self._client.cancel(tasks)  # tasks that depend on them are cancelled too
            raise

    def _gathered(self, futures: list) -> list:
        self._await(futures)
        return self._client.gather(futures)

    def _watched(self, tasks: list, groups: list[Sequence], after_each: Callable[[], None]) -> None:
        for task, group in zip(tasks, groups, strict=True):  # the workers begin them in this order
            if not task.done():
                self._await([task])
            for _ in group:
                after_each()

    def _await(self, futures: list) -> None:
        """Wait until all futures have ended. Raises Stalled if the workers do nothing for too long."""
        idle_since = None
        while True:
            try:
                with self._client.as_current():
                    import_optional("distributed").wait(futures, timeout=min(CHECK, self.patience))
                    return
            except TimeoutError:
                is_busy = bool(self._client.call_stack())
            if is_busy:
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since >= self.patience:
                self._client.cancel(futures)
                raise Stalled(f"the workers were idle for {self.patience:g} s")

    def _together(self, chunks: Sequence) -> list[Sequence]:
        """Return the chunks of each task. Chunks of rows take milliseconds each, so a task has several of them: a power
        of two, so that results are combined in the same order as one by one."""
        size = 1
        if isinstance(chunks[0] if len(chunks) else None, RowChunk):
            while size < MOST_TOGETHER and len(chunks) >= 2 * size * TASKS_A_WORKER * self.workers:
                size *= 2
        return [chunks[at : at + size] for at in range(0, len(chunks), size)]

    def _tasks(
        self, groups: list[Sequence], apply: Callable, function: Callable, combine: Callable | None, shared: tuple
    ) -> list:
        futures = self._client.scatter(list(shared), broadcast=True, hash=False) if shared else []
        return [
            self._client.submit(apply, function, combine, self._placed(group), *futures, pure=False) for group in groups
        ]

    def _placed(self, group: Sequence) -> Any:
        """Send rows to a worker once; they stay there for later calls. A chunk of a file has arrays too, its groups."""
        first = group[0]
        if not isinstance(first, RowChunk):
            return group
        size, placed = self._resident.get(first, (0, None))
        if size != len(group):
            placed = self._client.scatter([group], hash=False)[0]  # a list itself would be sent in parts
            self._resident[first] = len(group), placed
        return placed

    def _persistent(self, call: Callable[[], Any]) -> Any:
        """Return the call's result. If workers died with data that only they held, or the cluster lost a task, the data
        are sent again and the call repeated."""
        for tries_left in reversed(range(TRIES)):
            try:
                return call()
            except _losses() as loss:
                if not tries_left:
                    raise fail(
                        self.address,
                        f"workers died or stopped working {TRIES} times during one step ({loss})",
                        "check the logs of the workers; use more memory per worker or smaller chunks",
                    ) from loss
                self._resident.clear()
                self._await_workers()

    def _await_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError as error:
            raise fail(
                self.address,
                f"the scheduler had no worker for {self.patience:g} s",
                f"start one with `dask worker {self.address} --nthreads 1`",
            ) from error


def _each(function: Callable, _: None, chunks: Sequence, *shared: Any) -> list:
    _keep_freed_memory()
    with blas_threads(1):
        return [function(chunk, *shared) for chunk in chunks]


def _combined(function: Callable, combine: Callable, chunks: Sequence, *shared: Any) -> Any:
    _keep_freed_memory()
    with blas_threads(1):
        return combine_pairwise((function(chunk, *shared) for chunk in chunks), combine)


@lru_cache(maxsize=1)  # once in each worker process
def _keep_freed_memory() -> None:
    """Let the C library of GNU keep the memory of freed arrays for the next ones, as it does in other processes.

    Dask makes it return this memory to the system at once. The system then clears the memory of every new array, which
    takes a third as long as the computation itself.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    mallopt(ctypes.c_int(M_MMAP_THRESHOLD), ctypes.c_int(LARGEST_KEPT))
    mallopt(ctypes.c_int(M_TRIM_THRESHOLD), ctypes.c_int(MOST_KEPT))


def _tree(tasks: list, pair: Callable) -> Any:
    """Build the tree of `combine_pairwise` level by level: neighbours are paired, a single last one is passed on."""
    while len(tasks) > 1:
        pairs = [pair(*tasks[at : at + 2]) for at in range(0, len(tasks) - 1, 2)]
        tasks = pairs + tasks[len(tasks) // 2 * 2 :]
    return tasks[0]


def _losses() -> tuple[type[BaseException], ...]:
    from distributed.client import FutureCancelledError, FuturesCancelledError
    from distributed.scheduler import KilledWorker

    return KilledWorker, FutureCancelledError, FuturesCancelledError, Stalled
