"""Crowd clustering by non-negative factors: each worker's answers as Z W_j Z' (methods note 4).

Z (N, K) says which cluster items are in, W_j (K, K) what worker j merges. `weighted` fits what was judged and nothing
else; `em` fills what was not judged with the fit so far, as the source has it, and so hardly leaves its beginning
where each worker sees few pairs: it is there for complete data and to compare with.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numba
import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin

from engine.crowd.baselines import spectral_clusters
from engine.crowd.judgements import Judgements, as_judgements
from engine.crowd.pairs import Pairs, pairs_of
from engine.problems import fail, unknown
from engine.progress import OnStep, Progress, ignore

TINY = 1e-12


@dataclass(frozen=True)
class Factors:
    items: np.ndarray     # (N, K), not negative
    workers: np.ndarray   # (J, K, K), symmetric, not negative


@dataclass(frozen=True, eq=False)
class Targets:
    """What the factors are to foretell: for every pair judged by a worker the share of `together`, both ways round."""

    pairs: Pairs

    @cached_property
    def share(self) -> np.ndarray:
        return (self.pairs.net / self.pairs.count + 1) / 2

    @cached_property
    def of_items(self) -> csr_array:
        """(N, G) sums groups over items."""
        return _incidence(self.pairs.item, self.pairs.n_items)

    @cached_property
    def of_workers(self) -> csr_array:
        """(J, G) sums groups over workers."""
        return _incidence(self.pairs.worker, self.pairs.n_workers)

    def sums(self, factors: Factors) -> tuple[np.ndarray, np.ndarray, float]:
        """Per group the sums of z of the others weighted by their share, and by what is foretold (G, K); the error."""
        pairs = self.pairs
        return _sums(pairs.start, pairs.item, pairs.worker, pairs.other, self.share, factors.items, factors.workers)

    def for_items(self, sums: np.ndarray, workers: np.ndarray) -> np.ndarray:
        """(N, K): sums of W_j times each group's."""
        return self.of_items @ np.matmul(workers[self.pairs.worker], sums[..., None])[..., 0]

    def for_workers(self, items: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """(J, K, K): sums of z times each group's."""
        K = items.shape[1]
        outer = items[self.pairs.item][:, :, None] * sums[:, None, :]
        found = (self.of_workers @ outer.reshape(len(outer), -1)).reshape(-1, K, K)
        return (found + found.mT) / 2


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _sums(start, item, worker, other, share, items, workers):
    K = items.shape[1]
    seen, told = np.zeros((item.size, K)), np.zeros((item.size, K))
    turned = np.empty(K)
    error = 0.0
    for g in range(item.size):
        own, table = items[item[g]], workers[worker[g]]
        for k in range(K):
            turned[k] = 0.0
            for m in range(K):
                turned[k] += table[k, m] * own[m]
        for at in range(start[g], start[g + 1]):
            row = items[other[at]]
            foretold = 0.0
            for k in range(K):
                foretold += turned[k] * row[k]
            wanted = share[at]
            error += (wanted - foretold) ** 2
            for k in range(K):
                seen[g, k] += wanted * row[k]
                told[g, k] += foretold * row[k]
    return seen, told, error


def weighted_step(data: Targets, factors: Factors) -> tuple[Factors, float]:
    """Multiplicative updates of judged pairs alone; the error, of the factors given, never rises (note 4.3)."""
    seen, told, error = data.sums(factors)
    ratio = data.for_items(seen, factors.workers) / np.maximum(data.for_items(told, factors.workers), TINY)
    moved = replace(factors, items=factors.items * ratio**0.25)  # the error is quartic in Z
    seen, told, _ = data.sums(moved)
    ratio = data.for_workers(moved.items, seen) / np.maximum(data.for_workers(moved.items, told), TINY)
    return replace(moved, workers=moved.workers * np.sqrt(ratio)), error


def em_step(data: Targets, factors: Factors) -> tuple[Factors, float]:
    """The source's updates with orthogonal Z, what was not judged filled in (note 4.2). The error may rise a little."""
    items = _filled(data, factors, factors.items)
    moved = replace(factors, items=factors.items * np.sqrt(items / np.maximum(
        factors.items @ (factors.items.T @ items), TINY)))
    seen, told, error = data.sums(moved)
    Z, W = moved.items, moved.workers
    own = Z.T @ Z
    model = own @ W @ own
    around = data.for_workers(Z, seen - told) + _diagonals(data, moved) + model
    return replace(moved, workers=W * np.sqrt(np.maximum(around, 0.0) / np.maximum(model, TINY))), error


def _filled(data: Targets, factors: Factors, Z: np.ndarray) -> np.ndarray:
    """sum_j Lhat_j Z W_j (N, K) without forming any N x N."""
    seen, told, _ = data.sums(factors)
    W = factors.workers
    judged = data.for_items(seen - told, W) + _diagonal_items(data, factors)
    own = Z.T @ Z
    return np.maximum(judged + Z @ (W @ own @ W).sum(0), 0.0)


def _residuals(data: Targets, factors: Factors) -> np.ndarray:
    """(G,) 1 - z' W z: an item is always together with itself."""
    own = factors.items[data.pairs.item]
    return 1 - (np.matmul(factors.workers[data.pairs.worker], own[..., None])[..., 0] * own).sum(1)


def _diagonal_items(data: Targets, factors: Factors) -> np.ndarray:
    own = factors.items[data.pairs.item] * _residuals(data, factors)[:, None]
    return data.for_items(own, factors.workers)


def _diagonals(data: Targets, factors: Factors) -> np.ndarray:
    own = factors.items[data.pairs.item] * _residuals(data, factors)[:, None]
    return data.for_workers(factors.items, own)


FORMS: dict[str, Callable[[Targets, Factors], tuple[Factors, float]]] = {"weighted": weighted_step, "em": em_step}


class FactorizationCrowdClustering(ClusterMixin, BaseEstimator):
    """Clusters items into a given number of groups and finds a table of merged groups for every worker.

    `form` is "weighted" (recommended) or "em". The first of `starts` begins at spectral clusters, the others at random.
    """

    def __init__(self, n_clusters: int = 8, *, form: str = "weighted", starts: int = 5, spectral_start: bool = True,
                 max_iter: int = 500, tol: float = 1e-7, random_state: Any = None):
        self.n_clusters, self.form, self.starts, self.spectral_start = n_clusters, form, starts, spectral_start
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(self, X: Any, y: Any = None, *, n_items: int | None = None, n_workers: int | None = None,
            on_step: OnStep = ignore) -> Self:
        """Learns from Judgements, or an array of rows (item, item, worker, same)."""
        if self.form not in FORMS:
            raise unknown("form", self.form, FORMS)
        if self.n_clusters < 1 or self.starts < 1:
            raise fail("factorization", "no clusters or no starts", "give 1 or more of both")
        judgements = as_judgements(X, n_items=n_items, n_workers=n_workers)
        if not len(judgements):
            raise fail("judgements", "there are none", "collect some answers first")
        return self._fit(judgements, np.random.default_rng(self.random_state), on_step)

    def fit_predict(self, X: Any, y: Any = None, **rest: Any) -> np.ndarray:
        """The cluster of every item; -1 for items nobody judged."""
        return self.fit(X, **rest).labels_

    def _fit(self, judgements: Judgements, rng: np.random.Generator, on_step: OnStep) -> Self:
        data = Targets(pairs_of(judgements))
        runs = [self._followed(data, start, number, on_step)
                for number, start in enumerate(self._starts(judgements, rng))]
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
        found = []
        for number in range(self.starts):
            items = rng.uniform(0.1, 0.6, (N, K))
            if number == 0 and self.spectral_start:
                items = np.eye(K)[spectral_clusters(judgements, K, rng)] + 0.2
            mixed = rng.random((J, K, K))
            found.append(Factors(items, 0.6 * np.eye(K) + 0.1 * (mixed + mixed.mT)))
        return found


def consensus_factors(judgements: Judgements, n_clusters: int, **rest: Any) -> np.ndarray:
    """(N,) labels by one table for all workers (consensus factorisation): what the average person sees."""
    pooled = replace(judgements, worker=np.zeros_like(judgements.worker), n_workers=1)
    return FactorizationCrowdClustering(n_clusters, **rest).fit(pooled).labels_


def _incidence(of: np.ndarray, n: int) -> csr_array:
    return csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(n, len(of)))
