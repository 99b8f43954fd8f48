"""Join clusters whose rows are neighbours of each other.

The joins follow Bonald et al. (Hierarchical graph clustering using node pair sampling, 2018). Each row is linked to its
nearest rows. The association of two clusters is the number of links between them, divided by the number that random
links would give. The pair with the largest association is joined first. An association above 1 means that the join
raises the modularity of the links.
"""

import numpy as np

NEIGHBOURS = 10  # links of a row; 5, 10 and 20 were compared on two sets with known classes
LEAST_ASSOCIATION = 0.25  # of 0.15 to 1, values from 0.25 to 0.5 were best on these sets
MOST_ROWS = 10_000  # rows that are linked; of more rows, a part of each cluster
FEWEST_ROWS = 20  # rows of a cluster that are linked, if it has so many
ROUNDING = 1e-9


def join_by_neighbours(rows: np.ndarray, labels: np.ndarray, most: int, fewest: int = 1) -> np.ndarray:
    """Group clusters, given the rows (N, D) and their clusters (N,), numbered from 0 and none without rows. Joins the
    best pair until at most `most` groups remain, then while an association is at least LEAST_ASSOCIATION and more than
    `fewest` groups remain.

    Returns the group of each cluster (K,), numbered by one of its members.
    """
    K = int(labels.max()) + 1
    group, pairs = np.arange(K), _Pairs(rows, labels, K)
    scores = np.where(np.tri(K, dtype=bool), -np.inf, pairs.scores(np.arange(K)))  # pairs (a, b) with a < b
    for cluster_count in range(K, fewest, -1):
        a, b = divmod(int(scores.argmax()), K)
        if cluster_count <= most and scores[a, b] < LEAST_ASSOCIATION:
            break
        pairs.join(a, b)
        group[group == b] = a
        scores[b] = scores[:, b] = -np.inf
        others = np.setdiff1d(group, a)
        scores[np.minimum(a, others), np.maximum(a, others)] = pairs.scores(np.array([a]))[0, others]
    return group


def linked_rows(labels: np.ndarray, most: int = MOST_ROWS) -> np.ndarray:
    """Return the numbers of the rows to link, ascending: all of them, or an equal share of each cluster, evenly spaced
    in the order of the rows, but at least FEWEST_ROWS of each cluster."""
    if len(labels) <= most:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    wanted = np.minimum(sizes, np.maximum(np.ceil(sizes * (most / len(labels))), FEWEST_ROWS))
    order = np.argsort(labels, kind="stable")
    owners = labels[order]
    rank = np.arange(len(labels)) - (sizes.cumsum() - sizes)[owners]
    share = wanted[owners] / sizes[owners]
    return np.sort(order[np.floor((rank + 1) * share + ROUNDING) > np.floor(rank * share + ROUNDING)])


class _Pairs:
    """Links and squared distances between clusters, summed over the pairs of their rows. Such sums add up when clusters
    are joined."""

    def __init__(self, rows: np.ndarray, labels: np.ndarray, K: int):
        rows = rows - rows.mean(0)  # distances are exact only near the origin
        self._sizes = np.bincount(labels, minlength=K).astype(float)
        self._links = _links(rows, labels, K)
        self._squares = _squared_distances(rows, labels, self._sizes)
        self._ends = self._links.sum(1)
        self._all_ends = max(self._ends.sum(), 1.0)

    def scores(self, first: np.ndarray) -> np.ndarray:
        """Return how well these clusters fit each cluster (F, K): the association. Pairs without a link fit worse, the
        worse the farther they are apart: minus the mean squared distance."""
        expected = np.outer(self._ends[first], self._ends) / self._all_ends
        links = self._links[first]
        is_linked = links > 0
        association = np.divide(links, expected, out=np.zeros_like(links), where=is_linked)
        return np.where(is_linked, association, -self._squares[first] / np.outer(self._sizes[first], self._sizes))

    def join(self, a: int, b: int) -> None:
        """Add cluster b to cluster a."""
        for sums in (self._links, self._squares):
            sums[a] += sums[b]
            sums[:, a] += sums[:, b]
        self._sizes[a] += self._sizes[b]
        self._ends[a] += self._ends[b]


def _links(rows: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """Return the numbers of links between clusters (K, K), each link counted in both directions."""
    from sklearn.neighbors import NearestNeighbors  # slow to import

    links = np.zeros((K, K))
    count = min(NEIGHBOURS, len(rows) - 1)
    if count:
        nearest = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows).kneighbors(return_distance=False)
        np.add.at(links, (np.repeat(labels, count), labels[nearest.ravel()]), 1)
    return links + links.T


def _squared_distances(rows: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the squared distances between the rows of two clusters, summed over all pairs (K, K)."""
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, labels, rows)
    norms = np.bincount(labels, (rows**2).sum(1), minlength=len(sizes))
    return np.maximum(np.outer(norms, sizes) + np.outer(sizes, norms) - 2 * sums @ sums.T, 0)
