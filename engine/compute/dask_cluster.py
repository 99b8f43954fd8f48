"""The backend for a Dask cluster: chunks stay on the workers between calls; only parameters and sums are
transferred."""

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from benthoscope.engine.compute.backends import blas_threads
from benthoscope.engine.compute.chunks import RowChunk
from benthoscope.engine.optional_dependencies import import_optional
from benthoscope.engine.problems import fail

TRIES = 4  # attempts of a call after workers died; more failures have a systematic cause
PATIENCE = 60  # seconds to wait for the first worker, for a worker to return, and for idle workers to go on
CHECK = 10  # seconds between two looks at what the workers do


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
        self._resident: WeakKeyDictionary[RowChunk, Any] = WeakKeyDictionary()
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
        results = self._persistent(lambda: self._gathered(self._tasks(chunks, function, shared)))
        for result in results:
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
        tasks = self._tasks(chunks, function, shared)
        root = _tree(tasks, lambda a, b: self._client.submit(combine, a, b, pure=False))
        try:
            if after_each:
                self._watched(tasks, after_each)
            return self._gathered([root])[0]
        except BaseException:
            self._client.cancel(tasks)  # tasks that depend on them are cancelled too
            raise

    def _gathered(self, futures: list) -> list:
        self._await(futures)
        return self._client.gather(futures)

    def _watched(self, tasks: list, after_each: Callable[[], None]) -> None:
        for task in tasks:  # the workers begin them in this order
            if not task.done():
                self._await([task])
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

    def _tasks(self, chunks: Sequence, function: Callable, shared: tuple) -> list:
        futures = self._client.scatter(list(shared), broadcast=True, hash=False) if shared else []
        return [self._client.submit(_alone, function, self._placed(chunk), *futures, pure=False) for chunk in chunks]

    def _placed(self, chunk: Any) -> Any:
        """Send rows to a worker once; they stay there for later calls. A chunk of a file has arrays too, its groups."""
        if not isinstance(chunk, RowChunk):
            return chunk
        if chunk not in self._resident:
            self._resident[chunk] = self._client.scatter(chunk, hash=False)
        return self._resident[chunk]

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


def _alone(function: Callable, *arguments: Any) -> Any:
    with blas_threads(1):
        return function(*arguments)


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
