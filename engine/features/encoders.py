"""Encode patches over a dictionary: soft threshold, matching pursuit, lasso, locality (methods note 7.2).

Encoders map patches (N, P) and a dictionary (K, P), with one atom per row, to codes (N, K).
"""

from dataclasses import dataclass
from typing import Protocol

import numba
import numpy as np

SMALL = 1e-6  # a shorter residual or gradient counts as zero


@dataclass(frozen=True)
class Codes:
    """N codes of length K, stored by at most T entries: `values[n, t]` at `atoms[n, t]`, -1 for unused entries."""

    atoms: np.ndarray  # (N, T) int32
    values: np.ndarray  # (N, T)
    length: int  # K

    def dense(self) -> np.ndarray:
        """Return the dense codes (N, K)."""
        out = np.zeros((len(self.atoms), self.length), dtype=self.values.dtype)
        row, slot = np.nonzero(self.atoms >= 0)
        out[row, self.atoms[row, slot]] = self.values[row, slot]
        return out

    def largest(self, cells: np.ndarray, count: int) -> np.ndarray:
        """Return the largest absolute value among the codes of each cell (count, K); 0 if a cell has none."""
        return _largest(self.atoms, self.values, cells, count, self.length)


class Encoder(Protocol):
    def __call__(self, patches: np.ndarray, dictionary: np.ndarray) -> Codes: ...


@dataclass(frozen=True)
class SoftThreshold:
    """c = max(0, Dp - threshold), computed by one matrix product."""

    threshold: float = 0.5

    def __call__(self, patches: np.ndarray, dictionary: np.ndarray) -> Codes:
        values = np.maximum(0, patches @ dictionary.T - patches.dtype.type(self.threshold))
        atoms = np.broadcast_to(np.arange(len(dictionary), dtype=np.int32), values.shape)
        return Codes(np.ascontiguousarray(atoms), values, len(dictionary))


@dataclass(frozen=True)
class MatchingPursuit:
    """Orthogonal matching pursuit: at most `active` atoms chosen greedily, with least squares on these. Fewer than ten
    give a worse descriptor, more help little; one is the hard assignment of k-means."""

    active: int = 10

    def __call__(self, patches: np.ndarray, dictionary: np.ndarray) -> Codes:
        patches, dictionary = _same_precision(patches, dictionary)
        norms = (patches * patches).sum(1)
        kernel = _pursue(patches @ dictionary.T, dictionary @ dictionary.T, norms, min(self.active, len(dictionary)))
        atoms, values = kernel
        return Codes(atoms, values, len(dictionary))


@dataclass(frozen=True)
class SparseCoding:
    """Lasso: min |p - Dc|^2 + penalty |c|_1. The optimality conditions hold up to `tolerance`."""

    penalty: float = 0.3
    tolerance: float = 1e-4
    rounds: int = 500

    def __call__(self, patches: np.ndarray, dictionary: np.ndarray) -> Codes:
        patches, dictionary = _same_precision(patches, dictionary)
        dense = _lasso(patches @ dictionary.T, dictionary @ dictionary.T, self.penalty / 2, self.tolerance, self.rounds)
        return sparse(dense)


@dataclass(frozen=True)
class LocalityLinear:
    """LLC: each patch as an affine combination of its nearest atoms; the values sum to 1."""

    neighbours: int = 5
    ridge: float = 1e-4

    def __call__(self, patches: np.ndarray, dictionary: np.ndarray) -> Codes:
        patches, dictionary = _same_precision(patches, dictionary)
        near = min(self.neighbours, len(dictionary))
        far = (dictionary * dictionary).sum(1) - 2 * (patches @ dictionary.T)  # squared distance minus |p|^2
        atoms = np.argpartition(far, near - 1, axis=1)[:, :near].astype(np.int32)
        shifted = dictionary[atoms] - patches[:, None, :]
        return Codes(atoms, _affine(shifted, self.ridge), len(dictionary))


def _affine(shifted: np.ndarray, ridge: float) -> np.ndarray:
    """Return the weights (N, T), summing to 1, for which the T shifted atoms (N, T, P) are nearest to the origin."""
    gram = shifted @ shifted.transpose(0, 2, 1)
    trace = np.trace(gram, axis1=1, axis2=2)[:, None, None]
    gram += (ridge * trace + np.finfo(gram.dtype).tiny) * np.eye(gram.shape[1], dtype=gram.dtype)
    weights = np.linalg.solve(gram, np.ones((*gram.shape[:2], 1), dtype=gram.dtype))[..., 0]
    return weights / weights.sum(1, keepdims=True)


