"""Max pooling over the pyramid, and the whole ScSPM descriptor."""

import numpy as np
import pytest
from skimage import data

from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.descriptor import Projected
from benthoscope.engine.features.dictionaries import RandomPatches
from benthoscope.engine.features.encoders import MatchingPursuit, SoftThreshold, sparse
from benthoscope.engine.features.planes import grey, resize
from benthoscope.engine.features.scspm import ScSPM, finest_cell, pyramid
from benthoscope.engine.features.sift import DenseSift, Patches
from benthoscope.engine.problems import BadInput

PICTURES = [resize(picture, 120, 160) for picture in (data.astronaut(), data.coffee(), data.chelsea())]


def slow_pyramid(dense, patches):
    """Every cell of every level on its own."""
    cells = []
    for level in (1, 2, 4):
        for a in range(level):
            for b in range(level):
                inside = (patches.rows * level // patches.height == a) & (patches.columns * level // patches.width == b)
                cells.append(np.abs(dense[inside]).max(0, initial=0))
    pyramid_row = np.concatenate(cells)
    return pyramid_row / np.linalg.norm(pyramid_row)


@pytest.mark.parametrize("encoder", [MatchingPursuit(4), SoftThreshold(0.3)])
def test_pooling_equals_the_slow_maximum_over_every_cell(encoder):
    patches = DenseSift()(grey(PICTURES[0]))
    codes = encoder(patches.vectors, patches.vectors[::9])
    assert pyramid(codes, patches) == pytest.approx(slow_pyramid(codes.dense(), patches), abs=1e-6)


def test_each_cell_is_the_maximum_of_its_four_children():
    patches = DenseSift()(grey(PICTURES[1]))
    out = pyramid(MatchingPursuit()(patches.vectors, patches.vectors[::7]), patches).reshape(21, -1)
    top, middle, fine = out[0], out[1:5].reshape(2, 2, -1), out[5:].reshape(4, 4, -1)
    assert (top == middle.max((0, 1))).all()
    for a in range(2):
        for b in range(2):
            assert (middle[a, b] == fine[2 * a : 2 * a + 2, 2 * b : 2 * b + 2].max((0, 1))).all()


def test_negative_codes_count_by_their_size_and_empty_cells_are_zero():
    patches = Patches(np.empty((1, 0)), np.array([10.0]), np.array([90.0]), 100, 100)
    assert finest_cell(patches).tolist() == [3]
    out = pyramid(sparse(np.array([[0.0, -2.0]])), patches).reshape(21, 2)
    assert (out > 0).sum() == 3  # the image, its upper right quarter, the last cell of the first row
    assert out[0, 1] == out[2, 1] == out[5 + 3, 1] == pytest.approx(1 / np.sqrt(3))


def test_the_full_descriptor_has_21504_values_unit_length_none_negative():
    pictures = [resize(picture, 240, 320) for picture in (*PICTURES, data.rocket())]
    learned = ScSPM(learner=RandomPatches()).fit(pictures, random_state=0)
    out = learned.describe(data.astronaut())
    assert out.shape == (21504,) and out.dtype == np.float32
    assert np.linalg.norm(out) == pytest.approx(1, abs=1e-5) and out.min() >= 0


def test_the_same_seed_learns_the_same_and_another_differs():
    made = [ScSPM(atoms=64, learner=RandomPatches()).fit(PICTURES, random_state=seed) for seed in (1, 1, 2)]
    assert (made[0].dictionary == made[1].dictionary).all()
    assert (made[0].dictionary != made[2].dictionary).any()


def test_a_descriptor_without_a_dictionary_says_so():
    with pytest.raises(BadInput, match="no dictionary yet; call fit"):
        ScSPM().describe(PICTURES[0])


def test_too_few_textured_patches_for_the_dictionary_are_an_error_that_says_what_to_do():
    with pytest.raises(BadInput, match="for 1024 atoms; use more training images"):
        ScSPM(learner=RandomPatches()).fit(PICTURES[:1], random_state=0)


def test_describing_leaves_the_image_alone_and_takes_any_shape():
    learned = Projected(ScSPM(atoms=32, learner=RandomPatches()), PrincipalAxes(2)).fit(PICTURES, random_state=0)
    picture = PICTURES[0].copy()
    learned.describe(picture)
    assert (picture == PICTURES[0]).all()
    for shape in ((1, 1, 3), (500, 20, 3), (20, 500), (60, 60, 4), (31, 33, 1)):
        assert np.isfinite(learned.describe(np.full(shape, 77, dtype=np.uint8))).all()
