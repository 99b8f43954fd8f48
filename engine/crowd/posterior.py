"""What is believed of items and workers, the coordinate updates that raise the bound, and the bound (methods note 2).

    x_i ~ N(0, items I),  W_j entrywise ~ N(0, matrices),  tau_j ~ N(0, bias)
    p(together) = logistic(x_a' W_j x_b + tau_j)
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.crowd import kernels
from engine.crowd.pairs import Pairs
from engine.crowd.symmetric import crossing, multiplicity, packed, pairing, second_moments, spreading, unpacked


@dataclass(frozen=True)
class Prior:
    """Variances. Only matrices * items^2 matters, so items stay at 1 (methods note 2.7)."""

    items: float = 1.0
    matrices: float = 5.0
    bias: float = 10.0


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Means and variances of independent normals, and for every entry of the pairs the point its bound touches at."""

    position: np.ndarray            # (N, D)
    position_variance: np.ndarray   # (N, D)
    matrix: np.ndarray              # (J, D, D) symmetric
    matrix_variance: np.ndarray     # (J, D, D) symmetric
    bias: np.ndarray                # (J,)
    bias_variance: np.ndarray       # (J,)
    delta: np.ndarray               # (E,)
    weight: np.ndarray              # (E,)  2 |lambda(delta)| times the judgements of the pair

    @property
    def D(self) -> int:
        return self.position.shape[1]

    @property
    def phi(self) -> np.ndarray:
        """(N, p + D), how the kernels see items."""
        return np.hstack([second_moments(self.position, self.position_variance), self.position])

    @property
    def spread(self) -> np.ndarray:
        """(J, p, p), transposed as the kernels want it."""
        return np.ascontiguousarray(spreading(self.matrix, self.matrix_variance).mT)


def opening(pairs: Pairs, prior: Prior, position: np.ndarray, position_variance: float | np.ndarray) -> Beliefs:
    """Beliefs to begin with at these positions: workers that all look alike, and one Delta-update."""
    N, D = position.shape
    J, E = pairs.n_workers, len(pairs.other)
    alike = np.broadcast_to(np.eye(D), (J, D, D)).copy()
    variance = np.broadcast_to(np.asarray(position_variance, float), (N, D)).copy()
    start = Beliefs(position.astype(float), variance, alike, np.full((J, D, D), float(prior.matrices)), np.zeros(J),
                    np.full(J, float(prior.bias)), np.empty(E), np.empty(E))
    return retouched(pairs, start)[0]


