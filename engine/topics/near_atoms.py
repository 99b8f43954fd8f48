"""The atoms that count for each descriptor. An atom far below the best one has a probability of zero in floating point,
so a document step computes with the others only: with all that count, or with a fixed number of the nearest.

The fixed number can be remembered between visits of a document. Then most visits need no matrix product over all atoms.
To leave out atoms keeps the bound a lower bound, because it restricts the distribution of atoms.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np

CELLS_AT_ONCE = 4_000_000  # descriptors times atoms of a matrix product; bounds the memory of a worker
SPAN = {"float32": 25.0, "float64": 100.0}  # atoms whose log likelihood is further below the best one do not count
NEGLIGIBLE = 1e-13  # probability
GROUP = 64  # atoms that are compared together
FAST = {"reassoc", "contract", "nsz", "arcp"}  # of LLVM: sums in any order, so that they use vector instructions


@dataclass(frozen=True)
class NearAtoms:
    """The atoms of descriptor i are atoms[starts[i] : starts[i + 1]], without negative entries. `weighted` is their
    expected log likelihood plus their largest log weight over topics."""

    starts: np.ndarray  # (n + 1,)
    atoms: np.ndarray
    weighted: np.ndarray

    @classmethod
    def all_that_count(cls, rows: np.ndarray, coefficients: np.ndarray) -> "NearAtoms":
        """rows (n, F) are the statistics of descriptors, coefficients (K, F) those of atoms, both C-contiguous."""
        span = SPAN[rows.dtype.name]
        parts = [_within(products, span) for _, products in _products(rows, coefficients)]
        counts, atoms, weighted = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(np.concatenate([[0], np.cumsum(counts)]), atoms, weighted)

    @classmethod
    def of_lists(cls, rows: np.ndarray, coefficients: np.ndarray, lists: np.ndarray) -> "NearAtoms":
        """Return the atoms of lists (n, M); negative entries are none."""
        starts = np.arange(len(rows) + 1) * lists.shape[1]
        return cls(starts, lists.ravel(), _evaluated(rows, coefficients, lists).ravel())


def nearest_atoms(rows: np.ndarray, coefficients: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` most likely atoms of each descriptor (n, count), in no order."""
    count = min(count, len(coefficients))
    out = np.empty((len(rows), count), np.int32)
    for at, products in _products(rows, coefficients):
        _largest(products, out[at : at + len(products)])
    return out


