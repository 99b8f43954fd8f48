"""Starts of variational inference."""

import numpy as np
import pytest

from benthoscope.engine.topics import InfiniteWordTopicModel
from benthoscope.engine.topics.documents import as_documents, centre_and_variance
from benthoscope.engine.topics.starts import spread_start
from benthoscope.engine.topics.state import topic_prior
from tests.topic_corpora import ring, topic_error

CORPUS = ring(60, 50, seed=4)


def started(X, image, T=4, C=12, seed=0):
    data = as_documents(X, image)
    variance = centre_and_variance(data, np.random.default_rng(0))[1]
    return spread_start(data, topic_prior(T, X.shape[1], variance, 4.0), C, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_the_clusters_of_a_spread_start_cover_all_groups_and_own_all_descriptors(seed):
    state = started(CORPUS.X, CORPUS.image, seed=seed)
    assert state.cluster_moments[:, 0].sum() == pytest.approx(3000) and state.cluster_moments[:, 0].min() > 0
    far = np.linalg.norm(CORPUS.centres[:, None] - state.clusters.mean, axis=2)
    assert far.min(1).max() < 2  # neighbours among the groups have distance 4


def test_the_topics_of_a_spread_start_resemble_those_of_the_corpus():
    state = started(CORPUS.X, CORPUS.image)
    nearest = np.linalg.norm(CORPUS.X[:, None] - state.clusters.mean, axis=2).argmin(1)
    errors, _ = topic_error(CORPUS, state.topic_profiles(), np.eye(state.n_clusters)[nearest])
    assert errors.mean() < 0.25  # topics that differ by chance only are about 0.6 away


def test_a_spread_start_of_a_sample_counts_all_descriptors(monkeypatch):
    monkeypatch.setattr("benthoscope.engine.topics.starts.SAMPLED_ROWS", 700)
    monkeypatch.setattr("benthoscope.engine.topics.starts.MOST_SPREAD", 5)
    state = started(CORPUS.X, CORPUS.image)
    assert state.n_clusters == 12 and state.cluster_moments[:, 0].sum() == pytest.approx(3000)


@pytest.mark.parametrize(
    "X, image",
    [
        (np.ones((6, 2)), np.arange(6)),
        (np.random.default_rng(0).standard_normal((8, 2)), np.zeros(8, int)),
        (np.random.default_rng(0).standard_normal((8, 2)), np.array([1, 1, 1, 4, 4, 4, 4, 4])),
        (np.random.default_rng(0).standard_normal((1, 2)), np.zeros(1, int)),
    ],
    ids=["constant", "one image", "empty images", "one descriptor"],
)
def test_a_spread_start_of_little_data_has_as_many_clusters_as_there_are_descriptors(X, image):
    state = started(X, image)
    assert state.n_clusters == len(np.unique(X, axis=0))
    assert np.isfinite(state.clusters.mean).all() and (state.atom_counts > 0).all()


def test_a_random_start_can_be_chosen():
    spread, random = (
        InfiniteWordTopicModel(4, n_init=1, max_iter=2, start=start, random_state=0).fit(CORPUS.X, CORPUS.image)
        for start in ("spread", "random")
    )
    assert spread.lower_bound_ > random.lower_bound_
