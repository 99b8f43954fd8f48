"""The document step: topic weights of documents under fixed topics, exactly, without an array over descriptors, topics
and atoms together (methods note 3.3).

The expected log-likelihood of an atom is the mean over its clusters, and both are linear in the sufficient statistics.
So an atom has coefficients of its own, and one matrix product gives the likelihoods of a block of documents.
"""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from benthoscope.engine.topics.documents import DocumentBlock
from benthoscope.engine.topics.state import TopicState

ROUNDS = 100
TOLERANCE = 1e-4  # mean change of the counts of a document, for up to 100 descriptors
CELLS_AT_ONCE = 4_000_000  # descriptors times atoms of a block; bounds the memory of a worker


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
        coefficients = state.mapping @ state.clusters.coefficients()
        return cls(coefficients, state.atoms.expected_log, state.prior.alpha, state.prior.base, n_nearest, rounds)

    @property
    def most_rows(self) -> int:
        """Return the number of descriptors of a block."""
        return int(np.clip(CELLS_AT_ONCE // len(self.coefficients), 200, 20_000))


@dataclass(frozen=True)
class DocumentStatistics:
    """Sums over documents; the global step needs nothing else. Statistics of consecutive blocks can be added."""

    atom_counts: np.ndarray  # (T, K)
    atom_moments: np.ndarray  # (K, F); the first column counts descriptors
    entropy: float  # of the topics and atoms of all descriptors
    document_counts: np.ndarray  # (N, T) expected descriptors of each topic

    def __add__(self, other: "DocumentStatistics") -> "DocumentStatistics":
        return DocumentStatistics(
            self.atom_counts + other.atom_counts,
            self.atom_moments + other.atom_moments,
            self.entropy + other.entropy,
            np.concatenate([self.document_counts, other.document_counts]),
        )

    def scaled(self, factor: float) -> "DocumentStatistics":
        """Return the sums as if each document occurred `factor` times. The counts of documents are unchanged."""
        return DocumentStatistics(
            self.atom_counts * factor, self.atom_moments * factor, self.entropy * factor, self.document_counts
        )


@dataclass(frozen=True)
class AtomLikelihoods:
    """The expected likelihoods of the descriptors of a block, scaled so that no row over- or underflows.

    exp(E[log pi_tk] + L_ik) = relative[t, k] * scaled[i, k] * exp(shift[i]).
    """

    log_likelihood: np.ndarray  # (n, K) L
    scaled: np.ndarray  # (n, K)
    shift: np.ndarray  # (n,)
    relative: np.ndarray  # (T, K), at most 1
    topic_likelihood: np.ndarray  # (n, T) G without the shift

    @classmethod
    def of(cls, frozen: FrozenTopics, features: np.ndarray) -> "AtomLikelihoods":
        dtype = features.dtype
        log_likelihood = features.T @ frozen.coefficients.T.astype(dtype)
        best = frozen.log_atoms.max(0)
        scaled = log_likelihood + best.astype(dtype)
        shift = scaled.max(1)
        scaled -= shift[:, None]
        if frozen.n_nearest is not None and frozen.n_nearest < scaled.shape[1]:
            _drop_far(scaled, frozen.n_nearest)
        np.exp(scaled, out=scaled)
        relative = np.exp(frozen.log_atoms - best).astype(dtype)
        return cls(log_likelihood, scaled, shift, relative, scaled @ relative.T)


def _drop_far(scaled: np.ndarray, n_nearest: int) -> None:
    """Lower all but the largest entries of each row, in place, so far that they do not count."""
    limit = np.partition(scaled, -n_nearest, axis=1)[:, -n_nearest]
    scaled[scaled < limit[:, None]] = -np.inf


def document_step(block: DocumentBlock, frozen: FrozenTopics, start: np.ndarray | None = None) -> DocumentStatistics:
    """Return the statistics of a block. `start` (n, T) are counts to start from; by default equal shares."""
    features = frozen.base.features(np.ascontiguousarray(block.read().T))
    likelihoods = AtomLikelihoods.of(frozen, features)
    counts, weights = _settled(likelihoods, frozen, block.starts, start)
    return _statistics(likelihoods, frozen, features, counts, weights)


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


def _statistics(
    likelihoods: AtomLikelihoods, frozen: FrozenTopics, features: np.ndarray, counts: np.ndarray, weights: np.ndarray
) -> DocumentStatistics:
    G = likelihoods.topic_likelihood
    dtype = features.dtype
    with np.errstate(divide="ignore", invalid="ignore"):
        R = np.where(weights > 0, weights / np.maximum(G, np.finfo(dtype).tiny), 0).astype(dtype)
        log_G = np.where(weights > 0, np.log(np.maximum(G.astype(float), 1e-300)), 0)
        log_w = np.where(weights > 0, np.log(weights), 0)
    atom_counts = (likelihoods.relative * (R.T @ likelihoods.scaled)).astype(float)
    owned = likelihoods.scaled * (R @ likelihoods.relative)
    moments = (features @ owned).T.astype(float)
    entropy = float((weights * (log_G - log_w)).sum() + likelihoods.shift.sum(dtype=float))
    entropy -= float((atom_counts * frozen.log_atoms).sum())
    entropy -= float(np.einsum("ik,ik->", owned, likelihoods.log_likelihood, dtype=np.float64))
    return DocumentStatistics(atom_counts, moments, entropy, counts)


def topic_counts(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the expected number of descriptors of each topic in each document (n, T)."""
    features = frozen.base.features(np.ascontiguousarray(block.read().T))
    return _settled(AtomLikelihoods.of(frozen, features), frozen, block.starts, None)[0]


def descriptor_topics(block: DocumentBlock, frozen: FrozenTopics) -> np.ndarray:
    """Return the probability of each topic for each descriptor (n, T)."""
    features = frozen.base.features(np.ascontiguousarray(block.read().T))
    return _settled(AtomLikelihoods.of(frozen, features), frozen, block.starts, None)[1]


def descriptor_clusters(block: DocumentBlock, frozen: FrozenTopics, mapping: np.ndarray) -> np.ndarray:
    """Return the probability of each cluster for each descriptor (n, C)."""
    features = frozen.base.features(np.ascontiguousarray(block.read().T))
    likelihoods = AtomLikelihoods.of(frozen, features)
    _, weights = _settled(likelihoods, frozen, block.starts, None)
    R = np.where(weights > 0, weights / np.maximum(likelihoods.topic_likelihood, 1e-300), 0)
    return (likelihoods.scaled * (R @ likelihoods.relative)) @ mapping


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
    likelihood, fresh = np.empty(T), np.empty(T)
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
                fresh[t] = 0.0
            for i in range(begin, end):
                norm = 0.0
                for t in range(T):
                    norm += likelihood[t] * G[i, t]
                if norm < 1e-290:  # all topics are too far apart for the product: take the log of the larger factor
                    norm = _underflown(likelihood, G, weights, i, T)
                else:
                    for t in range(T):
                        weights[i, t] = likelihood[t] * G[i, t] / norm
                for t in range(T):
                    fresh[t] += weights[i, t]
            change = 0.0
            for t in range(T):
                change += abs(fresh[t] - current[t]) / T
                current[t] = fresh[t]
            if change < limit:
                break
        out[d] = current
    return out, weights


@numba.njit(cache=True, nogil=True)
def _underflown(likelihood, G, weights, i, T):
    """Give a descriptor to its most likely topic; the others are below the range of numbers."""
    best, score = 0, -np.inf
    for t in range(T):
        if G[i, t] > 0:
            value = math.log(G[i, t]) + math.log(max(likelihood[t], 1e-300))
            if value > score:
                best, score = t, value
        weights[i, t] = 0.0
    weights[i, best] = 1.0
    return 1.0
