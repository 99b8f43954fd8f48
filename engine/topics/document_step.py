"""The document step: topic weights of documents under fixed topics, exactly, without an array over descriptors, topics
and atoms together (methods note 3.3).

The expected log-likelihood of an atom is the mean over its clusters, and both are linear in the sufficient statistics.
So an atom has coefficients of its own, and one matrix product gives the likelihoods of a block of documents. If
there are many atoms, all later sums run over the few that count for a descriptor.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numba
import numpy as np

from benthoscope.engine.topics.documents import DocumentBlock
from benthoscope.engine.topics.near_atoms import (
    NEGLIGIBLE,
    SPAN,
    NearAtoms,
    WeightedAtoms,
    nearest_atoms,
    ownership,
    topic_likelihoods,
)
from benthoscope.engine.topics.state import TopicState
from benthoscope.engine.topics.vector_loops import FAST, add_multiple, product

ROUNDS = 100
TOLERANCE = 1e-4  # mean change of the counts of a document, for up to 100 descriptors
DENSE = 500  # atoms, up to which matrix products over all of them are faster than sums over the few that count
CELLS_OF_BLOCK = 4_000_000  # descriptors times atoms of such a product; bounds the memory of a worker
CELLS_SEARCHED = 100_000_000  # otherwise; a block takes less than a second, after which a fit can stop
MOST_ROWS = 2_500  # so that likelihoods stay in the cache, threads share small batches, and a fit stops soon
MOST_REMEMBERED_ROWS = 20_000  # with remembered atoms, where the sums over atoms cost more than the search


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
        coefficients = state.links @ state.clusters.coefficients()
        return cls(coefficients, state.atoms.expected_log, state.prior.alpha, state.prior.base, n_nearest, rounds)

    @cached_property
    def weighted_atoms(self) -> WeightedAtoms:
        """The atoms in the form in which those near a descriptor are searched."""
        return WeightedAtoms.of(self.coefficients, self.log_atoms.max(0))

    @property
    def most_rows(self) -> int:
        """Return the number of descriptors of a block."""
        K = len(self.coefficients)
        most = MOST_ROWS if self.n_nearest is None else MOST_REMEMBERED_ROWS
        return int(np.clip((CELLS_OF_BLOCK if K <= DENSE else CELLS_SEARCHED) // K, 200, most))


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
class DocumentFit:
    """Documents under fixed topics. It costs less than statistics, and the global step cannot use it."""

    counts: np.ndarray  # (N, T) expected descriptors of each topic
    log_likelihood: float  # expected, of the descriptors with their topics and atoms, plus the entropy of both


class AtomLikelihoods(Protocol):
    """The expected likelihoods of the descriptors of a block under atoms, without a factor exp(shift) per descriptor:
    exp(E[log pi_tk] + L_ik) = relative_tk * scaled_ik * exp(shift_i), where relative_tk is at most 1."""

    @property
    def topic_likelihood(self) -> np.ndarray: ...  # (n, T) G without the shift

    @property
    def shift(self) -> np.ndarray: ...  # (n,)

    @property
    def relative(self) -> np.ndarray: ...  # (T, K)

    @property
    def lists(self) -> np.ndarray | None: ...  # (n, M) atoms to remember

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return, for the topics of descriptors (n, T), the counts of atoms (T, K), their moments (K, F) and the
        entropy without the term of log weights of atoms."""

    def dense(self) -> np.ndarray:
        """Return scaled_ik (n, K)."""


def atom_likelihoods(frozen: FrozenTopics, rows: np.ndarray, earlier: AtomLists | None = None) -> AtomLikelihoods:
    """`rows` (n, F) are the sufficient statistics of the descriptors, C-contiguous."""
    if earlier is None and frozen.n_nearest is None and len(frozen.coefficients) <= DENSE:
        return AllAtoms.of(frozen, rows)
    return FewAtoms.of(frozen, rows, earlier)


