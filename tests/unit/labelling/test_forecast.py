"""Number of labels for a wanted accuracy, forecast from the training rounds so far."""

import numpy as np
import pytest

from benthoscope.engine.labelling.speed import forecast


@pytest.mark.parametrize("exponent", [0.3, 0.6, 1.0])
def test_a_power_law_is_extrapolated(exponent):
    labels = [50, 100, 200, 400]
    accuracy = [1 - 2.0 * n**-exponent for n in labels]
    target = 1 - 0.5 * (1 - accuracy[-1])  # half of the errors there are now
    predicted = forecast(labels, accuracy, target)
    assert predicted.exponent == pytest.approx(exponent, rel=1e-6)
    assert predicted.labels == pytest.approx(400 * 2 ** (1 / exponent), rel=0.01)


def test_a_reached_target_needs_no_more_labels():
    assert forecast([10, 20, 30], [0.7, 0.8, 0.96], 0.95).labels == 30


def test_a_flat_trend_gives_no_forecast():
    assert forecast([10, 20, 40], [0.7, 0.7, 0.69], 0.95).labels is None
    assert forecast([10, 20, 40], [0.5, 0.51, 0.52], 0.999).labels is None


def test_two_training_rounds_give_no_forecast():
    assert forecast([10, 20], [0.5, 0.6], 0.9) is None
    assert forecast([10, 10, 10], [0.5, 0.6, 0.6], 0.9) is None


def test_noise_moves_the_forecast_little():
    rng, predictions = np.random.default_rng(0), []
    labels = np.array([40, 80, 120, 200, 320, 500])
    for _ in range(200):
        accuracy = 1 - 1.5 * labels**-0.5 * np.exp(rng.normal(0, 0.05, len(labels)))
        predictions.append(forecast(labels.tolist(), accuracy.tolist(), 0.95).labels)
    assert np.quantile(predictions, [0.05, 0.95]) == pytest.approx([900, 900], rel=0.35)
