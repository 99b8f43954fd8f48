"""The rows a mixture is fitted to: an array, a memmap or a .npy file, in chunks, with the group of every row."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from engine.compute import Compute, DaskCluster, InOrder, LocalThreads, RowChunk
from engine.compute import rows as cut
from engine.mixtures import sweep
from engine.mixtures.model import Scorer, Statistics


def read_rows(source: np.ndarray | Path, start: int, stop: int) -> np.ndarray:
    """Some rows; those of a file are read, not mapped: pages of a map count as memory of the process until it ends."""
    if isinstance(source, np.ndarray):
        return source[start:stop]
    whole = np.load(source, mmap_mode="r", allow_pickle=False)
    if not whole.flags.c_contiguous:
        return np.array(whole[start:stop])
    columns, dtype = whole.shape[1], whole.dtype
    begin = whole.offset + start * columns * dtype.itemsize
    return np.fromfile(source, dtype, (stop - start) * columns, offset=begin).reshape(-1, columns)


@dataclass(frozen=True)
class Frame:
    """Rows are seen as (x - origin) / scale, so that units neither matter to the search nor to rounding."""

    origin: np.ndarray  # (D,)
    scale: float


@dataclass(frozen=True, eq=False)
class GroupedChunk(RowChunk):
    """A run of rows with their groups, and how to see them."""

    groups: np.ndarray  # 0 is the group `first`
    n_groups: int
    frame: Frame
    first: int = 0

    def read(self) -> np.ndarray:
        return read_rows(self.source, self.start, self.stop)

    def __reduce__(self):
        rest = (self.groups, self.n_groups, self.frame, self.first)
        if self.travels_light:
            return GroupedChunk, (self.source, self.start, self.stop, *rest)
        return _received, (np.ascontiguousarray(self.read()), self.start, self.stop, *rest)


class _Sent(GroupedChunk):
    """A chunk that left its array behind: its source is its own rows."""

    def read(self) -> np.ndarray:
        return self.source


def _received(rows: np.ndarray, *rest: Any) -> GroupedChunk:
    return _Sent(rows, *rest)


def nothing() -> None:
    """After each chunk, nothing."""


ROWS_HERE = 16_384       # a chunk on this machine takes some ten milliseconds, so a stop is heeded at once
LOOKED_UP = 500          # of a file, fewer than one row in so many are read through a map, a page each
FEWEST_GROUPS = 100      # in a sample of whole groups: fewer do not show which kinds of images there are
CHUNKS_PER_WORKER = 4    # on a cluster, where a task costs twenty milliseconds whatever it does


@dataclass(frozen=True)
class Observations:
    """With `whole_groups` rows are in the order of their groups, of which there are many: images, the rows being their
    segments. A chunk then deals with its own groups only, and a sample takes whole groups."""

    source: np.ndarray | Path
    groups: np.ndarray   # (N,) int32, 0 .. n_groups - 1
    n_groups: int
    frame: Frame
    compute: Compute = field(default_factory=InOrder)
    pulse: Callable[[], None] = nothing  # called between chunks; may raise Cancelled
    chunk_rows: int | None = None  # None: what suits the machine
    whole_groups: bool = False

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def chunks(self) -> list[GroupedChunk]:
        return [self._chunk(found) for found in cut(self.source, size=self.chunk_rows or self._suited())]

    def sweep(self, scorer: Scorer) -> Statistics:
        """One E-step over all rows, and the statistics of the responsibilities it gives."""
        return self._sum(sweep.statistics, scorer)

    def divide(self, scorer: Scorer, halves: Scorer, parents: np.ndarray) -> "sweep.Division":
        return self._sum(sweep.division, scorer, halves, parents)

    def nearest(self, scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest cluster of every row, and how likely it is."""
        parts = list(self.map(sweep.nearest, scorer))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def responsibilities(self, scorer: Scorer) -> np.ndarray:
        """(N, K), all of them at once."""
        return np.concatenate(list(self.map(sweep.responsibilities, scorer)))

    def log_norms(self, scorer: Scorer) -> np.ndarray:
        return np.concatenate(list(self.map(sweep.log_norms, scorer)))

    def evidence(self, scorer: Scorer) -> np.ndarray:
        """(groups, T): log densities of each group's rows, summed, under each of the scorer's rows of weights."""
        total = np.zeros((self.n_groups, len(scorer.log_weights)))
        for chunk, part in zip(self.chunks, self.map(sweep.evidence, scorer), strict=True):
            total[chunk.first : chunk.first + len(part)] += part
        return total

    def map(self, function: Callable, *shared: Any) -> Iterator:
        return self._machine.map(self.chunks, function, *shared, after_each=self.pulse)

    def given(self, kind: Any, resp: np.ndarray) -> Statistics:
        """The statistics of responsibilities (N, K) that somebody else gives."""
        return self._sum(sweep.given, kind, resp)

    def labelled(self, kind: Any, labels: np.ndarray) -> Statistics:
        """The statistics of clusters that own the rows with their number, whole."""
        return self._sum(sweep.labelled, kind, labels, int(labels.max()) + 1)

    def regrouped(self, groups: np.ndarray, n_groups: int) -> "Observations":
        return replace(self, groups=groups, n_groups=n_groups)

    def take(self, wanted: np.ndarray) -> "Observations":
        """Some of the rows (ascending numbers), copied, to be worked on in this thread."""
        return replace(self, source=self._rows(wanted), groups=self.groups[wanted], compute=InOrder())

    def sample(self, size: int, rng: np.random.Generator) -> "Observations":
        """Rows drawn at random, held in memory and worked on by this machine."""
        wanted = np.sort(rng.choice(len(self), size, replace=False, shuffle=False))
        machine = LocalThreads() if isinstance(self.compute, DaskCluster) else self.compute
        return replace(self, source=self._rows(wanted), groups=self.groups[wanted], compute=machine)

    def some_groups(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Groups drawn at random (ascending numbers) with so many rows together, but no fewer than FEWEST_GROUPS."""
        drawn = rng.permutation(self.n_groups)
        sizes = np.bincount(self.groups, minlength=self.n_groups)[drawn]
        count = int(np.searchsorted(sizes.cumsum(), rows)) + 1
        return np.sort(drawn[: max(count, FEWEST_GROUPS)])

    def of_groups(self, groups: np.ndarray) -> "Observations":
        """The rows of some groups, numbered anew, held in memory and worked on by this machine."""
        number = np.full(self.n_groups, -1, np.int32)
        number[groups] = np.arange(len(groups))
        wanted = np.flatnonzero(number[self.groups] >= 0)
        machine = LocalThreads() if isinstance(self.compute, DaskCluster) else self.compute
        return replace(self, source=self._rows(wanted), groups=number[self.groups[wanted]], n_groups=len(groups),
                       compute=machine)

    def _rows(self, wanted: np.ndarray) -> np.ndarray:
        """A copy of some rows (ascending numbers); of a file few are looked up, many are picked in passing."""
        if isinstance(self.source, np.ndarray):
            return np.asarray(self.source[wanted])
        if len(wanted) < len(self) // LOOKED_UP:
            return np.array(np.load(self.source, mmap_mode="r", allow_pickle=False)[wanted])
        cuts = np.searchsorted(wanted, [chunk.start for chunk in self.chunks] + [len(self)])
        return np.concatenate([chunk.read()[wanted[a:b] - chunk.start]
                               for chunk, a, b in zip(self.chunks, cuts[:-1], cuts[1:], strict=True) if a < b])

    def _chunk(self, run: RowChunk) -> GroupedChunk:
        groups, first, count = self.groups[run.start : run.stop], 0, self.n_groups
        if self.whole_groups:  # chunks reach from the first group to the last, those without rows included
            first = int(groups[0]) if run.start else 0
            count = (int(groups[-1]) + 1 if run.stop < len(self) else self.n_groups) - first
            groups = groups - groups.dtype.type(first)
        return GroupedChunk(run.source, run.start, run.stop, groups, count, self.frame, first)

    def _suited(self) -> int:
        if not isinstance(self.compute, DaskCluster):
            return ROWS_HERE
        return max(ROWS_HERE, -(-len(self) // (CHUNKS_PER_WORKER * self.compute.workers)))

    def _sum(self, function: Callable, *shared: Any) -> Any:
        return self._machine.map_reduce(self.chunks, function, operator.add, *shared, after_each=self.pulse)

    @cached_property
    def _machine(self) -> Compute:
        """A single chunk is worked on in this thread: handing it over would cost more than it brings."""
        return self.compute if len(self.chunks) > 1 else InOrder()
