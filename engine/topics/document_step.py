"""The document step: topic weights of documents under fixed topics, exactly, without an array over descriptors, topics
and atoms together (methods note 3.3).

The expected log-likelihood of an atom is the mean over its clusters, and both are linear in the sufficient statistics.
So an atom has coefficients of its own, and one matrix product gives the likelihoods of a block of documents. All later
sums run over the few atoms that count for a descriptor.
"""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from benthoscope.engine.topics.documents import DocumentBlock
from benthoscope.engine.topics.near_atoms import (
    FAST,
    SPAN,
    NearAtoms,
    nearest_atoms,
    ownership,
    topic_likelihoods,
)
from benthoscope.engine.topics.sparse_mapping import of_atoms
from benthoscope.engine.topics.state import TopicState

ROUNDS = 100
TOLERANCE = 1e-4  # mean change of the counts of a document, for up to 100 descriptors
CELLS_OF_BLOCK = 100_000_000  # descriptors times atoms; a block takes less than a second, after which a fit can stop
MOST_ROWS = 20_000


@dataclass(frozen=True)
class FrozenTopics:
    """The input of a document step: coefficients of atoms, their log weights in topics, and the Dirichlet."""

    coefficients: np.ndarray  # (K, F)
    log_atoms: np.ndarray  # (T, K)
    alpha: float
    base: Any  # gives the sufficient statistics
    n_nearest: int | None = None  # atoms considered for each descriptor, those with the largest likelihood
    rounds: int = ROUNDS

    @classmethod
    def of(cls, state: TopicState, n_nearest: int | None = None, rounds: int = ROUNDS) -> "FrozenTopics":
        coefficients = of_atoms(state.mapping, state.clusters.coefficients())
        return cls(coefficients, state.atoms.expected_log, state.prior.alpha, state.prior.base, n_nearest, rounds)

    @property
    def most_rows(self) -> int:
        """Return the number of descriptors of a block."""
        return int(np.clip(CELLS_OF_BLOCK // len(self.coefficients), 200, MOST_ROWS))


@dataclass(frozen=True)
class AtomLists:
    """Atoms near the descriptors of a block, from an earlier visit."""

    atoms: np.ndarray  # (n, M), -1 for none
    to_search: np.ndarray  # (n,) descriptors whose atoms are searched again


@dataclass(frozen=True)
class DocumentStatistics:
    """Sums over documents; the global step needs nothing else. Statistics of consecutive blocks can be added."""

    atom_counts: np.ndarray  # (T, K)
    atom_moments: np.ndarray  # (K, F); the first column counts descriptors
    entropy: float  # of the topics and atoms of all descriptors
    document_counts: np.ndarray  # (N, T) expected descriptors of each topic
    atom_lists: np.ndarray | None = None  # (n, M) atoms near each descriptor, if they are to be remembered

    def __add__(self, other: "DocumentStatistics") -> "DocumentStatistics":
        lists = [each for each in (self.atom_lists, other.atom_lists) if each is not None]
        return DocumentStatistics(
            self.atom_counts + other.atom_counts,
            self.atom_moments + other.atom_moments,
            self.entropy + other.entropy,
            np.concatenate([self.document_counts, other.document_counts]),
            np.concatenate(lists) if lists else None,
        )

    def scaled(self, factor: float) -> "DocumentStatistics":
        """Return the sums as if each document occurred `factor` times. The counts of documents are unchanged."""
        return DocumentStatistics(
            self.atom_counts * factor, self.atom_moments * factor, self.entropy * factor, self.document_counts
        )


@dataclass(frozen=True)
class AtomLikelihoods:
    """The expected likelihoods of the descriptors of a block under the atoms that count, scaled so that no row over- or
    underflows: exp(E[log pi_tk] + L_ik) = relative[k, t] * scaled[i, k] * exp(shift[i])."""

    near: NearAtoms
    scaled: np.ndarray  # of each entry of `near`
    shift: np.ndarray  # (n,)
    best: np.ndarray  # (K,) largest log weight of each atom
    relative: np.ndarray  # (K, T), at most 1
    topic_likelihood: np.ndarray  # (n, T) G without the shift
    lists: np.ndarray | None  # (n, M)

    @classmethod
    def of(cls, frozen: FrozenTopics, rows: np.ndarray, earlier: AtomLists | None = None) -> "AtomLikelihoods":
        """`rows` (n, F) are the sufficient statistics of the descriptors, C-contiguous."""
        best = frozen.log_atoms.max(0)
        coefficients = frozen.coefficients.copy()
        coefficients[:, 0] += best  # the first statistic is 1
        coefficients = coefficients.astype(rows.dtype)
        lists = None
        if frozen.n_nearest is not None and (earlier is not None or frozen.n_nearest < len(coefficients)):
            lists = _lists(rows, coefficients, frozen.n_nearest, earlier)
            near = NearAtoms.of_lists(rows, coefficients, lists)
        else:
            near = NearAtoms.all_that_count(rows, coefficients)
        relative = np.ascontiguousarray(np.exp(frozen.log_atoms - best).T)
        likelihood, shift, scaled = topic_likelihoods(
            near.starts, near.atoms, near.weighted, relative, SPAN[rows.dtype.name]
        )
        return cls(near, scaled, shift, best, relative, likelihood, lists)


def _lists(rows: np.ndarray, coefficients: np.ndarray, count: int, earlier: AtomLists | None) -> np.ndarray:
    if earlier is None:
        return nearest_atoms(rows, coefficients, count)
    lists = earlier.atoms.copy()
    found = nearest_atoms(rows[earlier.to_search], coefficients, count)
    lists[earlier.to_search] = -1
    lists[earlier.to_search, : found.shape[1]] = found
    return lists


def document_step(
    block: DocumentBlock,
    frozen: FrozenTopics,
    start: np.ndarray | None = None,
    earlier: AtomLists | None = None,
) -> DocumentStatistics:
    """Return the statistics of a block. `start` (n, T) are counts to start from; by default equal shares."""
    rows = _rows(block, frozen)
    near = AtomLikelihoods.of(frozen, rows, earlier)
    counts, weights = _settled(near, frozen, block.starts, start)
    atom_counts, moments, entropy = ownership(
        near.near.starts, near.near.atoms, near.near.weighted, near.scaled, near.relative, near.best,
        near.topic_likelihood, weights, rows,
    )  # fmt: skip
    entropy += float(near.shift.sum()) - float((atom_counts.T * frozen.log_atoms).sum())
    return DocumentStatistics(atom_counts.T, moments, entropy, counts, None if earlier is None else near.lists)


def _rows(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the sufficient statistics of the descriptors of a block (n, F)."""
    return np.ascontiguousarray(frozen.base.features(np.ascontiguousarray(block.read().T)).T)


def _settled(
    likelihoods: AtomLikelihoods, frozen: FrozenTopics, starts: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    return settled_topics(likelihoods.topic_likelihood, starts, frozen.alpha, start, frozen.rounds)


def settled_topics(
    likelihood: np.ndarray, starts: np.ndarray, alpha: float, start: np.ndarray | None = None, rounds: int = ROUNDS
) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected counts of documents (N, T) and the topics of their descriptors (n, T), for likelihoods of
    descriptors under topics (n, T) in any scale per row. `starts` (N + 1,) are the first rows of the documents."""
    G = np.ascontiguousarray(likelihood, dtype=np.float64)
    if start is None:
        start = np.repeat(np.diff(starts)[:, None] / G.shape[1], G.shape[1], axis=1)
    return _iterate(G, starts, np.ascontiguousarray(start, float), alpha, rounds, TOLERANCE)


def topic_counts(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the expected number of descriptors of each topic in each document (n, T)."""
    return _settled(AtomLikelihoods.of(frozen, _rows(block, frozen)), frozen, block.starts, None)[0]


def descriptor_topics(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the probability of each topic for each descriptor (n, T)."""
    return _settled(AtomLikelihoods.of(frozen, _rows(block, frozen)), frozen, block.starts, None)[1]


def descriptor_clusters(block: DocumentBlock, frozen: FrozenTopics, mapping: np.ndarray) -> np.ndarray:
    """Return the probability of each cluster for each descriptor (n, C)."""
    likelihoods = AtomLikelihoods.of(frozen, _rows(block, frozen))
    near = likelihoods.near
    _, weights = _settled(likelihoods, frozen, block.starts, None)
    ratio = np.where(weights > 0, weights / np.maximum(likelihoods.topic_likelihood, 1e-300), 0)
    scaled = np.zeros((len(weights), len(mapping)))
    scaled[np.repeat(np.arange(len(weights)), np.diff(near.starts)), near.atoms] = likelihoods.scaled
    return (scaled * (ratio @ likelihoods.relative.T)) @ mapping


@numba.njit(cache=True, nogil=True)
def digamma(x):
    """Return the digamma function of x > 0, to about 1e-14."""
    value = 0.0
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12))))))
    return value + math.log(x) - 0.5 / x - series


