"""Collapsed Gibbs sampling of topics, without or with classes of documents (methods note 2)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from benthoscope.engine.distributions import SphericalGaussian, log_evidence
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.sampling.concentrations import (
    best_alpha,
    best_concentration,
    log_evidence_of_topics,
    sampled_concentration,
)
from benthoscope.engine.topics.sampling.seating import (
    LIVE,
    TABLES,
    ClassPriors,
    Seating,
    empty_seating,
    seat_start,
    sweep,
    sweep_topics,
    with_room,
)
from benthoscope.engine.topics.words import Centres

ROWS_AT_ONCE = 5_000  # descriptors between two reports at most, so that a fit can be cancelled
NUMBERS_AT_ONCE = 200_000_000  # descriptors times clusters times columns between two reports at most: about 0.2 s
PREDICTION_SWEEPS, AVERAGED_SWEEPS = 50, 25


@dataclass(frozen=True)
class GibbsRule:
    """The schedule. After `burn_in` sweeps, alpha and the concentration of topics are updated at every `every`-th
    sweep. With `samples`, both concentrations are drawn instead."""

    sweeps: int = 500
    burn_in: int = 100
    every: int = 10
    learns_alpha: bool = True
    learns_concentration: bool = True
    samples: bool = False


@dataclass
class GibbsSampler:
    """A chain. `advance` runs one sweep; `topics` returns the current sample as a fixed model."""

    seating: Seating
    base: SphericalGaussian
    classes: ClassPriors
    topic_concentration: float
    concentration: float
    rng: np.random.Generator
    history: list[float] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        x: np.ndarray,
        document: np.ndarray,
        alpha: np.ndarray,
        classes_of_documents: np.ndarray,
        base: SphericalGaussian,
        concentrations: tuple[float, float],
        rng: np.random.Generator,
        start_clusters: int | None,
        on_step: OnStep = ignore,
    ) -> "GibbsSampler":
        """Return a chain. It starts from `start_clusters` random centres, more than are expected; None seats the
        descriptors one after the other. `alpha` (Y, T), `classes_of_documents` (N,) with -1 for unknown classes."""
        N, T = len(classes_of_documents), alpha.shape[1]
        room = max(64, 2 * (start_clusters or 0))
        seating = empty_seating(x, document, N, T, base, room)
        sampler = cls(seating, base, class_priors(alpha, classes_of_documents), *concentrations, rng)
        if start_clusters is not None:
            centres = x[rng.choice(len(x), min(start_clusters, len(x)), replace=False)]
            topics, nearest = rng.integers(0, T, len(x)), Centres(centres).words(x, on_step)
            seat_start(seating, topics, np.unique(nearest, return_inverse=True)[1])
            sampler.refresh_class_weights()
        return sampler

    @property
    def n_clusters(self) -> int:
        return int(self.seating.totals[LIVE])

    @property
    def live(self) -> np.ndarray:
        return self.seating.live[: self.n_clusters]

    def advance(self, on_step: OnStep = ignore, progress: Progress | None = None) -> None:
        """Draw all seats again, once."""
        n, end = len(self.seating.x), 0
        while end < n:
            begin, end = end, min(end + self._rows_at_once(), n)
            uniforms, at = self.rng.random((end - begin, 4)), begin
            while (at := self._sweep(uniforms[at - begin :], at, end)) < end:
                self.seating = with_room(self.seating, 2 * len(self.seating.rate))
            if progress is not None and end < n:
                on_step(progress)

    def _rows_at_once(self) -> int:
        of_row = max(self.n_clusters, 1) * self.seating.x.shape[1]
        return max(1, min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // of_row))

    def _sweep(self, uniforms: np.ndarray, begin: int, end: int) -> int:
        return sweep(self.seating, self.classes, self.topic_concentration, self.concentration, uniforms, begin, end)

    def learn_alpha(self) -> None:
        for y in range(len(self.classes.alpha)):
            topic_counts = self.seating.document_topics[self.classes.document_class == y]
            self.classes.alpha[y] = best_alpha(topic_counts, self.classes.alpha[y])
        self.refresh_class_weights()

    def refresh_class_weights(self) -> None:
        for y, alpha in enumerate(self.classes.alpha):
            self.classes.log_weight[:, y] = log_evidence_of_topics(self.seating.document_topics, alpha)

    def learn_concentration(self) -> None:
        self.topic_concentration = best_concentration(self._tables_per_topic(), self.seating.topic_sizes)

    def sample_concentrations(self) -> None:
        sizes, tables = self.seating.topic_sizes, int(self.seating.totals[TABLES])
        self.topic_concentration = sampled_concentration(self.topic_concentration, tables, sizes, self.rng)
        self.concentration = sampled_concentration(self.concentration, self.n_clusters, np.array([tables]), self.rng)

    def _tables_per_topic(self) -> np.ndarray:
        seating = self.seating
        topic_of_table = np.zeros(len(seating.table_count), np.int64)
        topic_of_table[seating.table] = seating.topic
        return np.bincount(topic_of_table[seating.table_count > 0], minlength=len(seating.topic_sizes))

    def log_joint(self) -> float:
        """Return the log of the joint probability of seats and descriptors."""
        s, classes = self.seating, self.classes
        total = 0.0
        for y, alpha in enumerate(classes.alpha):
            total += log_evidence_of_topics(s.document_topics[classes.document_class == y], alpha).sum()
        unknown = classes.document_class < 0
        total += logsumexp(classes.log_weight[unknown] + classes.log_share, axis=1).sum() if unknown.any() else 0.0
        a0, g = self.topic_concentration, self.concentration
        total += (self._tables_per_topic() * np.log(a0) + gammaln(a0) - gammaln(a0 + s.topic_sizes)).sum()
        total += gammaln(s.table_count[s.table_count > 0]).sum()
        tables = s.cluster_tables[self.live]
        total += self.n_clusters * np.log(g) + gammaln(tables).sum() + gammaln(g) - gammaln(g + tables.sum())
        return float(total + self._log_evidence())

    def _log_evidence(self) -> float:
        """Return the log marginal likelihood of the descriptors given their clusters."""
        cluster = self.seating.table_cluster[self.seating.table]
        moments = np.zeros((len(self.seating.rate), self.base.n_statistics))
        np.add.at(moments, cluster, self.base.features(np.ascontiguousarray(self.seating.x.T)).T)
        return float(log_evidence(self.base, moments[self.live]).sum())

    def state(self) -> dict[str, Any]:
        """Return all that `resumed` needs to continue exactly, without the descriptors."""
        seating = {
            f"seating_{name}": getattr(self.seating, name) for name in Seating._fields if name not in ("x", "document")
        }
        return {
            **seating,
            "alpha": self.classes.alpha,
            "log_weight": self.classes.log_weight,
            "topic_concentration": self.topic_concentration,
            "concentration": self.concentration,
            "history": np.array(self.history),
            "generator": generator_text(self.rng),
        }

    def resumed(self, state: Mapping[str, Any]) -> "GibbsSampler":
        """Return the chain of a checkpoint. This sampler is a start with the same descriptors."""
        names = [name for name in Seating._fields if name not in ("x", "document")]
        seating = self.seating._replace(**{name: np.array(state[f"seating_{name}"]) for name in names})
        classes = self.classes._replace(alpha=np.array(state["alpha"]), log_weight=np.array(state["log_weight"]))
        return GibbsSampler(
            seating, self.base, classes, float(state["topic_concentration"]), float(state["concentration"]),
            generator_of(state["generator"]), [float(value) for value in state["history"]],
        )  # fmt: skip

    def topics(self) -> "GibbsTopics":
        s, live = self.seating, self.live
        count = s.cluster_sizes[live]
        D = s.x.shape[1]
        clusters = SphericalGaussian(
            s.mean[live].copy(), s.prior[0] + count, s.prior[1] + count * D / 2, s.rate[live].copy()
        )
        return GibbsTopics(
            self.base, clusters, s.topic_clusters[:, live].astype(float), s.cluster_tables[live].astype(float),
            self.classes.alpha.copy(), self.classes.log_share.copy(), self.topic_concentration, self.concentration,
        )  # fmt: skip


def generator_text(rng: np.random.Generator) -> str:
    """Return the state of a random generator as text."""
    return json.dumps(rng.bit_generator.state)


def generator_of(text: str) -> np.random.Generator:
    """Return the random generator with this state."""
    rng = np.random.default_rng()
    rng.bit_generator.state = json.loads(text)
    return rng


def class_priors(alpha: np.ndarray, of_documents: np.ndarray) -> ClassPriors:
    Y = len(alpha)
    known = np.bincount(of_documents[of_documents >= 0], minlength=Y).astype(float)
    share = known / known.sum() if known.any() else np.full(Y, 1 / Y)
    return ClassPriors(
        alpha.astype(float).copy(), np.log(np.maximum(share, 1e-300)), of_documents.astype(np.int64),
        np.zeros((len(of_documents), Y)),
    )  # fmt: skip


def run_chain(
    sampler: GibbsSampler,
    rule: GibbsRule,
    on_step: OnStep = ignore,
    stage: str = "",
    save: Callable[[GibbsSampler], None] = lambda sampler: None,
) -> None:
    """Run all sweeps, with updates of the hyper-parameters, and record the joint log probability. A resumed chain runs
    the sweeps that are missing. `save` gets the sampler after each sweep."""
    progress = Progress(0, rule.sweeps, f"{stage}first sweep")
    for number in range(len(sampler.history) + 1, rule.sweeps + 1):
        sampler.advance(on_step, progress)
        if number > rule.burn_in and (number - rule.burn_in) % rule.every == 0:
            if rule.learns_alpha:
                sampler.learn_alpha()
            if rule.samples:
                sampler.sample_concentrations()
            elif rule.learns_concentration:
                sampler.learn_concentration()
        joint = sampler.log_joint()
        sampler.history.append(joint)
        message = f"{stage}sweep {number}: {sampler.n_clusters} clusters, log joint {joint:.6g}"
        figures = {
            "bound": joint,
            "bound_per_row": joint / len(sampler.seating.x),
            "clusters": sampler.n_clusters,
        }
        progress = Progress(number, rule.sweeps, message, figures)
        save(sampler)
        on_step(progress)


@dataclass(frozen=True)
class Predicted:
    """Averages over the last sweeps of new documents."""

    topic_weights: np.ndarray  # (N, T)
    class_probability: np.ndarray  # (N, Y)


def predict_topics(
    log_likelihood: np.ndarray,
    document: np.ndarray,
    N: int,
    alpha: np.ndarray,
    log_share: np.ndarray,
    rng: np.random.Generator,
) -> Predicted:
    """Return the topics and classes of N new documents under fixed likelihoods of topics (n, T) (methods note 2.7)."""
    T, Y = alpha.shape[1], len(alpha)
    classes = class_priors(alpha, np.full(N, -1))._replace(log_share=log_share)
    topics, counts, sizes = np.full(len(document), -1), np.zeros((N, T), np.int64), np.zeros(N, np.int64)
    weights, probability = np.zeros((N, T)), np.zeros((N, Y))
    for number in range(PREDICTION_SWEEPS):
        sweep_topics(log_likelihood, document, topics, counts, sizes, classes, rng.random(len(document)))
        if number >= PREDICTION_SWEEPS - AVERAGED_SWEEPS:
            joint = classes.log_weight + log_share
            of_class = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
            probability += of_class
            weights += expected_weights(alpha, counts, of_class)
    return Predicted(weights / AVERAGED_SWEEPS, probability / AVERAGED_SWEEPS)


def expected_weights(alpha: np.ndarray, counts: np.ndarray, of_class: np.ndarray) -> np.ndarray:
    """Return the expected topic weights (N, T) of documents with these counts and class probabilities (N, Y)."""
    totals = alpha.sum(1) + counts.sum(1, keepdims=True)  # (N, Y)
    share = of_class / totals
    return share @ alpha + share.sum(1, keepdims=True) * counts


@dataclass(frozen=True)
class GibbsTopics:
    """A sample as a fixed model of new documents."""

    base: SphericalGaussian
    clusters: SphericalGaussian
    topic_clusters: np.ndarray  # (T, K) descriptors
    cluster_tables: np.ndarray  # (K,)
    alpha: np.ndarray  # (Y, T)
    log_share: np.ndarray  # (Y,)
    topic_concentration: float
    concentration: float

    @property
    def n_topics(self) -> int:
        return len(self.topic_clusters)

    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return log p(x | topic) of each row (n, T), with tables and clusters summed out."""
        a0, g = self.topic_concentration, self.concentration
        menu = np.append(self.cluster_tables, g) / (self.cluster_tables.sum() + g)
        served = np.column_stack([self.topic_clusters, np.zeros(self.n_topics)]) + a0 * menu
        weights = served / (self.topic_clusters.sum(1, keepdims=True) + a0)
        blocks = [self._block(x[at : at + ROWS_AT_ONCE], weights) for at in range(0, len(x), ROWS_AT_ONCE)]
        return np.concatenate(blocks) if blocks else np.zeros((0, self.n_topics))

    def _block(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        density = np.column_stack([self.clusters.log_predictive(x), self.base.log_predictive(x)])
        highest = density.max(1, keepdims=True)
        return np.log(np.maximum(np.exp(density - highest) @ weights.T, 1e-300)) + highest

    def predict(self, x: np.ndarray, document: np.ndarray, N: int, rng: np.random.Generator) -> Predicted:
        """Return the topics and classes of new documents, with all counts of the fit fixed (methods note 2.7)."""
        return predict_topics(self.log_likelihood(x), document, N, self.alpha, self.log_share, rng)

    def expected_weights(self, counts: np.ndarray, of_class: np.ndarray) -> np.ndarray:
        """Return the expected topic weights (N, T) of documents with these counts and class probabilities (N, Y)."""
        return expected_weights(self.alpha, counts, of_class)

    def profiles(self) -> np.ndarray:
        """Return the share of each cluster in each topic (T, K)."""
        weights = self.topic_clusters + self.topic_concentration * self.cluster_tables / self.cluster_tables.sum()
        return weights / weights.sum(1, keepdims=True)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"base_{name}": value for name, value in self.base.arrays().items()}
        arrays |= {f"clusters_{name}": value for name, value in self.clusters.arrays().items()}
        for name in _STORED:
            arrays[name] = np.asarray(getattr(self, name))
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "GibbsTopics":
        base, clusters = (
            SphericalGaussian(
                **{name: np.array(arrays[f"{owner}_{name}"]) for name in ("mean", "strength", "shape", "rate")}
            )
            for owner in ("base", "clusters")
        )
        topic_clusters, cluster_tables, alpha, log_share = (np.array(arrays[name]) for name in _STORED[:4])
        concentrations = (float(arrays[name]) for name in _STORED[4:])
        return cls(base, clusters, topic_clusters, cluster_tables, alpha, log_share, *concentrations)


_STORED = ("topic_clusters", "cluster_tables", "alpha", "log_share", "topic_concentration", "concentration")
