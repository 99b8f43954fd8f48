"""Baselines for the Bayesian model: clusterings of the answers pooled over all workers (methods note 4.4)."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans

from benthoscope.engine.crowd.judgements import Judgements
from benthoscope.engine.crowd.workers import by_size
from benthoscope.engine.problems import fail

MOST_ITEMS = 20_000  # the table of all pairs then takes 3 GB


def coassociation(judgements: Judgements) -> np.ndarray:
    """Return the fraction of judgements that put each pair together (N, N). Pairs without judgements get the mean; the
    diagonal is 1."""
    if judgements.n_items > MOST_ITEMS:
        raise fail(
            "items", f"{judgements.n_items:,} are too many for a table of all pairs", f"give at most {MOST_ITEMS:,}"
        )
    together, count = _tables(judgements)
    share = np.where(count > 0, together / np.maximum(count, 1), judgements.same.mean() if len(judgements) else 0.0)
    np.fill_diagonal(share, 1.0)
    return share


def average_linkage(judgements: Judgements, n_clusters: int) -> np.ndarray:
    """Return labels (N,) by average linkage; the distance of a pair is the fraction of judgements that keep
    it apart."""
    distance = 1 - coassociation(judgements)
    np.fill_diagonal(distance, 0.0)
    return by_size(fcluster(linkage(squareform(distance, checks=False), "average"), n_clusters, "maxclust"))


def spectral_clusters(judgements: Judgements, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels (N,) by k-means on the principal axes of the normalised table."""
    table = coassociation(judgements)
    root = 1 / np.sqrt(table.sum(1))
    _, axes = np.linalg.eigh(root[:, None] * table * root)
    rows = axes[:, -n_clusters:]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    seed = int(rng.integers(2**31))
    return by_size(KMeans(min(n_clusters, len(rows)), n_init=10, random_state=seed).fit_predict(rows))


def majority(judgements: Judgements) -> np.ndarray:
    """Return labels (N,). Pairs that more than half of their judgements put together are linked; connected items form a
    cluster."""
    together, count = _tables(judgements)
    linked = coo_array(2 * together > count)
    return by_size(connected_components(linked, directed=False)[1])


def _tables(judgements: Judgements) -> tuple[np.ndarray, np.ndarray]:
    """Return symmetric tables (N, N): the judgements that put each pair together, and all judgements of the pair."""
    shape = (judgements.n_items,) * 2
    indices = (judgements.first, judgements.second)
    tables = (
        coo_array((column.astype(float), indices), shape=shape).toarray()
        for column in (judgements.same, np.ones(len(judgements)))
    )
    return tuple(table + table.T for table in tables)
