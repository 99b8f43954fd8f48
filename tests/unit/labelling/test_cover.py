"""Shares and their intervals: golden numbers, and coverage by simulation with fixed seeds."""

import numpy as np
import pytest

from benthoscope.engine.labelling.cover.estimate import Cells, GuessCounts, expected_counts, limits


def table(images, answers):
    """Strata of images with their answers, and an empty stratum of images without a guess."""
    images, answers = np.append(images, 0.0), np.vstack([answers, np.zeros(np.shape(answers)[1])])
    return GuessCounts(images, answers, np.zeros(len(images)), np.zeros(len(images)))


GOLDEN = [
    ([1000], [100], [0], 0.95, (0, 0.034358)),
    ([1000], [100], [5], 0.95, (0.018154, 0.109610)),
    ([100, 900], [10, 90], [9, 1], 0.95, (0.065988, 0.143052)),
    ([100, 900], [10, 90], [9, 1], 1 - 0.05 / 6, (0.055890, 0.161083)),
    ([20, 1980], [2, 198], [2, 0], 0.95, (0.002013, 0.027336)),
    ([0, 500], [0, 50], [0, 0], 0.95, (0, 0.067472)),
    ([50], [20], [0], 0.95, (0, 0.130468)),
    ([300, 700], [0, 100], [0, 3], 0.95, (0.012812, 0.323199)),
    ([500, 1500, 200, 2800], [60, 60, 10, 140], [57, 1, 8, 0], 0.95, (0.115099, 0.158809)),
]


@pytest.mark.parametrize(("images", "draws", "hits", "confidence", "expected"), GOLDEN)
def test_golden_intervals(images, draws, hits, confidence, expected):
    assert limits(Cells.of(images, draws, hits), confidence) == pytest.approx(expected, abs=1e-5)


def test_golden_estimate():
    counts = expected_counts(table([400, 500, 100], [[18, 1, 0], [2, 24, 1], [0, 1, 3]]))
    assert counts / 1000 == pytest.approx([0.415903, 0.486313, 0.097784], abs=1e-5)
