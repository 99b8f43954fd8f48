"""Symmetric D x D matrices as vectors of their p = D (D + 1) / 2 upper entries, column by column (methods note 1).

What the worker matrices do to items is linear in the item's second moment M = E[x x']. `spreading` is that map,
M -> E[W M W], as one p x p matrix per worker: every sum over judgements is then one over short vectors.
"""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=16)
def upper(D: int) -> tuple[np.ndarray, np.ndarray]:
    """Row d and column e, d <= e, of each of the p entries."""
    columns = np.repeat(np.arange(D), np.arange(1, D + 1))
    rows = np.concatenate([np.arange(e + 1) for e in range(D)])
    return rows, columns


@lru_cache(maxsize=16)
def places(D: int) -> np.ndarray:
    """(D, D): at which of the p places the entry of a symmetric matrix stands."""
    rows, columns = upper(D)
    found = np.empty((D, D), np.int64)
    found[rows, columns] = found[columns, rows] = np.arange(len(rows))
    return found


def packed(matrices: np.ndarray) -> np.ndarray:
    """(..., p) from (..., D, D)."""
    return matrices[(..., *upper(matrices.shape[-1]))]


def unpacked(vectors: np.ndarray, D: int) -> np.ndarray:
    """(..., D, D) from (..., p)."""
    return vectors[..., places(D)]


def multiplicity(D: int) -> np.ndarray:
    """(p,): how often an entry stands in the full matrix: once on the diagonal, else twice."""
    rows, columns = upper(D)
    return np.where(rows == columns, 1.0, 2.0)


def second_moments(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Packed E[x x'] (N, p) of independent coordinates with mean and variance (N, D)."""
    rows, columns = upper(mean.shape[1])
    return mean[:, rows] * mean[:, columns] + np.where(rows == columns, variance[:, rows], 0.0)


def spreading(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """(J, p, p): packed M -> packed E[W M W] for symmetric W with independent entries (methods note 2.4)."""
    D = mean.shape[-1]
    (d, e), place = upper(D), places(D)
    out = np.zeros((len(mean), len(d), len(d)))
    for f in range(D):
        for h in range(D):  # [W M W]_de = sum_fh W_df M_fh W_he
            out[:, :, place[f, h]] += mean[:, d, f] * mean[:, h, e]
    off = d != e
    out[:, off, off] += variance[:, d[off], e[off]]  # W_de M_de W_de, each counted by its variance
    for at in np.flatnonzero(~off):
        out[:, at, place[np.arange(D), np.arange(D)]] += variance[:, d[at], :]  # sum_f V_df M_ff
    return out


def crossing(outer: np.ndarray, D: int) -> np.ndarray:
    """Sum of E[z z'] (..., p, p) from sums of packed(Ma) x packed(Mb) over ordered pairs (methods note 2.4).

    z is what multiplies the packed W in x_a' W x_b.
    """
    (d, e), place = upper(D), places(D)
    f, h = d, e
    off = (d != e).astype(float)
    rows, columns = off[:, None], off[None, :]

    def at(left, right):
        return outer[..., place[left[0][:, None], left[1][None, :]], place[right[0][:, None], right[1][None, :]]]

    total = at((d, f), (e, h)) + columns * at((d, h), (e, f))
    return total + rows * at((e, f), (d, h)) + rows * columns * at((e, h), (d, f))


def pairing(cross: np.ndarray) -> np.ndarray:
    """E[z] (..., p) from E[x_a] E[x_b]' (..., D, D)."""
    D = cross.shape[-1]
    d, e = upper(D)
    return cross[..., d, e] + np.where(d != e, cross[..., e, d], 0.0)
