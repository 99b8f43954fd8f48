"""The rows a mixture is fitted to (an array, a memmap or a .npy file), read in chunks with the group of each row.

`Summary` gives the mean, the covariance and the range of the rows, and the position of unusable values, before a model
sees them.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.compute import Compute, DaskCluster, InOrder, LocalThreads, RowChunk, rows
from benthoscope.engine.compute import rows as cut
from benthoscope.engine.mixtures import e_step as sweep
from benthoscope.engine.mixtures.e_step import Division
from benthoscope.engine.mixtures.model import Scorer, Statistics
from benthoscope.engine.mixtures.overlap import Overlap
from benthoscope.engine.value_checks import UnusableInput, UnusableValues, unusable_values


def read_rows(source: np.ndarray | Path, start: int, stop: int) -> np.ndarray:
    """Return the rows from start to stop. Rows of a file are read, not mapped, because mapped pages count as memory of
    the process until it ends."""
    if isinstance(source, np.ndarray):
        return source[start:stop]
    file_rows = np.load(source, mmap_mode="r", allow_pickle=False)
    if not file_rows.flags.c_contiguous:
        return np.array(file_rows[start:stop])
    columns, dtype = file_rows.shape[1], file_rows.dtype
    begin = file_rows.offset + start * columns * dtype.itemsize
    return np.fromfile(source, dtype, (stop - start) * columns, offset=begin).reshape(-1, columns)


@dataclass(frozen=True)
class Frame:
    """Maps rows to (x - origin) / scale, so that the units of the rows affect neither the search nor the rounding
    errors."""

    origin: np.ndarray  # (D,)
    scale: float


@dataclass(frozen=True, eq=False)
class GroupedChunk(RowChunk):
    """A contiguous block of rows with their groups and their frame."""

    groups: np.ndarray  # (rows,) group of each row, counted from `first`
    n_groups: int
    frame: Frame
    first: int = 0
    precision: type = np.float64  # of the features and the responsibilities
    most_cached: int = 0  # bytes of features that may remain in memory between two passes
    cache: list = field(default_factory=list)  # the features of each block after the first pass, if they are few enough

    def read(self) -> np.ndarray:
        return read_rows(self.source, self.start, self.stop)

    def __reduce__(self):
        arguments = (self.groups, self.n_groups, self.frame, self.first, self.precision)
        if self.travels_light:
            return GroupedChunk, (self.source, self.start, self.stop, *arguments)
        return _received, (np.ascontiguousarray(self.read()), self.start, self.stop, *arguments)


class _Sent(GroupedChunk):
    """A chunk that carries its own rows, for sending to another process."""

    source: np.ndarray

    def read(self) -> np.ndarray:
        return self.source


def _received(rows: np.ndarray, *arguments: Any) -> GroupedChunk:
    return _Sent(rows, *arguments)


def nothing() -> None:
    """Do nothing; the default for `pulse`."""


ROWS_HERE = 16_384  # a chunk takes about ten milliseconds, so that a cancelled fit stops quickly
LOOKED_UP = 500  # if fewer than one row in 500 is needed, rows of a file are read through a memory map, one page each
FEWEST_GROUPS = 100  # smallest number of groups in a sample of whole groups; fewer would miss kinds of images
CACHED_BYTES = 2**26  # of the features of a sample
CHUNKS_PER_WORKER = 4  # on a compute cluster, where each task has an overhead of twenty milliseconds


@dataclass(frozen=True)
class Observations:
    """Rows in chunks, with their groups and their frame.

    With `whole_groups`, the rows are sorted by group and there are many groups: images whose rows are segments. A chunk
    then contains only its own groups, and a sample consists of whole groups.
    """

    source: np.ndarray | Path
    groups: np.ndarray  # (N,) int32, from 0 to n_groups - 1
    n_groups: int
    frame: Frame
    compute: Compute = field(default_factory=InOrder)
    pulse: Callable[[], None] = nothing  # called between chunks; may raise Cancelled
    chunk_rows: int | None = None  # None chooses a size that suits the machine
    whole_groups: bool = False
    precision: type = np.float64
    is_sample: bool = False  # a copy of some rows in memory, which is read many times

    def __len__(self) -> int:
        return len(self.groups)

    def in_single_precision(self) -> "Observations":
        """Return the same rows with features and responsibilities of 32 bits, for a search. Products are then twice as
        fast. Sums over blocks remain in double precision."""
        return replace(self, precision=np.float32)

    @cached_property
    def chunks(self) -> list[GroupedChunk]:
        ranges = cut(self.source, size=self.chunk_rows or self._suited())
        most_cached = CACHED_BYTES // len(ranges) if self.is_sample else 0
        return [self._chunk(row_range, most_cached) for row_range in ranges]

    def sweep(self, scorer: Scorer) -> Statistics:
        """Run one E-step over all rows and return the statistics of its responsibilities."""
        return self._sum(sweep.statistics, scorer)

    def divide(self, scorer: Scorer, halves: Scorer, parents: np.ndarray) -> Division:
        return self._sum(sweep.division, scorer, halves, parents)

    def nearest(self, scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
        """Return the most likely cluster of each row and its probability."""
        blocks = list(self.map(sweep.nearest, scorer))
        return np.concatenate([p[0] for p in blocks]), np.concatenate([p[1] for p in blocks])

    def responsibilities(self, scorer: Scorer) -> np.ndarray:
        """Return the responsibilities of all rows (N, K)."""
        return np.concatenate(list(self.map(sweep.responsibilities, scorer)))

    def overlap(self, scorer: Scorer) -> Overlap:
        """Return how much the clusters share their rows."""
        return self.sharing(scorer, np.zeros(0, int), 1.0)[0]

    def sharing(
        self, scorer: Scorer, clusters: np.ndarray, least: float
    ) -> tuple[Overlap, np.ndarray, list[np.ndarray]]:
        """Return how much the clusters share their rows, the most likely cluster of each row, and for each of
        `clusters` the rows for which it has more than `least` responsibility. All come from one pass."""
        of_chunks = list(self.map(sweep.sharing, scorer, clusters, least))
        overlap = reduce(operator.add, (part.overlap for part in of_chunks))
        rows, at = (np.concatenate([getattr(part, name) for part in of_chunks]) for name in ("rows", "positions"))
        order = np.argsort(at, kind="stable")
        of_clusters = np.split(rows[order], np.bincount(at, minlength=len(clusters)).cumsum()[:-1])
        return overlap, np.concatenate([part.labels for part in of_chunks]), of_clusters

    def log_norms(self, scorer: Scorer) -> np.ndarray:
        return np.concatenate(list(self.map(sweep.log_norms, scorer)))

    def evidence(self, scorer: Scorer) -> np.ndarray:
        """Return the log densities of each group, summed over its rows, for each row of the scorer's weights (groups,
        T)."""
        total = np.zeros((self.n_groups, len(scorer.log_weights)))
        for chunk, values in zip(self.chunks, self.map(sweep.evidence, scorer), strict=True):
            total[chunk.first : chunk.first + len(values)] += values
        return total

    def map(self, function: Callable, *shared: Any) -> Iterator:
        return self._machine.map(self.chunks, function, *shared, after_each=self.pulse)

    def statistics_of(self, kind: Any, resp: np.ndarray) -> Statistics:
        """Return the statistics of given responsibilities (N, K)."""
        return self._sum(sweep.statistics_of, kind, resp)

    def labelled(self, kind: Any, labels: np.ndarray) -> Statistics:
        """Return the statistics of clusters that fully own the rows with their label."""
        return self._sum(sweep.labelled, kind, labels, int(labels.max()) + 1)

    def regrouped(self, groups: np.ndarray, n_groups: int) -> "Observations":
        return replace(self, groups=groups, n_groups=n_groups)

    def take(self, rows: np.ndarray) -> "Observations":
        """Return a copy of some rows (ascending numbers) that is processed in the current thread."""
        return replace(self, source=self._rows(rows), groups=self.groups[rows], compute=InOrder(), is_sample=True)

    def sample(self, size: int, rng: np.random.Generator) -> "Observations":
        """Return a random sample of rows, held in memory and processed on this machine."""
        rows = np.sort(rng.choice(len(self), size, replace=False, shuffle=False))
        machine = LocalThreads() if isinstance(self.compute, DaskCluster) else self.compute
        return replace(self, source=self._rows(rows), groups=self.groups[rows], compute=machine, is_sample=True)

    def some_groups(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Return random groups (ascending numbers) with about `rows` rows in total, but at least
        FEWEST_GROUPS groups."""
        shuffled = rng.permutation(self.n_groups)
        sizes = np.bincount(self.groups, minlength=self.n_groups)[shuffled]
        count = int(np.searchsorted(sizes.cumsum(), rows)) + 1
        return np.sort(shuffled[: max(count, FEWEST_GROUPS)])

    def of_groups(self, groups: np.ndarray) -> "Observations":
        """Return the rows of some groups, which are renumbered, held in memory and processed on this machine."""
        number = np.full(self.n_groups, -1, np.int32)
        number[groups] = np.arange(len(groups))
        rows = np.flatnonzero(number[self.groups] >= 0)
        machine = LocalThreads() if isinstance(self.compute, DaskCluster) else self.compute
        return replace(
            self,
            source=self._rows(rows),
            groups=number[self.groups[rows]],
            n_groups=len(groups),
            compute=machine,
            is_sample=True,
        )

    def _rows(self, rows: np.ndarray) -> np.ndarray:
        """Return a copy of some rows (ascending numbers). A few rows of a file are read directly; many are picked while
        the file is read once."""
        if isinstance(self.source, np.ndarray):
            return np.asarray(self.source[rows])
        if len(rows) < len(self) // LOOKED_UP:
            return np.array(np.load(self.source, mmap_mode="r", allow_pickle=False)[rows])
        cuts = np.searchsorted(rows, [chunk.start for chunk in self.chunks] + [len(self)])
        return np.concatenate(
            [
                chunk.read()[rows[a:b] - chunk.start]
                for chunk, a, b in zip(self.chunks, cuts[:-1], cuts[1:], strict=True)
                if a < b
            ]
        )

    def _chunk(self, run: RowChunk, most_cached: int) -> GroupedChunk:
        groups, first, count = self.groups[run.start : run.stop], 0, self.n_groups
        if self.whole_groups:  # chunks run from the first to the last group and include groups without rows
            first = int(groups[0]) if run.start else 0
            count = (int(groups[-1]) + 1 if run.stop < len(self) else self.n_groups) - first
            groups = groups - groups.dtype.type(first)
        return GroupedChunk(
            run.source, run.start, run.stop, groups, count, self.frame, first, self.precision, most_cached
        )

    def _suited(self) -> int:
        if not isinstance(self.compute, DaskCluster):
            return ROWS_HERE
        return max(ROWS_HERE, -(-len(self) // (CHUNKS_PER_WORKER * self.compute.workers)))

    def _sum(self, function: Callable, *shared: Any) -> Any:
        return self._machine.map_reduce(self.chunks, function, operator.add, *shared, after_each=self.pulse)

    @cached_property
    def _machine(self) -> Compute:
        """Return the local backend. A single chunk runs in the current thread, because passing it to another costs more
        than it saves."""
        return self.compute if len(self.chunks) > 1 else InOrder()


@dataclass(frozen=True)
class Summary:
    """Mean, scatter and range of rows. Summaries of chunks are added by Chan's formula, which stays precise if all
    values share a large offset."""

    count: int
    mean: np.ndarray  # (D,)
    scatter: np.ndarray  # (D, D)  sum of (x - mean)(x - mean)'
    lowest: float
    unusable: UnusableValues | None  # missing, infinite or too large

    def __add__(self, other: "Summary") -> "Summary":
        count = self.count + other.count
        apart, share = other.mean - self.mean, other.count / max(count, 1)
        scatter = self.scatter + other.scatter + self.count * share * np.outer(apart, apart)
        return Summary(
            count,
            self.mean + share * apart,
            scatter,
            min(self.lowest, other.lowest),
            _together(self.unusable, other.unusable),
        )

    @property
    def covariance(self) -> np.ndarray:
        return self.scatter / self.count

    @property
    def largest_variance(self) -> float:
        """Return the variance along the first principal axis, or 1 if all rows are equal."""
        variance = float(np.linalg.eigvalsh(self.covariance)[-1])
        floor = np.finfo(float).eps ** 2 * float(np.square(self.mean).max(initial=0.0))
        return variance if variance > floor else 1.0


def summarised(source, compute: Compute, pulse=None, name: str = "X") -> Summary:
    """Return the summary of all rows. Raises if a value is missing, infinite or too large; the message calls the rows
    `name`."""
    return _sound(compute.map_reduce(rows(source), _of_chunk, _added, after_each=pulse), name)


def refuse_gaps(source, compute: Compute, name: str = "X") -> None:
    """Raise if a value is missing, infinite or too large. Faster than a full summary."""
    unusable = reduce(_together, compute.map(rows(source), _unusable_in), None)
    if unusable is not None:
        raise UnusableInput(name, unusable)


def _sound(summary: Summary, name: str = "X") -> Summary:
    if summary.unusable is not None:
        raise UnusableInput(name, summary.unusable)
    return summary


def _together(a: UnusableValues | None, b: UnusableValues | None) -> UnusableValues | None:
    """Combine the reports of two chunks: the first unusable value and the total number of affected rows."""
    if a is None or b is None:
        return a or b
    first = a if a.row < b.row else b
    return replace(first, rows=a.rows + b.rows)


def _added(a: Summary, b: Summary) -> Summary:
    return a + b


def _unusable_in(chunk: RowChunk) -> UnusableValues | None:
    return unusable_values(_values(chunk), first_row=chunk.start)


def _values(chunk: RowChunk) -> np.ndarray:
    values = read_rows(chunk.source, chunk.start, chunk.stop) if chunk.travels_light else chunk.read()
    return np.asarray(values, dtype=np.float64)


def _of_chunk(chunk: RowChunk) -> Summary:
    X = _values(chunk)
    unusable = unusable_values(X, first_row=chunk.start)
    if unusable is not None:
        D = X.shape[1]
        return Summary(len(X), np.zeros(D), np.zeros((D, D)), 0.0, unusable)
    mean = X.mean(0)
    Z = X - mean
    return Summary(len(X), mean, Z.T @ Z, float(X.min()), None)
