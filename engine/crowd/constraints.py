"""Use the answers of a crowd as pair constraints (together, apart) for the clustering of all images.

A judgement is weighted by how informative its worker is: the odds of this answer for items of one platonic cluster,
relative to items of two clusters. "Together" from a worker who merges clusters means little and "apart" means much;
answers of a guessing worker mean nothing. The pairs determine axes of the features that match the criteria of the
crowd, also for images that nobody judged. They also influence the cluster of each judged image.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from benthoscope.engine.crowd.cluster_merging import TEMPER
from benthoscope.engine.crowd.judgements import Judgements
from benthoscope.engine.problems import fail

SUREST = 0.02  # probabilities of a worker stay at least this far from 0 and 1, because nobody is perfectly consistent
RIDGE = 0.1  # fraction of the mean variance of all items; with few pairs, some directions have no difference at all
# an axis is used if pairs that are apart differ at least this many times more than pairs that are together
TELLING = 1.5
FEWEST = 2  # smallest number of axes, even if they separate little
ROUNDS = 20  # rounds of reassignment; each moves half a step, so that items that depend on each other do not oscillate


@dataclass(frozen=True, eq=False)
class Bonds:
    """P different pairs of items and the log odds (P,) that they belong together, given the answers. Large values mean
    "together", large negative values "apart". `beforehand` is the log odds of two random items."""

    first: np.ndarray
    second: np.ndarray
    odds: np.ndarray
    beforehand: float

    def sure(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how certain it is that each pair belongs together, and that it does not, (P,) each; 0 at even odds."""
        certainty = 2 * expit(self.odds + self.beforehand) - 1
        return np.maximum(certainty, 0), np.maximum(-certainty, 0)

    def satisfied(self, labels: np.ndarray) -> tuple[float, float]:
        """Return how much of the evidence the clusters `labels` (N,) respect: for pairs within a cluster, and for pairs
        in different clusters; 1 if there is no evidence."""
        same = labels[self.first] == labels[self.second]
        return _share(np.maximum(self.odds, 0), same), _share(np.maximum(-self.odds, 0), ~same)


def bonds(judgements: Judgements, tables: np.ndarray, sizes: np.ndarray, trusted: np.ndarray) -> Bonds:
    """Create constraints from the workers' probability tables (J, K, K) and the sizes (K,) of the platonic clusters.
    Judgements of workers who are not `trusted` (J,) are ignored."""
    if len(sizes) < 2:
        raise fail("crowd run", "has only one cluster, so it separates no images", "collect more answers")
    trusted_judgements = judgements.take(trusted[judgements.worker])
    within, across = chances(tables, sizes)
    log_odds = np.where(
        trusted_judgements.same,
        np.log(within / across)[trusted_judgements.worker],
        np.log((1 - within) / (1 - across))[trusted_judgements.worker],
    )
    low, high = (
        np.minimum(trusted_judgements.first, trusted_judgements.second),
        np.maximum(trusted_judgements.first, trusted_judgements.second),
    )
    key, pair = np.unique(low.astype(np.int64) * judgements.n_items + high, return_inverse=True)
    odds = np.bincount(pair, TEMPER * log_odds, minlength=len(key))
    return Bonds(key // judgements.n_items, key % judgements.n_items, odds, _beforehand(sizes))


def chances(tables: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (J,) that each worker puts together two items of one cluster, and two items of different
    clusters."""
    share = np.outer(sizes, sizes) / sizes.sum() ** 2
    diagonal = np.eye(len(sizes), dtype=bool)
    return tuple(
        np.clip((tables * (share * which)).sum((1, 2)) / (share * which).sum(), SUREST, 1 - SUREST)
        for which in (diagonal, ~diagonal)
    )


def telling_axes(rows: np.ndarray, constraints: Bonds, most: int) -> np.ndarray:
    """Return at most `most` directions (D, d) in which pairs of rows (N, D) that are apart differ much and pairs that
    are together differ little. In each direction, the latter differ by one unit on average."""
    rows = np.asarray(rows, np.float64)
    close, far = (_moment(rows, constraints, weight) for weight in constraints.sure())
    # the mean squared difference of a pair is twice the variance
    ridge = RIDGE * 2 * rows.var(0).mean() * np.eye(rows.shape[1])
    ratio, axes = eigh(far, close + ridge)
    keep = min(max(int((ratio > TELLING).sum()), FEWEST), most, len(ratio))
    return axes[:, ::-1][:, :keep]


def settled(probability: np.ndarray, constraints: Bonds) -> np.ndarray:
    """Return memberships (N, K) that combine the memberships by features (N, K) with the constraints, iterated until
    they converge."""
    bound, log_probability = (
        _matrix(constraints, constraints.odds, len(probability)),
        np.log(np.maximum(probability, 1e-12)),
    )
    shares = probability
    for _ in range(ROUNDS):
        logits = log_probability + bound @ shares
        shares = 0.5 * shares + 0.5 * np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    return shares


def _beforehand(sizes: np.ndarray) -> float:
    """Return the log odds that two random items belong to the same cluster."""
    share = float((sizes.astype(float) ** 2).sum() / sizes.sum() ** 2)
    return float(np.log(share / (1 - share)))


def _moment(rows: np.ndarray, constraints: Bonds, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean over pairs of (x_a - x_b)(x_a - x_b)' (D, D), computed with the Laplacian of
    the pairs."""
    linked = _matrix(constraints, weight, len(rows))
    about = linked.sum(1)[:, None] * rows - linked @ rows
    return rows.T @ about / max(float(weight.sum()), 1e-12)


def _matrix(constraints: Bonds, value: np.ndarray, n_items: int) -> csr_array:
    """Return a symmetric matrix (N, N) with the value of each pair."""
    ends = (
        np.concatenate([constraints.first, constraints.second]),
        np.concatenate([constraints.second, constraints.first]),
    )
    return csr_array((np.tile(value, 2), ends), shape=(n_items, n_items))


def _share(weight: np.ndarray, which: np.ndarray) -> float:
    return float(weight[which].sum() / weight.sum()) if weight.sum() else 1.0
