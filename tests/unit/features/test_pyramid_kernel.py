"""Kernel PCA with the spatial pyramid match kernel."""

import numpy as np
import pytest
from skimage import data

from benthoscope.engine.features import PyramidKernelAxes, load, save
from benthoscope.engine.features.planes import resize
from benthoscope.engine.features.pyramid_kernel import LEVEL_WEIGHTS, kernel_axes
from benthoscope.engine.problems import BadInput

PICTURES = [
    resize(picture, 96, 128)
    for picture in (data.astronaut(), data.coffee(), data.chelsea(), data.rocket(), data.hubble_deep_field())
]


@pytest.fixture(scope="module")
def learned():
    return PyramidKernelAxes(words=16).fit(PICTURES, random_state=0)


def kernel(first, second, words):
    """The kernel of Lazebnik et al., cell by cell."""
    total, at = 0.0, 0
    for cells in (1, 4, 16):
        for _ in range(cells):
            total += sum(min(a, b) for a, b in zip(first[at : at + words], second[at : at + words], strict=True))
            at += words
    return total


def test_distances_are_those_of_the_centred_kernel(learned):
    """With all axes, the inner products of the coordinates are the centred kernel matrix."""
    histograms = [learned.histograms(picture) for picture in PICTURES]
    gram = np.array([[kernel(a, b, 16) for b in histograms] for a in histograms])
    np.testing.assert_allclose(np.diagonal(gram), 1, atol=1e-6)
    centring = np.eye(5) - 1 / 5
    coordinates = np.stack([learned.describe(picture) for picture in PICTURES]).astype(float)
    assert coordinates.shape == (5, 4) and learned.width == 4
    np.testing.assert_allclose(coordinates @ coordinates.T, centring @ gram @ centring, atol=1e-5)


def test_the_levels_have_the_weights_of_the_pyramid_match_kernel(learned):
    histogram = learned.histograms(PICTURES[0])
    assert len(histogram) == 21 * 16
    sums = [histogram[:16].sum(), histogram[16:80].sum(), histogram[80:].sum()]
    np.testing.assert_allclose(sums, LEVEL_WEIGHTS, atol=1e-9)


def test_axes_are_sorted_by_variance_and_never_more_than_asked_for(learned):
    two = PyramidKernelAxes(dimension=2, words=16).fit(PICTURES, random_state=0)
    rows = np.stack([learned.describe(picture) for picture in PICTURES])
    assert (np.diff(rows.var(0)) < 0).all()
    np.testing.assert_allclose(np.stack([two.describe(picture) for picture in PICTURES]), rows[:, :2], atol=1e-5)


def test_a_new_image_does_not_move_the_others_and_a_stored_descriptor_is_the_same(learned, tmp_path):
    save(learned, tmp_path / "stored")
    again = load(tmp_path / "stored", cache=tmp_path)
    again.describe(PICTURES[0][::-1])
    np.testing.assert_array_equal(again.describe(PICTURES[1]), learned.describe(PICTURES[1]))


@pytest.mark.parametrize("image", [np.zeros((1, 1, 3), np.uint8), np.full((40, 300), 9, np.uint8)])
def test_tiny_and_uniform_images_are_described(learned, image):
    assert np.isfinite(learned.describe(image)).all()


def test_uniform_training_images_and_untrained_descriptors_are_refused():
    with pytest.raises(BadInput, match="same texture"):
        kernel_axes(np.ones((3, 3)), 20)
    with pytest.raises(BadInput, match="no landmark images"):
        PyramidKernelAxes().describe(PICTURES[0])
