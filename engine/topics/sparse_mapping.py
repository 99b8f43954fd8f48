"""The update of the mapping of atoms to clusters. Almost all of its entries are zero in floating point after a few
iterations, so one pass over the logs also collects the entries that count, and all products use these alone."""

import numba
import numpy as np
from scipy.sparse import csr_array

NEGLIGIBLE = 1e-16  # probability
NO_EXPONENT = -745.0  # exp of less is zero


def normalised(log_mapping: np.ndarray, floor: float) -> tuple[np.ndarray, csr_array]:
    """Return the log of a mapping (K, C) with rows that sum to 1, at least `floor`, and the entries that count."""
    return _stepped(log_mapping, log_mapping, np.zeros(log_mapping.shape[1]), 1.0, 1.0, floor)


def towards(
    log_mapping: np.ndarray, likelihood: np.ndarray, log_prior: np.ndarray, draws: float, rate: float, floor: float
) -> tuple[np.ndarray, csr_array]:
    """Return the mapping after a step of length `rate` from `log_mapping` to the best one, which is proportional to
    exp(log_prior + likelihood / draws), and the entries that count."""
    return _stepped(log_mapping, likelihood, log_prior, draws, rate, floor)


def counting_entries(log_mapping: np.ndarray) -> csr_array:
    """Return the entries of a normalised mapping that count."""
    rows, columns = np.nonzero(log_mapping > np.log(NEGLIGIBLE))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(log_mapping)))])
    return csr_array((np.exp(log_mapping[rows, columns]), columns, starts), shape=log_mapping.shape)


def _stepped(current, likelihood, log_prior, draws, rate, floor) -> tuple[np.ndarray, csr_array]:
    before, gain, prior = (np.ascontiguousarray(each, float) for each in (current, likelihood, log_prior))
    log_rows, counts, columns = _step(before, gain, prior, float(draws), float(rate), floor, np.log(NEGLIGIBLE))
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(np.arange(len(counts)), counts)
    return log_rows, csr_array((np.exp(log_rows[rows, columns]), columns, starts), shape=log_rows.shape)


@numba.njit(cache=True, nogil=True)
def _step(current, likelihood, log_prior, draws, rate, floor, negligible):
    K, C = current.shape
    out, counts = np.empty((K, C)), np.zeros(K, np.int64)
    columns, at = np.empty(4 * (K + C), np.int64), 0
    for k in range(K):
        highest = -np.inf
        for c in range(C):
            value = rate * (log_prior[c] + likelihood[k, c] / draws)
            if rate != 1.0:
                value += (1.0 - rate) * current[k, c]
            out[k, c] = value
            highest = max(highest, value)
        total = 0.0
        for c in range(C):
            if out[k, c] - highest > NO_EXPONENT:
                total += np.exp(out[k, c] - highest)
        shift = highest + np.log(total)
        if at + C > len(columns):
            columns = np.concatenate((columns, np.empty(len(columns) + C, np.int64)))
        for c in range(C):
            out[k, c] = max(out[k, c] - shift, floor)
            if out[k, c] > negligible:
                columns[at] = c
                at += 1
                counts[k] += 1
    return out, counts, columns[:at]
