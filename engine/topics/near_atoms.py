"""The atoms that count for each descriptor. An atom far below the best one has a probability of zero in floating point,
so a document step computes with the others only: with all that count, or with a fixed number of the nearest.

The fixed number can be remembered between visits of a document. Then most visits need no matrix product over all atoms.
To leave out atoms keeps the bound a lower bound, because it restricts the distribution of atoms.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np

from benthoscope.engine.topics.vector_loops import FAST, add_multiple, product

CELLS_AT_ONCE = 4_000_000  # descriptors times atoms of a matrix product; bounds the memory of a worker
SPAN = {"float32": 25.0, "float64": 100.0}  # atoms whose log likelihood is further below the best one do not count
NEGLIGIBLE = 1e-13  # probability
STRIDE = 128  # columns of a product that are compared together
SORTED_BY = 3  # columns by which equal coefficients are found


@dataclass(frozen=True)
class WeightedAtoms:
    """The coefficients of atoms with their largest log weights. Most atoms map to one cluster, and often several to the
    same, so atoms with equal coefficients form a group that is searched once."""

    coefficients: np.ndarray  # (K, F)
    groups: np.ndarray  # (G, F) coefficients with the largest weight in the group
    members: np.ndarray  # (K,) atoms, group by group
    starts: np.ndarray  # (G + 1,)
    behind: np.ndarray  # (K,) how far the log weight of each member is below the largest one of its group

    @classmethod
    def of(cls, coefficients: np.ndarray, log_weights: np.ndarray) -> "WeightedAtoms":
        """Group atoms with coefficients (K, F), whose first column belongs to a statistic of 1."""
        order = np.lexsort(coefficients[:, :SORTED_BY].T)
        in_order, weights = coefficients[order], log_weights[order]
        is_first = np.concatenate([[True], (in_order[1:] != in_order[:-1]).any(1)])
        first = np.flatnonzero(is_first)
        largest = np.maximum.reduceat(weights, first)
        groups = in_order[first]
        groups[:, 0] += largest
        weighted = coefficients.copy()
        weighted[:, 0] += log_weights
        behind = largest[np.cumsum(is_first) - 1] - weights
        return cls(weighted, groups, order.astype(np.int32), np.append(first, len(order)), behind)

    def astype(self, dtype: np.dtype) -> "WeightedAtoms":
        values = (each.astype(dtype, copy=False) for each in (self.coefficients, self.groups, self.behind))
        coefficients, groups, behind = values
        return WeightedAtoms(coefficients, groups, self.members, self.starts, behind)


@dataclass(frozen=True)
class NearAtoms:
    """The atoms of descriptor i are atoms[starts[i] : starts[i + 1]], without negative entries. `weighted` is their
    expected log likelihood plus their largest log weight over topics."""

    starts: np.ndarray  # (n + 1,)
    atoms: np.ndarray
    weighted: np.ndarray

    @classmethod
    def all_that_count(cls, rows: np.ndarray, atoms: WeightedAtoms) -> "NearAtoms":
        """rows (n, F) are the statistics of descriptors, C-contiguous and of the type of the atoms."""
        span = SPAN[rows.dtype.name]
        parts = [
            _within(products, atoms.starts, atoms.members, atoms.behind, span)
            for _, products in _products(rows, atoms.groups)
        ]
        counts, numbers, weighted = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(np.concatenate([[0], np.cumsum(counts)]), numbers, weighted)

    @classmethod
    def of_lists(cls, rows: np.ndarray, atoms: WeightedAtoms, lists: np.ndarray) -> "NearAtoms":
        """Return the atoms of lists (n, M); negative entries are none."""
        starts = np.arange(len(rows) + 1) * lists.shape[1]
        return cls(starts, lists.ravel(), _evaluated(rows, atoms.coefficients, lists).ravel())


def nearest_atoms(rows: np.ndarray, atoms: WeightedAtoms, count: int) -> np.ndarray:
    """Return the `count` most likely atoms of each descriptor (n, count), in no order."""
    out = np.empty((len(rows), min(count, len(atoms.members))), np.int32)
    for at, products in _products(rows, atoms.groups):
        _largest(products, atoms.starts, atoms.members, atoms.behind, out[at : at + len(products)])
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
def _tops(values, tops):
    """Write the largest of values[s], values[s + S], values[s + 2 S] and so on into each of S entries."""
    S = len(tops)
    tops[:] = values[:S]
    for begin in range(S, len(values), S):
        block = values[begin : begin + S]
        for s in range(len(block)):  # no max(), which is slower because it looks for NaN
            tops[s] = block[s] if block[s] > tops[s] else tops[s]


@numba.njit(cache=True, nogil=True)
def _within(products, starts, members, behind, span):
    """Return, for each row, the number of atoms at most `span` below the largest one; and their numbers and values, row
    by row. Columns of the products are groups of atoms."""
    n, G = products.shape
    tops = np.empty(min(G, STRIDE), products.dtype)
    counts, at = np.zeros(n, np.int64), 0
    atoms, values = np.empty(32 * n + len(members), np.int32), np.empty(32 * n + len(members), products.dtype)
    for i in range(n):
        if at + len(members) > len(atoms):
            atoms, values = _longer(atoms, at), _longer(values, at)
        row, before = products[i], at
        _tops(row, tops)
        limit = tops.max() - span
        for s in range(len(tops)):
            if tops[s] < limit:
                continue
            for g in range(s, G, len(tops)):
                if row[g] < limit:
                    continue
                for member in range(starts[g], starts[g + 1]):
                    if row[g] - behind[member] >= limit:
                        atoms[at], values[at] = members[member], row[g] - behind[member]
                        at += 1
        counts[i] = at - before
    return counts, atoms[:at].copy(), values[:at].copy()


@numba.njit(cache=True, nogil=True)
def _longer(array, filled):
    out = np.empty(2 * len(array), array.dtype)
    out[:filled] = array[:filled]
    return out


@numba.njit(cache=True, nogil=True)
def _largest(products, starts, members, behind, out):
    """Write the atoms with the largest values in each row into `out`. Columns of the products are groups of atoms."""
    n, G = products.shape
    M = out.shape[1]
    scores = np.empty(M, products.dtype)
    tops = np.empty(min(G, max(M, STRIDE)), products.dtype)
    for i in range(n):
        row, filled, worst = products[i], 0, 0
        _tops(row, tops)
        limit = _ranked(tops, scores)  # at least M groups reach it, so that lower ones cannot be among the largest
        for s in range(len(tops)):
            if tops[s] < limit:
                continue
            for g in range(s, G, len(tops)):
                if row[g] < limit:
                    continue
                for member in range(starts[g], starts[g + 1]):
                    value = row[g] - behind[member]
                    if filled < M:
                        out[i, filled], scores[filled] = members[member], value
                        filled += 1
                        worst = _lowest(scores) if filled == M else 0
                    elif value > scores[worst]:
                        out[i, worst], scores[worst] = members[member], value
                        worst = _lowest(scores)


@numba.njit(cache=True, nogil=True)
def _ranked(values, largest):
    """Return the smallest of the `len(largest)` largest values, or minus infinity if there are fewer."""
    M = len(largest)
    if len(values) < M:
        return -np.inf
    largest[:] = values[:M]
    worst = _lowest(largest)
    for s in range(M, len(values)):
        if values[s] > largest[worst]:
            largest[worst] = values[s]
            worst = _lowest(largest)
    return largest[worst]


@numba.njit(cache=True, nogil=True)
def _lowest(scores):
    at = 0
    for k in range(1, len(scores)):
        if scores[k] < scores[at]:
            at = k
    return at


@numba.njit(cache=True, nogil=True)
def _evaluated(rows, coefficients, lists):
    out = np.empty(lists.shape, rows.dtype)
    for i in range(len(rows)):
        for j in range(lists.shape[1]):
            k = lists[i, j]
            out[i, j] = product(rows[i], coefficients[k]) if k >= 0 else -np.inf
    return out


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
