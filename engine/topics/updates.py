"""The global step: clusters, mapping, atoms and master weights from sums over documents, and the bound (methods note
3.4, 3.7 and 4.2).

With `rate` 1, an update is the exact maximiser of the bound; with a smaller rate it is a step along the natural
gradient.
"""

from collections.abc import Mapping

import numpy as np

from benthoscope.engine.topics.document_step import DocumentFit, DocumentStatistics
from benthoscope.engine.topics.state import TopicState


def update_clusters(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    estimate = state.links.T @ statistics.atom_moments
    return state.with_clusters(_blended(state.cluster_moments, estimate, rate))


def update_mapping(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    return state.with_mapping_towards(statistics.atom_moments, rate)


def update_atoms(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    return state.with_atoms(_blended(state.atom_counts, statistics.atom_counts, rate))


def update_master(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    """Depends on the mapping alone, so it is exact for any rate."""
    return state.with_master()


UPDATES = (update_clusters, update_mapping, update_atoms, update_master)


def global_step(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    for update in UPDATES:
        state = update(state, statistics, rate)
    return state


def global_step_of_topics(state: TopicState, statistics: DocumentStatistics, rate: float = 1.0) -> TopicState:
    """The global step with frozen clusters and mapping: only the weights of atoms in topics change."""
    return update_atoms(state, statistics, rate)


def _blended(current: np.ndarray, estimate: np.ndarray, rate: float) -> np.ndarray:
    return estimate if rate == 1.0 else (1 - rate) * current + rate * estimate


def bound_terms(state: TopicState, statistics: DocumentStatistics, document_factor: float = 1.0) -> Mapping[str, float]:
    """Return the terms of the lower bound, for statistics of the last document step. `document_factor` is the number of
    times that each document counts; the statistics are already scaled by it."""
    coefficients = state.links @ state.clusters.coefficients()
    return {
        "data": float((statistics.atom_moments * coefficients).sum()),
        "atom choices": float((statistics.atom_counts * state.atoms.expected_log).sum()),
        "topic choices and documents": document_factor * _of_weights(state, statistics.document_counts),
        "entropy": statistics.entropy,
        **_terms_of_topics(state),
    }


def _of_weights(state: TopicState, document_counts: np.ndarray) -> float:
    return float(state.prior.of_documents.log_evidence(document_counts).sum())


def _terms_of_topics(state: TopicState) -> Mapping[str, float]:
    """Return the terms that do not depend on documents."""
    prior, links = state.prior, state.links
    mapping = float((links.data * (state.master.expected_log[0][links.indices] - np.log(links.data))).sum())
    return {
        "atoms": -float(state.atoms.kl.sum()),
        "mapping": prior.mapping_draws * mapping,
        "master": -float(state.master.kl.sum()),
        "clusters": -float(state.clusters.kl(prior.base).sum()),
    }


def bound(state: TopicState, statistics: DocumentStatistics, document_factor: float = 1.0) -> float:
    return sum(bound_terms(state, statistics, document_factor).values())


def bound_of_fit(state: TopicState, fit: DocumentFit) -> float:
    """Return the bound of documents under exactly this state."""
    return held_out_bound(state, fit) + sum(_terms_of_topics(state).values())


def held_out_bound(state: TopicState, fit: DocumentFit) -> float:
    """Return the lower bound of the log likelihood of new documents under the fixed state."""
    return fit.log_likelihood + _of_weights(state, fit.counts)
