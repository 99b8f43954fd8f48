"""Where the numbers are crunched: this machine's threads or a Dask cluster, by the same call and with the same result.

    chunks = rows("features.npy", size=20_000)
    total = LocalThreads().map_reduce(chunks, moments_of, operator.add, parameters)
"""

from engine.compute.backends import Compute, InOrder, LocalThreads
from engine.compute.chunks import RowChunk, rows
from engine.compute.dask_cluster import DaskCluster
from engine.compute.threads import blas_threads, cores

__all__ = [
    "Compute", "DaskCluster", "InOrder", "LocalThreads", "RowChunk", "blas_threads", "compute_on", "cores", "rows",
]


def compute_on(scheduler: str | None = None, workers: int | None = None) -> Compute:
    """The Dask cluster behind a scheduler's address (tcp://HOST:PORT), or this machine where none is given."""
    return DaskCluster(scheduler) if scheduler else LocalThreads(workers)