def sweep(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> tuple[Beliefs, float]:
    """All updates once, and the bound of what they give."""
    moved = with_matrices(pairs, with_items(pairs, beliefs, prior), prior)
    touched, data = retouched(pairs, moved)
    return touched, data - penalty(touched, prior)


def with_items(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Beliefs:
    """The x-update, item after item."""
    position, variance = beliefs.position.copy(), beliefs.position_variance.copy()
    kernels.update_items(pairs.item_start, pairs.item_groups, pairs.start, pairs.worker, pairs.other, beliefs.weight,
                         pairs.net, beliefs.matrix, beliefs.spread, beliefs.bias, float(prior.items), position,
                         variance, beliefs.phi)
    return replace(beliefs, position=position, position_variance=variance)


def with_matrices(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Beliefs:
    """The W-update and, with the new matrices, the tau-update."""
    outer, weighted, signed = kernels.worker_sums(pairs.worker_start, pairs.start, pairs.item, pairs.other,
                                                  beliefs.weight, pairs.net, beliefs.phi, beliefs.D)
    D, p = beliefs.D, outer.shape[1]
    precision = np.eye(p) / prior.matrices + 0.5 * crossing(outer, D)  # every pair stands in two groups
    target = 0.5 * pairing(signed - beliefs.bias[:, None, None] * weighted)
    mean = np.linalg.solve(precision, target[..., None])[..., 0]
    variance = 1 / np.diagonal(precision, axis1=1, axis2=2)
    judged = np.diff(pairs.worker_start) > 0
    moved = replace(beliefs, matrix=_where(judged, unpacked(mean, D), 0.0),
                    matrix_variance=_where(judged, unpacked(variance, D), prior.matrices))
    return _with_bias(pairs, moved, prior, weighted)


def _with_bias(pairs: Pairs, beliefs: Beliefs, prior: Prior, weighted: np.ndarray) -> Beliefs:
    load, net = (0.5 * pairs.per_worker(column) for column in (beliefs.weight, pairs.net))
    explained = 0.5 * (weighted * beliefs.matrix).sum((1, 2))
    variance = 1 / (1 / prior.bias + load)
    return replace(beliefs, bias=variance * (0.5 * net - explained), bias_variance=variance)


def with_workers(pairs: Pairs, beliefs: Beliefs, prior: Prior, sweeps: int) -> Beliefs:
    """Matrices and biases of all workers, fitted to positions that stay where they are."""
    for _ in range(sweeps):
        beliefs = retouched(pairs, with_matrices(pairs, beliefs, prior))[0]
    return beliefs


def retouched(pairs: Pairs, beliefs: Beliefs) -> tuple[Beliefs, float]:
    """The Delta-update, and what the judgements add to the bound after it."""
    delta, weight = np.empty_like(beliefs.delta), np.empty_like(beliefs.weight)
    data = kernels.retouch(pairs.start, pairs.item, pairs.worker, pairs.other, pairs.twin, pairs.count, pairs.net,
                           beliefs.phi, beliefs.matrix, beliefs.spread, beliefs.bias, beliefs.bias_variance,
                           multiplicity(beliefs.D), delta, weight)
    return replace(beliefs, delta=delta, weight=weight), float(data)


def bound(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> float:
    """The lower bound of the log evidence at any beliefs, whatever was updated last (methods note 2.6)."""
    activity, square = activities(pairs, beliefs)
    touch = -np.log1p(np.exp(-beliefs.delta)) - beliefs.delta / 2
    slack = -0.5 * beliefs.weight * (square - beliefs.delta**2)
    return 0.5 * float((pairs.count * touch + pairs.net * activity / 2 + slack).sum()) - penalty(beliefs, prior)


def activities(pairs: Pairs, beliefs: Beliefs) -> tuple[np.ndarray, np.ndarray]:
    """(E[A], E[A^2]) of every entry: how strongly the worker is drawn to put the pair together."""
    return kernels.activities(pairs.start, pairs.item, pairs.worker, pairs.other, beliefs.phi, beliefs.matrix,
                              beliefs.spread, beliefs.bias, beliefs.bias_variance, multiplicity(beliefs.D))


def penalty(beliefs: Beliefs, prior: Prior) -> float:
    """KL of the beliefs from the prior: the first seven terms of the bound, sign turned."""
    items = _kl(beliefs.position, beliefs.position_variance, prior.items)
    matrices = _kl(packed(beliefs.matrix), packed(beliefs.matrix_variance), prior.matrices)
    return items + matrices + _kl(beliefs.bias, beliefs.bias_variance, prior.bias)


def _kl(mean: np.ndarray, variance: np.ndarray, prior: float) -> float:
    ratio = variance / prior
    return 0.5 * float((mean**2 / prior + ratio - 1 - np.log(ratio)).sum())


def curvature(delta: np.ndarray) -> np.ndarray:
    """2 |lambda(delta)|: the weight of one judgement whose bound touches at delta (methods note 2.2)."""
    safe = np.maximum(delta, kernels.TINY)
    return np.where(delta > kernels.TINY, np.tanh(safe / 2) / (2 * safe), 0.25 - delta**2 / 48)


def _where(judged: np.ndarray, values: np.ndarray, otherwise: float) -> np.ndarray:
    return np.where(judged[:, None, None], values, otherwise)