def _products(rows: np.ndarray, coefficients: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first row and the product (n, K) of parts of the rows."""
    size = max(1, CELLS_AT_ONCE // len(coefficients))
    for at in range(0, len(rows), size):
        yield at, rows[at : at + size] @ coefficients.T


class RememberedAtoms:
    """The atoms that were nearest to each descriptor of a corpus when its document was last searched. A document is
    searched at its visits 1, 2, 3, 5, 9, 17 and so on, because clusters move less and less, and when no atom is left.
    """

    def __init__(self, sizes: np.ndarray, count: int):
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._visits = np.zeros(len(sizes), np.int64)
        self._lists = np.full((self._starts[-1], count), -1, np.int32)

    def visit(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lists of the descriptors of documents (n, M), and which descriptors to search (n,)."""
        visits = self._visits[documents]
        self._visits[documents] += 1
        lists = self._lists[self._rows(documents)]
        is_due = np.repeat((visits & (visits - 1)) == 0, np.diff(self._starts)[documents])
        return lists, is_due | (lists < 0).all(1)

    def store(self, documents: np.ndarray, lists: np.ndarray) -> None:
        missing = self._lists.shape[1] - lists.shape[1]
        self._lists[self._rows(documents)] = np.pad(lists, ((0, 0), (0, missing)), constant_values=-1)

    def renumber(self, remaining: np.ndarray, n_atoms: int) -> None:
        """Rename the atoms after all but `remaining` of `n_atoms` were dropped."""
        number = np.full(n_atoms + 1, -1, np.int32)  # the last entry stands for none
        number[remaining] = np.arange(len(remaining))
        self._lists = number[self._lists]

    def _rows(self, documents: np.ndarray) -> slice | np.ndarray:
        if len(documents) == len(self._visits):
            return slice(None)
        sizes = np.diff(self._starts)[documents]
        ends = np.cumsum(sizes)
        return np.repeat(self._starts[:-1][documents] - (ends - sizes), sizes) + np.arange(sizes.sum())


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _highest(values, begin, end):
    highest = values[begin]
    for k in range(begin + 1, end):
        highest = max(highest, values[k])
    return highest


@numba.njit(cache=True, nogil=True)
def _within(products, span):
    """Return, for each row, the number of entries at most `span` below its largest one; and their columns and values,
    row by row."""
    n, K = products.shape
    groups = (K + GROUP - 1) // GROUP
    tops, limits = np.empty((n, groups), products.dtype), np.empty(n, products.dtype)
    counts = np.zeros(n, np.int64)
    for i in range(n):
        for g in range(groups):
            tops[i, g] = _highest(products[i], g * GROUP, min(K, (g + 1) * GROUP))
        limits[i] = _highest(tops[i], 0, groups) - span
        for g in range(groups):
            if tops[i, g] >= limits[i]:
                for k in range(g * GROUP, min(K, (g + 1) * GROUP)):
                    counts[i] += products[i, k] >= limits[i]
    columns, values = np.empty(counts.sum(), np.int32), np.empty(counts.sum(), products.dtype)
    at = 0
    for i in range(n):
        for g in range(groups):
            if tops[i, g] >= limits[i]:
                for k in range(g * GROUP, min(K, (g + 1) * GROUP)):
                    if products[i, k] >= limits[i]:
                        columns[at], values[at] = k, products[i, k]
                        at += 1
    return counts, columns, values


@numba.njit(cache=True, nogil=True)
def _largest(products, out):
    """Write the columns of the largest entries of each row into `out`. Among equal entries, the first ones count."""
    n, K = products.shape
    M = out.shape[1]
    scores = np.empty(M, products.dtype)
    for i in range(n):
        for k in range(M):
            out[i, k], scores[k] = k, products[i, k]
        worst = _lowest(scores)
        for begin in range(M, K, GROUP):
            end = min(K, begin + GROUP)
            if _highest(products[i], begin, end) <= scores[worst]:
                continue
            for k in range(begin, end):
                if products[i, k] > scores[worst]:
                    out[i, worst], scores[worst] = k, products[i, k]
                    worst = _lowest(scores)


@numba.njit(cache=True, nogil=True)
def _lowest(scores):
    at = 0
    for k in range(1, len(scores)):
        if scores[k] < scores[at]:
            at = k
    return at


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _product(first, second):
    total = first[0] * second[0]
    for f in range(1, len(first)):
        total += first[f] * second[f]
    return total


@numba.njit(cache=True, nogil=True)
def _evaluated(rows, coefficients, lists):
    out = np.empty(lists.shape, rows.dtype)
    for i in range(len(rows)):
        for j in range(lists.shape[1]):
            k = lists[i, j]
            out[i, j] = _product(rows[i], coefficients[k]) if k >= 0 else -np.inf
    return out


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def add_multiple(target, factor, values):
    for f in range(len(values)):
        target[f] += factor * values[f]


@numba.njit(cache=True, nogil=True)
def topic_likelihoods(starts, atoms, weighted, relative, span):
    """Return the likelihood of each descriptor under each topic (n, T), without the factor exp(shift); the shift (n,);
    and the likelihood of each entry without it. `relative` (K, T) are the weights of atoms, at most 1. Entries more
    than `span` below the best one do not count."""
    n, T = len(starts) - 1, relative.shape[1]
    out, shift, scaled = np.zeros((n, T)), np.empty(n), np.zeros(len(atoms))
    for i in range(n):
        highest = -np.inf
        for at in range(starts[i], starts[i + 1]):
            highest = max(highest, weighted[at])
        shift[i] = highest
        for at in range(starts[i], starts[i + 1]):
            if atoms[at] >= 0 and weighted[at] >= highest - span:
                scaled[at] = np.exp(float(weighted[at]) - highest)
                add_multiple(out[i], scaled[at], relative[atoms[at]])
    return out, shift, scaled


@numba.njit(cache=True, nogil=True)
def ownership(starts, atoms, weighted, scaled, relative, best, likelihood, weights, rows):
    """Return the sums over descriptors for topics `weights` (n, T): the count of each atom in each topic (K, T), the
    moments of atoms (K, F), and the entropy without the terms of shifts and of log weights of atoms."""
    K, T = relative.shape
    counts, moments = np.zeros((K, T)), np.zeros((K, rows.shape[1]))
    topics, ratio, entropy = np.empty(T, np.int64), np.empty(T), 0.0
    for i in range(len(starts) - 1):
        n_topics = 0  # that own a part of this descriptor
        for t in range(T):
            if weights[i, t] > NEGLIGIBLE and likelihood[i, t] > 0:
                topics[n_topics], ratio[n_topics] = t, weights[i, t] / likelihood[i, t]
                entropy -= weights[i, t] * np.log(ratio[n_topics])
                n_topics += 1
        for at in range(starts[i], starts[i + 1]):
            if scaled[at] <= 0:
                continue
            k, owned = atoms[at], 0.0
            for number in range(n_topics):
                part = relative[k, topics[number]] * ratio[number] * scaled[at]
                counts[k, topics[number]] += part
                owned += part
            if owned > NEGLIGIBLE:
                add_multiple(moments[k], owned, rows[i])
                entropy -= owned * (weighted[at] - best[k])
    return counts, moments, entropy
