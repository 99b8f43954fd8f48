"""Arrays cut into runs of rows: held in memory, or left in a file that whoever needs the rows maps for himself."""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from engine.problems import fail

ROWS = 20_000  # few big chunks: a task on a cluster costs some 20 ms, whatever it does


@dataclass(frozen=True, eq=False)  # told apart by identity: a cluster remembers which chunks it already holds
class RowChunk:
    """Rows start to stop of an array. Only these rows travel when it is sent to another process."""

    source: np.ndarray | Path
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def travels_light(self) -> bool:
        """True where the receiver reads the rows from a file himself."""
        return isinstance(self.source, Path)

    def read(self) -> np.ndarray:
        """The rows, as a view that must not be written to."""
        if isinstance(self.source, Path):
            return _mapped(self.source, _stamp(self.source))[self.start : self.stop]
        return self.source[self.start : self.stop]

    def __reduce__(self):
        if isinstance(self.source, Path):
            return RowChunk, (self.source, self.start, self.stop)
        return _received, (np.ascontiguousarray(self.read()), self.start, self.stop)


@dataclass(frozen=True)
class _Shifted:
    """Rows that left their array behind but keep their numbers."""

    held: np.ndarray
    start: int

    def __getitem__(self, wanted: slice) -> np.ndarray:
        return self.held[wanted.start - self.start : wanted.stop - self.start]


Rows = np.ndarray | str | os.PathLike


def rows(source: Rows, size: int = ROWS, start: int = 0, stop: int | None = None) -> list[RowChunk]:
    """Cuts rows start to stop of an array, a memmap or a .npy file into chunks of at most `size` rows, in order."""
    if size < 1:
        raise fail("size", f"{size} rows a chunk", "give a positive number of rows")
    origin = _origin(source)
    count = len(_mapped(origin, _stamp(origin))) if isinstance(origin, Path) else len(origin)
    last = count if stop is None else min(stop, count)
    return [RowChunk(origin, at, min(at + size, last)) for at in range(start, last, size)]


def _origin(source: Rows) -> np.ndarray | Path:
    """A whole .npy file goes by its path, even where it comes as a memmap; everything else by its values."""
    if isinstance(source, np.ndarray):
        return source
    path = Path(source).absolute()
    if not path.is_file():
        raise fail(str(path), "no such file", "give an array or the path of a .npy file")
    return path


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=64)  # opening a map anew for each chunk would cost more than reading it
def _mapped(path: Path, stamp: tuple[int, int]) -> np.ndarray:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _received(held: np.ndarray, start: int, stop: int) -> RowChunk:
    return RowChunk(_Shifted(held, start), start, stop)
