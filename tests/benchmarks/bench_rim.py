"""Regularised information maximisation on digits: quality compared with other methods, and run time."""

from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.discriminative import RIM, KernelRIM, SemiSupervisedRIM
from benthoscope.engine.discriminative.kernel_factors import rbf
from benthoscope.engine.discriminative.max_margin import max_margin_clusters
from benthoscope.engine.discriminative.optimisation import spectral
from benthoscope.engine.metrics import adjusted_rand
from tests.benchmarks.measure import Table, measure

SEEDS = 3
SIZES = ((20_000, 32, 20), (100_000, 64, 30))


def tables() -> Iterator[Table]:
    with blas_threads(1):
        yield _digits()
        yield _few_labels()
        yield _sizes()


def _digits() -> Table:
    X, y = load_digits(return_X_y=True)
    matrix = rbf(X, None)(X, X)
    rivals = {
        "k-means, 10 clusters, 10 starts": lambda seed: KMeans(10, n_init=10, random_state=seed).fit_predict(X),
        "RIM, at most 10": lambda seed: RIM(n_clusters=10, strength=1.0, random_state=seed).fit_predict(X),
        "RIM, at most 20": lambda seed: RIM(n_clusters=20, strength=2.0, random_state=seed).fit_predict(X),
        "RIM, at most 40": lambda seed: RIM(n_clusters=40, strength=2.0, random_state=seed).fit_predict(X),
        "RIM, at most 20, strength by itself": lambda seed: RIM(
            strength="auto", n_init=5, random_state=seed
        ).fit_predict(X),
        "kernel RIM, at most 10": lambda seed: KernelRIM(
            n_clusters=10, strength=0.8, n_init=5, random_state=seed
        ).fit_predict(X),
        "spectral (Ng, Jordan, Weiss), 10": lambda seed: spectral(matrix, 10, np.random.default_rng(seed)),
        "scikit-learn's spectral, 10": lambda seed: SpectralClustering(
            10, affinity="precomputed", random_state=seed
        ).fit_predict(matrix),
        "maximum margin, halved 3 times": lambda seed: max_margin_clusters(matrix, 3, np.random.default_rng(seed)),
    }
    rows = [_row(name, cluster, y) for name, cluster in rivals.items()]
    return Table(
        "Digits: 1,797 images of 64 pixels, 10 digits",
        ("model", "clusters", "ARI", "CPU s per fit"),
        rows,
        [f"Means of {SEEDS} seeds. RIM is told only the most clusters there can be."],
    )


def _row(name, cluster, y) -> tuple:
    seeds = 1 if name.startswith("maximum") else SEEDS
    labels_of_seeds, cost = measure(lambda: [cluster(seed) for seed in range(seeds)])
    counts = sorted({len(np.unique(labels)) for labels in labels_of_seeds})
    counts_text = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return name, counts_text, float(np.mean([adjusted_rand(y, labels) for labels in labels_of_seeds])), cost.cpu / seeds


def _few_labels() -> Table:
    X, y = load_digits(return_X_y=True)
    forms = {"supervised": {"information": 0.0}, "Grandvalet and Bengio": {"balance": False}, "RIM": {}}
    rows = [(count, *(_accuracy(X, y, count, settings) for settings in forms.values())) for count in (1, 2, 5, 10)]
    return Table(
        "Digits: accuracy on unlabelled images with few labels per digit",
        ("labels per digit", *forms),
        rows,
        ["Means of 10 draws; lambda 0.1, tau 100."],
    )


def _accuracy(X, y, count, settings) -> float:
    accuracies = []
    for seed in range(10):
        rng, shown = np.random.default_rng(seed), np.full(len(y), -1)
        known = np.concatenate([rng.permutation(np.flatnonzero(y == digit))[:count] for digit in range(10)])
        shown[known] = y[known]
        hidden = shown < 0
        accuracies.append(SemiSupervisedRIM(**settings).fit(X, shown).score(X[hidden], y[hidden]))
    return float(np.mean(accuracies))


def _sizes() -> Table:
    rows = []
    for N, D, K in SIZES:
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 15, N)
        X = (1.5 * rng.standard_normal((15, D))[truth] + rng.standard_normal((N, D))).astype(np.float32)
        model, cost = measure(lambda X=X, K=K: RIM(n_clusters=K, strength=2.0, n_init=1, random_state=0).fit(X))
        agreed = adjusted_rand(truth, model.labels_)
        rows.append((f"{N:,} x {D}", K, model.n_clusters_, agreed, model.n_iter_, cost.cpu))
    return Table(
        "One start on 15 Gaussians", ("rows", "largest number of clusters", "clusters", "ARI", "steps", "CPU s"), rows
    )
