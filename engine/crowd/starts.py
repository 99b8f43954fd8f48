"""Where a fit of positions begins: the optima are many, so several beginnings are tried (methods note 2.8)."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from engine.crowd.pairs import Pairs

SURE = 0.1  # variance of positions at the start: measured, it settles in half the sweeps that the prior's 1 takes
WIDE = 1.0  # standard deviation of random positions; small ones fall back to the origin, which is a fixed point


def spectral(pairs: Pairs, D: int, rng: np.random.Generator) -> np.ndarray:
    """(N, D): main axes of how often items were put together, at unit variance per axis."""
    N = pairs.n_items
    if N <= D + 1:
        return scattered(N, D, rng)
    excess = _excess(pairs)

    def centred(vector: np.ndarray) -> np.ndarray:
        across = excess @ (vector - vector.mean())
        return across - across.mean()

    operator = LinearOperator((N, N), matvec=centred, dtype=float)
    try:
        _, axes = eigsh(operator, k=D, which="LA", v0=rng.standard_normal(N), tol=1e-4, maxiter=50 * N)
    except ArpackError:  # all pairs are judged alike: nothing to begin with
        return scattered(N, D, rng)
    return _unit(axes[:, ::-1], rng)


def scattered(N: int, D: int, rng: np.random.Generator) -> np.ndarray:
    return WIDE * rng.standard_normal((N, D))


def grown(position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions found in one dimension less, and a new random axis."""
    return np.hstack([position, scattered(len(position), 1, rng)])


def _excess(pairs: Pairs) -> coo_array:
    """Sparse (N, N): share of judgements that put a pair together, less the share over all pairs."""
    item = np.repeat(pairs.item, np.diff(pairs.start))
    shape = (pairs.n_items, pairs.n_items)
    count, net = (coo_array((column, (item, pairs.other)), shape=shape).tocsr() for column in (pairs.count, pairs.net))
    rate = (net.data / count.data + 1) / 2  # the same pattern: both hold every entry, in one order
    overall = (pairs.net.sum() / max(pairs.count.sum(), 1e-300) + 1) / 2
    count.data = rate - overall
    return count


def _unit(axes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    spread = axes.std(0)
    flat = spread < 1e-12
    return np.where(flat, scattered(*axes.shape, rng), axes / np.where(flat, 1.0, spread))
