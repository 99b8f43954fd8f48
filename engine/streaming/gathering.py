"""Gathering: similar new rows become clumps before a round, so that a round of many rows costs little.

The clusters of the last round divide the new rows. The rows of a cluster are cut in two across their principal axis,
and so on, until the parts are small. The rows that the clusters explain worst stay single, so that they can form a
cluster of their own. Each row is read a few times only; the many iterations of a round then run over clumps.
"""

import numba
import numpy as np

from benthoscope.engine.distributions import Clusters
from benthoscope.engine.mixtures.model import Scorer
from benthoscope.engine.streaming.compression import Compressed
from benthoscope.engine.streaming.units import BLOCK, Units

UNUSUAL = 0.01  # share of the new rows that stay single: those with the lowest density
POWER_STEPS = 3  # of the power iteration for a principal axis; parts are small, so a rough direction is enough


def gathered(units: Units, rows: np.ndarray, scorer: Scorer, largest: int) -> Compressed:
    """Return the units with new rows (n, D) in clumps of at most `largest` rows. The old units of the result are those
    of `units.with_rows(rows)`, which take more memory."""
    kind, first = units.kind, len(units.points)
    clusters, densities = most_likely(kind, rows, scorer)
    clusters[densities < np.quantile(densities, UNUSUAL)] = -1
    order, ordered_rows, starts = parts_of(rows, clusters, len(scorer.coefficients), largest)
    sizes = np.diff(starts, append=len(order))
    is_clump = sizes > 1  # a part of one row stays a row
    clump_of = np.full(len(units) + len(rows), -1)
    clump_of[first + order] = np.repeat(np.where(is_clump, np.cumsum(is_clump) - 1, -1), sizes)
    single = np.flatnonzero(clump_of[first : first + len(rows)] < 0)
    sums = [units.sums, sums_of_parts(kind, ordered_rows, starts)[is_clump]]
    joined = Units(kind, np.concatenate([units.points, rows[single]]), np.concatenate(sums))
    return Compressed(joined, np.flatnonzero(clump_of < 0), clump_of, 0)


def most_likely(kind: Clusters, rows: np.ndarray, scorer: Scorer) -> tuple[np.ndarray, np.ndarray]:
    """Return the most likely cluster of each row and the expected log density of the row in it, (n,) each, in single
    precision."""
    labels, densities = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
    coefficients, log_weights = (values.astype(np.float32) for values in (scorer.coefficients, scorer.log_weights.T))
    size = max(64, BLOCK // kind.n_statistics)
    for start in range(0, len(rows), size):
        block = slice(start, start + size)
        joint = coefficients @ kind.features(np.ascontiguousarray(rows[block].T, np.float32))
        joint += log_weights
        labels[block], densities[block] = joint.argmax(0), joint.max(0)
    return labels, densities


def sums_of_parts(kind: Clusters, rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the summed statistics (P, F) of parts of consecutive rows that begin at `starts`."""
    sums = np.empty((len(starts), kind.n_statistics))
    size = max(64, BLOCK // kind.n_statistics)
    first = 0
    while first < len(starts):
        last = max(int(np.searchsorted(starts, starts[first] + size)), first + 1)
        end = starts[last] if last < len(starts) else len(rows)
        features = kind.features(np.ascontiguousarray(rows[starts[first] : end].T))
        sums[first:last] = np.add.reduceat(features, starts[first:last] - starts[first], axis=1).T
        first = last
    return sums


@numba.njit(cache=True, nogil=True)
def parts_of(rows, clusters, count, largest):
    """Divide the rows of each cluster (0 to count - 1) into parts of at most `largest` rows. Equal rows stay together,
    and rows of cluster -1 are left out. Returns the order of the rows by part (n,), the rows in this order (n, D), and
    the start of each part (P,)."""
    order = np.flatnonzero(clusters >= 0)
    order = order[np.argsort(clusters[order], kind="mergesort")]
    ordered = rows[order]
    starts = np.empty(len(order), np.int64)
    waiting = np.empty((len(order) + count, 2), np.int64)
    ends = np.cumsum(np.bincount(clusters[order], minlength=count))
    depth = 0
    for k in range(count - 1, -1, -1):
        first = ends[k - 1] if k > 0 else 0
        if ends[k] > first:
            waiting[depth, 0], waiting[depth, 1] = first, ends[k]
            depth += 1
    P = 0
    while depth > 0:
        depth -= 1
        start, end = waiting[depth]
        cut = _cut(ordered, order, start, end) if end - start > largest else start
        if cut in (start, end):
            starts[P] = start
            P += 1
        else:  # the first half comes next, so the starts ascend
            waiting[depth, 0], waiting[depth, 1] = cut, end
            waiting[depth + 1, 0], waiting[depth + 1, 1] = start, cut
            depth += 2
    return order, ordered, starts[:P]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _cut(rows, order, start, end):
    """Reorder rows start to end by their side of the plane through the mean across the principal axis. Returns where
    the second side begins."""
    D = rows.shape[1]
    mean = np.zeros(D)
    spread = np.zeros(D)
    for u in range(start, end):
        for d in range(D):
            mean[d] += rows[u, d]
    for d in range(D):
        mean[d] /= end - start
    for u in range(start, end):
        for d in range(D):
            spread[d] += (rows[u, d] - mean[d]) ** 2
    axis = np.zeros(D)
    axis[spread.argmax()] = 1.0
    following = np.empty(D)
    for _ in range(POWER_STEPS):
        following[:] = 0.0
        for u in range(start, end):
            along = 0.0
            for d in range(D):
                along += (rows[u, d] - mean[d]) * axis[d]
            for d in range(D):
                following[d] += along * (rows[u, d] - mean[d])
        length = np.sqrt((following**2).sum())
        if length == 0.0:
            return start
        for d in range(D):
            axis[d] = following[d] / length
    first, last = start, end - 1
    while True:
        while first <= last and _along(rows, first, mean, axis) <= 0.0:
            first += 1
        while first <= last and _along(rows, last, mean, axis) > 0.0:
            last -= 1
        if first >= last:
            return first
        for d in range(D):
            rows[first, d], rows[last, d] = rows[last, d], rows[first, d]
        order[first], order[last] = order[last], order[first]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _along(rows, u, mean, axis):
    total = 0.0
    for d in range(rows.shape[1]):
        total += (rows[u, d] - mean[d]) * axis[d]
    return total
