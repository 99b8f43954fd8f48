"""What the Bayesian model is measured against: answers pooled over all workers (methods note 4.4)."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans

from engine.crowd.judgements import Judgements
from engine.crowd.workers import by_size
from engine.problems import fail

MOST_ITEMS = 20_000  # the table of all pairs is then 3 GB


def coassociation(judgements: Judgements) -> np.ndarray:
    """(N, N) share of judgements that put each pair together, the mean where nobody judged it, 1 with itself."""
    if judgements.n_items > MOST_ITEMS:
        raise fail("items", f"{judgements.n_items:,} are too many for a table of all pairs", f"give {MOST_ITEMS:,}")
    together, count = _tables(judgements)
    found = np.where(count > 0, together / np.maximum(count, 1), judgements.same.mean() if len(judgements) else 0.0)
    np.fill_diagonal(found, 1.0)
    return found


def average_linkage(judgements: Judgements, n_clusters: int) -> np.ndarray:
    """(N,) labels by average linkage on how seldom pairs were put together."""
    distance = 1 - coassociation(judgements)
    np.fill_diagonal(distance, 0.0)
    return by_size(fcluster(linkage(squareform(distance, checks=False), "average"), n_clusters, "maxclust"))


def spectral_clusters(judgements: Judgements, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """(N,) labels by k-means on the main axes of the normalised table."""
    table = coassociation(judgements)
    root = 1 / np.sqrt(table.sum(1))
    _, axes = np.linalg.eigh(root[:, None] * table * root)
    rows = axes[:, -n_clusters:]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    seed = int(rng.integers(2**31))
    return by_size(KMeans(min(n_clusters, len(rows)), n_init=10, random_state=seed).fit_predict(rows))


def majority(judgements: Judgements) -> np.ndarray:
    """(N,) labels: what more than half of those who judged it put together belongs together, and so on along chains."""
    together, count = _tables(judgements)
    linked = coo_array(2 * together > count)
    return by_size(connected_components(linked, directed=False)[1])


def _tables(judgements: Judgements) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric (N, N): judgements that put each pair together, and all of them."""
    shape = (judgements.n_items,) * 2
    place = (judgements.first, judgements.second)
    parts = (coo_array((column.astype(float), place), shape=shape).toarray()
             for column in (judgements.same, np.ones(len(judgements))))
    return tuple(part + part.T for part in parts)
