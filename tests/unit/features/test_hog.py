"""HOG2x2 against values computed by hand: a grey ramp and an impulse have known gradients everywhere."""

import numpy as np
import pytest

from benthoscope.engine.features import HogPatches
from benthoscope.engine.features.hog import LENGTH, PER_CELL, TEXTURE, cell_histograms, hog2x2, normalised_cells


def ramp(height, width, down, right):
    return down * np.arange(height)[:, None] + right * np.arange(width)[None]


@pytest.mark.parametrize("down, right, direction", [(0.0, 0.01, 0), (0.01, 0.0, 4), (0.0, -0.01, 9), (-0.01, 0.0, 13)])
def test_a_ramp_has_one_direction_of_the_same_strength_in_every_inner_cell(down, right, direction):
    """Directions are multiples of 20 degrees: 90 degrees is nearest to 4.5, which rounds up to the fifth, or down."""
    histograms = cell_histograms(np.ascontiguousarray(ramp(48, 56, down, right)))
    assert histograms.shape == (6, 7, 18)
    inner = histograms[1:-1, 1:-1]
    fullest = int(inner.sum((0, 1)).argmax())
    assert fullest in (direction, direction + 1)
    # weights of the 16 x 16 px around a cell sum to 8 x 8 px, each of strength 0.01
    np.testing.assert_allclose(inner[..., fullest], 64 * 0.01, rtol=1e-12)
    np.testing.assert_allclose(np.delete(inner, fullest, axis=2), 0, atol=1e-12)


def test_normalisation_of_equal_cells_is_that_of_the_formula():
    """Every block of 2 x 2 cells has the energy 4 * 0.64 ** 2, so each share is 0.64 / sqrt(4 * 0.64 ** 2 + 1e-4)."""
    histograms = np.zeros((4, 4, 18))
    histograms[..., 3] = 0.64
    share = min(0.64 / np.sqrt(4 * 0.64**2 + 1e-4), 0.2)
    expected = np.zeros(PER_CELL)
    expected[3] = expected[18 + 3] = 2 * share  # half of the sum over four blocks
    expected[27:] = TEXTURE * share
    np.testing.assert_allclose(normalised_cells(histograms), np.broadcast_to(expected, (2, 2, 31)), rtol=1e-12)


def test_an_impulse_reaches_the_cells_around_it_by_their_distance():
    plane = np.zeros((40, 40))
    plane[20, 20] = 1.0
    histograms = cell_histograms(plane)
    # four neighbours have a gradient of 0.5: left and right 0 and 180 degrees, above and below 90 and 270
    assert histograms.sum() == pytest.approx(4 * 0.5)
    at_cell = {at: 1 - abs((at + 0.5) / 8 - 0.5 - 2) for at in (19, 20, 21)}  # share of a pixel in row or column 2
    places = ((20, 19), (20, 21), (19, 20), (21, 20))
    expected = 0.5 * sum(at_cell[row] * at_cell[column] for row, column in places)
    assert histograms[2, 2].sum() == pytest.approx(expected)


def test_there_are_as_many_descriptors_as_the_source_counts():
    assert len(hog2x2(np.zeros((640, 640))).vectors) == 77 * 77
    grid = hog2x2(np.random.default_rng(0).random((48, 80)))
    assert grid.vectors.shape == (3 * 7, LENGTH) and grid.rows.tolist() == [16, 24, 32]
    assert hog2x2(np.zeros((5, 9))).vectors.shape == (1, LENGTH)


def test_a_descriptor_has_its_four_cells():
    plane = np.random.default_rng(1).random((48, 48))
    cells = normalised_cells(cell_histograms(plane))
    expected = np.concatenate([cells[1, 2], cells[1, 3], cells[2, 2], cells[2, 3]])
    np.testing.assert_allclose(hog2x2(plane).vectors[1 * 3 + 2], expected, rtol=1e-6)


def test_patches_cover_the_image_and_survive_storage():
    image = np.random.default_rng(2).integers(0, 256, (120, 160, 3), np.uint8)
    patches = HogPatches()
    described_image = patches.describe(image)
    assert described_image.vectors.shape == (12 * 17, LENGTH) and described_image.mask.shape == (120, 160)
    assert np.unique(described_image.mask).size == 12 * 17
    again = HogPatches.restored(patches.parameters, {})
    np.testing.assert_array_equal(again.describe(image).vectors, described_image.vectors)
    assert len(patches.describe(image[:6, :9]).vectors) == 1
