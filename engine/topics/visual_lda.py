"""Latent Dirichlet allocation of images over a fixed vocabulary: the baselines of the infinite-word topic model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from benthoscope.engine.compute import Compute
from benthoscope.engine.mixtures.bayesian import of_same_fit
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.mixtures.fit_monitor import Checkpoint, NoCheckpoint
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.topics.documents import Documents, centre_and_variance
from benthoscope.engine.topics.estimator import InfiniteWordTopicModel, truncation
from benthoscope.engine.topics.monitor import TimedSaves
from benthoscope.engine.topics.sampling.gibbs import GibbsRule
from benthoscope.engine.topics.state import topic_prior
from benthoscope.engine.topics.topic_estimator import TopicEstimator, known_classes, seed_of
from benthoscope.engine.topics.variational import topic_weights_of
from benthoscope.engine.topics.word_topics import (
    WordFit,
    WordSampler,
    WordTopics,
    run_word_chain,
    variational_word_topics,
)
from benthoscope.engine.topics.words import (
    TRAINING_ROWS,
    GaussianWords,
    VisualVocabulary,
    dirichlet_process_mixture,
    k_means_words,
    mixture_start,
    restored_vocabulary,
)

WORDS = ("kmeans", "dp")
OF_WORDS = "vocabulary_"  # prefix of the arrays of the vocabulary in a checkpoint


class VisualLDA(TopicEstimator):
    """Describe images by topics of visual words: descriptors quantised to a vocabulary of fixed size.

    Parameters
    ----------
    n_topics : int
        Number of topics.
    words : "kmeans", "dp" or a fitted InfiniteWordTopicModel
        Where the words come from: `n_words` k-means centres; a Gaussian Dirichlet process mixture, which infers their
        number; or the clusters of a topic model.
    n_words : int
        Size of the vocabulary of k-means, and the largest size for the mixture.
    inference : "vi" or "gibbs"
        Variational inference, or Gibbs sampling, which can also learn classes of images.
    alpha, word_prior : float or None
        Dirichlet priors of topic weights and of words, by default 1 / n_topics. Gibbs sampling improves both.
    """

    def __init__(
        self,
        n_topics: int = 10,
        *,
        words: Any = "kmeans",
        n_words: int = 200,
        inference: str = "vi",
        alpha: float | None = None,
        word_prior: float | None = None,
        max_iter: int = 50,
        tol: float = 1e-6,
        n_init: int = 1,
        sweeps: int = 500,
        burn_in: int = 100,
        random_state: Any = None,
    ):
        self.n_topics, self.words, self.n_words, self.inference = n_topics, words, n_words, inference
        self.alpha, self.word_prior, self.max_iter, self.tol = alpha, word_prior, max_iter, tol
        self.n_init, self.sweeps, self.burn_in, self.random_state = n_init, sweeps, burn_in, random_state

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
        """Fit to descriptors as InfiniteWordTopicModel does. Gibbs sampling takes `y`, the class of each image, -1 if
        unknown. `compute` is not used."""
        documents = self._begin_fit(descriptors, image_of_descriptor, y, n_images)
        seed = seed_of(self.random_state)
        rng = np.random.default_rng([seed, 1])
        self.centre_, variance = centre_and_variance(documents, rng)
        documents = documents.centred_at(self.centre_)
        saves = _Saves(checkpoint or NoCheckpoint(), self._identity_of(documents))
        vocabulary = saves.vocabulary()
        if vocabulary is None:
            vocabulary = self._vocabulary(documents, variance, seed, on_step)
            saves.begin(vocabulary)
        words = vocabulary.words(documents.read().astype(float))
        alpha = 1.0 / self.n_topics if self.alpha is None else self.alpha
        prior = 1.0 / self.n_topics if self.word_prior is None else self.word_prior
        fit = self._sampled if self.inference == "gibbs" else self._ascended
        return fit(words, documents, vocabulary, alpha, prior, y, seed, on_step, saves)

    def _identity_of(self, documents: Documents) -> dict[str, Any]:
        """Return the values by which a checkpoint is recognised as one of this fit."""
        shape = [len(documents), documents.n_rows, documents.width]
        words = self.words if isinstance(self.words, str) else "model"
        return {"model": changed_parameters(clone(self).set_params(words=words)), "shape": shape}

    def _ascended(self, words, documents, vocabulary, alpha, prior, y, seed, on_step, saves: "_Saves") -> Self:
        saved = saves.of_fit()
        best = None if saved is None else _best_of(saved, vocabulary, alpha)
        for number in range(int(saved["start"]) if saved else 0, self.n_init):
            saves.marks = {"start": number, **({} if best is None else _marks(best))}
            fit = variational_word_topics(
                words, documents, vocabulary, self.n_topics, alpha, prior, np.random.default_rng([seed, 3, number]),
                max_iter=self.max_iter, tol=self.tol, on_step=on_step, saved=saved, save=saves.save,
            )  # fmt: skip
            saved = None
            if best is None or fit.bounds[-1] > best.bounds[-1]:
                best = fit
        assert best is not None  # there is at least one start, or a saved one
        self._show(best.topics)
        self._show_course(topic_weights_of(best.document_counts, alpha), best.bounds, best.converged)
        return self

    def _sampled(self, words, documents, vocabulary, alpha, prior, y, seed, on_step, saves: "_Saves") -> Self:
        classes, of_documents = known_classes(y, len(documents))
        start = np.full((max(len(classes), 1), self.n_topics), alpha)
        rng = np.random.default_rng([seed, 4])
        sampler = WordSampler.start(words, documents, vocabulary, start, of_documents, prior, rng)
        saved = saves.of_fit()
        if saved is not None:
            sampler = sampler.resumed(saved)
        history = run_word_chain(sampler, GibbsRule(self.sweeps, self.burn_in), on_step, saves.save)
        if y is not None:
            self.classes_ = classes
        self._show(sampler.fitted())
        totals = sampler.classes.alpha[np.maximum(of_documents, 0)] + sampler.document_topics
        self._show_course(totals / totals.sum(1, keepdims=True), history, False)
        return self

    def _show_course(self, weights: np.ndarray, history: list[float], converged: bool) -> None:
        self.topic_weights_, self.labels_ = weights, weights.argmax(1)
        self.lower_bound_history_, self.lower_bound_ = list(history), history[-1]
        self.n_iter_, self.converged_ = len(history), converged

    def _vocabulary(self, documents: Documents, variance: float, seed: int, on_step: OnStep) -> VisualVocabulary:
        if isinstance(self.words, InfiniteWordTopicModel):
            return words_of(self.words, self.centre_)
        rng = np.random.default_rng([seed, 2])
        sample = documents.random_rows(TRAINING_ROWS, rng)
        if self.words == "kmeans":
            return k_means_words(sample, self.n_words, seed, on_step)
        base = topic_prior(1, documents.width, variance, 32.0 if len(sample) >= 5_000 else 4.0).base
        start = mixture_start(sample, base, min(self.n_words, truncation(documents)), 10.0, rng)
        fit = dirichlet_process_mixture(sample, start, max_iter=self.max_iter, tol=self.tol, on_step=on_step)
        return GaussianWords(fit.compacted().clusters)

    def _check_parameters(self) -> None:
        if not isinstance(self.words, InfiniteWordTopicModel) and self.words not in WORDS:
            raise unknown("words", str(self.words), WORDS)
        if self.inference not in ("vi", "gibbs"):
            raise unknown("inference", str(self.inference), ("vi", "gibbs"))
        for name in ("n_topics", "n_words", "max_iter", "n_init", "sweeps"):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= 1):
                raise fail(name, f"must be a whole number of 1 or more (got {value!r})")

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it."""
        arrays, metadata = self._stored()
        if not isinstance(self.words, str):
            metadata["params"]["words"] = "dp"  # the stored vocabulary is what counts
        return arrays, metadata

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`."""
        return cls._rebuilt(arrays, metadata, lambda model: WordTopics.from_arrays(arrays))


class _Saves:
    """The checkpoint of a fit: the vocabulary as soon as it is complete, then the state of the topics."""

    def __init__(self, checkpoint: Checkpoint, identity: dict[str, Any]):
        self._checkpoint, self._identity = checkpoint, identity
        self._saved = of_same_fit(checkpoint.load(), identity)
        self._timed, self._words = TimedSaves(checkpoint), self._saved_words()
        self.marks: dict[str, Any] = {}  # saved with each state

    def _saved_words(self) -> dict[str, np.ndarray]:
        saved = self._saved or {}
        return {name: value for name, value in saved.items() if name.startswith(OF_WORDS)}

    def vocabulary(self) -> VisualVocabulary | None:
        if not self._words:
            return None
        return restored_vocabulary({name.removeprefix(OF_WORDS): value for name, value in self._words.items()})

    def begin(self, vocabulary: VisualVocabulary) -> None:
        """Save a new vocabulary, which may have taken minutes."""
        self._words = {f"{OF_WORDS}{name}": array for name, array in vocabulary.arrays().items()}
        self._checkpoint.save({**self._words, **self._identity})

    def of_fit(self) -> dict[str, Any] | None:
        """Return the state of the topics; None if none was saved."""
        return dict(self._saved) if self._saved and "bounds" in self._saved else None

    def save(self, state: Callable[[], dict[str, Any]]) -> None:
        self._timed.save(lambda: {**state(), **self._words, **self.marks, **self._identity})


def _marks(best: WordFit) -> dict[str, Any]:
    """Return the best completed start as values of a checkpoint."""
    return {
        "best_word_counts": best.topics.word_counts,
        "best_document_counts": best.document_counts,
        "best_bounds": np.array(best.bounds),
        "best_converged": best.converged,
    }


def _best_of(saved: Mapping[str, Any], vocabulary: VisualVocabulary, alpha: float) -> WordFit | None:
    if "best_bounds" not in saved:
        return None
    counts = np.array(saved["best_word_counts"])
    topics = WordTopics(vocabulary, counts, np.full((1, len(counts)), alpha), np.zeros(1), False)
    bounds = [float(bound) for bound in saved["best_bounds"]]
    return WordFit(topics, np.array(saved["best_document_counts"]), bounds, bool(saved["best_converged"]))


def words_of(model: InfiniteWordTopicModel, centre: np.ndarray) -> GaussianWords:
    """Return the clusters in use of a fitted model as words of descriptors centred at `centre`."""
    in_use = model.cluster_sizes_ > 1
    clusters = model.topics_.clusters_about(model.centre_ - centre)
    return GaussianWords(type(clusters)(**{name: values[in_use] for name, values in clusters.arrays().items()}))


def word_sweep(
    descriptors: Any, image_of_descriptor: Any, sizes: Sequence[int], *, on_step: OnStep = ignore, **settings: Any
) -> dict[int, VisualLDA]:
    """Return one model of k-means words for each size of the vocabulary."""
    return {
        size: VisualLDA(n_words=size, **settings).fit(descriptors, image_of_descriptor, on_step=on_step)
        for size in sizes
    }
