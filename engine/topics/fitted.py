"""Fitted topics in one form for the estimator: by variational inference, or a sample of the Gibbs sampler."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from benthoscope.engine.distributions import SphericalGaussian
from benthoscope.engine.topics.document_step import FrozenTopics, descriptor_topics
from benthoscope.engine.topics.documents import Documents, document_of_rows
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.sampling.gibbs import GibbsTopics
from benthoscope.engine.topics.state import TopicState
from benthoscope.engine.topics.updates import held_out_bound
from benthoscope.engine.topics.variational import Runtime, fit_of_documents, topic_counts_of, topic_weights_of


class FittedTopics(Protocol):
    def topic_weights(self, documents: Documents, runtime: Runtime, monitor: Monitor) -> np.ndarray: ...  # (N, T)

    def descriptor_topics(self, documents: Documents, runtime: Runtime) -> np.ndarray: ...  # (rows, T)

    def log_likelihood(self, documents: Documents, runtime: Runtime) -> float: ...  # of all descriptors

    def profiles(self) -> np.ndarray: ...  # (T, C)

    def means(self) -> np.ndarray: ...  # (C, D)

    def deviations(self) -> np.ndarray: ...  # (C,)

    def sizes(self) -> np.ndarray: ...  # (C,) descriptors

    def in_use(self) -> tuple[int, int]: ...  # clusters, atoms

    def arrays(self) -> dict[str, np.ndarray]: ...


@runtime_checkable
class ClassifyingTopics(FittedTopics, Protocol):
    """Topics that also distinguish classes of images."""

    def class_probability(self, documents: Documents) -> np.ndarray: ...  # (N, Y)


@dataclass(frozen=True)
class VariationalTopics:
    state: TopicState

    def topic_weights(self, documents: Documents, runtime: Runtime, monitor: Monitor) -> np.ndarray:
        counts = topic_counts_of(documents, self.state, runtime, monitor)
        return topic_weights_of(counts, self.state.prior.alpha)

    def descriptor_topics(self, documents: Documents, runtime: Runtime) -> np.ndarray:
        frozen = FrozenTopics.of(self.state)
        return np.concatenate(list(runtime.compute.map(documents.blocks(frozen.most_rows), descriptor_topics, frozen)))

    def log_likelihood(self, documents: Documents, runtime: Runtime) -> float:
        """Return a lower bound."""
        return held_out_bound(self.state, fit_of_documents(documents, self.state, runtime))

    def profiles(self) -> np.ndarray:
        return self.state.topic_profiles()

    def means(self) -> np.ndarray:
        return self.state.clusters.mean

    def deviations(self) -> np.ndarray:
        return 1 / np.sqrt(self.state.clusters.precision)

    def sizes(self) -> np.ndarray:
        return self.state.cluster_moments[:, 0]

    def clusters_about(self, shift: np.ndarray) -> SphericalGaussian:
        """Return the clusters of descriptors that are shifted by a vector."""
        return self.state.clusters.moved(shift, 1.0)

    def in_use(self) -> tuple[int, int]:
        return self.state.clusters_in_use, self.state.atoms_in_use

    def arrays(self) -> dict[str, np.ndarray]:
        return self.state.arrays()


PREDICTION_SEED = 0  # topics of new images must not differ between two calls


@dataclass(frozen=True)
class SampledTopics:
    sample: GibbsTopics

    def topic_weights(self, documents: Documents, runtime: Runtime, monitor: Monitor) -> np.ndarray:
        return self._predicted(documents).topic_weights

    def class_probability(self, documents: Documents) -> np.ndarray:
        """Return the probability of each class (N, Y)."""
        return self._predicted(documents).class_probability

    def _predicted(self, documents: Documents):
        rng = np.random.default_rng(PREDICTION_SEED)
        return self.sample.predict(documents.read().astype(float), document_of_rows(documents), len(documents), rng)

    def _log_joint(self, documents: Documents) -> np.ndarray:
        """Return log p(topic, descriptor) of each descriptor under the weights of its document (rows, T)."""
        weights = np.maximum(self._predicted(documents).topic_weights, 1e-300)
        likelihood = self.sample.log_likelihood(documents.read().astype(float))
        return likelihood + np.log(weights)[document_of_rows(documents)]

    def descriptor_topics(self, documents: Documents, runtime: Runtime) -> np.ndarray:
        joint = self._log_joint(documents)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def log_likelihood(self, documents: Documents, runtime: Runtime) -> float:
        return float(logsumexp(self._log_joint(documents), axis=1).sum())

    def profiles(self) -> np.ndarray:
        return self.sample.profiles()

    def means(self) -> np.ndarray:
        return self.sample.clusters.mean

    def deviations(self) -> np.ndarray:
        return 1 / np.sqrt(self.sample.clusters.precision)

    def sizes(self) -> np.ndarray:
        return self.sample.topic_clusters.sum(0)

    def clusters_about(self, shift: np.ndarray) -> SphericalGaussian:
        return self.sample.clusters.moved(shift, 1.0)

    def in_use(self) -> tuple[int, int]:
        return len(self.sample.cluster_tables), int(self.sample.cluster_tables.sum())

    def arrays(self) -> dict[str, np.ndarray]:
        return self.sample.arrays()


def restored(inference: str, arrays: dict[str, np.ndarray]) -> VariationalTopics | SampledTopics:
    if inference == "gibbs":
        return SampledTopics(GibbsTopics.from_arrays(arrays))
    return VariationalTopics(TopicState.from_arrays(arrays))
