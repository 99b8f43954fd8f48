"""Coordinate ascent and stochastic inference of topics (methods note 3.8 and 4)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benthoscope.engine.compute import Compute, InOrder
from benthoscope.engine.topics.document_step import (
    AtomLists,
    DocumentFit,
    DocumentStatistics,
    FrozenTopics,
    document_fit,
    document_step,
    topic_counts,
)
from benthoscope.engine.topics.documents import Corpus, DocumentBlock
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.near_atoms import RememberedAtoms
from benthoscope.engine.topics.state import TopicState
from benthoscope.engine.topics.updates import bound, bound_of_fit, global_step

SMALLEST = 0.5  # descriptors; clusters and atoms that own fewer are dropped
WORTH_DROPPING = 0.1  # share of the clusters or atoms; smaller arrays than that save nothing


@dataclass(frozen=True)
class Runtime:
    """How document steps run, the same for all kinds of inference."""

    compute: Compute = field(default_factory=InOrder)
    n_nearest: int | None = None  # atoms considered for each descriptor in fits, remembered between visits; None: all
    prune: bool = True  # drop unused clusters and atoms during the fit
    step: Callable[..., TopicState] = global_step


@dataclass(frozen=True)
class TopicFit:
    """A state with the counts of all documents (N, T) and the bound under it."""

    state: TopicState
    document_counts: np.ndarray
    bound: float
    converged: bool


def collect(
    documents: Corpus,
    state: TopicState,
    runtime: Runtime,
    start: np.ndarray | None = None,
    monitor: Monitor | None = None,
    remembered: "VisitedDocuments | None" = None,
) -> DocumentStatistics:
    """Return the statistics of all documents. `start` (N, T) are the counts of documents to start from."""
    frozen = FrozenTopics.of(state, None if remembered is None else runtime.n_nearest)
    blocks = documents.blocks(frozen.most_rows)
    chunks = zip(blocks, _split(start, blocks), _lists(remembered, blocks), strict=True)
    after = monitor.pulse if monitor else None
    statistics = runtime.compute.map_reduce(list(chunks), _step, _sum, frozen, after_each=after)
    if remembered is None:
        return statistics
    assert statistics.atom_lists is not None
    remembered.atoms.store(remembered.documents, statistics.atom_lists)
    return replace(statistics, atom_lists=None)


@dataclass(frozen=True)
class VisitedDocuments:
    """Near atoms of all descriptors of a corpus, and the documents of it that are visited."""

    atoms: RememberedAtoms
    documents: np.ndarray  # numbers


def _split(start: np.ndarray | None, blocks: list[DocumentBlock]) -> list[Any]:
    if start is None:
        return [None] * len(blocks)
    return np.split(start, np.cumsum([len(block.sizes) for block in blocks])[:-1])


def _lists(remembered: VisitedDocuments | None, blocks: list[DocumentBlock]) -> list[AtomLists | None]:
    if remembered is None:
        return [None] * len(blocks)
    ends = np.cumsum([block.sizes.sum() for block in blocks])[:-1]
    both = (np.split(each, ends) for each in remembered.atoms.visit(remembered.documents))
    return [AtomLists(*each) for each in zip(*both, strict=True)]


def _step(chunk: tuple[DocumentBlock, np.ndarray | None, AtomLists | None], frozen: FrozenTopics) -> DocumentStatistics:
    return document_step(chunk[0], frozen, chunk[1], chunk[2])


def _sum(first: DocumentStatistics, second: DocumentStatistics) -> DocumentStatistics:
    return first + second


def topic_counts_of(
    documents: Corpus, state: TopicState, runtime: Runtime, monitor: Monitor | None = None
) -> np.ndarray:
    """Return the expected number of descriptors of each topic in each document (N, T)."""
    frozen = FrozenTopics.of(state)
    after = monitor.pulse if monitor else None
    counts, at = np.empty((len(documents), state.n_topics)), 0
    for part in runtime.compute.map(documents.blocks(frozen.most_rows), topic_counts, frozen, after_each=after):
        counts[at : at + len(part)] = part  # a list of all parts would take as much memory again
        at += len(part)
    return counts


def fit_of_documents(
    documents: Corpus, state: TopicState, runtime: Runtime, monitor: Monitor | None = None
) -> DocumentFit:
    """Return how all documents fit a fixed state."""
    frozen = FrozenTopics.of(state)
    after = monitor.pulse if monitor else None
    parts = list(runtime.compute.map(documents.blocks(frozen.most_rows), document_fit, frozen, after_each=after))
    counts = np.concatenate([np.zeros((0, state.n_topics)), *(part.counts for part in parts)])
    return DocumentFit(counts, sum(part.log_likelihood for part in parts))


def topic_weights_of(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Return the expected topic weights of documents (N, T) from their counts."""
    weights = alpha + counts
    weights /= weights.sum(1, keepdims=True)
    return weights


def compact(state: TopicState, least: float = SMALLEST) -> TopicState:
    """Return the state without the clusters and atoms that own less than `least` descriptors."""
    return _narrowed(state, *_used(state, least))


