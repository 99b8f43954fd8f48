"""Segments and pixels by position and colour."""

import numpy as np
import pytest

from benthoscope.engine.features import ColourSegments, load, save
from benthoscope.engine.features.segments import Pixels, Slic

RED, BLUE = [255, 0, 0], [0, 0, 255]
RED_LAB = [53.24, 80.09, 67.20]  # published values of sRGB red in CIELAB (D65)


def halves(height=160, width=200):
    image = np.empty((height, width, 3), np.uint8)
    image[:, : width // 2], image[:, width // 2 :] = RED, BLUE
    return image


def test_a_pixel_is_its_position_from_the_centre_and_its_colour_in_cielab():
    described = ColourSegments(Pixels()).describe(halves())
    assert described.vectors.shape == (32_000, 5) and described.mask.shape == (160, 200)
    corner, opposite = described.vectors[0], described.vectors[-1]
    np.testing.assert_allclose(corner[2:], RED_LAB, atol=0.1)
    np.testing.assert_allclose(corner[:2], [-25 + 0.125, -20 + 0.125], atol=1e-4)
    np.testing.assert_allclose(opposite[:2], -corner[:2], atol=1e-4)


def test_a_segment_has_the_mean_of_its_pixels():
    image = halves()
    segments, pixels = ColourSegments(Slic(20)).describe(image), ColourSegments(Pixels()).describe(image)
    for number in range(len(segments.vectors)):
        inside = pixels.vectors[segments.mask.ravel() == number]
        np.testing.assert_allclose(segments.vectors[number], inside.mean(0, dtype=float), atol=1e-4)


def test_the_size_of_an_image_does_not_matter_and_position_can_be_left_out():
    small, large = (ColourSegments(Pixels(), longest=20).describe(halves(*size)) for size in ((16, 20), (160, 200)))
    np.testing.assert_allclose(small.vectors[:, :2], large.vectors[:, :2], atol=1e-5)
    assert not ColourSegments(Pixels(), side=0).describe(halves()).vectors[:, :2].any()


@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 500, 3), (40, 7), (30, 30, 4)])
@pytest.mark.parametrize("cutter", [Slic(100), Pixels()])
def test_odd_shapes_grey_and_uniform_images_are_described(shape, cutter):
    described = ColourSegments(cutter).describe(np.full(shape, 90, np.uint8))
    assert np.isfinite(described.vectors).all() and len(described.vectors) == described.mask.max() + 1


def test_a_stored_descriptor_describes_in_the_same_way(tmp_path):
    descriptor = ColourSegments(Pixels(), 50, 20.0)
    save(descriptor, tmp_path / "stored")
    again = load(tmp_path / "stored", cache=tmp_path)
    assert again == descriptor
    np.testing.assert_array_equal(again.describe(halves()).vectors, descriptor.describe(halves()).vectors)
