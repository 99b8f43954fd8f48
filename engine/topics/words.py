"""Visual words: descriptors quantised by k-means, by a Gaussian Dirichlet process mixture, or by a topic model's own
clusters (methods note 9)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from benthoscope.engine.distributions import NestedSticks, SphericalGaussian, Weights, moments
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.documents import ROWS_AT_ONCE

LLOYD_ITERATIONS, LLOYD_TOLERANCE = 300, 1e-4  # as in scikit-learn
ROUNDING = 1e-12  # squared distances below this share of the squared length are rounding errors
DISTANCES_AT_ONCE = 8_000_000  # between rows and centres: bounds memory and the time until a fit can be cancelled
TRAINING_ROWS = 200_000  # descriptors from which words are learned


class VisualVocabulary(Protocol):
    """A fixed vocabulary. Descriptors are centred."""

    @property
    def n_words(self) -> int: ...

    @property
    def means(self) -> np.ndarray: ...  # (V, D)

    @property
    def deviations(self) -> np.ndarray: ...  # (V,) NaN if words have none

    def words(self, X: np.ndarray) -> np.ndarray: ...  # (n,)

    def arrays(self) -> dict[str, np.ndarray]: ...


@dataclass(frozen=True)
class Centres:
    """Words are the nearest centres."""

    centres: np.ndarray  # (V, D)

    @property
    def n_words(self) -> int:
        return len(self.centres)

    @property
    def means(self) -> np.ndarray:
        return self.centres

    @property
    def deviations(self) -> np.ndarray:
        return np.full(len(self.centres), np.nan)

    def words(self, X: np.ndarray, on_step: OnStep = ignore) -> np.ndarray:
        half, nearest = 0.5 * (self.centres**2).sum(1), np.empty(len(X), int)
        step = max(1, DISTANCES_AT_ONCE // len(self.centres))
        for at in range(0, len(X), step):
            on_step(Progress(at, len(X), "finding the word of each patch"))
            nearest[at : at + step] = (half - X[at : at + step] @ self.centres.T).argmin(1)
        return nearest

    def arrays(self) -> dict[str, np.ndarray]:
        return {"word_centres": self.centres}


@dataclass(frozen=True)
class GaussianWords:
    """Words are the clusters with the highest predictive density."""

    clusters: SphericalGaussian

    @property
    def n_words(self) -> int:
        return len(self.clusters.mean)

    @property
    def means(self) -> np.ndarray:
        return self.clusters.mean

    @property
    def deviations(self) -> np.ndarray:
        return 1 / np.sqrt(self.clusters.precision)

    def words(self, X: np.ndarray) -> np.ndarray:
        blocks = [X[at : at + ROWS_AT_ONCE] for at in range(0, len(X), ROWS_AT_ONCE)]
        return np.concatenate([self.clusters.log_predictive(block).argmax(1) for block in blocks] or [np.zeros(0, int)])

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"word_{name}": values for name, values in self.clusters.arrays().items()}


def restored_vocabulary(arrays: dict[str, np.ndarray]) -> VisualVocabulary:
    if "word_centres" in arrays:
        return Centres(np.array(arrays["word_centres"]))
    names = ("mean", "strength", "shape", "rate")
    return GaussianWords(SphericalGaussian(**{name: np.array(arrays[f"word_{name}"]) for name in names}))


def k_means_words(X: np.ndarray, n_words: int, seed: int, on_step: OnStep = ignore) -> Centres:
    """Return words by Lloyd's algorithm from k-means++ centres. It reports often, so that it can be cancelled."""
    X, rng = np.asarray(X, float), np.random.default_rng(seed)
    centres = distant_rows(X, n_words, rng, on_step)
    for iteration in range(LLOYD_ITERATIONS):
        means, far = _means_of_nearest(X, centres, on_step, iteration)
        if far <= LLOYD_TOLERANCE * float(X.var(0).sum()):
            return Centres(means)
        centres = means
    return Centres(centres)


def distant_rows(X: np.ndarray, count: int, rng: np.random.Generator, on_step: OnStep) -> np.ndarray:
    """Return distinct rows, each the best of a few drawn by their squared distance to the others (k-means++): fewer
    than `count` if X has fewer distinct rows."""
    trials, squares = 2 + int(np.log(count)), (X**2).sum(1)
    chosen = [int(rng.integers(len(X)))]
    nearest = _squared_distances(X, squares, X[chosen])[:, 0]
    while len(chosen) < count and nearest.any():
        on_step(Progress(len(chosen), count, "choosing the first words"))
        candidates = np.searchsorted(np.cumsum(nearest), rng.random(trials) * nearest.sum())
        far = np.minimum(nearest[:, None], _squared_distances(X, squares, X[np.minimum(candidates, len(X) - 1)]))
        best = int(far.sum(0).argmin())
        nearest = far[:, best]
        chosen.append(int(min(candidates[best], len(X) - 1)))
    return X[chosen]


