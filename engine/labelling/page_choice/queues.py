"""Choose the images to label next.

Small groups of similar images are cheapest: one label applies to about twenty images.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from benthoscope.engine.problems import unknown

POOL = 20  # candidates per image of a batch, so that the batch can be varied and still informative


@dataclass(frozen=True)
class Candidates:
    """Unlabelled images: probabilities (n, K), rows (n, D), clusters (n,), and how typical they are (n,): a
    log-likelihood or similar, larger is more typical."""

    probabilities: np.ndarray
    rows: np.ndarray
    clusters: np.ndarray
    familiarity: np.ndarray


def margins(probabilities: np.ndarray) -> np.ndarray:
    """Return p(second) - p(first) of each image (n,), at most 0. The closer to zero, the more informative a
    label is."""
    if probabilities.shape[1] < 2:
        return -np.ones(len(probabilities))
    top = np.partition(probabilities, -2, axis=1)[:, -2:]
    return top[:, 0] - top[:, 1]


def by_margin(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the `size` images nearest to a boundary, nearest first."""
    return np.argsort(-margins(among.probabilities), kind="stable")[:size]


def by_varied_margin(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return images near a boundary from different clusters and unlike each other, so that the batch has no redundant
    images."""
    pool = _from_all_clusters(margins(among.probabilities), among.clusters, size * POOL)
    return pool[spread_out(among.rows[pool], margins(among.probabilities)[pool], size)]


def by_outliers(among: Candidates, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the images least similar to all known ones, most unusual first."""
    return np.argsort(among.familiarity, kind="stable")[:size]


Queue = Callable[[Candidates, int, np.random.Generator], np.ndarray]
QUEUES: dict[str, Queue] = {
    "margin": by_margin,
    "varied": by_varied_margin,
    "outliers": by_outliers,
}


def queue_named(word: str) -> Queue:
    if word not in QUEUES:
        raise unknown("queue", word, QUEUES)
    return QUEUES[word]


def spread_out(rows: np.ndarray, worth: np.ndarray, size: int) -> np.ndarray:
    """Return positions of up to `size` rows (n, D): the one of highest worth first, then always the one with the
    largest product of worth and distance to the selected ones."""
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


def doubted(probabilities: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Return labelled images whose label (a column number each) has the lowest probability in the model, lowest first:
    likely mistakes."""
    believed = probabilities[np.arange(len(labels)), labels]
    order = np.argsort(believed, kind="stable")[:size]
    return order[probabilities[order].argmax(1) != labels[order]]


def by_disagreement(
    probabilities: np.ndarray, clusters: np.ndarray, labelled: np.ndarray, columns: np.ndarray, size: int
) -> np.ndarray:
    """Return images (probabilities (n, K), clusters (n,)) for which the model and the labels of their cluster differ
    most, largest difference first. Labels are given by the cluster (m,) and the column (m,) of each."""
    n_clusters = int(max(clusters.max(initial=0), labelled.max(initial=0))) + 1
    shares = cluster_opinions(labelled, columns, n_clusters, probabilities.shape[1])
    known = np.bincount(labelled, minlength=n_clusters)[clusters]  # a cluster without labels contradicts nothing
    apart = disagreement([probabilities, shares[clusters]]) * known / (known + 1)
    return np.argsort(-apart, kind="stable")[:size]


def cluster_opinions(clusters: np.ndarray, columns: np.ndarray, n_clusters: int, terms: int) -> np.ndarray:
    """Return the fractions of the terms among a cluster's labels (n_clusters, terms). With few labels, they are close
    to those of all labels."""
    counts = np.zeros((n_clusters, terms))
    np.add.at(counts, (clusters, columns), 1)
    overall = (counts.sum(0) + 1) / (counts.sum() + terms)
    return (counts + overall) / (counts.sum(1, keepdims=True) + 1)


def disagreement(opinions: Sequence[np.ndarray]) -> np.ndarray:
    """Return how much models differ on each image (n,): the Jensen-Shannon divergence of their probabilities (n, K), in
    nats."""
    stack = np.stack(opinions)
    return _entropy(stack.mean(0)) - _entropy(stack).mean(0)


def _entropy(P: np.ndarray) -> np.ndarray:
    return -(P * np.log(np.maximum(P, 1e-300))).sum(-1)


def _from_all_clusters(worth: np.ndarray, clusters: np.ndarray, size: int) -> np.ndarray:
    """Return the best image of each cluster in turn, so that no cluster dominates."""
    order = np.argsort(-worth, kind="stable")
    by_cluster = order[np.argsort(clusters[order], kind="stable")]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(clusters[by_cluster])) + 1])
    rank = np.arange(len(by_cluster)) - np.repeat(starts, np.diff(np.append(starts, len(by_cluster))))
    return by_cluster[np.lexsort((-worth[by_cluster], rank))][:size]


TOGETHER = 20  # images in a group that a person can see at a glance
AT_ONCE = 4_000  # images grouped in one k-means, whose cost is proportional to images times groups


@dataclass(frozen=True)
class Groups:
    """`of` (N,) is the group of each image, numbered from 0; `centres` (groups, D) the mean row of each group."""

    of: np.ndarray
    centres: np.ndarray

    @property
    def count(self) -> int:
        return int(self.of.max(initial=-1)) + 1

    def members(self, group: int) -> np.ndarray:
        return np.flatnonzero(self.of == group)

    def novelty(self, known: np.ndarray) -> np.ndarray:
        """Return how different each group is from all known groups (groups,) bool: 0 if it has a known neighbour, 1 if
        it is three times as far from them as neighbours are from each other. A classifier can be confident about images
        unlike all its training data, so uncertainty alone finds no new terms."""
        if known.all() or self.count < 2:
            return np.zeros(self.count)
        if not known.any():
            return np.ones(self.count)
        typical = np.median(cKDTree(self.centres).query(self.centres, k=2)[0][:, 1])
        far = cKDTree(self.centres[known]).query(self.centres)[0]
        return np.clip((far / max(typical, 1e-12) - 1) / 2, 0, 1)

    def novelty_from(self, known_rows: np.ndarray) -> np.ndarray:
        """Return the same for known rows (n, D) that are in no group."""
        if self.count < 2 or not len(known_rows):
            return np.ones(self.count)
        typical = np.median(cKDTree(self.centres).query(self.centres, k=2)[0][:, 1])
        far = cKDTree(known_rows).query(self.centres)[0]
        return np.clip((far / max(typical, 1e-12) - 1) / 2, 0, 1)

    def worth(self, doubt: np.ndarray, open_: np.ndarray) -> np.ndarray:
        """Return the value of labelling each group (groups,): the sum of the uncertainty (N,) of its images without a
        label, `open_` (N,) bool. Large groups of uncertain images come first."""
        return np.bincount(self.of, np.where(open_, doubt, 0.0), self.count)


def similar_groups(
    rows: np.ndarray, clusters: np.ndarray, rng: np.random.Generator, together: int = TOGETHER
) -> Groups:
    """Return groups of about `together` images within each cluster (N,). No group contains images of two clusters."""
    of, used = np.zeros(len(rows), np.int64), 0
    for cluster in np.unique(clusters):
        members = np.flatnonzero(clusters == cluster)
        for block in np.array_split(rng.permutation(members), -(-len(members) // AT_ONCE)):
            numbers = _grouped(rows[block], together, rng)
            of[block] = used + numbers
            used += int(numbers.max()) + 1
    sizes = np.maximum(np.bincount(of), 1)
    order = np.argsort(of, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(of))[:-1]])
    return Groups(of, np.add.reduceat(rows[order], starts, axis=0) / sizes[:, None])


def _grouped(rows: np.ndarray, together: int, rng: np.random.Generator) -> np.ndarray:
    from sklearn.cluster import KMeans  # slow to import

    count = max(round(len(rows) / together), 1)
    model = KMeans(count, n_init=1, max_iter=30, random_state=int(rng.integers(2**31)))
    return np.unique(model.fit_predict(rows), return_inverse=True)[1]
