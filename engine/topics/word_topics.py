"""Latent Dirichlet allocation of visual words, by variational inference or by Gibbs sampling (methods note 9)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numba
import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, psi

from benthoscope.engine.distributions import Dirichlet
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.document_step import settled_topics
from benthoscope.engine.topics.documents import Documents, document_of_rows
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.sampling.concentrations import BOUND, best_alpha, log_evidence_of_topics
from benthoscope.engine.topics.sampling.gibbs import (
    GibbsRule,
    Predicted,
    class_priors,
    generator_of,
    generator_text,
    predict_topics,
)
from benthoscope.engine.topics.sampling.seating import (
    ClassPriors,
    random_position,
    shift_class_weights,
    topic_prior_weights,
)
from benthoscope.engine.topics.variational import Runtime, topic_weights_of
from benthoscope.engine.topics.words import VisualVocabulary, restored_vocabulary

Save = Callable[[Callable[[], dict[str, Any]]], None]  # saves the state of a fit if the last save is long ago


@dataclass(frozen=True)
class WordTopics:
    """Fitted topics of words. `alpha` has one row per class; `word_counts` include the Dirichlet prior of words."""

    vocabulary: VisualVocabulary
    word_counts: np.ndarray  # (T, V)
    alpha: np.ndarray  # (Y, T)
    log_share: np.ndarray  # (Y,)
    sampled: bool

    @property
    def n_topics(self) -> int:
        return len(self.word_counts)

    def topic_weights(self, documents: Documents, runtime: Runtime, monitor: Monitor) -> np.ndarray:
        if self.sampled:
            return self._predicted(documents).topic_weights
        counts, _ = self._settled(documents)
        return topic_weights_of(counts, self.alpha[0, 0])

    def class_probability(self, documents: Documents) -> np.ndarray:
        return self._predicted(documents).class_probability

    def descriptor_topics(self, documents: Documents, runtime: Runtime) -> np.ndarray:
        if not self.sampled:
            return self._settled(documents)[1]
        joint = self._log_joint(documents, runtime)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def log_likelihood(self, documents: Documents, runtime: Runtime) -> float:
        """Return the log probability of the words of new documents under their expected topic weights."""
        return float(logsumexp(self._log_joint(documents, runtime), axis=1).sum())

    def _log_joint(self, documents: Documents, runtime: Runtime) -> np.ndarray:
        weights = np.maximum(self.topic_weights(documents, runtime, Monitor()), 1e-300)
        words = self.vocabulary.words(documents.read().astype(float))
        return np.log(self.profiles().T)[words] + np.log(weights)[document_of_rows(documents)]

    def _settled(self, documents: Documents) -> tuple[np.ndarray, np.ndarray]:
        words = self.vocabulary.words(documents.read().astype(float))
        expected_log = psi(self.word_counts) - psi(self.word_counts.sum(1, keepdims=True))
        return settled_topics(_scaled(expected_log)[words], _starts(documents), self.alpha[0, 0])

    def _predicted(self, documents: Documents) -> Predicted:
        words = self.vocabulary.words(documents.read().astype(float))
        rng = np.random.default_rng(0)
        likelihood = np.log(self.profiles().T)[words]
        return predict_topics(likelihood, document_of_rows(documents), len(documents), self.alpha, self.log_share, rng)

    def profiles(self) -> np.ndarray:
        return self.word_counts / self.word_counts.sum(1, keepdims=True)

    def means(self) -> np.ndarray:
        return self.vocabulary.means

    def deviations(self) -> np.ndarray:
        return self.vocabulary.deviations

    def sizes(self) -> np.ndarray:
        return self.word_counts.sum(0)

    def in_use(self) -> tuple[int, int]:
        return self.vocabulary.n_words, self.vocabulary.n_words

    def arrays(self) -> dict[str, np.ndarray]:
        stored = {name: np.asarray(getattr(self, name)) for name in _STORED}
        return {**stored, **self.vocabulary.arrays()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "WordTopics":
        word_counts, alpha, log_share, sampled = (np.array(arrays[name]) for name in _STORED)
        return cls(restored_vocabulary(arrays), word_counts, alpha, log_share, bool(sampled))


_STORED = ("word_counts", "alpha", "log_share", "sampled")


def _starts(documents: Documents) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(documents.sizes)]).astype(np.int64)


def _scaled(expected_log: np.ndarray) -> np.ndarray:
    """Return exp of the log probabilities (V, T), scaled so that the largest entry of each word is 1."""
    columns = expected_log.T
    return np.exp(columns - columns.max(1, keepdims=True))


@dataclass(frozen=True)
class WordFit:
    topics: WordTopics
    document_counts: np.ndarray  # (N, T)
    bounds: list[float]
    converged: bool


def variational_word_topics(
    words: np.ndarray,
    documents: Documents,
    vocabulary: VisualVocabulary,
    n_topics: int,
    alpha: float,
    word_prior: float,
    rng: np.random.Generator,
    *,
    max_iter: int,
    tol: float,
    on_step: OnStep = ignore,
    saved: Mapping[str, Any] | None = None,
    save: Save = lambda state: None,
) -> WordFit:
    """Fit by coordinate ascent over documents and topics of words (section 16 of the note, 5). `saved` is a state that
    `save` got, from which the fit continues."""
    V, starts, prior = vocabulary.n_words, _starts(documents), Dirichlet(word_prior)
    counts = rng.gamma(100.0, 0.01, (n_topics, V)) * len(words) / (n_topics * V)
    bounds: list[float] = []
    if saved is not None:
        counts, bounds = np.array(saved["counts"]), [float(bound) for bound in saved["bounds"]]
    for iteration in range(len(bounds), max_iter):
        topics = prior.posterior(counts)
        documents_counts, weights = settled_topics(_scaled(topics.expected_log)[words], starts, alpha)
        bounds.append(_bound(topics, words, weights, documents_counts, alpha))
        counts = np.zeros((n_topics, V))
        for t in range(n_topics):
            counts[t] = np.bincount(words, weights[:, t], minlength=V)
        save(partial(dict, counts=counts, bounds=np.array(bounds)))
        on_step(Progress(iteration + 1, max_iter, f"bound {bounds[-1]:.6g}", _figures(bounds[-1], len(words), V)))
        if len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) < tol * abs(bounds[-1]):
            break
    final = _scaled(prior.posterior(counts).expected_log)[words]
    fitted = WordTopics(vocabulary, word_prior + counts, np.full((1, n_topics), alpha), np.zeros(1), False)
    return WordFit(fitted, settled_topics(final, starts, alpha)[0], bounds, len(bounds) < max_iter)


def _bound(topics, words: np.ndarray, weights: np.ndarray, documents_counts: np.ndarray, alpha: float) -> float:
    """Return the lower bound after a document step."""
    log_weights = np.log(np.where(weights > 0, weights, 1))
    data = float((weights * (topics.expected_log.T[words] - log_weights)).sum())
    return data + float(Dirichlet(alpha).log_evidence(documents_counts).sum()) - float(topics.kl.sum())


@dataclass
class WordSampler:
    """A Gibbs chain of topics of words, with the class-dependent prior of the note (2.2)."""

    words: np.ndarray
    document: np.ndarray
    vocabulary: VisualVocabulary
    classes: ClassPriors
    word_prior: float
    rng: np.random.Generator
    topics: np.ndarray
    word_counts: np.ndarray  # (T, V)
    document_topics: np.ndarray  # (N, T)
    document_sizes: np.ndarray  # (N,)
    history: list[float] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        words: np.ndarray,
        documents: Documents,
        vocabulary: VisualVocabulary,
        alpha: np.ndarray,
        of_documents: np.ndarray,
        word_prior: float,
        rng: np.random.Generator,
    ) -> "WordSampler":
        T, N, V = alpha.shape[1], len(documents), vocabulary.n_words
        topics, document = rng.integers(0, T, len(words)), document_of_rows(documents)
        word_counts, document_topics = np.zeros((T, V), np.int64), np.zeros((N, T), np.int64)
        np.add.at(word_counts, (topics, words), 1)
        np.add.at(document_topics, (document, topics), 1)
        sampler = cls(
            words, document, vocabulary, class_priors(alpha, of_documents), word_prior, rng, topics, word_counts,
            document_topics, document_topics.sum(1),
        )  # fmt: skip
        sampler.refresh_class_weights()
        return sampler

    def state(self) -> dict[str, Any]:
        """Return all that `resumed` needs to continue exactly, without the words."""
        return {
            "topics": self.topics,
            "alpha": self.classes.alpha,
            "log_weight": self.classes.log_weight,
            "word_prior": self.word_prior,
            "bounds": np.array(self.history),
            "generator": generator_text(self.rng),
        }

    def resumed(self, state: Mapping[str, Any]) -> "WordSampler":
        """Return the chain of a checkpoint. This sampler is a start with the same words."""
        topics = np.array(state["topics"])
        word_counts, document_topics = np.zeros_like(self.word_counts), np.zeros_like(self.document_topics)
        np.add.at(word_counts, (topics, self.words), 1)
        np.add.at(document_topics, (self.document, topics), 1)
        classes = self.classes._replace(alpha=np.array(state["alpha"]), log_weight=np.array(state["log_weight"]))
        return replace(
            self, classes=classes, word_prior=float(state["word_prior"]), rng=generator_of(state["generator"]),
            topics=topics, word_counts=word_counts, document_topics=document_topics,
            history=[float(bound) for bound in state["bounds"]],
        )  # fmt: skip

    def refresh_class_weights(self) -> None:
        for y, alpha in enumerate(self.classes.alpha):
            self.classes.log_weight[:, y] = log_evidence_of_topics(self.document_topics, alpha)

    def learn(self) -> None:
        """Maximise alpha of each class and the prior of words."""
        for y in range(len(self.classes.alpha)):
            topic_counts = self.document_topics[self.classes.document_class == y]
            self.classes.alpha[y] = best_alpha(topic_counts, self.classes.alpha[y])
        self.refresh_class_weights()
        self.word_prior = best_word_prior(self.word_counts)

    def log_joint(self) -> float:
        total = sum(
            log_evidence_of_topics(self.document_topics[self.classes.document_class == y], alpha).sum()
            for y, alpha in enumerate(self.classes.alpha)
        )
        return float(total) + float(Dirichlet(self.word_prior).log_evidence(self.word_counts).sum())

    def fitted(self) -> WordTopics:
        return WordTopics(
            self.vocabulary, self.word_counts + self.word_prior, self.classes.alpha.copy(),
            self.classes.log_share.copy(), True,
        )  # fmt: skip


def best_word_prior(word_counts: np.ndarray) -> float:
    """Return the symmetric Dirichlet parameter under which the words of topics are most likely."""

    def cost(log_value: float) -> float:
        return -float(Dirichlet(float(np.exp(log_value))).log_evidence(word_counts).sum())

    return float(np.exp(minimize_scalar(cost, bounds=(-BOUND, BOUND), method="bounded").x))


def run_word_chain(
    sampler: WordSampler, rule: GibbsRule, on_step: OnStep = ignore, save: Save = lambda state: None
) -> list[float]:
    """Run all sweeps and return the joint log probability after each. A resumed chain runs those that are missing."""
    history = sampler.history
    for number in range(len(history) + 1, rule.sweeps + 1):
        _sweep_words(
            sampler.words, sampler.document, sampler.topics, sampler.word_counts, sampler.document_topics,
            sampler.document_sizes, sampler.classes, sampler.word_prior, sampler.rng.random(len(sampler.words)),
        )  # fmt: skip
        if number > rule.burn_in and (number - rule.burn_in) % rule.every == 0 and rule.learns_alpha:
            sampler.learn()
        history.append(sampler.log_joint())
        save(sampler.state)
        figures = _figures(history[-1], len(sampler.words), sampler.vocabulary.n_words)
        on_step(Progress(number, rule.sweeps, f"sweep {number}: log joint {history[-1]:.6g}", figures))
    return history


def _figures(bound: float, n_rows: int, n_words: int) -> dict[str, float]:
    """Return the values that plots of a running fit show."""
    return {"bound": bound, "bound_per_row": bound / max(n_rows, 1), "clusters": n_words}


@numba.njit(cache=True, nogil=True)
def _sweep_words(words, document, topics, word_counts, counts, sizes, classes, word_prior, uniforms):
    T, V = word_counts.shape
    weights, totals = np.empty(T), word_counts.sum(1)
    for i in range(words.size):
        d, w, z = document[i], words[i], topics[i]
        word_counts[z, w] -= 1
        totals[z] -= 1
        counts[d, z] -= 1
        sizes[d] -= 1
        shift_class_weights(counts[d], sizes[d], classes, d, z, -1)
        topic_prior_weights(counts[d], sizes[d], classes, d, weights)
        for t in range(T):
            weights[t] *= (word_counts[t, w] + word_prior) / (totals[t] + V * word_prior)
        z = random_position(weights, T, uniforms[i])
        shift_class_weights(counts[d], sizes[d], classes, d, z, 1)
        topics[i] = z
        word_counts[z, w] += 1
        totals[z] += 1
        counts[d, z] += 1
        sizes[d] += 1
