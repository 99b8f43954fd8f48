"""Coordinate ascent and stochastic inference of topics (methods note 3.8 and 4)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benthoscope.engine.compute import Compute, InOrder
from benthoscope.engine.topics.document_step import (
    DocumentStatistics,
    FrozenTopics,
    document_step,
    topic_counts,
)
from benthoscope.engine.topics.documents import Corpus, DocumentBlock
from benthoscope.engine.topics.monitor import Monitor
from benthoscope.engine.topics.state import TopicState
from benthoscope.engine.topics.updates import bound, global_step

SMALLEST = 0.5  # descriptors; clusters and atoms that own fewer are dropped
WORTH_DROPPING = 0.1  # share of the clusters or atoms; smaller arrays than that save nothing


@dataclass(frozen=True)
class Runtime:
    """How document steps run, the same for all kinds of inference."""

    compute: Compute = field(default_factory=InOrder)
    n_nearest: int | None = None  # atoms considered for each descriptor; None: all
    prune: bool = True  # drop unused clusters and atoms during the fit
    step: Callable[..., TopicState] = global_step


@dataclass(frozen=True)
class TopicFit:
    """A state with the statistics of all documents under it."""

    state: TopicState
    statistics: DocumentStatistics
    bound: float
    converged: bool


def collect(
    documents: Corpus,
    state: TopicState,
    runtime: Runtime,
    start: np.ndarray | None = None,
    monitor: Monitor | None = None,
) -> DocumentStatistics:
    """Return the statistics of all documents. `start` (N, T) are the counts of documents to start from."""
    frozen = FrozenTopics.of(state, runtime.n_nearest)
    chunks = _with_starts(documents.blocks(frozen.most_rows), start)
    after = monitor.pulse if monitor else None
    return runtime.compute.map_reduce(chunks, _step, _sum, frozen, after_each=after)


def _with_starts(
    blocks: list[DocumentBlock], start: np.ndarray | None
) -> list[tuple[DocumentBlock, np.ndarray | None]]:
    if start is None:
        return [(block, None) for block in blocks]
    ends = np.cumsum([len(block.sizes) for block in blocks])
    return list(zip(blocks, np.split(start, ends[:-1]), strict=True))


def _step(chunk: tuple[DocumentBlock, np.ndarray | None], frozen: FrozenTopics) -> DocumentStatistics:
    return document_step(chunk[0], frozen, chunk[1])


def _sum(first: DocumentStatistics, second: DocumentStatistics) -> DocumentStatistics:
    return first + second


def topic_counts_of(
    documents: Corpus, state: TopicState, runtime: Runtime, monitor: Monitor | None = None
) -> np.ndarray:
    """Return the expected number of descriptors of each topic in each document (N, T)."""
    frozen = FrozenTopics.of(state, runtime.n_nearest)
    after = monitor.pulse if monitor else None
    return np.concatenate(
        list(runtime.compute.map(documents.blocks(frozen.most_rows), topic_counts, frozen, after_each=after))
    )


def topic_weights_of(counts: np.ndarray, alpha: float) -> np.ndarray:
    """Return the expected topic weights of documents (N, T) from their counts."""
    totals = alpha + counts
    return totals / totals.sum(1, keepdims=True)


def compact(state: TopicState, least: float = SMALLEST) -> TopicState:
    """Return the state without the clusters and atoms that own less than `least` descriptors."""
    clusters = _large_enough(state.cluster_moments[:, 0], least)
    atoms = _large_enough(state.atom_counts.sum(0), least)
    smaller = state.with_clusters(state.cluster_moments[clusters])
    smaller = smaller.with_mapping(state.log_mapping[np.ix_(atoms, clusters)])
    return smaller.with_atoms(state.atom_counts[:, atoms]).with_master()


def _large_enough(owned: np.ndarray, least: float) -> np.ndarray:
    is_large = owned >= least
    is_large[owned.argmax()] = True
    return np.flatnonzero(is_large)


def _pruned(state: TopicState) -> TopicState:
    """Return a compact state if that saves enough work."""
    unused = (state.cluster_moments[:, 0] < SMALLEST).mean(), (state.atom_counts.sum(0) < SMALLEST).mean()
    return compact(state) if max(unused) >= WORTH_DROPPING else state


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
    last = monitor.entries[-1].bound if begin and monitor.entries else None
    for iteration in range(begin, rule.max_iter):
        statistics = collect(documents, state, runtime, counts if rule.warm else None, monitor)
        counts = statistics.document_counts
        state = runtime.step(state, statistics)
        current = bound(state, statistics)
        state = _pruned(state) if runtime.prune else state
        monitor.iterated(state, current, len(documents))
        monitor.save_when_due(state, iteration + 1)
        if last is not None and abs(current - last) < rule.tol * abs(current):
            converged = True
            break
        last = current
    return _final(documents, state, runtime, monitor, converged)


def _final(documents: Corpus, state: TopicState, runtime: Runtime, monitor: Monitor, converged: bool) -> TopicFit:
    """Return the state with statistics and the bound of all documents under exactly this state."""
    statistics = collect(documents, state, runtime, None, monitor)
    return TopicFit(state, statistics, bound(state, statistics), converged)


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
    """Follow noisy natural gradients of random batches. The batches depend on the seed and the iteration only."""
    for iteration in range(begin, n_iter):
        state = stochastic_step(documents, state, rate, iteration, seed, runtime, monitor)
        monitor.save_when_due(state, iteration + 1)
    return _final(documents, state, runtime, monitor, False)


def stochastic_step(
    documents: Corpus,
    state: TopicState,
    rate: LearningRate,
    iteration: int,
    seed: int,
    runtime: Runtime,
    monitor: Monitor,
) -> TopicState:
    N = len(documents)
    size = min(N, max(1, round(rate.share * N)))
    chosen = np.sort(np.random.default_rng([seed, iteration]).choice(N, size, replace=False))
    scale = N / size
    statistics = collect(documents.take(chosen), state, runtime, None, monitor).scaled(scale)
    state = runtime.step(state, statistics, rate.at(iteration))
    estimate = bound(state, statistics, scale)
    state = _pruned(state) if runtime.prune else state
    monitor.iterated(state, estimate, size, exact=size == N)
    return state
