"""Crowd clustering by non-negative factors: the answers of worker j are modelled as Z W_j Z' (methods note 4).

Z (N, K) holds the memberships of the items; W_j (K, K) shows which clusters worker j merges. "weighted" fits only the
judged pairs. "em" replaces missing pairs by the current fit, as in the paper, and therefore hardly leaves its start if
each worker sees few pairs. It is included for complete data and for comparison.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numba
import numpy as np
from scipy.sparse import csr_array

from benthoscope.engine.crowd.baselines import spectral_clusters
from benthoscope.engine.crowd.estimator import CrowdEstimator, refuse_target
from benthoscope.engine.crowd.judgements import Judgements, Pairs, pairs_of
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, Progress, ignore

TINY = 1e-12


@dataclass(frozen=True)
class Factors:
    items: np.ndarray  # (N, K), not negative
    workers: np.ndarray  # (J, K, K), symmetric, not negative


@dataclass(frozen=True, eq=False)
class Targets:
    """The values to fit: the fraction of `together` for each pair judged by a worker, in both orders."""

    pairs: Pairs

    @cached_property
    def share(self) -> np.ndarray:
        return (self.pairs.net / self.pairs.count + 1) / 2

    @cached_property
    def of_items(self) -> csr_array:
        """Return a matrix (N, G) that sums groups by item."""
        return _incidence(self.pairs.item, self.pairs.n_items)

    @cached_property
    def of_workers(self) -> csr_array:
        """Return a matrix (J, G) that sums groups by worker."""
        return _incidence(self.pairs.worker, self.pairs.n_workers)

    def sums(self, factors: Factors) -> tuple[np.ndarray, np.ndarray, float]:
        """Return sums per group over the other items' z (G, K), weighted by the target and by the prediction, and the
        error."""
        pairs = self.pairs
        return _sums(pairs.start, pairs.item, pairs.worker, pairs.other, self.share, factors.items, factors.workers)

    def for_items(self, sums: np.ndarray, workers: np.ndarray) -> np.ndarray:
        """Return the sums of W_j times each group's sum, per item (N, K)."""
        return self.of_items @ np.matmul(workers[self.pairs.worker], sums[..., None])[..., 0]

    def for_workers(self, items: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Return the sums of z times each group's sum, per worker (J, K, K)."""
        K = items.shape[1]
        outer = items[self.pairs.item][:, :, None] * sums[:, None, :]
        products = (self.of_workers @ outer.reshape(len(outer), -1)).reshape(-1, K, K)
        return (products + products.mT) / 2


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _sums(start, item, worker, other, share, items, workers):
    K = items.shape[1]
    observed, predicted = np.zeros((item.size, K)), np.zeros((item.size, K))
    turned = np.empty(K)
    error = 0.0
    for g in range(item.size):
        factor, table = items[item[g]], workers[worker[g]]
        for k in range(K):
            turned[k] = 0.0
            for m in range(K):
                turned[k] += table[k, m] * factor[m]
        for at in range(start[g], start[g + 1]):
            row = items[other[at]]
            foretold = 0.0
            for k in range(K):
                foretold += turned[k] * row[k]
            target = share[at]
            error += (target - foretold) ** 2
            for k in range(K):
                observed[g, k] += target * row[k]
                predicted[g, k] += foretold * row[k]
    return observed, predicted, error


def weighted_step(data: Targets, factors: Factors) -> tuple[Factors, float]:
    """Apply multiplicative updates for the judged pairs. Also returns the error of the given factors, which never rises
    (note 4.3)."""
    observed, predicted, error = data.sums(factors)
    ratio = data.for_items(observed, factors.workers) / np.maximum(data.for_items(predicted, factors.workers), TINY)
    moved = replace(factors, items=factors.items * ratio**0.25)  # the error is of fourth order in Z
    observed, predicted, _ = data.sums(moved)
    ratio = data.for_workers(moved.items, observed) / np.maximum(data.for_workers(moved.items, predicted), TINY)
    return replace(moved, workers=moved.workers * np.sqrt(ratio)), error


def em_step(data: Targets, factors: Factors) -> tuple[Factors, float]:
    """Apply the paper's updates with orthogonal Z; missing pairs are replaced by the fit (note 4.2). The error may rise
    slightly."""
    items = _filled(data, factors, factors.items)
    moved = replace(
        factors, items=factors.items * np.sqrt(items / np.maximum(factors.items @ (factors.items.T @ items), TINY))
    )
    observed, predicted, error = data.sums(moved)
    Z, W = moved.items, moved.workers
    gram = Z.T @ Z
    model = gram @ W @ gram
    around = data.for_workers(Z, observed - predicted) + _diagonals(data, moved) + model
    return replace(moved, workers=W * np.sqrt(np.maximum(around, 0.0) / np.maximum(model, TINY))), error


def _filled(data: Targets, factors: Factors, Z: np.ndarray) -> np.ndarray:
    """Return sum_j Lhat_j Z W_j (N, K) without creating any N x N matrix."""
    observed, predicted, _ = data.sums(factors)
    W = factors.workers
    judged = data.for_items(observed - predicted, W) + _diagonal_items(data, factors)
    gram = Z.T @ Z
    return np.maximum(judged + Z @ (W @ gram @ W).sum(0), 0.0)


def _residuals(data: Targets, factors: Factors) -> np.ndarray:
    """Return 1 - z' W z (G,), because an item is always together with itself."""
    rows = factors.items[data.pairs.item]
    return 1 - (np.matmul(factors.workers[data.pairs.worker], rows[..., None])[..., 0] * rows).sum(1)


def _diagonal_items(data: Targets, factors: Factors) -> np.ndarray:
    weighted = factors.items[data.pairs.item] * _residuals(data, factors)[:, None]
    return data.for_items(weighted, factors.workers)


def _diagonals(data: Targets, factors: Factors) -> np.ndarray:
    weighted = factors.items[data.pairs.item] * _residuals(data, factors)[:, None]
    return data.for_workers(factors.items, weighted)


FORMS: dict[str, Callable[[Targets, Factors], tuple[Factors, float]]] = {"weighted": weighted_step, "em": em_step}


class FactorizationCrowdClustering(CrowdEstimator):
    """Cluster items into a given number of groups, with a table of merged groups for each worker.

    Parameters
    ----------
    form : {"weighted", "em"}
        "weighted" is recommended. "em" is meant for complete data.
    starts : int
        Number of starts. The first one uses spectral clusters, the others are random.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        form: str = "weighted",
        starts: int = 5,
        spectral_start: bool = True,
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: Any = None,
    ):
        self.n_clusters, self.form, self.starts, self.spectral_start = n_clusters, form, starts, spectral_start
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        n_items: int | None = None,
        n_workers: int | None = None,
        on_step: OnStep = ignore,
    ) -> Self:
        """Fit the model to judgements: a `Judgements` object, an array of rows (item, item, worker, same), or a table
        (such as a DataFrame) with the columns first, second, worker, same or worker, item, group. `y` is ignored."""
        refuse_target(y, "fit")
        if self.form not in FORMS:
            raise unknown("form", self.form, FORMS)
        if self.n_clusters < 1 or self.starts < 1:
            raise fail("factorization", "the number of clusters and the number of starts must be 1 or more")
        judgements = self._read(X, n_items, n_workers)
        self._keep_names(judgements)
        return self._fit(judgements, np.random.default_rng(self.random_state), on_step)

    def fit_predict(self, X: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit and return the cluster of each item; -1 for items without judgements."""
        refuse_target(y, "fit_predict")
        return self.fit(X, **options).labels_

    def _fit(self, judgements: Judgements, rng: np.random.Generator, on_step: OnStep) -> Self:
        data = Targets(pairs_of(judgements))
        runs = [
            self._followed(data, start, number, on_step) for number, start in enumerate(self._starts(judgements, rng))
        ]
        factors, self.errors_ = min(runs, key=lambda run: run[1][-1])
        scaled = factors.items * np.sqrt(np.maximum(np.diagonal(factors.workers, axis1=1, axis2=2).mean(0), 0.0))
        self.labels_ = np.where(judgements.per_item() > 0, scaled.argmax(1), -1)
        self.items_, self.workers_, self.error_ = factors.items, factors.workers, self.errors_[-1]
        return self

    def _followed(self, data: Targets, factors: Factors, number: int, on_step: OnStep) -> tuple[Factors, list[float]]:
        step, errors = FORMS[self.form], []
        for _ in range(self.max_iter):
            factors, error = step(data, factors)
            errors.append(error)
            on_step(Progress(len(errors), self.max_iter, f"start {number + 1}: error {error:.6g}"))
            if len(errors) > 1 and abs(errors[-2] - error) < self.tol * max(error, TINY):
                break
        return factors, errors

    def _starts(self, judgements: Judgements, rng: np.random.Generator) -> list[Factors]:
        N, J, K = judgements.n_items, judgements.n_workers, self.n_clusters
        starts = []
        for number in range(self.starts):
            items = rng.uniform(0.1, 0.6, (N, K))
            if number == 0 and self.spectral_start:
                items = np.eye(K)[spectral_clusters(judgements, K, rng)] + 0.2
            mixed = rng.random((J, K, K))
            starts.append(Factors(items, 0.6 * np.eye(K) + 0.1 * (mixed + mixed.mT)))
        return starts


def consensus_factors(judgements: Judgements, n_clusters: int, **options: Any) -> np.ndarray:
    """Return labels (N,) from one table for all workers (consensus factorisation), as an average person would sort."""
    pooled = replace(judgements, worker=np.zeros_like(judgements.worker), n_workers=1, worker_names=None)
    return FactorizationCrowdClustering(n_clusters, **options).fit(pooled).labels_


def _incidence(of: np.ndarray, n: int) -> csr_array:
    return csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(n, len(of)))
