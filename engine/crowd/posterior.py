"""Posterior of items and workers, the coordinate updates that raise the bound, and the bound (methods note 2).

    x_i ~ N(0, items I), W_j entrywise ~ N(0, matrices), tau_j ~ N(0, bias)
    p(together) = logistic(x_a' W_j x_b + tau_j)

Symmetric D x D matrices are stored as vectors of their p = D (D + 1) / 2 upper entries, column by column (methods note
1).

The effect of the worker matrices on items is linear in the item's second moment M = E[x x']. `spreading` is the map M
-> E[W M W] as one p x p matrix per worker, so that all sums over judgements are sums of short vectors.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from benthoscope.engine.crowd import kernels
from benthoscope.engine.crowd.judgements import Pairs


@lru_cache(maxsize=16)
def upper(D: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row d and column e, d <= e, of each of the p entries."""
    columns = np.repeat(np.arange(D), np.arange(1, D + 1))
    rows = np.concatenate([np.arange(e + 1) for e in range(D)])
    return rows, columns


@lru_cache(maxsize=16)
def packed_positions(D: int) -> np.ndarray:
    """Return the position of each entry of a symmetric matrix in the packed vector (D, D)."""
    rows, columns = upper(D)
    positions = np.empty((D, D), np.int64)
    positions[rows, columns] = positions[columns, rows] = np.arange(len(rows))
    return positions


def packed(matrices: np.ndarray) -> np.ndarray:
    """Pack matrices (..., D, D) to vectors (..., p)."""
    return matrices[(..., *upper(matrices.shape[-1]))]


def unpacked(vectors: np.ndarray, D: int) -> np.ndarray:
    """Unpack vectors (..., p) to matrices (..., D, D)."""
    return vectors[..., packed_positions(D)]


def multiplicity(D: int) -> np.ndarray:
    """Return how often each packed entry occurs in the full matrix (p,): 1 on the diagonal, else 2."""
    rows, columns = upper(D)
    return np.where(rows == columns, 1.0, 2.0)


