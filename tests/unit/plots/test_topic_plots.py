"""Topics along a dive: bars, gaps, and images without a time."""

import numpy as np
import pytest

from benthoscope import plots


def test_each_image_has_a_bar_of_its_shares():
    weights = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    table = plots.data_table(plots.topics_along(weights, names=["sand", "kelp"], images=[7, 8, 9]))
    sand = table[table["Topic"] == "sand"]
    assert sand["Share (%)"].tolist() == [75, 50, 0] and sand["First image"].tolist() == [7, 8, 9]
    assert sand["Image along the dive"].tolist() == [0, 1, 2]


def test_bars_of_a_long_dive_are_means_and_end_at_gaps():
    weights = np.tile([[1.0, 0.0], [0.0, 1.0]], (120, 1))
    seconds = np.append(np.arange(120.0), 10_000 + np.arange(120.0)) * 60
    figure = plots.topics_along(weights, time=seconds + 1.5e9)
    table = plots.data_table(figure)
    assert len(table) == 240 and set(table["Images in the bar"]) == {2} and set(table["Share (%)"]) == {50}
    bars = figure.last if hasattr(figure, "last") else figure
    widths = bars.dimension_values("x1") - bars.dimension_values("x0")
    np.testing.assert_allclose(widths, 2)  # minutes; the gap of a week is left open


def test_images_without_a_time_are_left_out_if_others_have_one():
    table = plots.data_table(plots.topics_along(np.eye(3), time=[np.nan, 60.0, 120.0], images=[1, 2, 3]))
    assert sorted(set(table["First image"])) == [2, 3]
    assert table["Time since the first image (min)"].max() == pytest.approx(1)


def test_a_dive_without_topics_is_an_empty_plot():
    assert len(plots.data_table(plots.topics_along(np.empty((0, 2))))) == 0