def sparse(dense: np.ndarray) -> Codes:
    """Return the same codes in sparse form."""
    active = max(1, int((dense != 0).sum(1).max(initial=0)))
    order = np.argsort(dense == 0, axis=1, kind="stable")[:, :active]
    values = np.take_along_axis(dense, order, axis=1)
    return Codes(np.where(values != 0, order, -1).astype(np.int32), values, dense.shape[1])


def _same_precision(patches: np.ndarray, dictionary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(patches), np.ascontiguousarray(dictionary, dtype=patches.dtype)


@numba.njit(cache=True, nogil=True)
def _largest(atoms, values, cells, count, length):
    out = np.zeros((count, length), dtype=values.dtype)
    for n in range(atoms.shape[0]):
        row = out[cells[n]]
        for t in range(atoms.shape[1]):
            k = atoms[n, t]
            if k >= 0:
                row[k] = max(row[k], abs(values[n, t]))
    return out


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _pursue(product, gram, norms, active):
    """Run orthogonal matching pursuit from Dp (N, K), DD' and |p|^2. The chosen atoms are orthogonalised one by one:
    `basis[t]` holds the inner products of the t-th orthonormal direction with all atoms, so the correlations with the
    residual need one subtraction per step."""
    count, length = product.shape
    atoms = np.full((count, active), -1, dtype=np.int32)
    values = np.zeros((count, active), dtype=product.dtype)
    basis = np.empty((active, length), dtype=product.dtype)
    weights = np.empty(active, dtype=product.dtype)
    tiny = np.array(1e-12 if product.itemsize == 8 else 1e-6).astype(product.dtype).item()
    for n in range(count):
        alpha = product[n].copy()
        residual = norms[n]
        used = 0
        while used < active and residual > SMALL * SMALL:
            best = np.argmax(np.abs(alpha))
            row = gram[best].copy()
            for s in range(used):
                row -= basis[s, best] * basis[s]
            if row[best] < tiny:  # the atom lies in the span of the chosen ones, so no atom can improve the fit
                break
            row /= np.sqrt(row[best])
            weight = alpha[best] / row[best]
            alpha -= weight * row
            basis[used], weights[used], atoms[n, used] = row, weight, best
            residual -= weight * weight
            used += 1
        for t in range(used - 1, -1, -1):  # back substitution through the triangle basis[s, atoms[t]], s <= t
            weight_left = weights[t]
            for s in range(t + 1, used):
                weight_left -= basis[t, atoms[n, s]] * values[n, s]
            values[n, t] = weight_left / basis[t, atoms[n, t]]
    return atoms, values


@numba.njit(cache=True, nogil=True)
def _lasso(product, gram, half, tolerance, rounds):
    """Minimise |p - Dc|^2 / 2 + half |c|_1. The atom that violates the optimality conditions most joins an active set,
    and coordinate descent solves the small problem, until all conditions hold up to the tolerance."""
    count, length = product.shape
    out = np.zeros((count, length), dtype=product.dtype)
    active = np.empty(length, dtype=np.int64)
    for n in range(count):
        code, gradient = out[n], product[n].copy()  # gradient: D(p - Dc)
        used = 0
        for _ in range(rounds):
            worst, breach = -1, tolerance
            for k in range(length):
                excess = abs(gradient[k]) - half
                if code[k] == 0 and excess > breach:
                    worst, breach = k, excess
            if worst < 0:
                break
            active[used] = worst
            used = _settle(code, gradient, gram, active, used + 1, half, tolerance, rounds)
    return out


@numba.njit(cache=True, nogil=True)
def _settle(code, gradient, gram, active, used, half, tolerance, rounds):
    """Run coordinate descent over the first `used` active atoms. Updates `code` and `gradient`, drops atoms that end at
    0, and returns the number of remaining atoms."""
    small, start = np.empty(used, dtype=gradient.dtype), np.empty(used, dtype=gradient.dtype)
    for a in range(used):
        small[a], start[a] = gradient[active[a]], code[active[a]]
    for _ in range(rounds):
        longest = 0.0
        for a in range(used):
            k = active[a]
            target = small[a] + gram[k, k] * code[k]
            shrunk = max(abs(target) - half, 0.0) / gram[k, k]
            move = (shrunk if target > 0 else -shrunk) - code[k]
            if move != 0:
                code[k] += move
                longest = max(longest, abs(move))
                for b in range(used):
                    small[b] -= move * gram[k, active[b]]
        if longest <= 0.1 * tolerance:
            break
    n_active = 0
    for a in range(used):
        k = active[a]
        if code[k] != start[a]:
            gradient -= (code[k] - start[a]) * gram[k]
        if code[k] != 0:
            active[n_active] = k
            n_active += 1
    return n_active
