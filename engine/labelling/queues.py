"""What to label next, and why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.problems import unknown

POOL = 20  # candidates looked at for every image of a batch, so that it can be varied without being dull


@dataclass(frozen=True)
class Candidates:
    """Unlabelled images: probabilities (n, K), rows (n, D), clusters (n,), and how well the model knows such images
    (n,): log-likelihood or the like, greater is more ordinary."""

    probabilities: np.ndarray
    rows: np.ndarray
    clusters: np.ndarray
    familiarity: np.ndarray


def margins(probabilities: np.ndarray) -> np.ndarray:
    """p(second) - p(first) of every image (n,), at most 0; the closer to zero, the more a label would tell."""
    if probabilities.shape[1] < 2:
        return -np.ones(len(probabilities))
    top = np.partition(probabilities, -2, axis=1)[:, -2:]
    return top[:, 0] - top[:, 1]


def by_margin(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """The `size` images nearest to a boundary, nearest first."""
    return np.argsort(-margins(among.probabilities), kind="stable")[:size]


def by_varied_margin(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """Near a boundary, but from different clusters and unlike each other: a batch that tells nothing twice."""
    pool = _from_all_clusters(margins(among.probabilities), among.clusters, size * POOL)
    return pool[spread_out(among.rows[pool], margins(among.probabilities)[pool], size)]


def by_outliers(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """What is least like anything the model knows, oddest first."""
    return np.argsort(among.familiarity, kind="stable")[:size]


def by_chance(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """The only queue from which shares and accuracies can be read off without correction."""
    return rng.permutation(len(among.clusters))[:size]


Queue = Callable[[Candidates, int, np.random.Generator], np.ndarray]
QUEUES: dict[str, Queue] = {
    "margin": by_margin, "varied": by_varied_margin, "outliers": by_outliers, "random": by_chance,
}


def queue_named(word: str) -> Queue:
    if word not in QUEUES:
        raise unknown("queue", word, QUEUES)
    return QUEUES[word]


def spread_out(rows: np.ndarray, worth: np.ndarray, size: int) -> np.ndarray:
    """Places of up to `size` rows (n, D): the worthiest first, then always the one with the best product of worth and
    distance to those taken."""
    if not len(rows):
        return np.empty(0, np.int64)
    keen = np.exp(worth - worth.max())
    chosen = [int(worth.argmax())]
    far = np.full(len(rows), np.inf)
    while len(chosen) < min(size, len(rows)):
        far = np.minimum(far, np.sqrt(((rows - rows[chosen[-1]]) ** 2).sum(1)))
        value = keen * far
        value[chosen] = -1
        chosen.append(int(value.argmax()))
    return np.array(chosen)


def doubted(probabilities: np.ndarray, given: np.ndarray, size: int) -> np.ndarray:
    """Labelled images whose label (a column number each) the model believes least, worst first: likely slips."""
    believed = probabilities[np.arange(len(given)), given]
    order = np.argsort(believed, kind="stable")[:size]
    return order[probabilities[order].argmax(1) != given[order]]


def by_disagreement(probabilities: np.ndarray, clusters: np.ndarray, labelled: np.ndarray, columns: np.ndarray,
                    size: int) -> np.ndarray:
    """Images (probabilities (n, K), clusters (n,)) of which the model and the labels of their cluster say most
    different things, worst first. Labels are given by the cluster (m,) and the column (m,) of each."""
    n_clusters = int(max(clusters.max(initial=0), labelled.max(initial=0))) + 1
    shares = cluster_opinions(labelled, columns, n_clusters, probabilities.shape[1])
    known = np.bincount(labelled, minlength=n_clusters)[clusters]  # a cluster without labels contradicts nobody
    apart = disagreement([probabilities, shares[clusters]]) * known / (known + 1)
    return np.argsort(-apart, kind="stable")[:size]


def cluster_opinions(clusters: np.ndarray, columns: np.ndarray, n_clusters: int, terms: int) -> np.ndarray:
    """(n_clusters, terms): shares of the terms among a cluster's labels; with few of them near those of all labels."""
    counts = np.zeros((n_clusters, terms))
    np.add.at(counts, (clusters, columns), 1)
    overall = (counts.sum(0) + 1) / (counts.sum() + terms)
    return (counts + overall) / (counts.sum(1, keepdims=True) + 1)


def disagreement(opinions: Sequence[np.ndarray]) -> np.ndarray:
    """How much models differ on every image (n,): Jensen-Shannon divergence of their probabilities (n, K), in nats."""
    stack = np.stack(opinions)
    return _entropy(stack.mean(0)) - _entropy(stack).mean(0)


def _entropy(P: np.ndarray) -> np.ndarray:
    return -(P * np.log(np.maximum(P, 1e-300))).sum(-1)


def _from_all_clusters(worth: np.ndarray, clusters: np.ndarray, size: int) -> np.ndarray:
    """The worthiest of every cluster in turn, so that no cluster crowds out the others."""
    order = np.argsort(-worth, kind="stable")
    by_cluster = order[np.argsort(clusters[order], kind="stable")]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(clusters[by_cluster])) + 1])
    rank = np.arange(len(by_cluster)) - np.repeat(starts, np.diff(np.append(starts, len(by_cluster))))
    return by_cluster[np.lexsort((-worth[by_cluster], rank))][:size]
