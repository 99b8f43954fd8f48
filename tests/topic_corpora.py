"""Corpora with known topics and clusters, the data sets of the methods note (12.2)."""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits


@dataclass(frozen=True)
class KnownCorpus:
    X: np.ndarray  # (rows, D)
    image: np.ndarray  # (rows,) document of each row
    topics: np.ndarray  # (rows,) true topic
    clusters: np.ndarray  # (rows,) true cluster
    centres: np.ndarray  # (C, D)
    profiles: np.ndarray  # (T, C)
    theta: np.ndarray  # (N, T)

    def subset(self, documents: np.ndarray) -> "KnownCorpus":
        """Return some documents, renumbered in the given order."""
        rows = np.concatenate([np.flatnonzero(self.image == d) for d in documents])
        image = np.repeat(np.arange(len(documents)), [(self.image == d).sum() for d in documents])
        return KnownCorpus(
            self.X[rows], image, self.topics[rows], self.clusters[rows], self.centres, self.profiles,
            self.theta[documents],
        )  # fmt: skip

    @property
    def documents(self) -> list[np.ndarray]:
        return [self.X[self.image == d] for d in range(len(self.theta))]


def drawn(theta, profiles, centres, deviations, size: int, rng: np.random.Generator) -> KnownCorpus:
    """Draw `size` descriptors for each row of theta."""
    N, T = theta.shape
    image = np.repeat(np.arange(N), size)
    topics = np.concatenate([rng.choice(T, size, p=weights) for weights in theta])
    clusters = _chosen(profiles.cumsum(1)[topics], rng)
    X = centres[clusters] + rng.standard_normal((len(image), centres.shape[1])) * deviations[clusters, None]
    return KnownCorpus(X, image, topics, clusters, centres, profiles, theta)


def _chosen(cumulative: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum((rng.random((len(cumulative), 1)) > cumulative).sum(1), cumulative.shape[1] - 1)


def ring(documents: int = 200, size: int = 100, seed: int = 0) -> KnownCorpus:
    """Set A: eight clusters on a circle, four topics on three neighbouring clusters each."""
    rng = np.random.default_rng(seed)
    radius = 2 / np.sin(np.pi / 8)  # neighbours have distance 4
    angle = 2 * np.pi * np.arange(8) / 8
    centres = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    profiles = np.zeros((4, 8))
    profiles[0, [0, 1, 2]] = 0.4, 0.3, 0.3
    profiles[1, [2, 3, 4]] = 0.3, 0.4, 0.3
    profiles[2, [4, 5, 6]] = 0.3, 0.4, 0.3
    profiles[3, [0, 6, 7]] = 0.3, 0.3, 0.4
    theta = rng.dirichlet(np.full(4, 0.25), documents)
    return drawn(theta, profiles, centres, rng.uniform(0.5, 0.8, 8), size, rng)


def scattered(documents: int = 150, spread: float = 2.0, seed: int = 0, size: int = 100) -> KnownCorpus:
    """Set B: 40 clusters in 8 dimensions, eight topics on eight random clusters each."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((40, 8))
    profiles = np.zeros((8, 40))
    for profile in profiles:
        profile[rng.choice(40, 8, replace=False)] = rng.dirichlet(np.full(8, 2.0))
    theta = rng.dirichlet(np.full(8, 0.2), documents)
    return drawn(theta, profiles, centres, rng.uniform(0.8, 1.2, 40), size, rng)


@dataclass(frozen=True)
class Patches:
    X: np.ndarray  # (rows, D)
    image: np.ndarray  # (rows,)


def digit_patches(seed: int = 0, images: int = 400) -> Patches:
    """Digits: all patches of 4 x 4 px of random images of 8 x 8 px, which belong to scikit-learn."""
    every = load_digits().images
    chosen = every[np.random.default_rng(seed).permutation(len(every))[:images]]
    patches = np.lib.stride_tricks.sliding_window_view(chosen, (4, 4), axis=(1, 2)).reshape(images, 25, 16)
    return Patches(patches.reshape(-1, 16), np.repeat(np.arange(images), 25))


@dataclass(frozen=True)
class Classes:
    """Documents of ten classes; each class mixes two of five topics."""

    corpus: KnownCorpus
    labels: np.ndarray  # (N,)
    pool: np.ndarray  # document numbers
    test: np.ndarray


def pairs(spread: float = 3.0, seed: int = 0, pool: int = 400, test: int = 300, concentration: float = 4.0) -> Classes:
    rng = np.random.default_rng(seed)
    centres = spread * rng.standard_normal((20, 4))
    profiles = np.zeros((5, 20))
    for profile in profiles:
        profile[rng.choice(20, 5, replace=False)] = rng.dirichlet(np.full(5, 3.0))
    base = np.full((10, 5), 0.02)
    for row, (first, second) in zip(base, combinations(range(5), 2), strict=True):
        row[first] += concentration * 0.6
        row[second] += concentration * 0.4
    labels = np.concatenate([rng.permutation(np.arange(count) % 10) for count in (pool, test)])
    theta = np.stack([rng.dirichlet(base[label]) for label in labels])
    corpus = drawn(theta, profiles, centres, np.ones(20), 60, rng)
    return Classes(corpus, labels, np.arange(pool), pool + np.arange(test))


def classes_corpus(seed: int = 0) -> tuple[KnownCorpus, np.ndarray]:
    """Three classes of documents on the ring, with different topics."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 20)
    base = np.array([[3.0, 1, 0.1, 0.1], [0.1, 3, 1, 0.1], [0.5, 0.1, 3, 1]])
    theta = np.array([rng.dirichlet(base[y]) for y in labels])
    known = ring(2, 2, seed=4)
    return drawn(theta, known.profiles, known.centres, np.full(8, 0.6), 30, rng), labels


def centre_error(corpus: KnownCorpus, means: np.ndarray) -> float:
    """Return the mean distance of the true centres to their matched estimates."""
    present = np.unique(corpus.clusters)
    far = np.linalg.norm(corpus.centres[present][:, None] - means[None], axis=2)
    rows, columns = linear_sum_assignment(far)
    return float(far[rows, columns].mean())


def topic_error(corpus: KnownCorpus, profiles: np.ndarray, soft: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return half the L1 distance of each true topic to its matched estimate (T,), and the match.

    `profiles` (T, C) are estimates over estimated clusters; `soft` (rows, C) the clusters of all rows.
    """
    joint = np.zeros((soft.shape[1], len(corpus.centres)))
    for cluster in range(len(corpus.centres)):
        joint[:, cluster] = soft[corpus.clusters == cluster].sum(0)
    to_true = joint / np.maximum(joint.sum(1, keepdims=True), 1e-12)
    estimate = profiles @ to_true
    estimate = estimate / np.maximum(estimate.sum(1, keepdims=True), 1e-12)
    far = 0.5 * np.abs(corpus.profiles[:, None] - estimate[None]).sum(2)
    rows, columns = linear_sum_assignment(far)
    return far[rows, columns], columns


def theta_error(corpus: KnownCorpus, weights: np.ndarray, match: np.ndarray) -> float:
    return float(0.5 * np.abs(corpus.theta - weights[:, match]).sum(1).mean())


def runs(values) -> list[float]:
    """Return the differences of neighbouring values."""
    return [b - a for a, b in pairwise(values)]
