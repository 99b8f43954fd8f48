"""Reliability of people from blind double labels, and what learning gains from it."""

import numpy as np
import pytest

from benthoscope.engine.labelling.agreement import Opinions
from benthoscope.engine.labelling.classifier import TermLikelihoods, inputs, learn
from benthoscope.engine.labelling.people.reliability import LEAST, estimate

TERMS = 6
CONFUSED = (0, 1)  # terms that the third expert confuses
SLIP = 0.03


def experts(count: int, *, careless: int | None = None) -> np.ndarray:
    """Return the true confusion tables (P, K, K) of people; `careless` gives two terms at random for each other."""
    confusion = np.tile((1 - SLIP) * np.eye(TERMS) + SLIP / (TERMS - 1) * (1 - np.eye(TERMS)), (count, 1, 1))
    if careless is not None:
        confusion[careless, CONFUSED, :] = 0.0
        confusion[np.ix_([careless], CONFUSED, CONFUSED)] = 0.5
    return confusion


def given_terms(confusion: np.ndarray, people: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(TERMS, p=confusion[p, k]) for p, k in zip(people, truth, strict=True)])


def labels_of(truth: np.ndarray, confusion: np.ndarray, rng: np.random.Generator) -> Opinions:
    """Return the looks of everybody at every image."""
    images, people = np.repeat(np.arange(len(truth)), len(confusion)), np.tile(np.arange(len(confusion)), len(truth))
    terms = np.array(
        [rng.choice(TERMS, p=confusion[p, k]) for p, k in zip(people, np.repeat(truth, len(confusion)), strict=True)]
    )
    return Opinions(images, people, terms, np.arange(1, len(images) + 1))


def test_the_expert_who_confuses_two_terms_is_identified_by_two_others():
    """Compared with the shares of right labels in these looks, which the estimate does not know."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, TERMS, 400)
    labels = labels_of(truth, experts(3, careless=2), rng)
    right = estimate(labels, np.arange(TERMS)).right()
    is_right = (labels.terms == truth[labels.images]).reshape(400, 3)
    counted = np.stack([is_right[truth == kind].mean(0) for kind in range(TERMS)], 1)
    np.testing.assert_allclose(right, counted, atol=0.1)
    assert right[2, :2].max() < 0.7 < 0.9 < right[:2].min()


def test_two_people_share_the_blame_until_their_conflicts_are_resolved():
    truth = np.repeat([0, 1], 40)
    second = np.where((truth == 0) & (np.arange(80) < 20), 1, truth)  # says 1 for half of the images of term 0
    labels = Opinions(
        np.repeat(np.arange(80), 2), np.tile([7, 8], 80), np.stack([truth, second], 1).ravel(), np.ones(160)
    )
    before = estimate(labels, np.arange(2))
    after = estimate(labels, np.arange(2), dict.fromkeys(range(20), 0))
    assert before.right().min(1) == pytest.approx([0.8, 0.8], abs=0.2)
    assert after.right()[0].min() > 0.9 and after.right()[1, 0] < 0.6


def test_a_term_with_one_double_label_is_hardly_known():
    labels = Opinions(np.repeat(np.arange(41), 2), np.tile([1, 2], 41), np.array([0] * 80 + [3, 2]), np.ones(82))
    reliability = estimate(labels, np.arange(TERMS))
    assert (reliability.right()[:, 2:] > 0.6).all()
    np.testing.assert_allclose(reliability.confusion.sum(2), 1.0)


def test_labels_of_people_with_few_double_labels_are_taken_as_right():
    few = Opinions(
        np.repeat(np.arange(LEAST - 1), 2), np.tile([1, 2], LEAST - 1), np.zeros(2 * LEAST - 2, int), np.ones(38)
    )
    likelihoods = estimate(few, np.arange(3)).likelihoods(np.array([1, 9]), np.array([2, 0]))
    np.testing.assert_array_equal(likelihoods, [[0, 0, 1], [1, 0, 0]])


def test_nobody_with_double_labels_gives_no_reliability():
    nothing = np.empty(0, np.int64)
    reliability = estimate(Opinions(nothing, nothing, nothing, nothing), np.arange(3))
    assert reliability.right().shape == (0, 3)
    assert reliability.likelihoods(np.array([1]), np.array([2])).tolist() == [[0, 0, 1]]


def test_before_the_first_label_there_is_no_reliability():
    nothing = np.empty(0, np.int64)
    reliability = estimate(Opinions(nothing, nothing, nothing, nothing), nothing)
    assert reliability.confusion.shape == (0, 0, 0) and reliability.likelihoods(nothing, nothing).shape == (0, 0)


def test_learning_improves_when_one_of_three_experts_confuses_two_terms():
    """Accuracy on images that nobody labelled, from 240 labels of three experts and 100 images that all three labelled
    blind. The reliabilities are estimated, not given."""
    gains, clean_gaps = [], []
    for seed in range(6):
        plain, weighted, clean = accuracies(seed)
        gains.append(weighted - plain)
        clean_gaps.append(clean - plain)
    assert np.mean(gains) > 0.02 and np.min(gains) > -0.01
    assert np.mean(gains) > 0.5 * np.mean(clean_gaps)  # most of what correct labels would gain


def test_reliable_people_lose_nothing():
    differences = [weighted - plain for plain, weighted, _ in (accuracies(seed, careless=None) for seed in range(4))]
    assert np.mean(differences) > -0.005


def accuracies(seed: int, careless: int | None = 2) -> tuple[float, float, float]:
    """Return the accuracy with labels as given, with reliabilities, and with correct labels."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((TERMS, 12))
    centres *= 3.3 / np.linalg.norm(centres, axis=1, keepdims=True)
    truth = rng.integers(0, TERMS, 1200)
    data = inputs((centres[truth] + rng.standard_normal((1200, 12))).astype(np.float32), rng=rng)
    confusion = experts(3, careless=careless)
    labelled, people = np.arange(240), rng.integers(0, 3, 240)
    terms = given_terms(confusion, people, truth[labelled], rng)
    reliability = estimate(labels_of(rng.integers(0, TERMS, 100), confusion, rng), np.arange(TERMS))
    values = reliability.likelihoods(people, terms)
    likelihoods = TermLikelihoods(reliability.terms, values / values.max(1, keepdims=True))

    def accuracy(labels: np.ndarray, likelihoods: TermLikelihoods | None = None) -> float:
        learned = learn(data, labelled, labels, likelihoods=likelihoods, rng=np.random.default_rng(seed))
        best = learned.terms[learned.probabilities(data.rows[240:]).argmax(1)]
        return float((best == truth[240:]).mean())

    return accuracy(terms), accuracy(terms, likelihoods), accuracy(truth[labelled])
