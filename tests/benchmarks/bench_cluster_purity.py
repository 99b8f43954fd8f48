"""How pure the clusters of each set are, and how well they agree with the classes.

Compared are the default run with its levels, full covariances, k-means, spectral clustering and HDBSCAN, on the same
rows. The last table has the cost of the levels of many images.
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import SpectralClustering

from benthoscope.engine.analysis.cluster_purity import separation
from benthoscope.engine.compute import blas_threads
from benthoscope.engine.distance_models import HDBSCAN, KMeans
from benthoscope.engine.jobs.cluster.levels import hierarchy_of
from benthoscope.engine.jobs.cluster.model_catalog import ENTRIES, USUAL_MODEL, USUAL_WIDTH
from benthoscope.engine.metrics import adjusted_rand, v_measure
from benthoscope.engine.mixtures.neighbour_joins import join_by_neighbours, linked_rows
from benthoscope.engine.progress import ignore
from tests.benchmarks.known_sets import KnownSet, known_sets
from tests.benchmarks.measure import Cost, Table, measure

PURE = 0.8  # share of one class from which a cluster can be named
SMALLEST = 2  # images: a cluster of one is pure, but nothing is saved by naming it
COLUMNS = (
    "clusters by",
    "K",
    f"% of images in clusters at least {100 * PURE:.0f} % pure",
    "mean purity, %",
    "V-measure",
    "ARI",
    "silhouette",
    "CPU s",
)
DEFAULT = ENTRIES[USUAL_MODEL]
MANY_IMAGES, MANY_CLUSTERS, COLUMNS_OF_MANY = 100_000, (100, 500), 32


def tables(part: str = "") -> Iterator[Table]:
    """Yield the tables of all sets and the cost of levels; with `part` "cost", the cost alone."""
    with blas_threads(1):
        if part != "cost":
            for known in known_sets():
                yield _table(known)
        yield _cost_of_levels()


def _table(known: KnownSet) -> Table:
    usual, cost = measure(lambda: _default_run(known))
    count = int(usual.max()) + 1
    levels, extra = measure(lambda: hierarchy_of(known.X, usual, {"width": USUAL_WIDTH}, count, ignore))
    rows = [_row(f"{USUAL_MODEL}, default", known, usual, cost)]
    for name, labels in (("coarser level", levels.coarse), ("finer level", levels.fine)):
        rows.append(_row(f"{USUAL_MODEL}, {name}", known, labels, extra))
    rows.append(_measured(f"{USUAL_MODEL}, full covariances", known, lambda: _default_run(known, "full")))
    classes = int(known.classes.max()) + 1
    for clusters in sorted({classes, count, levels.n_clusters[0], levels.n_clusters[2]}):
        told = ", the true number" if clusters == classes else ""
        rows.append(_measured(f"k-means, K = {clusters}{told}", known, lambda K=clusters: _k_means(known, K)))
    rows.append(_measured(f"spectral clustering, K = {classes}", known, lambda: _spectral(known, classes)))
    for smallest in (5, 20):
        name = f"HDBSCAN, clusters of {smallest} images or more"
        rows.append(_measured(name, known, lambda size=smallest: HDBSCAN(min_cluster_size=size).fit_predict(known.X)))
    return Table(
        f"Purity of clusters. {known.name}: {len(known.X):,} images, {known.classes.max() + 1} classes",
        COLUMNS,
        rows,
        [
            f"Rows of {known.X.shape[1]} numbers, as clustering reads them. Images that HDBSCAN puts in no cluster "
            "count as mixed, and for the V-measure as one cluster. Both levels are computed together."
        ],
    )


def _cost_of_levels() -> Table:
    return Table(
        f"Cost of levels. {MANY_IMAGES:,} images with {COLUMNS_OF_MANY} numbers each",
        ("clusters", "images that are linked", "coarser level, CPU s", "both levels, CPU s"),
        [_cost_of_level(clusters) for clusters in MANY_CLUSTERS],
        ["Clusters are known Gaussians, so no search is included."],
    )


def _cost_of_level(clusters: int) -> tuple[object, ...]:
    rng = np.random.default_rng(0)
    labels = rng.integers(clusters, size=MANY_IMAGES)
    rows = rng.standard_normal((clusters, COLUMNS_OF_MANY))[labels]
    rows += 0.7 * rng.standard_normal(rows.shape)
    linked = linked_rows(labels)
    coarser = measure(lambda: join_by_neighbours(rows[linked], labels[linked], clusters // 2, clusters // 4))[1]
    both = measure(lambda: hierarchy_of(rows, labels, {"width": USUAL_WIDTH}, clusters, ignore))[1]
    return clusters, f"{len(linked):,}", coarser.cpu, both.cpu


def _default_run(known: KnownSet, observation: str | None = DEFAULT.observation) -> np.ndarray:
    model = DEFAULT.estimator(width=USUAL_WIDTH, observation=observation, random_state=0)
    return model.fit(known.X, groups=known.groups).labels_


def _k_means(known: KnownSet, clusters: int) -> np.ndarray:
    return KMeans(n_clusters=clusters, random_state=0).fit_predict(known.X)


def _spectral(known: KnownSet, clusters: int) -> np.ndarray:
    model = SpectralClustering(clusters, affinity="nearest_neighbors", random_state=0)
    return model.fit_predict(known.X)


def _measured(name: str, known: KnownSet, fit: Callable[[], np.ndarray]) -> tuple[object, ...]:
    labels, cost = measure(fit)
    return _row(name, known, labels, cost)


def _row(name: str, known: KnownSet, labels: np.ndarray, cost: Cost) -> tuple[object, ...]:
    is_clustered = labels >= 0
    single = labels.max() + 1 + np.cumsum(~is_clustered)
    _, clusters = np.unique(np.where(is_clustered, labels, single), return_inverse=True)
    counts = np.zeros((clusters.max() + 1, known.classes.max() + 1))
    np.add.at(counts, (clusters, known.classes), 1)
    sizes, largest = counts.sum(1), counts.max(1)
    is_large = sizes >= SMALLEST
    pure = is_large & (largest >= PURE * sizes)
    silhouette = separation(known.X[is_clustered], labels[is_clustered])
    return (
        name,
        len(np.unique(labels[is_clustered])),
        f"{100 * sizes[pure].sum() / len(labels):.1f}",
        f"{100 * largest[is_large].sum() / len(labels):.1f}",
        f"{v_measure(known.classes, labels):.3f}",
        f"{adjusted_rand(known.classes, labels):.3f}",
        "-" if silhouette is None else f"{silhouette:.3f}",
        cost.cpu,
    )