@dataclass(frozen=True)
class AllAtoms:
    """All atoms, by matrix products."""

    rows: np.ndarray  # (n, F)
    log_likelihood: np.ndarray  # (n, K) L
    scaled: np.ndarray  # (n, K)
    shift: np.ndarray  # (n,)
    relative: np.ndarray  # (T, K)
    topic_likelihood: np.ndarray  # (n, T)
    lists: None = None

    @classmethod
    def of(cls, frozen: FrozenTopics, rows: np.ndarray) -> "AllAtoms":
        dtype = rows.dtype
        log_likelihood = rows @ frozen.coefficients.T.astype(dtype)
        best = frozen.log_atoms.max(0)
        scaled = log_likelihood + best.astype(dtype)
        shift = scaled.max(1)
        scaled -= shift[:, None]
        np.exp(scaled, out=scaled)
        relative = np.exp(frozen.log_atoms - best).astype(dtype)
        return cls(rows, log_likelihood, scaled, shift, relative, scaled @ relative.T)

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        ratio, entropy = _ratios(np.ascontiguousarray(weights), self.topic_likelihood)
        counts = (self.relative * (ratio.T @ self.scaled)).astype(float)
        owned = ratio @ self.relative
        entropy += float(self.shift.sum(dtype=float)) - _own(owned, self.scaled, self.log_likelihood)
        return counts, (owned.T @ self.rows).astype(float), entropy

    def dense(self) -> np.ndarray:
        return self.scaled


@dataclass(frozen=True)
class FewAtoms:
    """The atoms that count for each descriptor: all near the best one, or lists of a fixed length."""

    rows: np.ndarray  # (n, F)
    near: NearAtoms
    scaled: np.ndarray  # of each entry of `near`
    shift: np.ndarray  # (n,)
    best: np.ndarray  # (K,) largest log weight of each atom
    relative: np.ndarray  # (T, K)
    topic_likelihood: np.ndarray  # (n, T)
    lists: np.ndarray | None

    @classmethod
    def of(cls, frozen: FrozenTopics, rows: np.ndarray, earlier: AtomLists | None = None) -> "FewAtoms":
        best, atoms = frozen.log_atoms.max(0), frozen.weighted_atoms.astype(rows.dtype)
        lists = None
        if frozen.n_nearest is None:
            near = NearAtoms.all_that_count(rows, atoms)
        else:
            lists = _lists(rows, atoms, frozen.n_nearest, earlier)
            near = NearAtoms.of_lists(rows, atoms, lists)
        relative = np.exp(frozen.log_atoms - best)
        likelihood, shift, scaled = topic_likelihoods(
            near.starts, near.atoms, near.weighted, np.ascontiguousarray(relative.T), SPAN[rows.dtype.name]
        )
        return cls(rows, near, scaled, shift, best, relative, likelihood, lists)

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        near, relative = self.near, np.ascontiguousarray(self.relative.T)
        counts, moments, entropy = ownership(
            near.starts, near.atoms, near.weighted, self.scaled, relative, self.best, self.topic_likelihood, weights,
            self.rows,
        )  # fmt: skip
        return counts.T, moments, entropy + float(self.shift.sum())

    def dense(self) -> np.ndarray:
        out = np.zeros((len(self.rows), len(self.best)))
        out[np.repeat(np.arange(len(out)), np.diff(self.near.starts)), self.near.atoms] = self.scaled
        return out


def _lists(rows: np.ndarray, atoms: WeightedAtoms, count: int, earlier: AtomLists | None) -> np.ndarray:
    if earlier is None:
        return nearest_atoms(rows, atoms, count)
    lists = earlier.atoms.copy()
    nearest = nearest_atoms(rows[earlier.to_search], atoms, count)
    lists[earlier.to_search] = -1
    lists[earlier.to_search, : nearest.shape[1]] = nearest
    return lists


def document_step(
    block: DocumentBlock,
    frozen: FrozenTopics,
    start: np.ndarray | None = None,
    earlier: AtomLists | None = None,
) -> DocumentStatistics:
    """Return the statistics of a block. `start` (n, T) are counts to start from; by default equal shares."""
    rows = _rows(block, frozen)
    likelihoods = atom_likelihoods(frozen, rows, earlier)
    counts, weights = _settled(likelihoods, frozen, block.starts, start)
    atom_counts, moments, entropy = likelihoods.sums(weights)
    entropy -= float((atom_counts * frozen.log_atoms).sum())
    return DocumentStatistics(atom_counts, moments, entropy, counts, None if earlier is None else likelihoods.lists)


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


