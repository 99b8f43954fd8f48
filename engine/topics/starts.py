"""Starts of variational inference (methods note 3.9): random, or spread over the descriptors.

A random start often leaves two groups of descriptors in one cluster, or two topics in one, which no later step repairs.
The spread start avoids both: its clusters lie far apart and own their nearest descriptors, so that they have the right
size from the beginning; and its topics prefer clusters that occur in the same documents.
"""

import numpy as np
from scipy.sparse import csr_array

from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.topics.documents import ROWS_AT_ONCE, Documents, document_of_rows
from benthoscope.engine.topics.state import TopicPrior, TopicState, initial_state
from benthoscope.engine.topics.words import Centres, distant_rows, k_means_words

SAMPLED_ROWS = 100_000  # of whole documents, from which a spread start is made
CANDIDATES = 20_000  # rows among which centres are chosen
MOST_SPREAD = 1_000  # clusters; more random centres lie everywhere without a choice
DOCUMENTS = 2_000  # that are grouped for the topics


def random_centres(documents: Documents, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random descriptors (C, D), at most `n_clusters`, in random order."""
    return rng.permutation(np.unique(documents.random_rows(n_clusters, rng), axis=0))


def spread_start(
    documents: Documents,
    prior: TopicPrior,
    n_clusters: int,
    rng: np.random.Generator,
    atoms_per_cluster: int = 2,
    on_step: OnStep = ignore,
) -> TopicState:
    """Return clusters of nearest descriptors around distant centres, and topics of groups of similar documents."""

    def pulse(_: Progress) -> None:
        on_step(Progress(0, None, "choosing the start"))

    sample = _some(documents, rng)
    rows, document = sample.read(), document_of_rows(sample)
    centres = _centres(rows, n_clusters, rng, pulse)
    nearest = Centres(centres.astype(rows.dtype)).words(rows, pulse)
    state = initial_state(prior, centres, rng, atoms_per_cluster, pulse)
    scale = documents.n_rows / len(rows)
    state = state.with_clusters(scale * _moments_of_nearest(prior, rows, nearest, len(centres), pulse))
    profiles = _profiles_of_groups(document, nearest, len(centres), prior.n_topics, rng, pulse)
    counts = state.atom_counts.copy()
    counts[: len(profiles), : len(centres)] += len(centres) * profiles  # on average, one descriptor of each cluster
    return state.with_atoms(counts)


def _some(documents: Documents, rng: np.random.Generator) -> Documents:
    """Return random documents with descriptors, enough for the sample."""
    order = rng.permutation(np.flatnonzero(documents.sizes))
    enough = int(np.searchsorted(np.cumsum(documents.sizes[order]), SAMPLED_ROWS)) + 1
    return documents.take(np.sort(order[:enough]))


def _centres(rows: np.ndarray, count: int, rng: np.random.Generator, on_step: OnStep) -> np.ndarray:
    count = min(count, len(rows))
    candidates = rows[rng.choice(len(rows), min(len(rows), max(CANDIDATES, count)), replace=False)].astype(float)
    if count <= MOST_SPREAD:
        return distant_rows(candidates, count, rng, on_step)
    return rng.permutation(np.unique(candidates[:count], axis=0))


def _moments_of_nearest(
    prior: TopicPrior, rows: np.ndarray, nearest: np.ndarray, C: int, on_step: OnStep
) -> np.ndarray:
    moments = np.zeros((C, prior.base.n_statistics))
    for at in range(0, len(rows), ROWS_AT_ONCE):
        on_step(Progress(at, len(rows), ""))
        of_rows = prior.base.features(np.ascontiguousarray(rows[at : at + ROWS_AT_ONCE].T, float)).T
        clusters = nearest[at : at + ROWS_AT_ONCE]
        size = len(clusters)
        moments += csr_array((np.ones(size), (clusters, np.arange(size))), shape=(C, size)) @ of_rows
    return moments


def _profiles_of_groups(
    document: np.ndarray, nearest: np.ndarray, C: int, n_groups: int, rng: np.random.Generator, on_step: OnStep
) -> np.ndarray:
    """Return the shares of the clusters in at most `n_groups` groups of similar documents (groups, C)."""
    N = min(int(document[-1]) + 1, DOCUMENTS)
    is_used = document < N
    counts = np.bincount(document[is_used] * C + nearest[is_used], minlength=N * C).reshape(N, C).astype(float)
    roots = np.sqrt(counts / counts.sum(1, keepdims=True))  # frequent clusters must not decide alone
    groups = k_means_words(roots, n_groups, int(rng.integers(2**31)), on_step)
    member = groups.words(roots)
    sums = np.stack([counts[member == group].sum(0) for group in range(groups.n_words)])
    return sums / np.maximum(sums.sum(1, keepdims=True), 1)