@numba.njit(cache=True, nogil=True)
def _iterate(G, starts, counts, alpha, rounds, tolerance):
    """Alternate the topics of descriptors and the weights of documents until the weights settle. Returns the counts of
    documents (N, T) and the topics of descriptors (n, T), which belong together."""
    n_documents, T = counts.shape
    out, weights = np.zeros((n_documents, T)), np.zeros(G.shape)
    likelihood, sums, lost = np.empty(T), np.empty(T), np.empty(T)
    for d in range(n_documents):
        begin, end = starts[d], starts[d + 1]
        if begin == end:
            continue
        current = counts[d].copy()
        limit = tolerance * max(1.0, (end - begin) / 100)
        for _ in range(rounds):
            total = digamma(current.sum() + T * alpha)
            highest = -np.inf
            for t in range(T):
                likelihood[t] = digamma(alpha + current[t]) - total
                highest = max(highest, likelihood[t])
            for t in range(T):
                likelihood[t] = math.exp(likelihood[t] - highest)
                sums[t] = lost[t] = 0.0
            for i in range(begin, end):
                norm = _product(likelihood, G[i])
                if norm < LEAST_NORM:
                    lost[_most_likely(likelihood, G[i])] += 1.0
                else:
                    _add(sums, 1.0 / norm, G[i])
            change = 0.0
            for t in range(T):
                fresh = likelihood[t] * sums[t] + lost[t]
                change += abs(fresh - current[t]) / T
                current[t] = fresh
            if change < limit:
                break
        for i in range(begin, end):
            norm = _product(likelihood, G[i])
            if norm < LEAST_NORM:
                weights[i, _most_likely(likelihood, G[i])] = 1.0
            else:
                for t in range(T):
                    weights[i, t] = likelihood[t] * G[i, t] / norm
        out[d] = current
    return out, weights


LEAST_NORM = 1e-290  # below it, all topics are too far apart for a product


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _product(first, second):
    total = 0.0
    for t in range(len(first)):
        total += first[t] * second[t]
    return total


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _add(target, factor, values):
    for t in range(len(values)):
        target[t] += factor * values[t]


@numba.njit(cache=True, nogil=True)
def _most_likely(likelihood, values):
    """Return the most likely topic of a descriptor whose other topics are below the range of numbers."""
    best, score = 0, -np.inf
    for t in range(len(values)):
        if values[t] > 0:
            value = math.log(values[t]) + math.log(max(likelihood[t], 1e-300))
            if value > score:
                best, score = t, value
    return best
