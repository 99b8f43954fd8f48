"""How many labels a wanted accuracy takes, told from the course so far."""

import numpy as np
import pytest

from engine.labelling.forecast import forecast


@pytest.mark.parametrize("exponent", [0.3, 0.6, 1.0])
def test_a_power_law_is_followed_to_where_it_leads(exponent):
    labels = [50, 100, 200, 400]
    accuracy = [1 - 2.0 * n**-exponent for n in labels]
    wanted = 1 - 0.5 * (1 - accuracy[-1])  # half of the errors there are now
    found = forecast(labels, accuracy, wanted)
    assert found.exponent == pytest.approx(exponent, rel=1e-6)
    assert found.labels == pytest.approx(400 * 2 ** (1 / exponent), rel=0.01)


def test_what_is_reached_takes_no_more():
    assert forecast([10, 20, 30], [0.7, 0.8, 0.96], 0.95).labels == 30


def test_a_course_that_leads_nowhere_is_not_made_up():
    assert forecast([10, 20, 40], [0.7, 0.7, 0.69], 0.95).labels is None
    assert forecast([10, 20, 40], [0.5, 0.51, 0.52], 0.999).labels is None


def test_two_learnings_tell_nothing():
    assert forecast([10, 20], [0.5, 0.6], 0.9) is None
    assert forecast([10, 10, 10], [0.5, 0.6, 0.6], 0.9) is None


def test_noise_moves_the_forecast_little():
    rng, found = np.random.default_rng(0), []
    labels = np.array([40, 80, 120, 200, 320, 500])
    for _ in range(200):
        accuracy = 1 - 1.5 * labels**-0.5 * np.exp(rng.normal(0, 0.05, len(labels)))
        found.append(forecast(labels.tolist(), accuracy.tolist(), 0.95).labels)
    assert np.quantile(found, [0.05, 0.95]) == pytest.approx([900, 900], rel=0.35)
