"""Patches on a grid, and the topics of an image's patches."""

import numpy as np
import pytest
from skimage import data

from benthoscope.engine.features.networks.efficientnet import installed
from benthoscope.engine.features.patches import DeepPatches, SiftPatches, cells
from benthoscope.engine.features.planes import grey, resize
from benthoscope.engine.features.sift import DenseSift
from benthoscope.engine.features.topic_weights import TopicWeights
from benthoscope.engine.problems import BadInput

IMAGE = resize(data.coffee(), 200, 300)


def test_each_patch_owns_the_pixels_around_its_centre():
    described = SiftPatches().describe(IMAGE)
    patches = DenseSift(24, 16)(grey(IMAGE))
    assert described.mask.shape == (200, 300) and described.vectors.shape == (len(patches.vectors), 128)
    np.testing.assert_array_equal(np.unique(described.mask), np.arange(len(patches.vectors)))
    for number in (0, 7, len(patches.vectors) - 1):
        assert described.mask[int(patches.rows[number]), int(patches.columns[number])] == number
    np.testing.assert_array_equal(described.vectors, patches.vectors)


def test_tiny_images_have_one_patch():
    described = SiftPatches().describe(IMAGE[:10, :12])
    assert described.vectors.shape == (1, 128) and described.mask.shape == (10, 12) and not described.mask.any()


def test_cells_are_numbered_row_by_row():
    np.testing.assert_array_equal(
        cells(np.array([1.0, 3.0]), np.array([1.0, 3.0]), 4, 4)[[0, 3]], [[0, 0, 1, 1], [2, 2, 3, 3]]
    )


@pytest.mark.skipif(not installed(), reason="the weight package is not installed")
def test_deep_patches_are_the_features_before_pooling(tmp_path):
    descriptor = DeepPatches(tmp_path)
    described = descriptor.describe(IMAGE)
    assert described.vectors.shape == (49, 1280) and set(np.unique(described.mask)) == set(range(49))
    np.testing.assert_allclose(np.linalg.norm(described.vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(descriptor.network.map(IMAGE).mean((1, 2)), descriptor.network(IMAGE), atol=1e-4)
    few = descriptor.describe(IMAGE[:4, :5])
    assert len(few.vectors) == len(np.unique(few.mask)) == few.mask.max() + 1


def test_topics_separate_images_of_different_texture():
    rng = np.random.default_rng(0)
    stripes = np.tile((np.arange(160) // 4 % 2 * 200).astype(np.uint8), (120, 1))
    noise = [np.dstack([rng.integers(0, 255, (120, 160), np.uint8)] * 3) for _ in range(6)]
    lines = [np.dstack([np.roll(stripes, k, 1)] * 3) for k in range(6)]
    descriptor = TopicWeights(3).fit([*noise, *lines], random_state=0)
    weights = np.stack([descriptor.describe(image) for image in [*noise, *lines]])
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    assert np.minimum(weights[:6].mean(0), weights[6:].mean(0)).sum() < 0.3
    with pytest.raises(BadInput, match="no topics yet"):
        TopicWeights().describe(IMAGE)
