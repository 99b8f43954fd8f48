"""Synthetic streams with known clusters, and plain formulas to compare the streaming models with."""

import numpy as np
from scipy.special import betaln, gammaln, multigammaln


def gaussian_stream(seed: int, separation: float, count: int, held_out: int = 10_000):
    """Rows and clusters of 20 overlapping Gaussian clusters of unequal size in 10 dimensions, and held-out ones.

    Returns (rows, clusters, held-out rows, their clusters). `separation` scales the distance of the centres.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, 10)) * separation
    axes = np.array(
        [np.linalg.qr(rng.normal(size=(10, 10)))[0] * np.sqrt(rng.uniform(0.15, 1.5, 10)) for _ in range(20)]
    )
    weights = np.arange(1, 21) ** -0.7
    clusters = rng.choice(20, count + held_out, p=weights / weights.sum())
    rows = centres[clusters] + np.einsum("nij,nj->ni", axes[clusters], rng.normal(size=(len(clusters), 10)))
    return rows[:count], clusters[:count], rows[count:], clusters[count:]


def orders_of(clusters: np.ndarray) -> dict[str, np.ndarray]:
    """Row numbers in different orders. The rows of a cluster spread over six dives in proportions of its own."""
    rng = np.random.default_rng(0)
    proportions = rng.dirichlet(np.full(6, 0.5), clusters.max() + 1).cumsum(1)
    dives = (rng.random(len(clusters))[:, None] > proportions[clusters]).sum(1)
    by_cluster = np.argsort(clusters, kind="stable")
    return {
        "as drawn": np.arange(len(clusters)),
        "shuffled": rng.permutation(len(clusters)),
        "sorted by dive": np.argsort(dives, kind="stable"),
        "sorted by cluster": by_cluster,
        "sorted by cluster, backwards": by_cluster[::-1],
    }


def growing_stream(seed: int, count: int, theta: float = 6.0, D: int = 8):
    """Rows and clusters of a stream in which new clusters keep appearing, as in a Chinese restaurant process."""
    rng = np.random.default_rng(seed)
    sizes: list[float] = []
    clusters = np.empty(count, int)
    draws = rng.random(count)
    for row in range(count):
        if draws[row] * (row + theta) >= row:
            sizes.append(1.0)
            clusters[row] = len(sizes) - 1
        else:
            clusters[row] = clusters[rng.integers(row)]
            sizes[clusters[row]] += 1.0
    centres = rng.normal(size=(len(sizes), D)) * 2
    spreads = np.sqrt(rng.uniform(0.15, 1.0, (len(sizes), D)))
    return centres[clusters] + spreads[clusters] * rng.normal(size=(count, D)), clusters


def topic_stream(seed: int, documents: int = 80, items: int = 300, held_out: int = 20):
    """Items, documents and topics of documents that mix 8 Gaussian topics in 3 dimensions, and held-out documents.

    Returns two triples (rows, document of each row, topic of each row).
    """
    rng = np.random.default_rng(seed)
    centres = 3 * rng.normal(size=(8, 3))
    axes = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] * np.sqrt(rng.uniform(0.15, 1.5, 3)) for _ in range(8)])
    proportions = rng.dirichlet(np.full(8, 0.3), documents + held_out)
    topics = np.concatenate([rng.choice(8, items, p=share) for share in proportions])
    document = np.repeat(np.arange(documents + held_out), items)
    rows = centres[topics] + np.einsum("nij,nj->ni", axes[topics], rng.normal(size=(len(topics), 3)))
    is_training = document < documents
    return (rows[is_training], document[is_training], topics[is_training]), (
        rows[~is_training],
        document[~is_training],
        topics[~is_training],
    )


def full_evidence(X: np.ndarray, mean, strength: float, freedom: float, scale: np.ndarray, times: float = 1.0):
    """log p(X) of rows from one Gaussian under a Normal-inverse-Wishart prior; each row counts `times` times."""
    d, N, average = X.shape[1], times * len(X), X.mean(0)
    scatter = times * (X - average).T @ (X - average)
    kappa, nu = strength + N, freedom + N
    apart = average - mean
    B = scale + scatter + strength * N / kappa * np.outer(apart, apart)
    return (
        -N * d / 2 * np.log(np.pi)
        + multigammaln(nu / 2, d)
        - multigammaln(freedom / 2, d)
        + freedom / 2 * np.linalg.slogdet(scale)[1]
        - nu / 2 * np.linalg.slogdet(B)[1]
        + d / 2 * np.log(strength / kappa)
    )


def diagonal_evidence(X: np.ndarray, mean, strength: float, shape: float, rate: np.ndarray, times: float = 1.0):
    """log p(X) of rows from one Gaussian with independent columns under a Normal-Gamma prior."""
    d, N, average = X.shape[1], times * len(X), X.mean(0)
    kappa, a = strength + N, shape + N / 2
    b = rate + 0.5 * (times * ((X - average) ** 2).sum(0) + strength * N / kappa * (average - mean) ** 2)
    return (
        -N * d / 2 * np.log(2 * np.pi)
        + (gammaln(a) - gammaln(shape) + shape * np.log(rate) - a * np.log(b) + 0.5 * np.log(strength / kappa)).sum()
    )


def discrete_evidence(X: np.ndarray, pseudo: np.ndarray, times: float = 1.0):
    """log p(X) of rows of word counts from one cluster under a Dirichlet prior."""
    counts = pseudo + times * X.sum(0)
    return gammaln(pseudo.sum()) - gammaln(counts.sum()) + (gammaln(counts) - gammaln(pseudo)).sum()


def one_stick_evidence(count: float, alpha: float):
    """log of B(1 + N, alpha) / B(1, alpha): what the weights of a single cluster cost."""
    return betaln(1 + count, alpha) - betaln(1, alpha)


def stick_evidence(counts: np.ndarray, alpha: float):
    """log probability of cluster sizes under nested sticks, largest first, as a product of Beta functions."""
    ranked = np.sort(counts)[::-1]
    later = ranked.sum() - ranked.cumsum()
    return float((betaln(1 + ranked, alpha + later) - betaln(1, alpha)).sum())
