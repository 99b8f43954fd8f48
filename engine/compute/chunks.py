"""Arrays divided into blocks of rows. The rows are in memory, or in a file that each worker maps itself."""

import mmap
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from benthoscope.engine.problems import fail

ROWS = 20_000  # few large chunks, because a task on a cluster has an overhead of about 20 ms


@dataclass(frozen=True, eq=False)  # compared by identity, because a cluster remembers which chunks it holds
class RowChunk:
    """Rows start to stop of an array. Only these rows are sent to another process."""

    source: np.ndarray | Path
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def travels_light(self) -> bool:
        """Return whether the receiver reads the rows from a file itself."""
        return isinstance(self.source, Path)

    def read(self) -> np.ndarray:
        """Return the rows as a read-only view."""
        if isinstance(self.source, Path):
            return _mapped(self.source, _stamp(self.source))[self.start : self.stop]
        return self.source[self.start : self.stop]

    def release(self) -> None:
        """Tell the system that it may reuse the memory of rows of a file. They are read again when they are needed.

        Without this, a pass over a file ends with the whole file in the memory of the process."""
        if not isinstance(self.source, Path) or not hasattr(mmap, "MADV_DONTNEED"):
            return
        values = _mapped(self.source, _stamp(self.source))
        if not (isinstance(values, np.memmap) and isinstance(values.base, mmap.mmap) and values.flags.c_contiguous):
            return
        offset = values.offset % mmap.ALLOCATIONGRANULARITY
        first, last = (offset + row * values.strides[0] for row in (self.start, min(self.stop, len(values))))
        first = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE  # of whole pages only
        length = last // mmap.PAGESIZE * mmap.PAGESIZE - first
        if length > 0:
            values.base.madvise(mmap.MADV_DONTNEED, first, length)

    def __reduce__(self):
        if isinstance(self.source, Path):
            return RowChunk, (self.source, self.start, self.stop)
        return _received, (np.ascontiguousarray(self.read()), self.start, self.stop)


@dataclass(frozen=True)
class _Shifted:
    """Rows without their array, which keep their row numbers."""

    rows: np.ndarray
    start: int

    def __getitem__(self, rows_slice: slice) -> np.ndarray:
        return self.rows[rows_slice.start - self.start : rows_slice.stop - self.start]


Rows = np.ndarray | str | os.PathLike


def rows(source: Rows, size: int = ROWS, start: int = 0, stop: int | None = None) -> list[RowChunk]:
    """Divide rows start to stop of an array, a memmap or a .npy file into chunks of at most `size` rows, in order."""
    if size < 1:
        raise fail("size", f"{size} rows per chunk", "give a positive number of rows")
    origin = _origin(source)
    count = len(_mapped(origin, _stamp(origin))) if isinstance(origin, Path) else len(origin)
    last = count if stop is None else min(stop, count)
    return [RowChunk(origin, at, min(at + size, last)) for at in range(start, last, size)]


def _origin(source: Rows) -> np.ndarray | Path:
    """Return the path of a complete .npy file, also for a memmap of it; otherwise the values."""
    if isinstance(source, np.ndarray):
        return source
    path = Path(source).absolute()
    if not path.is_file():
        raise fail(str(path), "no such file", "give an array or the path of a .npy file")
    return path


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)  # opening a map for each chunk would take longer than reading it
def _mapped(path: Path, stamp: tuple[int, int]) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _received(rows: np.ndarray, start: int, stop: int) -> RowChunk:
    shifted = cast(np.ndarray, _Shifted(rows, start))  # `read` only slices it
    return RowChunk(shifted, start, stop)