def _squared_distances(X: np.ndarray, squares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return (n, m), 0 where rows are equal up to rounding."""
    far = squares[:, None] - 2 * X @ rows.T + (rows**2).sum(1)
    return np.where(far > ROUNDING * squares[:, None], far, 0.0)


def _means_of_nearest(X: np.ndarray, centres: np.ndarray, on_step: OnStep, iteration: int) -> tuple[np.ndarray, float]:
    """Return the mean of the rows nearest to each centre, and the sum of squares by which the centres moved. A centre
    without rows stays."""
    half, sums, counts = 0.5 * (centres**2).sum(1), np.zeros_like(centres), np.zeros(len(centres))
    step = max(1, DISTANCES_AT_ONCE // len(centres))
    for at in range(0, len(X), step):
        on_step(Progress(iteration, LLOYD_ITERATIONS, "moving words to their patches"))
        block = X[at : at + step]
        member = csr_array(
            (np.ones(len(block)), ((half - block @ centres.T).argmin(1), np.arange(len(block)))),
            shape=(len(centres), len(block)),
        )
        sums += member @ block
        counts += member.sum(1)
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    return means, float(((means - centres) ** 2).sum())


@dataclass(frozen=True)
class DirichletProcessFit:
    """A Gaussian mixture with an inferred number of clusters. `moments` (C, F) are its pseudo-counts."""

    base: SphericalGaussian
    sticks: NestedSticks
    moments: np.ndarray
    clusters: SphericalGaussian
    weights: Weights
    bound: float

    @property
    def clusters_in_use(self) -> int:
        return int((self.moments[:, 0] > 1).sum())

    def compacted(self) -> "DirichletProcessFit":
        """Return the fit without clusters that own less than half a descriptor."""
        is_used = self.moments[:, 0] >= 0.5
        is_used[self.moments[:, 0].argmax()] = True
        return posterior_of(self.base, self.sticks, self.moments[is_used], self.bound)


def posterior_of(
    base: SphericalGaussian, sticks: NestedSticks, sums: np.ndarray, bound: float = -np.inf
) -> DirichletProcessFit:
    return DirichletProcessFit(base, sticks, sums, base.posterior(sums), sticks.posterior(sums[None, :, 0]), bound)


def joined_mixture(first: DirichletProcessFit, second: DirichletProcessFit) -> DirichletProcessFit:
    """Return the union of two fits, from which a fit to the data of both can start."""
    return posterior_of(first.base, first.sticks, np.concatenate([first.moments, second.moments]))


def dirichlet_process_mixture(
    X: np.ndarray,
    start: DirichletProcessFit,
    *,
    max_iter: int = 50,
    tol: float = 1e-6,
    on_step: OnStep = ignore,
) -> DirichletProcessFit:
    """Iterate a Gaussian Dirichlet process mixture until its bound converges."""
    fit = start
    for iteration in range(max_iter):
        last = fit.bound
        fit = _mixture_step(X, fit)
        on_step(Progress(iteration + 1, max_iter, f"words: {fit.clusters_in_use} clusters, bound {fit.bound:.6g}"))
        if abs(fit.bound - last) < tol * abs(fit.bound):
            break
    return fit


def mixture_start(
    X: np.ndarray, base: SphericalGaussian, n_clusters: int, concentration: float, rng: np.random.Generator
) -> DirichletProcessFit:
    """Return the start around random descriptors."""
    centres = np.unique(X[rng.choice(len(X), min(n_clusters, len(X)), replace=False)], axis=0)
    start = posterior_of(base, NestedSticks(concentration), base.moments_about(centres))
    even = start.sticks.posterior(np.full((1, len(centres)), len(X) / len(centres)))
    return DirichletProcessFit(base, start.sticks, start.moments, start.clusters, even, -np.inf)


def _mixture_step(X: np.ndarray, fit: DirichletProcessFit) -> DirichletProcessFit:
    """One iteration. The bound belongs to the parameters before it."""
    coefficients, log_weights = fit.clusters.coefficients(), fit.weights.expected_log[0]
    sums, total = np.zeros_like(fit.moments), 0.0
    for at in range(0, len(X), ROWS_AT_ONCE):
        block = X[at : at + ROWS_AT_ONCE]
        joint = (coefficients @ fit.base.features(np.ascontiguousarray(block.T))).T + log_weights
        norm = logsumexp(joint, axis=1, keepdims=True)
        sums += moments(fit.base, block, np.exp(joint - norm))
        total += float(norm.sum())
    bound = total - float(fit.weights.kl.sum()) - float(fit.clusters.kl(fit.base).sum())
    return posterior_of(fit.base, fit.sticks, sums, bound)
