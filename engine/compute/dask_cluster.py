"""The same call on a Dask cluster: chunks stay on the workers between calls, only parameters and sums travel."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from engine.compute.chunks import RowChunk
from engine.compute.threads import blas_threads
from engine.problems import fail

TRIES = 4       # a call is begun anew when workers died under it; more deaths than this are no accident
PATIENCE = 60   # seconds to wait for the first worker, and for one to come back


class DaskCluster:
    """Runs on the workers of the scheduler at `address`. Workers that die are survived: their share is done again."""

    def __init__(self, address: str, *, patience: float = PATIENCE):
        distributed = _distributed()
        self.address, self.patience = address, patience
        try:
            self._client = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            raise fail(address, f"no Dask scheduler answers ({error})",
                       "start one with `dask scheduler --port 8786` and give tcp://HOST:8786") from error
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

    def map(self, chunks: Sequence, function: Callable, *shared: Any,
            after_each: Callable[[], None] | None = None) -> Iterator:
        results = self._persistent(lambda: self._client.gather(self._tasks(chunks, function, shared)))
        for result in results:
            yield result
            if after_each:
                after_each()

    def map_reduce(self, chunks: Sequence, function: Callable, combine: Callable, *shared: Any,
                   after_each: Callable[[], None] | None = None) -> Any:
        if not len(chunks):
            raise fail("chunks", "there are none", "give at least one row")
        return self._persistent(lambda: self._reduced(chunks, function, combine, shared, after_each))

    def _reduced(self, chunks, function, combine, shared, after_each):
        tasks = self._tasks(chunks, function, shared)
        root = _tree(tasks, lambda a, b: self._client.submit(combine, a, b, pure=False))
        try:
            if after_each:
                self._watched(tasks, after_each)
            return root.result()
        except BaseException:
            self._client.cancel(tasks)  # what hangs on them goes with them
            raise

    def _watched(self, tasks: list, after_each: Callable[[], None]) -> None:
        with self._client.as_current():
            for _ in _distributed().as_completed(tasks):
                after_each()

    def _tasks(self, chunks: Sequence, function: Callable, shared: tuple) -> list:
        held = self._client.scatter(list(shared), broadcast=True, hash=False) if shared else []
        return [self._client.submit(_alone, function, self._placed(chunk), *held, pure=False) for chunk in chunks]

    def _placed(self, chunk: Any) -> Any:
        """Rows held in memory are sent to a worker once and stay there for the calls to come."""
        if not isinstance(chunk, RowChunk) or chunk.travels_light:
            return chunk
        if chunk not in self._resident:
            self._resident[chunk] = self._client.scatter(chunk, hash=False)
        return self._resident[chunk]

    def _persistent(self, call: Callable[[], Any]) -> Any:
        """The call's result; where workers died with data only they held, the data is sent and the call made again."""
        for left in reversed(range(TRIES)):
            try:
                return call()
            except _losses() as loss:
                if not left:
                    raise fail(self.address, f"workers died {TRIES} times during one step ({loss})",
                               "look at the workers' logs; give them more memory or smaller chunks") from loss
                self._resident.clear()
                self._await_workers()

    def _await_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError as error:
            raise fail(self.address, f"the scheduler had no worker for {self.patience:g} s",
                       f"start one with `dask worker {self.address} --nthreads 1`") from error


def _alone(function: Callable, *arguments: Any) -> Any:
    with blas_threads(1):
        return function(*arguments)


def _tree(tasks: list, pair: Callable) -> Any:
    """The tree of `combine_pairwise`, level by level: neighbours pair up, one left over is taken along as it is."""
    while len(tasks) > 1:
        pairs = [pair(*tasks[at : at + 2]) for at in range(0, len(tasks) - 1, 2)]
        tasks = pairs + tasks[len(tasks) // 2 * 2 :]
    return tasks[0]


def _losses() -> tuple[type[BaseException], ...]:
    from distributed.client import FutureCancelledError, FuturesCancelledError
    from distributed.scheduler import KilledWorker

    return KilledWorker, FutureCancelledError, FuturesCancelledError


def _distributed():
    try:
        import distributed
    except ImportError as error:
        raise fail("Dask", "is not installed", "install the extra: pip install 'benthoscope[cluster]'") from error
    return distributed
