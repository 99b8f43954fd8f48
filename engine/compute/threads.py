"""How many threads this machine gives us, and keeping BLAS from starting more of its own inside each."""

import os
from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def cores() -> int:
    """The cores this process may run on, which in a container are fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def blas_threads(count: int) -> AbstractContextManager:
    """Within the block, BLAS and OpenMP run at most `count` threads per call."""
    return _controller().limit(limits=count)


@lru_cache(maxsize=1)  # finding the libraries takes milliseconds, setting their limit microseconds
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