def document_fit(block: DocumentBlock, frozen: FrozenTopics) -> DocumentFit:
    """Return how the documents of a block fit."""
    likelihoods = atom_likelihoods(frozen, _rows(block, frozen))
    counts, weights = _settled(likelihoods, frozen, block.starts, None)
    total = _log_likelihood(weights, likelihoods.topic_likelihood) + float(likelihoods.shift.sum(dtype=float))
    return DocumentFit(counts, total)


def topic_counts(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the expected number of descriptors of each topic in each document (n, T)."""
    return _settled(atom_likelihoods(frozen, _rows(block, frozen)), frozen, block.starts, None)[0]


def descriptor_topics(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the probability of each topic for each descriptor (n, T)."""
    return _settled(atom_likelihoods(frozen, _rows(block, frozen)), frozen, block.starts, None)[1]


def descriptor_clusters(block: DocumentBlock, frozen: FrozenTopics, mapping: np.ndarray) -> np.ndarray:
    """Return the probability of each cluster for each descriptor (n, C)."""
    likelihoods = atom_likelihoods(frozen, _rows(block, frozen))
    _, weights = _settled(likelihoods, frozen, block.starts, None)
    ratio = np.where(weights > 0, weights / np.maximum(likelihoods.topic_likelihood, 1e-300), 0)
    return (likelihoods.dense() * (ratio @ likelihoods.relative)) @ mapping


@numba.njit(cache=True, nogil=True)
def _ratios(weights, likelihood):
    """Return the topics of descriptors (n, T) divided by their likelihoods, and the entropy of topics plus the mean log
    likelihood under them."""
    n, T = weights.shape
    out, entropy = np.zeros((n, T), likelihood.dtype), 0.0
    for i in range(n):
        for t in range(T):
            if weights[i, t] > NEGLIGIBLE and likelihood[i, t] > 0:
                ratio = weights[i, t] / likelihood[i, t]
                out[i, t] = ratio
                entropy -= weights[i, t] * math.log(ratio)
    return out, entropy


@numba.njit(cache=True, nogil=True)
def _log_likelihood(weights, likelihood):
    """Return the entropy of topics plus the mean log likelihood under them, as `_ratios` does."""
    total = 0.0
    for i in range(len(weights)):
        for t in range(weights.shape[1]):
            if weights[i, t] > NEGLIGIBLE and likelihood[i, t] > 0:
                total += weights[i, t] * math.log(likelihood[i, t] / weights[i, t])
    return total


@numba.njit(cache=True, nogil=True, fastmath=FAST)
def _own(factors, scaled, log_likelihood):
    """Multiply `factors` by `scaled`, which gives the atoms of descriptors. Returns their summed log likelihoods."""
    total = 0.0
    for i in range(len(factors)):
        of_row = 0.0
        for k in range(factors.shape[1]):
            factors[i, k] *= scaled[i, k]
            of_row += factors[i, k] * log_likelihood[i, k]
        total += of_row
    return total


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
                norm = product(likelihood, G[i])
                if norm < LEAST_NORM:
                    lost[_most_likely(likelihood, G[i])] += 1.0
                else:
                    add_multiple(sums, 1.0 / norm, G[i])
            change = 0.0
            for t in range(T):
                fresh = likelihood[t] * sums[t] + lost[t]
                change += abs(fresh - current[t]) / T
                current[t] = fresh
            if change < limit:
                break
        for i in range(begin, end):
            norm = product(likelihood, G[i])
            if norm < LEAST_NORM:
                weights[i, _most_likely(likelihood, G[i])] = 1.0
            else:
                for t in range(T):
                    weights[i, t] = likelihood[t] * G[i, t] / norm
        out[d] = current
    return out, weights


LEAST_NORM = 1e-290  # below it, all topics are too far apart for a product


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
