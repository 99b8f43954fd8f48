"""Images by their topics: texts of mixtures, and distances to a mixture and to an image."""

import numpy as np
import pytest

from benthoscope.engine.analysis import distance_to_mixture, distance_to_weights, mixture_named, mixture_text
from benthoscope.engine.problems import BadInput

NAMES = {3: "sand", 1: "sea grass 2"}


@pytest.mark.parametrize(
    "text, shares",
    [
        ("3: 50 %, 7: 50 %", {3: 0.5, 7: 0.5}),
        ("3:50,7:50", {3: 0.5, 7: 0.5}),
        ("Topic 7 = 12,5%; sand 30", {7: 0.125, 3: 0.3}),
        ("sea grass 2: 100", {1: 1.0}),
        ("0 20\n4 20.5 %", {0: 0.2, 4: 0.205}),
        ("half topic 3, half topic 7", {3: 0.5, 7: 0.5}),
        ("Three quarters of sand; a quarter 0", {3: 0.75, 0: 0.25}),
        ("12,5 % topic 7, 30 % sand", {7: 0.125, 3: 0.3}),
        ("all topic 2", {2: 1.0}),
        (" ", {}),
    ],
)
def test_a_mixture_is_read_from_text(text, shares):
    assert mixture_named(text, 8, NAMES) == pytest.approx(shares)
    assert mixture_named(mixture_text(shares), 8, NAMES) == pytest.approx(shares)


@pytest.mark.parametrize(
    "text, message",
    [
        ("8: 50 %", "no topic '8'"),
        ("gravel 5", "no topic 'gravel'"),
        ("half", "is not a topic and its share"),
        ("half gravel", "no topic 'gravel'"),
        ("3: 60, 4: 60", "sum to 120 %"),
        ("3: 10, sand: 10", "topic 3 occurs twice"),
    ],
)
def test_an_unusable_mixture_is_refused(text, message):
    with pytest.raises(BadInput, match=message):
        mixture_named(text, 8, NAMES)


def test_distances_are_those_of_hellinger():
    weights = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    expected = [0.0, np.sqrt(1 - np.sqrt(0.5)), 1.0]
    np.testing.assert_allclose(distance_to_weights(weights, weights[0]), expected, atol=1e-12)
    np.testing.assert_allclose(distance_to_mixture(weights, {0: 0.5, 1: 0.5}), expected, atol=1e-12)


def test_a_share_that_is_left_open_may_belong_to_any_other_topic():
    weights = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.2, 0.4, 0.4]])
    np.testing.assert_allclose(distance_to_mixture(weights, {0: 0.5})[:2], 0, atol=1e-12)
    assert distance_to_mixture(weights, {0: 0.5})[2] > 0.1
