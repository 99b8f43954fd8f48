"""A particle filter for Dirichlet process mixtures, as the source compares with: each particle is one partition of the
rows so far. A row extends every particle by each of its clusters or a new one; as many descendants remain as before."""

import math

import numba
import numpy as np

MOST = 64  # clusters of a particle
STRENGTH = 1.0  # pseudo-observations of the mean; with the 0.01 of the streams, no row begins a second cluster


def filtered(X: np.ndarray, particles: int, width: float = 0.1) -> tuple[np.ndarray, ...]:
    """Return the sizes, means, Cholesky factors of the scatter and degrees of freedom of the clusters of one particle,
    after one pass. The prior of the covariance is that of `MemoryBoundedVDP`, from the first 1,000 rows."""
    first, D = X[:1000], X.shape[1]
    variance = width * float(np.linalg.eigvalsh(np.cov(first.T))[-1])
    scale = math.sqrt((D + 2) * variance)
    sizes, means, factors, counts = _run(X, first.mean(0), scale, particles, np.random.default_rng(0).random(len(X)))
    K = counts[0]
    return sizes[0, :K], means[0, :K], factors[0, :K], D + 2 + sizes[0, :K]


def predicted(X: np.ndarray, sizes: np.ndarray, means: np.ndarray, factors: np.ndarray, freedom: np.ndarray):
    """Return the most probable cluster (n,) of new rows."""
    D = X.shape[1]
    scores = np.empty((len(sizes), len(X)))
    for k in range(len(sizes)):
        strength, f = STRENGTH + sizes[k], freedom[k] + 1 - D
        ratio = (strength + 1) / strength
        away = np.linalg.solve(factors[k], (X - means[k]).T)
        scores[k] = math.log(sizes[k]) + math.lgamma((f + D) / 2) - math.lgamma(f / 2)
        scores[k] -= D / 2 * math.log(ratio) + np.log(np.diag(factors[k])).sum()
        scores[k] -= (f + D) / 2 * np.log1p((away**2).sum(0) / ratio)
    return scores.argmax(0)


@numba.njit(cache=True)
def _score(x, size, mean, factor):
    """Return the log of the weight of a cluster times its predictive density, without constants."""
    D = len(x)
    strength, f = STRENGTH + size, D + 2 + size + 1 - D
    ratio = (strength + 1) / strength
    away, distance, log_scale = np.empty(D), 0.0, 0.0
    for i in range(D):
        total = x[i] - mean[i]
        for j in range(i):
            total -= factor[i, j] * away[j]
        away[i] = total / factor[i, i]
        distance += away[i] ** 2
        log_scale += math.log(factor[i, i])
    density = math.lgamma((f + D) / 2) - math.lgamma(f / 2) - D / 2 * math.log(ratio) - log_scale
    return math.log(max(size, 1.0)) + density - (f + D) / 2 * math.log1p(distance / ratio)


@numba.njit(cache=True)
def _add(x, sizes, means, factors, k):
    """Add a row to a cluster: a rank-one update of its factor."""
    strength = STRENGTH + sizes[k]
    step = (x - means[k]) * math.sqrt(strength / (strength + 1))
    means[k] += (x - means[k]) / (strength + 1)
    sizes[k] += 1
    for i in range(len(x)):
        root = math.hypot(factors[k, i, i], step[i])
        c, s = root / factors[k, i, i], step[i] / factors[k, i, i]
        factors[k, i, i] = root
        for j in range(i + 1, len(x)):
            factors[k, j, i] = (factors[k, j, i] + s * step[j]) / c
            step[j] = c * step[j] - s * factors[k, j, i]


@numba.njit(cache=True)
def _run(X, mean, scale, particles, draws):
    D = X.shape[1]
    sizes, counts = np.zeros((particles, MOST)), np.zeros(particles, np.int64)
    means, factors = np.zeros((particles, MOST, D)), np.zeros((particles, MOST, D, D))
    for p in range(particles):
        for k in range(MOST):
            means[p, k], factors[p, k] = mean, scale * np.eye(D)
    scores = np.empty((particles, MOST))
    for row in range(len(X)):
        x, top = X[row], -np.inf
        scores[:] = -np.inf
        for p in range(particles):
            for k in range(min(counts[p] + 1, MOST)):
                scores[p, k] = _score(x, sizes[p, k], means[p, k], factors[p, k])
                top = max(top, scores[p, k])
        weights = np.exp(scores - top)
        spacing = weights.sum() / particles
        parents, choices = np.empty(particles, np.int64), np.empty(particles, np.int64)
        at, passed, chosen = draws[row] * spacing, 0.0, 0
        for p in range(particles):
            for k in range(min(counts[p] + 1, MOST)):
                passed += weights[p, k]
                while chosen < particles and at < passed:
                    parents[chosen], choices[chosen] = p, k
                    chosen += 1
                    at += spacing
        for rest in range(chosen, particles):
            parents[rest], choices[rest] = parents[chosen - 1], choices[chosen - 1]
        is_moved = False
        for p in range(particles):
            is_moved = is_moved or parents[p] != p
        if is_moved:
            sizes, means, factors, counts = sizes[parents], means[parents], factors[parents], counts[parents]
        for p in range(particles):
            _add(x, sizes[p], means[p], factors[p], choices[p])
            counts[p] = max(counts[p], choices[p] + 1)
    return sizes, means, factors, counts