def second_moments(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return packed E[x x'] (N, p) of independent coordinates with mean and variance (N, D)."""
    rows, columns = upper(mean.shape[1])
    return mean[:, rows] * mean[:, columns] + np.where(rows == columns, variance[:, rows], 0.0)


def spreading(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the maps from packed M to packed E[W M W] (J, p, p), for symmetric W with independent entries (methods
    note 2.4)."""
    D = mean.shape[-1]
    (d, e), position = upper(D), packed_positions(D)
    out = np.zeros((len(mean), len(d), len(d)))
    for f in range(D):
        for h in range(D):  # [W M W]_de = sum_fh W_df M_fh W_he
            out[:, :, position[f, h]] += mean[:, d, f] * mean[:, h, e]
    off = d != e
    out[:, off, off] += variance[:, d[off], e[off]]  # W_de M_de W_de, weighted by its variance
    for at in np.flatnonzero(~off):
        out[:, at, position[np.arange(D), np.arange(D)]] += variance[:, d[at], :]  # sum_f V_df M_ff
    return out


def crossing(outer: np.ndarray, D: int) -> np.ndarray:
    """Return the sum of E[z z'] (..., p, p) from sums of packed(Ma) x packed(Mb) over ordered pairs (methods note 2.4).

    z is the vector that multiplies the packed W in x_a' W x_b.
    """
    (d, e), position = upper(D), packed_positions(D)
    f, h = d, e
    off = (d != e).astype(float)
    rows, columns = off[:, None], off[None, :]

    def at(first, second):
        return outer[
            ..., position[first[0][:, None], first[1][None, :]], position[second[0][:, None], second[1][None, :]]
        ]

    total = at((d, f), (e, h)) + columns * at((d, h), (e, f))
    return total + rows * at((e, f), (d, h)) + rows * columns * at((e, h), (d, f))


def pairing(cross: np.ndarray) -> np.ndarray:
    """Return E[z] (..., p) from E[x_a] E[x_b]' (..., D, D)."""
    D = cross.shape[-1]
    d, e = upper(D)
    return cross[..., d, e] + np.where(d != e, cross[..., e, d], 0.0)


@dataclass(frozen=True)
class Prior:
    """Prior variances. Only matrices * items^2 matters, so `items` stays 1 (methods note 2.7)."""

    items: float = 1.0
    matrices: float = 5.0
    bias: float = 10.0


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Means and variances of independent normal distributions, and the variational point of each entry of the pairs."""

    position: np.ndarray  # (N, D)
    position_variance: np.ndarray  # (N, D)
    matrix: np.ndarray  # (J, D, D) symmetric
    matrix_variance: np.ndarray  # (J, D, D) symmetric
    bias: np.ndarray  # (J,)
    bias_variance: np.ndarray  # (J,)
    delta: np.ndarray  # (E,)
    weight: np.ndarray  # (E,)  2 |lambda(delta)| times the number of judgements of the pair

    @property
    def D(self) -> int:
        return self.position.shape[1]

    @property
    def phi(self) -> np.ndarray:
        """Return the items as the kernels represent them (N, p + D)."""
        return np.hstack([second_moments(self.position, self.position_variance), self.position])

    @property
    def spread(self) -> np.ndarray:
        """Return the maps M -> E[W M W] (J, p, p), transposed for the kernels."""
        return np.ascontiguousarray(spreading(self.matrix, self.matrix_variance).mT)


def opening(pairs: Pairs, prior: Prior, position: np.ndarray, position_variance: float | np.ndarray) -> Beliefs:
    """Return the initial posterior at these positions: all workers are equal, followed by one Delta-update."""
    N, D = position.shape
    J, E = pairs.n_workers, len(pairs.other)
    identity = np.broadcast_to(np.eye(D), (J, D, D)).copy()
    variance = np.broadcast_to(np.asarray(position_variance, float), (N, D)).copy()
    start = Beliefs(
        position.astype(float),
        variance,
        identity,
        np.full((J, D, D), float(prior.matrices)),
        np.zeros(J),
        np.full(J, float(prior.bias)),
        np.empty(E),
        np.empty(E),
    )
    return retouched(pairs, start)[0]


def sweep(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> tuple[Beliefs, float]:
    """Run all updates once. Returns the new posterior and its bound."""
    moved = with_matrices(pairs, with_items(pairs, beliefs, prior), prior)
    touched, data = retouched(pairs, moved)
    return touched, data - penalty(touched, prior)


def with_items(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Beliefs:
    """Update the items in turn (x-update)."""
    position, variance = beliefs.position.copy(), beliefs.position_variance.copy()
    kernels.update_items(
        pairs.item_start,
        pairs.item_groups,
        pairs.start,
        pairs.worker,
        pairs.other,
        beliefs.weight,
        pairs.net,
        beliefs.matrix,
        beliefs.spread,
        beliefs.bias,
        float(prior.items),
        position,
        variance,
        beliefs.phi,
    )
    return replace(beliefs, position=position, position_variance=variance)


def with_matrices(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Beliefs:
    """Update the matrices (W-update), then the biases (tau-update)."""
    outer, weighted, signed = kernels.worker_sums(
        pairs.worker_start, pairs.start, pairs.item, pairs.other, beliefs.weight, pairs.net, beliefs.phi, beliefs.D
    )
    D, p = beliefs.D, outer.shape[1]
    precision = np.eye(p) / prior.matrices + 0.5 * crossing(outer, D)  # each pair is in two groups
    target = 0.5 * pairing(signed - beliefs.bias[:, None, None] * weighted)
    mean = np.linalg.solve(precision, target[..., None])[..., 0]
    variance = 1 / np.diagonal(precision, axis1=1, axis2=2)
    judged = np.diff(pairs.worker_start) > 0
    moved = replace(
        beliefs,
        matrix=_where(judged, unpacked(mean, D), 0.0),
        matrix_variance=_where(judged, unpacked(variance, D), prior.matrices),
    )
    return _with_bias(pairs, moved, prior, weighted)


def _with_bias(pairs: Pairs, beliefs: Beliefs, prior: Prior, weighted: np.ndarray) -> Beliefs:
    load, net = (0.5 * pairs.per_worker(column) for column in (beliefs.weight, pairs.net))
    explained = 0.5 * (weighted * beliefs.matrix).sum((1, 2))
    variance = 1 / (1 / prior.bias + load)
    return replace(beliefs, bias=variance * (0.5 * net - explained), bias_variance=variance)


def with_workers(pairs: Pairs, beliefs: Beliefs, prior: Prior, sweeps: int) -> Beliefs:
    """Fit the matrices and biases of all workers to fixed positions."""
    for _ in range(sweeps):
        beliefs = retouched(pairs, with_matrices(pairs, beliefs, prior))[0]
    return beliefs


def retouched(pairs: Pairs, beliefs: Beliefs) -> tuple[Beliefs, float]:
    """Update Delta. Also returns the part of the bound that the judgements contribute afterwards."""
    delta, weight = np.empty_like(beliefs.delta), np.empty_like(beliefs.weight)
    data = kernels.retouch(
        pairs.start,
        pairs.item,
        pairs.worker,
        pairs.other,
        pairs.mirror,
        pairs.count,
        pairs.net,
        beliefs.phi,
        beliefs.matrix,
        beliefs.spread,
        beliefs.bias,
        beliefs.bias_variance,
        multiplicity(beliefs.D),
        delta,
        weight,
    )
    return replace(beliefs, delta=delta, weight=weight), float(data)


def bound(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> float:
    """Return the lower bound of the log evidence for any posterior, whatever was updated last (methods note 2.6)."""
    activity, square = activities(pairs, beliefs)
    touch = -np.log1p(np.exp(-beliefs.delta)) - beliefs.delta / 2
    slack = -0.5 * beliefs.weight * (square - beliefs.delta**2)
    return 0.5 * float((pairs.count * touch + pairs.net * activity / 2 + slack).sum()) - penalty(beliefs, prior)


def activities(pairs: Pairs, beliefs: Beliefs) -> tuple[np.ndarray, np.ndarray]:
    """Return (E[A], E[A^2]) of each entry: the worker's tendency to put the pair together."""
    return kernels.activities(
        pairs.start,
        pairs.item,
        pairs.worker,
        pairs.other,
        beliefs.phi,
        beliefs.matrix,
        beliefs.spread,
        beliefs.bias,
        beliefs.bias_variance,
        multiplicity(beliefs.D),
    )


def penalty(beliefs: Beliefs, prior: Prior) -> float:
    """Return the KL divergence of the posterior from the prior: the first seven terms of the bound with
    opposite sign."""
    items = _kl(beliefs.position, beliefs.position_variance, prior.items)
    matrices = _kl(packed(beliefs.matrix), packed(beliefs.matrix_variance), prior.matrices)
    return items + matrices + _kl(beliefs.bias, beliefs.bias_variance, prior.bias)


def _kl(mean: np.ndarray, variance: np.ndarray, prior: float) -> float:
    ratio = variance / prior
    return 0.5 * float((mean**2 / prior + ratio - 1 - np.log(ratio)).sum())


def curvature(delta: np.ndarray) -> np.ndarray:
    """Return 2 |lambda(delta)|, the weight of one judgement with variational point delta (methods note 2.2)."""
    safe = np.maximum(delta, kernels.TINY)
    return np.where(delta > kernels.TINY, np.tanh(safe / 2) / (2 * safe), 0.25 - delta**2 / 48)


def _where(judged: np.ndarray, values: np.ndarray, otherwise: float) -> np.ndarray:
    return np.where(judged[:, None, None], values, otherwise)
