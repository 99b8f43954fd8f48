"""The baselines: visual words from k-means, from a Dirichlet process and from the model's own clusters, and LDA."""

import numpy as np
import pytest
from scipy.special import psi

from benthoscope.engine.distributions import NestedSticks, SphericalGaussian
from benthoscope.engine.problems import BadInput
from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA, word_sweep
from benthoscope.engine.topics.documents import as_documents
from benthoscope.engine.topics.sampling.gibbs import GibbsRule
from benthoscope.engine.topics.word_topics import WordSampler, best_word_prior, run_word_chain, variational_word_topics
from benthoscope.engine.topics.words import (
    Centres,
    dirichlet_process_mixture,
    joined_mixture,
    mixture_start,
)
from tests.topic_corpora import classes_corpus, ring, theta_error, topic_error

CORPUS = ring(60, 40, seed=4)


def soft_words(model, corpus):
    words = model.topics_.vocabulary.words(corpus.X - model.centre_)
    return np.eye(model.topics_.vocabulary.n_words)[words]


@pytest.mark.parametrize("words", ["kmeans", "dp"])
def test_lda_finds_the_topics_of_the_ring(words):
    model = VisualLDA(4, words=words, n_words=30 if words == "dp" else 8, n_init=5, random_state=0)
    model.fit(CORPUS.X, CORPUS.image)
    errors, match = topic_error(CORPUS, model.topic_profiles_, soft_words(model, CORPUS))
    assert errors.mean() < 0.1 and theta_error(CORPUS, model.topic_weights_, match) < 0.15
    np.testing.assert_allclose(model.transform(CORPUS.X, CORPUS.image).sum(1), 1)
    assert np.all(np.diff(model.lower_bound_history_) > -1e-3 * abs(model.lower_bound_))
    assert words == "kmeans" or 7 <= model.n_clusters_ <= 12


def test_lda_on_the_clusters_of_a_model():
    fitted = InfiniteWordTopicModel(4, n_clusters=20, n_init=1, random_state=0).fit(CORPUS.X, CORPUS.image)
    model = VisualLDA(4, words=fitted, random_state=0).fit(CORPUS.X + 1.0, CORPUS.image)
    assert model.n_clusters_ == fitted.n_clusters_
    shifted = VisualLDA(4, words=fitted, random_state=0).fit(CORPUS.X, CORPUS.image)
    assert shifted.cluster_means_.shape == (fitted.n_clusters_, 2)
    np.testing.assert_allclose(
        np.sort(shifted.cluster_means_[:, 0]),
        np.sort(fitted.cluster_means_[fitted.cluster_sizes_ > 1][:, 0]),
        atol=1e-9,
    )


def test_the_bound_of_lda_never_falls():
    data = as_documents(CORPUS.X, CORPUS.image)
    vocabulary = Centres(CORPUS.centres)
    words = vocabulary.words(CORPUS.X)
    fit = variational_word_topics(
        words, data, vocabulary, 4, 0.25, 0.25, np.random.default_rng(0), max_iter=40, tol=0.0
    )
    bounds = np.array(fit.bounds)
    assert np.all(np.diff(bounds) >= -1e-4 * np.abs(bounds[1:]))
    np.testing.assert_allclose(fit.document_counts.sum(1), 40)


def test_lda_updates_are_those_of_the_note():
    """One document: the fixed point of gamma and phi (section 16, 5)."""
    counts = np.random.default_rng(0).gamma(2.0, 1.0, (3, 8))
    model = VisualLDA(3, n_words=8, max_iter=1, random_state=0).fit(CORPUS.X, CORPUS.image)
    topics = type(model.topics_)(model.topics_.vocabulary, counts, np.full((1, 3), 0.5), np.zeros(1), False)
    data = as_documents(CORPUS.X[:40], np.zeros(40, int)).centred_at(model.centre_)
    gamma = 0.5 + topics._settled(data)[0][0]
    words = topics.vocabulary.words(data.read())
    expected_log = psi(counts) - psi(counts.sum(1, keepdims=True))
    phi = np.exp(psi(gamma)[:, None] - psi(gamma.sum()) + expected_log)[:, words]
    np.testing.assert_allclose(0.5 + (phi / phi.sum(0)).sum(1), gamma, atol=1e-3)


