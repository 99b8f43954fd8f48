"""Classifiers of topic weights, spatial pyramids and active learning."""

import numpy as np
import pytest

from benthoscope.engine.problems import BadInput
from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA
from benthoscope.engine.topics.classes.active_learning import ActiveRule, active_learning, least_certain, margin_scores
from benthoscope.engine.topics.classes.classification import (
    HistogramIntersectionSVM,
    PyramidKernel,
    TopicClassifier,
    histogram_intersection,
    pyramid_histograms,
)
from tests.topic_corpora import pairs

SET = pairs(pool=80, test=60)


def model(**changes):
    settings = {"inference": "incremental", "n_clusters": 30, "n_init": 1, "random_state": 0, "max_iter": 10}
    return InfiniteWordTopicModel(8, **{**settings, "iterations_alone": 10, "iterations_together": 6, **changes})


def test_the_kernel_is_the_sum_of_minima():
    A, B = np.random.default_rng(0).random((2, 5, 7))
    np.testing.assert_allclose(histogram_intersection(A, B), np.minimum(A[:, None], B[None]).sum(2))


def test_the_classifier_separates_and_calibrates():
    X, y = SET.corpus.theta, SET.labels
    machine = HistogramIntersectionSVM().fit(X[SET.pool], y[SET.pool])
    probability = machine.predict_proba(X[SET.test])
    assert (machine.predict(X[SET.test]) == y[SET.test]).mean() > 0.8
    np.testing.assert_allclose(probability.sum(1), 1)
    assert (machine.classes_[probability.argmax(1)] == y[SET.test]).mean() > 0.75
    assert machine.margin_ in (0.1, 1.0, 10.0, 100.0, 1000.0)
    gram = histogram_intersection(X[SET.pool], X[SET.pool])
    given = HistogramIntersectionSVM(machine.margin_, kernel="precomputed").fit(gram, y[SET.pool])
    other = given.decision_function(histogram_intersection(X[SET.test], X[SET.pool]))
    np.testing.assert_allclose(other, machine.decision_function(X[SET.test]))


def test_one_label_per_class_still_works_and_one_class_does_not():
    X = np.eye(3)
    machine = HistogramIntersectionSVM().fit(X, [4, 5, 6])
    np.testing.assert_array_equal(machine.predict(X), [4, 5, 6])
    with pytest.raises(BadInput, match="one class only"):
        HistogramIntersectionSVM().fit(X, [1, 1, 1])


def test_topics_learn_from_all_images_and_the_classifier_from_labelled_ones():
    corpus, labels = SET.corpus, SET.labels
    y = np.where(np.arange(140) < 60, labels, -1)
    fitted = TopicClassifier(model(inference="svi", max_iter=15)).fit(corpus.X, corpus.image, y)
    test = corpus.subset(SET.test)
    assert fitted.score(test.X, test.image, labels[SET.test]) > 0.6
    assert fitted.topics_.topic_weights_.shape == (140, 8)
    assert fitted.predict_proba(test.X, test.image).shape == (60, 10)
    again = TopicClassifier(fitted.topics_, fitted=True).fit(corpus.X, corpus.image, y)
    assert again.topics_ is fitted.topics_
    np.testing.assert_array_equal(again.predict(test.X, test.image), fitted.predict(test.X, test.image))


def test_classes_are_the_same_without_calibrated_probabilities():
    corpus, y = SET.corpus.subset(np.arange(120)), SET.labels[:120]
    X = corpus.theta
    calibrated, plain = (HistogramIntersectionSVM(10.0, calibrate=which).fit(X[:60], y[:60]) for which in (True, False))
    np.testing.assert_array_equal(plain.predict(X[60:]), calibrated.predict(X[60:]))
    np.testing.assert_array_equal(plain.decision_function(X[60:]), calibrated.decision_function(X[60:]))
    assert len(set(plain.calibrations_)) == 1 < len(set(calibrated.calibrations_))
    np.testing.assert_allclose(plain.predict_proba(X[60:]).sum(1), 1)


def test_pyramids_count_words_in_cells():
    words, rows, columns = np.array([0, 1, 1, 0]), np.array([5, 5, 95, 99.9]), np.array([5, 95, 5, 99.9])
    levels = pyramid_histograms(words, rows, columns, (100, 100), 2)
    np.testing.assert_allclose(levels[0], [0.5, 0.5])
    np.testing.assert_allclose(levels[1].reshape(4, 2), [[0.25, 0], [0, 0.25], [0, 0.25], [0.25, 0]])
    assert levels[2].shape == (32,) and all(level.sum() == 1 for level in levels)


def test_the_pyramid_kernel_weighs_its_levels_equally():
    rng = np.random.default_rng(0)
    levels = [rng.random((6, cells * 3)) for cells in (1, 4, 16)]
    kernel = PyramidKernel(levels)
    assert kernel.gram.mean() == pytest.approx(1)
    np.testing.assert_allclose(kernel([level[:2] for level in levels]), kernel.gram[:2])


def test_the_margin_is_second_minus_first():
    np.testing.assert_allclose(margin_scores([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), [-0.2, -0.7])
    np.testing.assert_array_equal(least_certain(np.array([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4]]), 2), [1, 2])


@pytest.mark.parametrize("strategy", ["margin", "random"])
def test_active_learning_grows_the_topics_and_the_labels(strategy):
    rule = ActiveRule(batch=15, rounds=2, strategy=strategy)
    rounds = active_learning(
        model(), SET.corpus.X, SET.corpus.image, lambda numbers: SET.labels[numbers], SET.pool[:30], SET.pool, rule,
        np.random.default_rng(0), test=SET.test, test_labels=SET.labels[SET.test],
    )  # fmt: skip
    assert [len(each.labelled) for each in rounds] == [30, 45, 60]
    assert len(set(rounds[-1].labelled.tolist())) == 60 and set(rounds[-1].labelled) <= set(SET.pool)
    assert rounds[-1].accuracy > 0.4


def test_active_learning_by_lda_fits_again():
    rule = ActiveRule(batch=20, rounds=1)
    rounds = active_learning(
        VisualLDA(8, n_words=15, max_iter=10, random_state=0), SET.corpus.X, SET.corpus.image,
        lambda numbers: SET.labels[numbers], SET.pool[:30], SET.pool, rule, np.random.default_rng(0),
    )  # fmt: skip
    assert [len(each.labelled) for each in rounds] == [30, 50] and rounds[0].accuracy is None
    with pytest.raises(BadInput, match="there is no 'entropy'"):
        active_learning(
            VisualLDA(), SET.corpus.X, SET.corpus.image, lambda numbers: SET.labels[numbers], SET.pool[:30], SET.pool,
            ActiveRule(strategy="entropy"), np.random.default_rng(0),
        )  # fmt: skip
