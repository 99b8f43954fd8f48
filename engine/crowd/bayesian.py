"""Crowd clustering with latent item positions and one criterion matrix per worker (methods note 2)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClusterMixin

from engine.crowd.atoms import Answers
from engine.crowd.beliefs import Beliefs, Prior, with_workers
from engine.crowd.clusterings import found_clusters, given_clusters
from engine.crowd.judgements import Judgements, as_judgements
from engine.crowd.pairs import pairs_of
from engine.crowd.platonic import WIDTH, PlatonicClusters
from engine.crowd.search import Found, Rule, Sweeping, Trial, nothing_to_find, search, transferred
from engine.crowd.symmetric import multiplicity, second_moments, spreading
from engine.crowd.workers import Confusion, confusion, looking, quality, schools
from engine.problems import fail
from engine.progress import OnStep, ignore

SEARCHED = 100_000    # judgements a search looks at; where there are more, all of them take part from then on
SEARCH = Rule(1e-5, 60)  # how far beginnings are followed before guessers are told and the best is followed to its end
REFRESH = Rule(1e-5, 60)
JUDGED_BY = 2         # answers by which somebody is told to guess: one slip can spoil a single one
STRUCTURED = 0.05     # gain per judgement below which the crowd may have been guessing
WEIGHED = 400_000     # judgements that choose among clusterings
AFTERWARDS = 10       # updates of workers at fixed positions: they settle at once, only their bound is iterated


class BayesianCrowdClustering(ClusterMixin, BaseEstimator):
    """Finds the finest groups that any worker tells apart, and what each worker merges.

    `dimensions` are the numbers of latent dimensions tried; the evidence chooses. `n_clusters` None lets the data say.
    Workers who explain less than `guessers_below` of what the median one does have no say in where items lie.
    """

    def __init__(self, *, dimensions: Sequence[int] = (1, 2, 3, 4, 5, 6), restarts: int = 5,
                 n_clusters: int | None = None, matrix_variance: float = 1.0, bias_variance: float = 10.0,
                 width: float = WIDTH, guessers_below: float = 0.3, judgement_weight: float = 1.0, tol: float = 1e-6,
                 max_sweeps: int = 300, random_state: Any = None):
        self.dimensions, self.restarts, self.n_clusters = dimensions, restarts, n_clusters
        self.matrix_variance, self.bias_variance, self.width = matrix_variance, bias_variance, width
        self.guessers_below, self.judgement_weight = guessers_below, judgement_weight
        self.tol, self.max_sweeps, self.random_state = tol, max_sweeps, random_state

    def fit(self, X: Any, y: Any = None, *, n_items: int | None = None, n_workers: int | None = None,
            on_step: OnStep = ignore) -> Self:
        """Learns from Judgements, or an array of rows (item, item, worker, same).

        `on_step` hears of every sweep and may raise Cancelled.
        """
        self._check()
        judgements, rng = _usable(X, n_items, n_workers), np.random.default_rng(self.random_state)
        self.looking_ = np.ones(judgements.n_workers, bool)
        work = self._work(judgements, on_step)
        found = self._searched(work, judgements, self.dimensions, rng)
        self.evidence_ = dict(found.evidence)
        self._learned(judgements, work, found.best, rng)
        self._polish(judgements, work, found.best, rng)
        return self

    def update(self, X: Any, *, n_items: int | None = None, n_workers: int | None = None,
               on_step: OnStep = ignore) -> Self:
        """Takes in all judgements there are now, going on from what was learned before: for results while people work.

        Items and workers keep their numbers, new ones may follow. The number of dimensions stays.
        """
        if not hasattr(self, "beliefs_"):
            return self.fit(X, n_items=n_items, n_workers=n_workers, on_step=on_step)
        judgements, rng = _usable(X, n_items, n_workers), np.random.default_rng(self.random_state)
        self._check_grown(judgements)
        hired = judgements.n_workers - len(self.looking_)
        self.looking_ = np.concatenate([self.looking_, np.ones(hired, bool)])
        work = self._work(_by(self.looking_, judgements), on_step)
        start = transferred(work.pairs, self.beliefs_, work.prior)
        return self._learned(judgements, work, work.carry(start, REFRESH.max_sweeps, REFRESH.tol), rng)

    def fit_predict(self, X: Any, y: Any = None, **rest: Any) -> np.ndarray:
        """The platonic cluster of every item; -1 for items nobody judged."""
        return self.fit(X, **rest).labels_

    def predict_same(self, first: Any, second: Any, worker: Any) -> np.ndarray:
        """Chance that each worker puts the pair together, with what is uncertain integrated out."""
        mean, variance = activity_of(self.beliefs_, *(np.asarray(column, int) for column in (first, second, worker)))
        return expit(mean / np.sqrt(1 + np.pi * variance / 8))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log probability of judgements, best of such that the fit has not seen."""
        held = as_judgements(X, n_items=len(self.positions_), n_workers=len(self.beliefs_.bias))
        mean, variance = activity_of(self.beliefs_, held.first, held.second, held.worker)
        return float(log_expit(held.sign * mean / np.sqrt(1 + np.pi * variance / 8)).mean())

    def confusion(self) -> Confusion:
        """What each worker merges, cluster by cluster."""
        return confusion(self.beliefs_, self.clusters_)

    def schools(self) -> np.ndarray:
        """(J,) the school of thought of each worker, -1 for those who do not look."""
        return schools(self.confusion(), self.clusters_, self.looking_ & np.isfinite(self.worker_quality_))

    def exemplars(self, cluster: int, count: int = 10) -> np.ndarray:
        """The surest members of a cluster."""
        return self.clusters_.exemplars(cluster, count)

    def _work(self, judgements: Judgements, on_step: OnStep) -> Sweeping:
        prior = Prior(1.0, float(self.matrix_variance), float(self.bias_variance))
        return Sweeping(pairs_of(judgements, self.judgement_weight), prior, on_step)

    def _searched(self, work: Sweeping, judgements: Judgements, dimensions: Sequence[int],
                  rng: np.random.Generator) -> Found:
        if len(judgements) <= SEARCHED:
            return search(work, dimensions, self.restarts, SEARCH, rng)
        few = work.on(pairs_of(judgements.split(SEARCHED / len(judgements), rng)[1], self.judgement_weight))
        found = search(few, dimensions, self.restarts, SEARCH, rng)
        start = transferred(work.pairs, found.best.beliefs, work.prior)
        return Found(work.carry(start, SEARCH.max_sweeps, SEARCH.tol), found.evidence)

    def _polish(self, judgements: Judgements, work: Sweeping, found: Trial, rng: np.random.Generator) -> None:
        """Positions to their end, from those who look: a guesser's noise is otherwise fitted by items few judged."""
        starts = [found]
        if self.guessers_below > 0 and self.gain_ >= STRUCTURED and self.n_clusters_ > 1:  # one explains nothing
            once = judgements.answers_per_worker() < JUDGED_BY
            self.looking_ = looking(self.worker_quality_, self.guessers_below) | once
        if not self.looking_.all():
            trusted = _by(self.looking_, judgements)
            work = self._work(trusted, work.on_step)
            kept = work.carry(transferred(work.pairs, self.beliefs_, work.prior), SEARCH.max_sweeps, SEARCH.tol)
            starts = [kept, self._searched(work, trusted, (self.n_dimensions_,), rng).best]
        best = max(starts, key=lambda trial: trial.bound)
        self._learned(judgements, work, work.carry(best, self.max_sweeps, self.tol), rng)

    def _learned(self, judgements: Judgements, work: Sweeping, found: Trial, rng: np.random.Generator) -> Self:
        """Keeps what the trusted judgements of `work` told, and fits every worker to it."""
        self.lower_bound_, self.lower_bound_history_ = found.bound, list(found.history)
        self.gain_ = (found.bound - nothing_to_find(work.pairs, work.prior)) / max(work.pairs.n_judgements, 1)
        self.positions_, self.position_variances_ = found.beliefs.position, found.beliefs.position_variance
        self.n_dimensions_, self.views_ = found.D, np.diff(work.pairs.item_start)
        self.beliefs_ = self._of_everybody(judgements, work, found.beliefs)
        self.clusters_ = self._clusters(judgements, self.views_ > 0, rng, work.on_step)
        self.labels_, self.n_clusters_ = self.clusters_.labels, self.clusters_.K
        self.probabilities_ = self.clusters_.probability
        self.worker_quality_ = quality(judgements, self.confusion(), self.clusters_)
        return self

    def _of_everybody(self, judgements: Judgements, work: Sweeping, beliefs: Beliefs) -> Beliefs:
        """With the matrices of workers who were left out, fitted to positions they have no say in."""
        if self.looking_.all():
            return beliefs
        pairs = pairs_of(judgements, self.judgement_weight)
        return with_workers(pairs, transferred(pairs, beliefs, work.prior).beliefs, work.prior, AFTERWARDS)

    def _clusters(self, judgements: Judgements, judged: np.ndarray, rng: np.random.Generator,
                  on_step: OnStep) -> PlatonicClusters:
        """Clusters of positions, by what the trusted answers themselves make of them."""
        trusted = _by(self.looking_, judgements)
        if len(trusted) > WEIGHED:
            trusted = trusted.split(WEIGHED / len(trusted), rng)[1]
        answers = Answers.of(trusted, self.judgement_weight)
        if self.n_clusters is not None:
            return given_clusters(self.beliefs_, judged, answers, self.n_clusters, rng)
        return found_clusters(self.beliefs_, judged, answers, rng, width=self.width, on_step=on_step)

    def _check_grown(self, judgements: Judgements) -> None:
        items, workers = len(self.positions_), len(self.looking_)
        if judgements.n_items < items or judgements.n_workers < workers:
            raise fail("judgements", f"are of {judgements.n_items} items and {judgements.n_workers} workers, but "
                       f"{items} and {workers} are known", "give all judgements, with the same numbers as before")

    def _check(self) -> None:
        for name in ("restarts", "max_sweeps"):
            if getattr(self, name) < 1:
                raise fail(name, f"is {getattr(self, name)}", "give 1 or more")
        for name in ("matrix_variance", "bias_variance", "width"):
            if not getattr(self, name) > 0:
                raise fail(name, f"is {getattr(self, name)}", "give a number above 0")
        if not 0 < self.judgement_weight <= 1:
            raise fail("judgement_weight", f"is {self.judgement_weight}", "give a number above 0, at most 1")
        if not len(self.dimensions) or min(self.dimensions) < 1:
            raise fail("dimensions", f"are {list(self.dimensions)}", "give one or more numbers from 1 on")


def _usable(X: Any, n_items: int | None, n_workers: int | None) -> Judgements:
    judgements = as_judgements(X, n_items=n_items, n_workers=n_workers)
    if not len(judgements):
        raise fail("judgements", "there are none", "collect some answers first")
    return judgements


def _by(workers: np.ndarray, judgements: Judgements) -> Judgements:
    return judgements if workers.all() else judgements.take(workers[judgements.worker])


def activity_of(beliefs: Beliefs, first: np.ndarray, second: np.ndarray,
                worker: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (T,) of x_a' W_j x_b + tau_j for any pairs and workers."""
    product = np.einsum("td,tde,te->t", beliefs.position[first], beliefs.matrix[worker], beliefs.position[second])
    moment = second_moments(beliefs.position, beliefs.position_variance)
    spread = spreading(beliefs.matrix, beliefs.matrix_variance)
    square = np.einsum("tm,tmn,tn->t", moment[first] * multiplicity(beliefs.D), spread[worker], moment[second])
    variance = np.maximum(square - product**2, 0.0) + beliefs.bias_variance[worker]
    return product + beliefs.bias[worker], variance


