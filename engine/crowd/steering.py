"""What a crowd said of some images steers the clustering of all: pairs that belong together, pairs that do not.

A judgement counts for what its worker's judgements are worth: the odds that items of one platonic cluster, rather than
of two, make this worker say so. Who merges clusters says little by "together" and much by "apart"; who guesses says
nothing. The pairs turn the features towards what people go by, for images nobody was asked about too, and say among
the clusters found there which one an image that was asked about belongs to.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from engine.crowd.atoms import TEMPER
from engine.crowd.judgements import Judgements
from engine.problems import fail

SUREST = 0.02     # a worker's chances are kept this far from 0 and 1: nobody is that steady
RIDGE = 0.1       # of the mean variance of all items: few pairs leave directions in which none of them differ
TELLING = 1.5     # times as far apart as pairs that belong together are those that do not, along an axis worth keeping
FEWEST = 2        # axes, however little they tell
ROUNDS = 20       # of settling members, half a step each: items that judge each other would swing


@dataclass(frozen=True, eq=False)
class Bonds:
    """P different pairs of items, and the log odds (P,) by which what was said speaks for their belonging together:
    must where large, must not where far below zero. `beforehand` are those of two items drawn at random."""

    first: np.ndarray
    second: np.ndarray
    odds: np.ndarray
    beforehand: float

    def sure(self) -> tuple[np.ndarray, np.ndarray]:
        """(P,) each: how sure it is that a pair belongs together, and that it does not; both 0 at even odds."""
        told = 2 * expit(self.odds + self.beforehand) - 1
        return np.maximum(told, 0), np.maximum(-told, 0)

    def kept(self, labels: np.ndarray) -> tuple[float, float]:
        """Shares of the evidence for pairs that are in one cluster of `labels` (N,), and against pairs that are not;
        1 where there is none."""
        same = labels[self.first] == labels[self.second]
        return _share(np.maximum(self.odds, 0), same), _share(np.maximum(-self.odds, 0), ~same)


def bonds(judgements: Judgements, tables: np.ndarray, sizes: np.ndarray, trusted: np.ndarray) -> Bonds:
    """From the workers' tables (J, K, K) of chances and the sizes (K,) of the platonic clusters; judgements of workers
    who are not `trusted` (J,) say nothing."""
    if len(sizes) < 2:
        raise fail("crowd run", "found one cluster, so no two images are told apart", "ask further people or tasks")
    told = judgements.take(trusted[judgements.worker])
    within, across = chances(tables, sizes)
    said = np.where(told.same, np.log(within / across)[told.worker], np.log((1 - within) / (1 - across))[told.worker])
    low, high = np.minimum(told.first, told.second), np.maximum(told.first, told.second)
    key, pair = np.unique(low.astype(np.int64) * judgements.n_items + high, return_inverse=True)
    odds = np.bincount(pair, TEMPER * said, minlength=len(key))
    return Bonds(key // judgements.n_items, key % judgements.n_items, odds, _beforehand(sizes))


def chances(tables: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(J,) chance that each worker puts two items of one cluster together, and two items of two clusters."""
    share = np.outer(sizes, sizes) / sizes.sum() ** 2
    own = np.eye(len(sizes), dtype=bool)
    return tuple(np.clip((tables * (share * which)).sum((1, 2)) / (share * which).sum(), SUREST, 1 - SUREST)
                 for which in (own, ~own))


def telling_axes(rows: np.ndarray, held: Bonds, most: int) -> np.ndarray:
    """(D, d) directions, at most `most`, along which pairs of rows (N, D) that do not belong together lie apart and
    pairs that do lie close; along each, the latter differ by one unit on average."""
    rows = np.asarray(rows, np.float64)
    close, far = (_moment(rows, held, weight) for weight in held.sure())
    ridge = RIDGE * 2 * rows.var(0).mean() * np.eye(rows.shape[1])  # a pair differs by twice the variance
    ratio, axes = eigh(far, close + ridge)
    keep = min(max(int((ratio > TELLING).sum()), FEWEST), most, len(ratio))
    return axes[:, ::-1][:, :keep]


def settled(probability: np.ndarray, held: Bonds) -> np.ndarray:
    """(N, K) membership of items by the features (N, K) and by who they are bound to, as often as that changes."""
    bound, own = _matrix(held, held.odds, len(probability)), np.log(np.maximum(probability, 1e-12))
    found = probability
    for _ in range(ROUNDS):
        logits = own + bound @ found
        found = 0.5 * found + 0.5 * np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    return found


def _beforehand(sizes: np.ndarray) -> float:
    """Log odds that two items drawn at random are of one cluster."""
    one = float((sizes.astype(float) ** 2).sum() / sizes.sum() ** 2)
    return float(np.log(one / (1 - one)))


def _moment(rows: np.ndarray, held: Bonds, weight: np.ndarray) -> np.ndarray:
    """(D, D) weighted mean over pairs of (x_a - x_b)(x_a - x_b)': the rows about the Laplacian of the pairs."""
    linked = _matrix(held, weight, len(rows))
    about = linked.sum(1)[:, None] * rows - linked @ rows
    return rows.T @ about / max(float(weight.sum()), 1e-12)


def _matrix(held: Bonds, value: np.ndarray, n_items: int) -> csr_array:
    """(N, N) symmetric, with the value of each pair there is."""
    ends = np.concatenate([held.first, held.second]), np.concatenate([held.second, held.first])
    return csr_array((np.tile(value, 2), ends), shape=(n_items, n_items))


def _share(weight: np.ndarray, which: np.ndarray) -> float:
    return float(weight[which].sum() / weight.sum()) if weight.sum() else 1.0
