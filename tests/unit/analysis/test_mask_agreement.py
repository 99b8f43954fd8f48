"""Scores of a joint segmentation against known masks."""

import numpy as np
import pytest

from benthoscope.engine.analysis import segmentation_scores
from benthoscope.engine.metrics import adjusted_rand, v_measure
from benthoscope.engine.problems import BadInput


def test_scores_are_those_of_all_pixels_together():
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(-1, 4, (5, 6)), rng.integers(0, 3, (5, 6))) for _ in range(3)]
    scores = segmentation_scores(pairs, 4)
    topics, known = (np.concatenate([pair[part].ravel() for pair in pairs]) for part in (0, 1))
    counted = (topics >= 0) & (known > 0)
    assert scores.pixels == counted.sum() and scores.images == 3
    assert scores.v_measure == pytest.approx(v_measure(known[counted], topics[counted]), abs=1e-12)
    assert scores.adjusted_rand == pytest.approx(adjusted_rand(known[counted], topics[counted]), abs=1e-12)


def test_two_topics_of_one_class_count_as_its_name():
    known = np.array([[1, 1, 1, 2], [1, 1, 1, 2]])
    topics = np.array([[0, 0, 1, 2], [0, 0, 1, 1]])
    scores = segmentation_scores([(topics, known)], 4)
    assert scores.class_of_topic.tolist() == [1, 1, 2, -1]
    assert scores.accuracy == pytest.approx(7 / 8)
    assert scores.overlap == {1: pytest.approx(6 / 7), 2: pytest.approx(1 / 2)}


def test_a_mask_of_another_size_is_compared_at_its_own_pixels():
    topics = np.array([[0, 1]])
    known = np.array([[1, 1, 2, 2]] * 6)
    scores = segmentation_scores([(topics, known)], 2)
    assert scores.pixels == 24 and scores.v_measure == scores.accuracy == 1


@pytest.mark.parametrize("pairs", [[], [(np.zeros((2, 2), int), np.zeros((2, 2), int))]])
def test_masks_without_a_known_pixel_are_refused(pairs):
    with pytest.raises(BadInput, match="no pixel with a known class"):
        segmentation_scores(pairs, 2)
