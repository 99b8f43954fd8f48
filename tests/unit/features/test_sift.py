"""Dense SIFT against a slow account of the same definition and against scikit-image's descriptor."""

import math

import numpy as np
import pytest
from skimage import data
from skimage.feature import SIFT

from benthoscope.engine.features.planes import grey, resize
from benthoscope.engine.features.sift import CLIP, DenseSift


@pytest.fixture(scope="module")
def plane():
    return grey(resize(data.coffee(), 96, 120))


def slow_descriptor(plane, top, remaining, patch=16):
    """One patch, pixel by pixel, written from Lowe's description in Python floats."""
    cells = np.zeros((4, 4, 8))
    height, width = plane.shape
    for y in range(top, top + patch):
        for x in range(remaining, remaining + patch):
            up, down, before, after = max(y - 1, 0), min(y + 1, height - 1), max(x - 1, 0), min(x + 1, width - 1)
            dy = (float(plane[down, x]) - float(plane[up, x])) / (down - up)
            dx = (float(plane[y, after]) - float(plane[y, before])) / (after - before)
            turn = math.atan2(dy, dx) / (2 * math.pi) * 8
            from_middle = (x - remaining - 7.5) ** 2 + (y - top - 7.5) ** 2
            strength = math.hypot(dx, dy) * math.exp(-from_middle / (2 * 8**2))
            for a in range(4):
                for b in range(4):
                    near = max(0, 1 - abs(y - top - (4 * a + 1.5)) / 4) * max(
                        0, 1 - abs(x - remaining - (4 * b + 1.5)) / 4
                    )
                    for o in range(8):
                        apart = abs((turn - o + 4) % 8 - 4)  # on the circle
                        cells[a, b, o] += strength * near * max(0, 1 - apart)
    unit = cells.ravel() / np.linalg.norm(cells)
    clipped = np.minimum(unit, CLIP)
    return clipped / np.linalg.norm(clipped)


def test_every_patch_agrees_with_a_slow_account(plane):
    descriptors = DenseSift(floor=1e-9)(plane)
    for number in (0, 7, 31, 64, len(descriptors.vectors) - 1):
        top, first_column = int(descriptors.rows[number]) - 8, int(descriptors.columns[number]) - 8
        assert descriptors.vectors[number] == pytest.approx(slow_descriptor(plane, top, first_column), abs=2e-5)


def test_descriptors_agree_with_scikit_image_at_the_same_places_and_scale(plane):
    """scikit-image also counts half a bin beyond the patch and rounds to bytes, so its values are similar but not
    equal."""
    descriptors = DenseSift(floor=1e-9)(plane)
    inner = [
        n
        for n in range(len(descriptors.rows))
        if 24 <= descriptors.rows[n] <= 72 and 24 <= descriptors.columns[n] <= 96
    ]
    other = SIFT(upsampling=1)
    space = np.gradient(plane.astype(np.float64))
    other.float_dtype = np.float64
    other.n_octaves = 1
    other.octaves = np.zeros(len(inner), dtype=int)
    other.scales = np.zeros(len(inner), dtype=int)
    other.sigmas = np.full(len(inner), 16 / (2 * other.lambda_descr))  # its window is then 16 px wide
    other.orientations = np.full(len(inner), 0.0)
    other.positions = np.stack([descriptors.rows[inner] - 0.5, descriptors.columns[inner] - 0.5], axis=1)
    other._compute_descriptor([(space[0][:, :, None], space[1][:, :, None])])
    theirs = other.descriptors.reshape(-1, 4, 4, 8) / np.linalg.norm(other.descriptors, axis=1)[:, None, None, None]
    theirs = theirs[:, :, :, [(2 - o) % 8 for o in range(8)]]  # its angles run from down to right, ours back
    cosine = (theirs.reshape(len(inner), -1) * descriptors.vectors[inner]).sum(1)
    assert np.median(cosine) > 0.98
    shuffled = np.roll(descriptors.vectors[inner], 5, axis=0)
    assert np.median((theirs.reshape(len(inner), -1) * shuffled).sum(1)) < 0.85


def test_an_image_of_256_px_has_961_patches():
    noise = np.random.default_rng(0).random((256, 256)).astype(np.float32)
    descriptors = DenseSift()(noise)
    assert descriptors.vectors.shape == (31 * 31, 128)
    assert descriptors.rows.min() == 8 and descriptors.rows.max() == 248


def test_busy_patches_have_unit_length_and_no_entry_far_beyond_the_clip():
    noise = np.random.default_rng(1).random((64, 64)).astype(np.float32)
    vectors = DenseSift()(noise).vectors
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors.min() >= 0 and vectors.max() < 0.5


def test_brighter_or_more_contrasted_images_have_the_same_descriptors():
    noise = np.random.default_rng(2).random((48, 48)).astype(np.float32)
    assert DenseSift()(0.5 * noise + 0.3).vectors == pytest.approx(DenseSift()(noise).vectors, abs=1e-4)


def test_a_flat_image_has_empty_descriptors_not_stretched_noise():
    faint = 0.5 + 1e-6 * np.random.default_rng(3).random((48, 48)).astype(np.float32)
    assert np.abs(DenseSift()(faint).vectors).max() < 1e-3


def test_an_image_smaller_than_a_patch_still_has_one():
    descriptors = DenseSift()(np.random.default_rng(4).random((5, 40)).astype(np.float32))
    assert descriptors.vectors.shape == (4, 128) and np.isfinite(descriptors.vectors).all()
