"""Run heavy computations on the threads of this machine or on a Dask cluster, with the same call and the same result.

chunks = rows("features.npy", size=20_000)
total = LocalThreads().map_reduce(chunks, moments_of, operator.add, parameters)
"""

from collections.abc import Iterator
from contextlib import contextmanager

from benthoscope.engine.compute.backends import Compute, InOrder, LocalThreads, blas_threads, cores
from benthoscope.engine.compute.chunks import RowChunk, rows
from benthoscope.engine.compute.dask_cluster import DaskCluster

__all__ = [
    "Compute",
    "DaskCluster",
    "InOrder",
    "LocalThreads",
    "RowChunk",
    "blas_threads",
    "compute_on",
    "computing_on",
    "cores",
    "rows",
]


def compute_on(scheduler: str | None = None, workers: int | None = None) -> Compute:
    """Return the Dask cluster at a scheduler's address (tcp://HOST:PORT), or this machine without an address."""
    return DaskCluster(scheduler) if scheduler else LocalThreads(workers)


@contextmanager
def computing_on(scheduler: str | None = None, workers: int | None = None) -> Iterator[Compute]:
    """Yield what `compute_on` returns. At the end, the connection to a cluster is closed."""
    compute = compute_on(scheduler, workers)
    try:
        yield compute
    finally:
        if isinstance(compute, DaskCluster):
            compute.close()
