"""Products with the mapping of atoms to clusters, and its update. Almost all of its entries are zero in floating point
after a few iterations, so these functions skip entries that do not count."""

import numba
import numpy as np

NEGLIGIBLE = 1e-16  # probability
NO_EXPONENT = -745.0  # exp of less is zero


@numba.njit(cache=True, nogil=True)
def of_atoms(mapping, values):
    """Return the mean of values of clusters (C, F) for each atom (K, F)."""
    K, C = mapping.shape
    out = np.zeros((K, values.shape[1]))
    for k in range(K):
        for c in range(C):
            if mapping[k, c] > NEGLIGIBLE:
                for f in range(values.shape[1]):
                    out[k, f] += mapping[k, c] * values[c, f]
    return out


@numba.njit(cache=True, nogil=True)
def of_clusters(mapping, values):
    """Return the sum of values of atoms (K, F) for each cluster (C, F)."""
    K, C = mapping.shape
    out = np.zeros((C, values.shape[1]))
    for k in range(K):
        for c in range(C):
            if mapping[k, c] > NEGLIGIBLE:
                for f in range(values.shape[1]):
                    out[c, f] += mapping[k, c] * values[k, f]
    return out


@numba.njit(cache=True, nogil=True)
def normalised(log_mapping, floor):
    """Return the log of a mapping with rows that sum to 1, at least `floor`."""
    out = np.empty(log_mapping.shape)
    for k in range(len(log_mapping)):
        highest, total = log_mapping[k].max(), 0.0
        for value in log_mapping[k]:
            if value - highest > NO_EXPONENT:
                total += np.exp(value - highest)
        shift = highest + np.log(total)
        for c in range(out.shape[1]):
            out[k, c] = max(log_mapping[k, c] - shift, floor)
    return out


@numba.njit(cache=True, nogil=True)
def exponential(log_mapping):
    """Return the exponential of each entry; most are zero, which takes no time."""
    out = np.zeros(log_mapping.shape)
    for k in range(out.shape[0]):
        for c in range(out.shape[1]):
            if log_mapping[k, c] > NO_EXPONENT:
                out[k, c] = np.exp(log_mapping[k, c])
    return out


@numba.njit(cache=True, nogil=True)
def divergence(mapping, log_mapping, expected_log):
    """Return the sum over atoms and clusters of mapping * (expected_log - log_mapping)."""
    total = 0.0
    for k in range(mapping.shape[0]):
        for c in range(mapping.shape[1]):
            if mapping[k, c] > 0:
                total += mapping[k, c] * (expected_log[c] - log_mapping[k, c])
    return total
