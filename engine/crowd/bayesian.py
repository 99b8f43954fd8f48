"""Crowd clustering with latent item positions and one criterion matrix per worker (methods note 2)."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit

from benthoscope.engine.crowd.cluster_merging import Answers
from benthoscope.engine.crowd.clusterings import found_clusters, given_clusters
from benthoscope.engine.crowd.consensus import WIDTH, PlatonicClusters
from benthoscope.engine.crowd.estimator import CrowdEstimator, is_table, named_judgements, refuse_target
from benthoscope.engine.crowd.initialisation import (
    SearchResult,
    SearchRule,
    Sweeping,
    Trial,
    nothing_to_find,
    search,
    transferred,
)
from benthoscope.engine.crowd.judgements import Judgements, as_judgements, pairs_of
from benthoscope.engine.crowd.posterior import Beliefs, Prior, multiplicity, second_moments, spreading, with_workers
from benthoscope.engine.crowd.workers import Confusion, confusion, looking, quality, schools
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore

SEARCHED = 100_000  # number of judgements used by the search; the final updates use all judgements
SEARCH = SearchRule(1e-5, 60)  # rule of the search, before random answers are detected and the best start is converged
REFRESH = SearchRule(1e-5, 60)
# smallest number of answers that can identify a worker as guessing, because one slip can spoil a single answer
JUDGED_BY = 2
STRUCTURED = 0.05  # gain per judgement below which the whole crowd may have been guessing
WEIGHED = 400_000  # number of judgements used to choose among clusterings
AFTERWARDS = 10  # updates of workers at fixed positions; they converge at once, only their bound is iterated


class BayesianCrowdClustering(CrowdEstimator):
    """Find the finest clusters that any worker distinguishes, and the clusters that each worker merges.

    Parameters
    ----------
    dimensions : sequence of int
        Numbers of latent dimensions to try. The evidence selects one.
    n_clusters : int or None
        Number of clusters. None estimates it from the data.
    guessers_below : float
        Workers who explain less than this fraction of what the median worker explains do not affect the positions of
        items.
    """

    def __init__(
        self,
        *,
        dimensions: Sequence[int] = (1, 2, 3, 4, 5, 6),
        restarts: int = 5,
        n_clusters: int | None = None,
        matrix_variance: float = 1.0,
        bias_variance: float = 10.0,
        width: float = WIDTH,
        guessers_below: float = 0.3,
        judgement_weight: float = 1.0,
        tol: float = 1e-6,
        max_sweeps: int = 300,
        random_state: Any = None,
    ):
        self.dimensions, self.restarts, self.n_clusters = dimensions, restarts, n_clusters
        self.matrix_variance, self.bias_variance, self.width = matrix_variance, bias_variance, width
        self.guessers_below, self.judgement_weight = guessers_below, judgement_weight
        self.tol, self.max_sweeps, self.random_state = tol, max_sweeps, random_state

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
        (such as a DataFrame) with the columns first, second, worker, same or worker, item, group. `y` is ignored.

        `on_step` is called after each sweep and may raise Cancelled.
        """
        refuse_target(y, "fit")
        self._check()
        judgements, rng = self._read(X, n_items, n_workers), np.random.default_rng(self.random_state)
        self._keep_names(judgements)
        self.looking_ = np.ones(judgements.n_workers, bool)
        ascent = self._ascent(judgements, on_step)
        trial = self._searched(ascent, judgements, self.dimensions, rng)
        self.evidence_ = dict(trial.evidence)
        self._learned(judgements, ascent, trial.best, rng)
        self._polish(judgements, ascent, trial.best, rng)
        return self

    def update(
        self, X: Any, *, n_items: int | None = None, n_workers: int | None = None, on_step: OnStep = ignore
    ) -> Self:
        """Fit to all current judgements, starting from the previous result. Use this for results while people still
        work.

        Items and workers keep their numbers or names; new ones are added after them. The number of dimensions does not
        change.
        """
        if not hasattr(self, "beliefs_"):
            return self.fit(X, n_items=n_items, n_workers=n_workers, on_step=on_step)
        known = is_table(X) and hasattr(self, "item_names_")
        judgements = self._of_known_names(X) if known else self._read(X, n_items, n_workers)
        rng = np.random.default_rng(self.random_state)
        self._check_grown(judgements)
        self._keep_names(judgements)
        hired = judgements.n_workers - len(self.looking_)
        self.looking_ = np.concatenate([self.looking_, np.ones(hired, bool)])
        ascent = self._ascent(_by(self.looking_, judgements), on_step)
        start = transferred(ascent.pairs, self.beliefs_, ascent.prior)
        return self._learned(judgements, ascent, ascent.carry(start, REFRESH.max_sweeps, REFRESH.tol), rng)

    def fit_predict(self, X: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit and return the platonic cluster of each item; -1 for items without judgements."""
        refuse_target(y, "fit_predict")
        return self.fit(X, **options).labels_

    def predict_same(self, first: Any, second: Any, worker: Any) -> np.ndarray:
        """Return the probability that each worker puts the pair together, averaged over the posterior. After a fit to a
        table with names, give items and workers by name."""
        mean, variance = activity_of(
            self.beliefs_, self._item_numbers(first), self._item_numbers(second), self._worker_numbers(worker)
        )
        return expit(mean / np.sqrt(1 + np.pi * variance / 8))

    def score(self, X: Any, y: None = None) -> float:
        """Return the mean log probability of judgements, usually of ones that were not in the fit. `y` is ignored."""
        refuse_target(y, "score")
        judgements = self._of_fitted(X)
        mean, variance = activity_of(self.beliefs_, judgements.first, judgements.second, judgements.worker)
        return float(log_expit(judgements.sign * mean / np.sqrt(1 + np.pi * variance / 8)).mean())

    def confusion(self) -> Confusion:
        """Return how often each worker merges each pair of clusters."""
        return confusion(self.beliefs_, self.clusters_)

    def schools(self) -> np.ndarray:
        """Return the school of thought of each worker (J,); -1 for careless workers."""
        return schools(self.confusion(), self.clusters_, self.looking_ & np.isfinite(self.worker_quality_))

    def exemplars(self, cluster: int, count: int = 10) -> np.ndarray:
        """Return the most certain members of a cluster, by name if the fit had names, else by number."""
        numbers = self.clusters_.exemplars(cluster, count)
        return self.item_names_[numbers] if hasattr(self, "item_names_") else numbers

    def _of_known_names(self, table: Any) -> Judgements:
        return named_judgements(table, self.item_names_, self.worker_names_)

    def _of_fitted(self, X: Any) -> Judgements:
        """Return the judgements, whose items and workers must be those of the fit; raise otherwise."""
        n_items, n_workers = len(self.positions_), len(self.beliefs_.bias)
        if not (is_table(X) and hasattr(self, "item_names_")):
            return as_judgements(X, n_items=n_items, n_workers=n_workers)
        judgements = self._of_known_names(X)
        for names, count in ((judgements.item_names, n_items), (judgements.worker_names, n_workers)):
            if names is not None and len(names) > count:
                raise fail("judgements", f"{names[count]!r} was not in the fit", "remove these rows")
        return judgements

    def _ascent(self, judgements: Judgements, on_step: OnStep) -> Sweeping:
        prior = Prior(1.0, float(self.matrix_variance), float(self.bias_variance))
        return Sweeping(pairs_of(judgements, self.judgement_weight), prior, on_step)

    def _searched(
        self, ascent: Sweeping, judgements: Judgements, dimensions: Sequence[int], rng: np.random.Generator
    ) -> SearchResult:
        if len(judgements) <= SEARCHED:
            return search(ascent, dimensions, self.restarts, SEARCH, rng)
        few = ascent.on(pairs_of(judgements.split(SEARCHED / len(judgements), rng)[1], self.judgement_weight))
        trial = search(few, dimensions, self.restarts, SEARCH, rng)
        start = transferred(ascent.pairs, trial.best.beliefs, ascent.prior)
        return SearchResult(ascent.carry(start, SEARCH.max_sweeps, SEARCH.tol), trial.evidence)

    def _polish(self, judgements: Judgements, ascent: Sweeping, trial: Trial, rng: np.random.Generator) -> None:
        """Converge the positions with the attentive workers only. Otherwise items with few judgements would fit the
        noise of guessing workers."""
        starts = [trial]
        # with one worker there is no median to compare with
        if self.guessers_below > 0 and self.gain_ >= STRUCTURED and self.n_clusters_ > 1:
            once = judgements.answers_per_worker() < JUDGED_BY
            self.looking_ = looking(self.worker_quality_, self.guessers_below) | once
        if not self.looking_.all():
            trusted = _by(self.looking_, judgements)
            ascent = self._ascent(trusted, ascent.on_step)
            continued = ascent.carry(
                transferred(ascent.pairs, self.beliefs_, ascent.prior), SEARCH.max_sweeps, SEARCH.tol
            )
            starts = [continued, self._searched(ascent, trusted, (self.n_dimensions_,), rng).best]
        best = max(starts, key=lambda trial: trial.bound)
        self._learned(judgements, ascent, ascent.carry(best, self.max_sweeps, self.tol), rng)

    def _learned(self, judgements: Judgements, ascent: Sweeping, trial: Trial, rng: np.random.Generator) -> Self:
        """Store the posterior from the trusted judgements, and fit all workers to it."""
        self.lower_bound_, self.lower_bound_history_ = trial.bound, list(trial.history)
        self.gain_ = (trial.bound - nothing_to_find(ascent.pairs, ascent.prior)) / max(ascent.pairs.n_judgements, 1)
        self.positions_, self.position_variances_ = trial.beliefs.position, trial.beliefs.position_variance
        self.n_dimensions_, self.views_ = trial.D, np.diff(ascent.pairs.item_start)
        self.beliefs_ = self._of_everybody(judgements, ascent, trial.beliefs)
        self.clusters_ = self._clusters(judgements, self.views_ > 0, rng, ascent.on_step)
        self.labels_, self.n_clusters_ = self.clusters_.labels, self.clusters_.K
        self.probabilities_ = self.clusters_.probability
        self.worker_quality_ = quality(judgements, self.confusion(), self.clusters_)
        return self

    def _of_everybody(self, judgements: Judgements, ascent: Sweeping, beliefs: Beliefs) -> Beliefs:
        """Add the matrices of the excluded workers, fitted to the fixed positions."""
        if self.looking_.all():
            return beliefs
        pairs = pairs_of(judgements, self.judgement_weight)
        return with_workers(pairs, transferred(pairs, beliefs, ascent.prior).beliefs, ascent.prior, AFTERWARDS)

    def _clusters(
        self, judgements: Judgements, judged: np.ndarray, rng: np.random.Generator, on_step: OnStep
    ) -> PlatonicClusters:
        """Cluster the positions; the trusted answers decide between candidate clusterings."""
        trusted = _by(self.looking_, judgements)
        if len(trusted) > WEIGHED:
            trusted = trusted.split(WEIGHED / len(trusted), rng)[1]
        answers = Answers.of(trusted, self.judgement_weight)
        if self.n_clusters is not None:
            return given_clusters(self.beliefs_, judged, answers, self.n_clusters, rng)
        return found_clusters(self.beliefs_, judged, answers, rng, width=self.width, on_step=on_step)

    def _check_grown(self, judgements: Judgements) -> None:
        if not len(judgements):
            raise fail("judgements", "there are no judgements", "collect some answers first")
        items, workers = len(self.positions_), len(self.looking_)
        if judgements.n_items < items or judgements.n_workers < workers:
            raise fail(
                "judgements",
                f"have {judgements.n_items} items and {judgements.n_workers} workers, but  "
                f"the model has {items} and {workers}",
                "give all judgements and keep the numbers of items and workers",
            )

    def _check(self) -> None:
        for name in ("restarts", "max_sweeps"):
            if getattr(self, name) < 1:
                raise fail(name, f"must be 1 or more (got {getattr(self, name)})")
        for name in ("matrix_variance", "bias_variance", "width"):
            if not getattr(self, name) > 0:
                raise fail(name, f"must be greater than 0 (got {getattr(self, name)})")
        if not 0 < self.judgement_weight <= 1:
            raise fail("judgement_weight", f"must be greater than 0 and at most 1 (got {self.judgement_weight})")
        if not len(self.dimensions) or min(self.dimensions) < 1:
            raise fail("dimensions", f"must be one or more numbers of at least 1 (got {list(self.dimensions)})")


def _by(workers: np.ndarray, judgements: Judgements) -> Judgements:
    return judgements if workers.all() else judgements.take(workers[judgements.worker])


def activity_of(
    beliefs: Beliefs, first: np.ndarray, second: np.ndarray, worker: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and variance (T,) of x_a' W_j x_b + tau_j for any pairs and workers."""
    product = np.einsum("td,tde,te->t", beliefs.position[first], beliefs.matrix[worker], beliefs.position[second])
    moment = second_moments(beliefs.position, beliefs.position_variance)
    spread = spreading(beliefs.matrix, beliefs.matrix_variance)
    square = np.einsum("tm,tmn,tn->t", moment[first] * multiplicity(beliefs.D), spread[worker], moment[second])
    variance = np.maximum(square - product**2, 0.0) + beliefs.bias_variance[worker]
    return product + beliefs.bias[worker], variance