def test_supervised_lda_predicts_classes():
    corpus, labels = classes_corpus()
    y = np.array(["sand", "reef", "weed"])[labels]
    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    subsets = corpus.subset(train), corpus.subset(test)
    settings = {"n_words": 8, "inference": "gibbs", "sweeps": 80, "burn_in": 40, "random_state": 0}
    model = VisualLDA(4, **settings).fit(subsets[0].X, subsets[0].image, y[train])
    assert (model.predict_class(subsets[1].X, subsets[1].image) == y[test]).mean() >= 0.75
    again = VisualLDA.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(
        again.predict_class(subsets[1].X, subsets[1].image), model.predict_class(subsets[1].X, subsets[1].image)
    )
    assert model.lower_bound_history_[-1] > model.lower_bound_history_[0]


def test_counts_of_the_word_sampler_stay_consistent():
    data = as_documents(CORPUS.X, CORPUS.image)
    vocabulary = Centres(CORPUS.centres)
    words = vocabulary.words(CORPUS.X)
    sampler = WordSampler.start(
        words, data, vocabulary, np.full((1, 4), 0.25), np.zeros(60, int), 1.0, np.random.default_rng(0)
    )
    run_word_chain(sampler, GibbsRule(12, burn_in=5, every=3))
    expected = np.zeros_like(sampler.word_counts)
    np.add.at(expected, (sampler.topics, words), 1)
    np.testing.assert_array_equal(sampler.word_counts, expected)
    np.testing.assert_array_equal(sampler.document_topics.sum(1), 40)
    assert sampler.word_prior != 1.0


def test_the_prior_of_words_is_recovered():
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(2000, rng.dirichlet(np.full(50, 0.4))) for _ in range(30)])
    assert best_word_prior(counts) == pytest.approx(0.4, rel=0.15)


def test_the_dirichlet_process_mixture_finds_clusters_and_joins():
    rng = np.random.default_rng(0)
    X = CORPUS.X - CORPUS.X.mean(0)
    base = SphericalGaussian.prior(np.zeros(2), X.var(), 1.0, 8.0)
    halves = []
    for subset in (X[:1200], X[1200:]):
        bounds = []
        fit = mixture_start(subset, base, 30, 10.0, rng)
        for _ in range(30):
            fit = dirichlet_process_mixture(subset, fit, max_iter=1)
            bounds.append(fit.bound)
        assert np.all(np.diff(bounds) >= -1e-7 * np.abs(bounds[1:]))
        halves.append(fit.compacted())
    union = joined_mixture(*halves)
    assert union.moments[:, 0].sum() == pytest.approx(len(X), rel=0.01)
    whole = dirichlet_process_mixture(X, union, max_iter=60)
    assert 7 <= whole.clusters_in_use <= 10
    assert isinstance(whole.sticks, NestedSticks)


def test_a_sweep_has_one_model_per_size():
    models = word_sweep(CORPUS.X, CORPUS.image, [4, 8], n_topics=3, max_iter=5, random_state=0)
    assert {size: model.n_clusters_ for size, model in models.items()} == {4: 4, 8: 8}


def test_unusable_settings_of_lda_are_refused():
    for settings, text in (({"words": "sift"}, "there is no 'sift'"), ({"inference": "svi"}, "there is no 'svi'")):
        with pytest.raises(BadInput, match=text):
            VisualLDA(**settings).fit(CORPUS.X, CORPUS.image)
    with pytest.raises(BadInput, match="no target"):
        VisualLDA().fit(CORPUS.X, CORPUS.image, np.zeros(60))
