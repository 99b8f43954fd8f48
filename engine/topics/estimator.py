"""The infinite-word topic model as a scikit-learn estimator: images as mixtures of topics, topics as mixtures of
descriptor clusters, whose number is inferred."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads
from benthoscope.engine.mixtures.bayesian import of_same_fit
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.mixtures.fit_monitor import Checkpoint, NoCheckpoint
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.topics.documents import (
    Corpus,
    Documents,
    centre_and_variance,
    document_of_rows,
    joined,
)
from benthoscope.engine.topics.fitted import (
    SampledTopics,
    VariationalTopics,
    restored,
)
from benthoscope.engine.topics.incremental import OF_INCREMENTS, Increment, IncrementRule, add_documents
from benthoscope.engine.topics.monitor import Monitor, TimedSaves
from benthoscope.engine.topics.sampling.gibbs import GibbsRule, GibbsSampler, run_chain
from benthoscope.engine.topics.settings_checks import check_settings
from benthoscope.engine.topics.starts import random_centres, spread_start
from benthoscope.engine.topics.state import TopicPrior, TopicState, initial_state, topic_prior
from benthoscope.engine.topics.topic_estimator import TopicEstimator, known_classes, seed_of
from benthoscope.engine.topics.updates import global_step, global_step_of_topics
from benthoscope.engine.topics.variational import (
    AscentRule,
    LearningRate,
    Runtime,
    TopicFit,
    coordinate_ascent,
    final_fit,
    stochastic_inference,
    topic_weights_of,
)

LARGE = 5_000  # descriptors, from which the prior of the precision may be strong
STRONG, WEAK = 32.0, 4.0  # precision_strength of large and small corpora
MOST_CLUSTERS = 500  # default truncation; memory grows with its square
FEWEST_NEW = 30  # clusters at the start of new images alone, if the model has few
CLOSE_TO_LIMIT = 0.9  # share of the clusters in use from which the truncation limits the fit


class InfiniteWordTopicModel(TopicEstimator):
    """Describe images by topics of their descriptors. The number of descriptor clusters ("visual words") is inferred.

    Descriptors are rows (rows, D), and `image_of_descriptor` (rows,) has the number of each row's image, from 0. Images
    without descriptors get equal topic weights. `labels_` and `predict` give the topic with the largest weight.

    Parameters
    ----------
    n_topics : int
        Number of topics.
    inference : "vi", "svi", "incremental", "gibbs"
        Coordinate ascent on all images; random batches, faster for large collections; batches with `partial_fit` for
        images that arrive later; or collapsed Gibbs sampling, slower, which can also learn classes of images.
    n_clusters, n_atoms : int or None
        Largest number of descriptor clusters, and of atoms of a topic (by default twice as many). The fit uses fewer.
    alpha, topic_concentration, concentration : float
        Priors of topic weights (by default 1 / n_topics), of atoms in topics and of clusters. Small alpha expects few
        topics per image.
    mean_strength, precision_strength : float
        Weight of the prior of a cluster: observations of its mean, and half the observations of its precision. The
        default of `precision_strength` is 32 for large collections and 4 for small ones.
    tied_mapping : bool
        Whether all topics share one draw of the cluster of each atom.
    max_iter : int
        Passes over the images.
    start : "spread", "random"
        Distant clusters and topics of groups of similar images, or random ones, whose clusters and topics are more
        often joined wrongly.
    n_init : int
        Number of starts; the one with the highest bound is used.
    learning_rate, schedule, delay, forgetting
        Share of the images in a random batch, or, for the schedule "decreasing", the rate
        (iteration + delay) ** -forgetting.
    iterations_alone, iterations_together : int
        Iterations of `partial_fit` on the new images and on all images.
    n_nearest : int or None
        Number of atoms that are considered for each descriptor. None considers all.
    freeze_clusters_after : int or None
        Number of passes after which the clusters stay fixed and only topics change.
    sweeps, burn_in, sample_concentrations
        Gibbs sampling: number of sweeps; sweeps before the first update of hyper-parameters; and whether concentrations
        are drawn instead of maximised.
    start_clusters : int or None
        Gibbs sampling: number of clusters at the start, two to three times as many as expected. By default as many as
        `n_clusters` would allow. 0 seats the descriptors one by one.

    Attributes
    ----------
    topic_weights_ : ndarray (N, n_topics)
        Expected topic weights of the images of the fit.
    topic_profiles_ : ndarray (n_topics, C)
        Distribution of each topic over the clusters.
    cluster_means_, cluster_deviations_ : ndarray (C, D), (C,)
        Means and standard deviations of the clusters.
    n_clusters_, n_atoms_ : int
        Clusters and atoms in use.
    lower_bound_, lower_bound_history_, trace_
        Bound of the log likelihood, and the history of bound, clusters and time.
    limits_reached_ : list of str
        "n_clusters" if the fit uses almost as many clusters as allowed. Raise it.
    """

    topics_: VariationalTopics | SampledTopics
    trace_: list[Any]
    limits_reached_: list[str]
    _documents: Corpus

    def __init__(
        self,
        n_topics: int = 10,
        *,
        inference: str = "vi",
        n_clusters: int | None = None,
        n_atoms: int | None = None,
        alpha: float | None = None,
        topic_concentration: float = 1.0,
        concentration: float = 10.0,
        mean_strength: float = 1.0,
        precision_strength: float | None = None,
        tied_mapping: bool = True,
        last_stick: str = "free",
        document_start: str = "cold",
        start: str = "spread",
        max_iter: int = 50,
        tol: float = 1e-6,
        n_init: int = 5,
        learning_rate: float = 0.25,
        schedule: str = "constant",
        delay: float = 1.0,
        forgetting: float = 0.7,
        iterations_alone: int = 12,
        iterations_together: int = 4,
        n_nearest: int | None = None,
        freeze_clusters_after: int | None = None,
        prune: bool = True,
        sweeps: int = 500,
        burn_in: int = 100,
        sample_concentrations: bool = False,
        start_clusters: int | None = None,
        random_state: Any = None,
    ):
        self.n_topics, self.inference, self.n_clusters, self.n_atoms = n_topics, inference, n_clusters, n_atoms
        self.alpha, self.topic_concentration, self.concentration = alpha, topic_concentration, concentration
        self.mean_strength, self.precision_strength = mean_strength, precision_strength
        self.tied_mapping, self.last_stick, self.document_start = tied_mapping, last_stick, document_start
        self.start = start
        self.max_iter, self.tol, self.n_init = max_iter, tol, n_init
        self.learning_rate, self.schedule, self.delay, self.forgetting = learning_rate, schedule, delay, forgetting
        self.iterations_alone, self.iterations_together = iterations_alone, iterations_together
        self.n_nearest, self.freeze_clusters_after, self.prune = n_nearest, freeze_clusters_after, prune
        self.sweeps, self.burn_in, self.sample_concentrations = sweeps, burn_in, sample_concentrations
        self.start_clusters, self.random_state = start_clusters, random_state

    def fit(
        self,
        descriptors: Any,
        image_of_descriptor: Any = None,
        y: Any = None,
        *,
        n_images: int | None = None,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit to descriptors (an array, the path of a .npy file, or a list with one array per image). Without
        `image_of_descriptor`, each row is an image of its own. `on_step` may raise Cancelled; a `checkpoint` resumes an
        interrupted fit. Gibbs sampling also takes `y`, the class of each image, -1 if unknown."""
        documents = self._begin_fit(descriptors, image_of_descriptor, y, n_images)
        seed = seed_of(self.random_state)
        self.centre_, variance = centre_and_variance(documents, np.random.default_rng([seed, 1]))
        documents = documents.centred_at(self.centre_)
        self._check_limits(documents)
        prior = self._prior(documents, variance)
        if self.inference == "gibbs":
            return self._sampled(documents, prior, y, seed, on_step, checkpoint or NoCheckpoint())
        runtime = Runtime(compute or LocalThreads(), self.n_nearest, self.prune)
        fit, monitor = self._best_start(documents, prior, seed, runtime, on_step, checkpoint or NoCheckpoint())
        self._show(VariationalTopics(fit.state))
        self._show_fit(fit, monitor)
        self._documents, self._increments = documents, 0
        return self

    def partial_fit(
        self,
        descriptors: Any,
        image_of_descriptor: Any = None,
        y: None = None,
        *,
        n_images: int | None = None,
        earlier: tuple[Any, Any] | None = None,
        extend: bool = True,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Add new images to the model without fitting the earlier ones from the beginning. The first call fits.

        A model that was stored needs its `earlier` images, as (descriptors, image_of_descriptor). `increment_` tells
        how many clusters were joined and how well the topics of the new images matched."""
        self._refuse_target(y, "partial_fit")
        if self.inference == "gibbs":
            raise fail("inference", "Gibbs sampling cannot add images to a model", "choose incremental")
        if not hasattr(self, "topics_"):
            return self.fit(
                descriptors, image_of_descriptor, n_images=n_images, compute=compute, on_step=on_step,
                checkpoint=checkpoint,
            )  # fmt: skip
        self._check_parameters()
        old = self._earlier_documents(earlier)
        new = self._documents_of(descriptors, image_of_descriptor, n_images)
        if not new.n_rows:
            raise fail("descriptors", "there are no new descriptors", "give at least one image with descriptors")
        seed = seed_of(self.random_state) + 1 + self._increments
        most = max(FEWEST_NEW, 2 * self.n_clusters_)
        start = self._start(new, self.state_.prior, np.random.default_rng([seed, 2]), on_step, most)
        rule = IncrementRule(OF_INCREMENTS, self.iterations_alone, self.iterations_together, extend)
        monitor = Monitor(on_step, checkpoint or NoCheckpoint(), extend * rule.alone + rule.together)
        monitor.marks = self._identity_of(new)
        of_same_fit(monitor.checkpoint.load(), monitor.marks)
        runtime = Runtime(compute or LocalThreads(), self.n_nearest, self.prune)
        increment = add_documents(self.state_, old, new, start, rule, seed, runtime, monitor)
        self._show(VariationalTopics(increment.fit.state))
        self._show_fit(increment.fit, monitor)
        self.increment_: Increment = increment
        self._documents = joined(old, new)
        self._increments += 1
        return self

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it. Images and their
        descriptors do not belong to it."""
        arrays, metadata = self._stored()
        return arrays, {**metadata, "increments": getattr(self, "_increments", 0)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`."""
        model = cls._rebuilt(arrays, metadata, lambda model: restored(model.inference, arrays))
        model.trace_, model._increments = [], int(metadata.get("increments", 0))
        return model

    def _best_start(
        self,
        documents: Documents,
        prior: TopicPrior,
        seed: int,
        runtime: Runtime,
        on_step: OnStep,
        checkpoint: Checkpoint,
    ) -> tuple[TopicFit, Monitor]:
        """Fit from several random starts and return the fit with the highest bound, and its monitor."""
        identity = self._identity_of(documents)
        saved = of_same_fit(checkpoint.load(), identity)
        first = int(saved["start"]) if saved else 0
        best: tuple[TopicFit, Monitor] | None = _best_of(saved, documents, runtime)
        for number in range(first, self.n_init):
            monitor = Monitor(on_step, checkpoint, self._iterations(), n_rows=documents.n_rows)
            if self.n_init > 1:
                monitor.stage = f"start {number + 1} of {self.n_init}: "
            monitor.marks = {**identity, "start": number, **({} if best is None else _marks(*best))}
            state, begin = self._start(documents, prior, np.random.default_rng([seed, 3, number]), on_step), 0
            if saved is not None:
                state, begin = TopicState.from_arrays(saved), int(saved["iteration"])
                monitor.restore(saved)
                saved = None
            fit = self._fit_once(documents, state, seed + number, runtime, monitor, begin)
            if best is None or fit.bound > best[0].bound:
                best = fit, monitor
        if best is None:
            raise ValueError(f"n_init is {self.n_init}; it must be at least 1")
        return best

    def _fit_once(
        self, documents: Documents, state: TopicState, seed: int, runtime: Runtime, monitor: Monitor, begin: int
    ) -> TopicFit:
        if self.freeze_clusters_after is not None:
            steps = _FrozenAfter(self.freeze_clusters_after * len(documents), monitor)
            runtime = Runtime(runtime.compute, runtime.n_nearest, runtime.prune, steps)
        if self.inference == "vi":
            rule = AscentRule(self.max_iter, self.tol, self.document_start == "warm")
            return coordinate_ascent(documents, state, rule, runtime, monitor, begin)
        return stochastic_inference(documents, state, self._rate(), self._iterations(), seed, runtime, monitor, begin)

    def _identity_of(self, documents: Documents) -> dict[str, Any]:
        """Return the values by which a checkpoint is recognised as one of this fit."""
        return {"model": changed_parameters(self), "shape": [len(documents), documents.n_rows, documents.width]}

    def _rate(self) -> LearningRate:
        if self.inference == "incremental":
            return OF_INCREMENTS
        return LearningRate(self.learning_rate, self.schedule, self.delay, self.forgetting)

    def _iterations(self) -> int:
        """Return the number of iterations that process each image `max_iter` times on average."""
        return self.max_iter if self.inference == "vi" else max(1, round(self.max_iter / self._rate().share))

    def _prior(self, documents: Documents, variance: float) -> TopicPrior:
        strength = self.precision_strength
        if strength is None:
            strength = STRONG if documents.n_rows >= LARGE else WEAK
        return topic_prior(
            self.n_topics, documents.width, variance, strength, alpha=self.alpha, mean_strength=self.mean_strength,
            topic_concentration=self.topic_concentration, concentration=self.concentration,
            mapping_draws=1.0 if self.tied_mapping else float(self.n_topics), last_stick=self.last_stick,
        )  # fmt: skip

    def _truncation(self, documents: Documents) -> int:
        return truncation(documents) if self.n_clusters is None else min(int(self.n_clusters), documents.n_rows)

    def _start(
        self,
        documents: Documents,
        prior: TopicPrior,
        rng: np.random.Generator,
        on_step: OnStep,
        most: int | None = None,
    ) -> TopicState:
        """Return a start with at most `most` clusters."""
        C = self._truncation(documents)
        C = C if most is None else min(C, most)
        per_cluster = 2 if self.n_atoms is None else max(1, round(self.n_atoms / C))
        if self.start == "random":
            return initial_state(prior, random_centres(documents, C, rng), rng, per_cluster, on_step)
        return spread_start(documents, prior, C, rng, per_cluster, on_step)

    def _check_limits(self, documents: Documents) -> None:
        if self.n_clusters is not None and self.n_clusters > documents.n_rows:
            raise fail(
                "n_clusters",
                f"is {self.n_clusters}, but there are only {documents.n_rows} descriptors",
                "lower it, or leave it out",
            )

    def _earlier_documents(self, earlier: tuple[Any, Any] | None) -> Corpus:
        if earlier is not None:
            return self._documents_of(earlier[0], earlier[1], None)
        if not hasattr(self, "_documents"):
            raise fail(
                "earlier",
                "a stored model does not contain the descriptors of its images",
                "give them as earlier=(descriptors, image_of_descriptor)",
            )
        return self._documents

    def _check_parameters(self) -> None:
        check_settings(self.get_params())

    def _sampled(
        self, documents: Documents, prior: TopicPrior, y: Any, seed: int, on_step: OnStep, checkpoint: Checkpoint
    ) -> Self:
        """Fit by Gibbs sampling."""
        identity = self._identity_of(documents)
        saved = of_same_fit(checkpoint.load(), identity)
        rng = np.random.default_rng([seed, 4])
        classes, of_documents = known_classes(y, len(documents))
        start_clusters = self._truncation(documents) if self.start_clusters is None else self.start_clusters or None
        sampler = GibbsSampler.start(
            documents.read().astype(float), document_of_rows(documents),
            np.full((max(len(classes), 1), self.n_topics), prior.alpha), of_documents, prior.base,
            (float(self.topic_concentration), float(self.concentration)), rng, start_clusters, on_step,
        )  # fmt: skip
        if saved is not None:
            sampler = sampler.resumed(saved)
        rule, saves = GibbsRule(self.sweeps, self.burn_in, samples=self.sample_concentrations), TimedSaves(checkpoint)
        run_chain(sampler, rule, on_step, save=lambda chain: saves.save(lambda: {**chain.state(), **identity}))
        if y is not None:
            self.classes_ = classes
        self._show(SampledTopics(sampler.topics()))
        known = np.eye(len(sampler.classes.alpha))[np.maximum(of_documents, 0)]
        self.topic_weights_ = sampler.topics().expected_weights(sampler.seating.document_topics, known)
        self.labels_ = self.topic_weights_.argmax(1)
        self.lower_bound_history_, self.lower_bound_ = list(sampler.history), sampler.history[-1]
        self.n_iter_, self.converged_, self.trace_, self.limits_reached_ = self.sweeps, False, [], []
        return self

    @property
    def state_(self) -> TopicState:
        """The variational parameters."""
        if not isinstance(self.topics_, VariationalTopics):
            raise AttributeError("state_ exists after variational inference")
        return self.topics_.state

    def _show_fit(self, fit: TopicFit, monitor: Monitor) -> None:
        """Set the fitted attributes about the images and the course of the fit."""
        self.topic_weights_ = topic_weights_of(fit.document_counts, fit.state.prior.alpha)
        self.labels_ = self.topic_weights_.argmax(1)
        self.lower_bound_, self.converged_ = fit.bound, fit.converged
        self.lower_bound_history_ = [entry.bound for entry in monitor.entries]
        self.trace_, self.n_iter_ = list(monitor.entries), len(monitor.entries)
        most = self.n_clusters
        reached = most is not None and self.n_clusters_ > CLOSE_TO_LIMIT * most
        self.limits_reached_ = ["n_clusters"] if reached else []


class _FrozenAfter:
    """The global step that freezes the clusters once the monitor has seen enough documents."""

    def __init__(self, documents: int, monitor: Monitor):
        self._documents, self._monitor = documents, monitor

    def __call__(self, state: TopicState, statistics: Any, rate: float = 1.0) -> TopicState:
        frozen = self._monitor.documents_seen >= self._documents
        return (global_step_of_topics if frozen else global_step)(state, statistics, rate)


def _marks(fit: TopicFit, monitor: Monitor) -> dict[str, np.ndarray]:
    """Return the best completed start as values of a checkpoint."""
    values = {**fit.state.arrays(), "history": monitor.history, "converged": np.asarray(fit.converged)}
    return {f"best_{name}": array for name, array in values.items()}


def _best_of(
    saved: Mapping[str, Any] | None, documents: Documents, runtime: Runtime
) -> tuple[TopicFit, Monitor] | None:
    """Return the best completed start of a checkpoint."""
    if not saved or "best_log_mapping" not in saved:
        return None
    values = {name.removeprefix("best_"): value for name, value in saved.items() if name.startswith("best_")}
    state, monitor = TopicState.from_arrays(values), Monitor()
    monitor.restore(values)
    return final_fit(documents, state, runtime, monitor, bool(values["converged"])), monitor


def truncation(documents: Documents) -> int:
    """Return the default number of clusters at the start, more than are expected."""
    return int(np.clip(documents.n_rows // 20, min(30, documents.n_rows), MOST_CLUSTERS))
