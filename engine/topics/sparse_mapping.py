"""The update of the mapping of atoms to clusters. Almost all of its entries are zero in floating point after a few
iterations, so one pass over the logs also collects the entries that count, and all products use these alone."""

import numba
import numpy as np
from scipy.sparse import csr_array

from benthoscope.engine.topics.vector_loops import FAST, product

NEGLIGIBLE = 1e-16  # probability
ADDS_NOTHING = 50.0  # below the best entry: thousands of such entries do not change a sum in double precision
LARGE = 1_000_000  # entries, from which the product is computed in single precision
CERTAIN = 1e-3  # largest error of an entry of a log mapping by single precision


def normalised(log_mapping: np.ndarray, floor: float) -> tuple[np.ndarray, csr_array]:
    """Return the log of a mapping (K, C) with rows that sum to 1, at least `floor`, and the entries that count."""
    (K, C), unused = log_mapping.shape, np.empty((0, 0))
    return _stepped(log_mapping, log_mapping, unused, unused, np.zeros(K, bool), np.zeros(C), 1.0, 1.0, floor)


def towards(
    log_mapping: np.ndarray,
    moments: np.ndarray,
    coefficients: np.ndarray,
    log_prior: np.ndarray,
    draws: float,
    rate: float,
    floor: float,
) -> tuple[np.ndarray, csr_array]:
    """Return the mapping after a step of length `rate` from `log_mapping` to the best one, which is proportional to
    exp(log_prior + moments @ coefficients.T / draws), and the entries that count. The moments (K, F) are those of
    atoms, the coefficients (C, F) those of clusters."""
    dtype = np.float32 if log_mapping.size >= LARGE else np.float64
    likelihood = moments.astype(dtype) @ coefficients.T.astype(dtype)
    error = np.finfo(dtype).eps * np.linalg.norm(moments, axis=1) * np.linalg.norm(coefficients, axis=1).max()
    is_rough = error * rate > CERTAIN * draws
    return _stepped(log_mapping, likelihood, moments, coefficients, is_rough, log_prior, draws, rate, floor)


def counting_entries(log_mapping: np.ndarray) -> csr_array:
    """Return the entries of a normalised mapping that count."""
    rows, columns = np.nonzero(log_mapping > np.log(NEGLIGIBLE))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(log_mapping)))])
    return csr_array((np.exp(log_mapping[rows, columns]), columns, starts), shape=log_mapping.shape)


def _stepped(
    current, likelihood, moments, coefficients, is_rough, log_prior, draws, rate, floor
) -> tuple[np.ndarray, csr_array]:
    arrays = (np.ascontiguousarray(each, float) for each in (current, moments, coefficients, log_prior))
    before, moments, coefficients, prior = arrays
    log_rows, counts, columns = _step(
        before, np.ascontiguousarray(likelihood), moments, coefficients, is_rough, prior, float(draws), float(rate),
        floor, np.log(NEGLIGIBLE),
    )  # fmt: skip
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(np.arange(len(counts)), counts)
    return log_rows, csr_array((np.exp(log_rows[rows, columns]), columns, starts), shape=log_rows.shape)


@numba.njit(cache=True, nogil=True)
def _step(current, likelihood, moments, coefficients, is_rough, log_prior, draws, rate, floor, negligible):
    """Entries of rough rows that may count are computed again in double precision."""
    K, C = current.shape
    out, counts = np.empty((K, C)), np.zeros(K, np.int64)
    columns, at = np.empty(4 * (K + C), np.int64), 0
    high = np.empty(C, np.int64)  # columns of a row close to its best entry
    for k in range(K):
        row = out[k]
        highest = _blend(row, current[k], likelihood[k], log_prior, rate / draws, rate)
        n_high = _columns_above(row, highest - ADDS_NOTHING, high)
        if is_rough[k]:
            highest = -np.inf
            for number in range(n_high):
                c = high[number]
                gain = product(moments[k], coefficients[c])
                row[c] = rate * (log_prior[c] + gain / draws) + (1.0 - rate) * current[k, c]
                highest = max(highest, row[c])
        total = 0.0
        for number in range(n_high):
            total += np.exp(row[high[number]] - highest)
        shift = highest + np.log(total)
        if at + C > len(columns):
            columns = np.concatenate((columns, np.empty(len(columns) + C, np.int64)))
        for number in range(n_high):
            if row[high[number]] - shift > negligible:
                columns[at] = high[number]
                at += 1
                counts[k] += 1
        for c in range(C):
            row[c] = row[c] - shift if row[c] - shift > floor else floor
    return out, counts, columns[:at]


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _blend(row, current, likelihood, log_prior, share, rate):
    """Write the step of one row without its norm, and return its largest entry."""
    stays, highest = 1.0 - rate, -np.inf
    for c in range(len(row)):
        row[c] = rate * log_prior[c] + share * likelihood[c] + stays * current[c]
        highest = row[c] if row[c] > highest else highest
    return highest


@numba.njit(cache=True, nogil=True)
def _columns_above(row, limit, columns):
    count = 0
    for c in range(len(row)):
        columns[count] = c
        count += row[c] > limit
    return count