def _used(state: TopicState, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the clusters and of the atoms that own enough."""
    return _large_enough(state.cluster_moments[:, 0], least), _large_enough(state.atom_counts.sum(0), least)


def _large_enough(owned: np.ndarray, least: float) -> np.ndarray:
    is_large = owned >= least
    is_large[owned.argmax()] = True
    return np.flatnonzero(is_large)


def _narrowed(state: TopicState, clusters: np.ndarray, atoms: np.ndarray) -> TopicState:
    smaller = state.with_clusters(state.cluster_moments[clusters])
    smaller = smaller.with_mapping(state.log_mapping[np.ix_(atoms, clusters)])
    return smaller.with_atoms(state.atom_counts[:, atoms]).with_master()


def _pruned(state: TopicState, remembered: RememberedAtoms | None) -> TopicState:
    """Return a compact state if that saves enough work."""
    clusters, atoms = _used(state, SMALLEST)
    if min(len(clusters) / state.n_clusters, len(atoms) / state.n_atoms) > 1 - WORTH_DROPPING:
        return state
    if remembered is not None:
        remembered.renumber(atoms, state.n_atoms)
    return _narrowed(state, clusters, atoms)


def _memory(documents: Corpus, runtime: Runtime) -> RememberedAtoms | None:
    return None if runtime.n_nearest is None else RememberedAtoms(documents.sizes, runtime.n_nearest)


@dataclass(frozen=True)
class AscentRule:
    max_iter: int = 50
    tol: float = 1e-6  # relative change of the bound
    warm: bool = False  # start documents from their previous counts


def coordinate_ascent(
    documents: Corpus,
    state: TopicState,
    rule: AscentRule,
    runtime: Runtime,
    monitor: Monitor,
    begin: int = 0,
) -> TopicFit:
    """Alternate document and global steps. `begin` iterations are already done."""
    counts, converged = None, False
    memory, every = _memory(documents, runtime), np.arange(len(documents))
    last = monitor.entries[-1].bound if begin and monitor.entries else None
    for iteration in range(begin, rule.max_iter):
        remembered = None if memory is None else VisitedDocuments(memory, every)
        statistics = collect(documents, state, runtime, counts if rule.warm else None, monitor, remembered)
        counts = statistics.document_counts
        state = runtime.step(state, statistics)
        current = bound(state, statistics)
        state = _pruned(state, memory) if runtime.prune else state
        monitor.iterated(state, current, len(documents))
        monitor.save_when_due(state, iteration + 1)
        if last is not None and abs(current - last) < rule.tol * abs(current):
            converged = True
            break
        last = current
    return final_fit(documents, state, runtime, monitor, converged)


def final_fit(documents: Corpus, state: TopicState, runtime: Runtime, monitor: Monitor, converged: bool) -> TopicFit:
    """Return the state with the counts of all documents and the bound under exactly this state."""
    fit = fit_of_documents(documents, state, runtime, monitor)
    return TopicFit(state, fit.counts, bound_of_fit(state, fit), converged)


@dataclass(frozen=True)
class LearningRate:
    """The step of stochastic inference. `constant` is the share of the documents in a batch; otherwise the rate is
    (iteration + delay) ** -forgetting."""

    share: float = 0.25
    schedule: str = "constant"
    delay: float = 1.0
    forgetting: float = 0.7

    def at(self, iteration: int) -> float:
        if self.schedule == "constant":
            return self.share
        return float(min(1.0, (iteration + 1 + self.delay) ** -self.forgetting))


def stochastic_inference(
    documents: Corpus,
    state: TopicState,
    rate: LearningRate,
    n_iter: int,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
    begin: int = 0,
) -> TopicFit:
    """Follow noisy natural gradients of random batches. The batches depend on the seed and the iteration only. A last
    step on all documents removes the noise of the last batches."""
    memory = _memory(documents, runtime)
    state = stochastic_state(documents, state, rate, n_iter, seed, runtime, monitor, begin, memory)
    if rate.share < 1:
        remembered = None if memory is None else VisitedDocuments(memory, np.arange(len(documents)))
        state = runtime.step(state, collect(documents, state, runtime, None, monitor, remembered))
        state = _pruned(state, None) if runtime.prune else state
    return final_fit(documents, state, runtime, monitor, False)


def stochastic_state(
    documents: Corpus,
    state: TopicState,
    rate: LearningRate,
    n_iter: int,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
    begin: int = 0,
    memory: RememberedAtoms | None = None,
) -> TopicState:
    """Return the state of stochastic inference, without a last pass over all documents."""
    memory = _memory(documents, runtime) if memory is None else memory
    for iteration in range(begin, n_iter):
        state = stochastic_step(documents, state, rate, iteration, seed, runtime, monitor, memory)
        monitor.save_when_due(state, iteration + 1)
    return state


def stochastic_step(
    documents: Corpus,
    state: TopicState,
    rate: LearningRate,
    iteration: int,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
    memory: RememberedAtoms | None = None,
) -> TopicState:
    N = len(documents)
    size = min(N, max(1, round(rate.share * N)))
    chosen = np.sort(np.random.default_rng([seed, iteration]).choice(N, size, replace=False))
    scale = N / size
    remembered = None if memory is None else VisitedDocuments(memory, chosen)
    statistics = collect(documents.take(chosen), state, runtime, None, monitor, remembered).scaled(scale)
    state = runtime.step(state, statistics, rate.at(iteration))
    estimate = bound(state, statistics, scale)
    state = _pruned(state, memory) if runtime.prune else state
    monitor.iterated(state, estimate, size, exact=size == N)
    return state
