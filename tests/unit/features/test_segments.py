"""Segment descriptors: filters, pooling, super-pixels, masks, truth for segments."""

import numpy as np
import pytest
from skimage import data
from skimage.measure import label as connected

from benthoscope.engine.features.compression import PrincipalAxes
from benthoscope.engine.features.descriptor import Projected
from benthoscope.engine.features.ica import FLOOR, FilterBank, IndependentComponents
from benthoscope.engine.features.masks import pack_mask, point_labels, segment_labels, unpack_mask
from benthoscope.engine.features.planes import resize
from benthoscope.engine.features.segments import CUTTERS, IcaSegments, Slic
from benthoscope.engine.problems import BadInput

PICTURES = [resize(picture, 240, 320) for picture in (data.astronaut(), data.coffee(), data.chelsea(), data.rocket())]


@pytest.fixture(scope="module")
def bank():
    return IndependentComponents(patches=4000, filters=12).fit(PICTURES, rng=np.random.default_rng(0))


def slow_answers(bank, image, row, column):
    """The answers of one pixel, from its patch, in double precision."""
    half = bank.side // 2
    padded = np.pad(image / 255.0, [(half, half), (half, half), (0, 0)], mode="reflect")
    patch = padded[row : row + bank.side, column : column + bank.side].ravel()
    if bank.normalise:
        patch = (patch - patch.mean()) / (patch.std() + 0.01)
    return bank.filters.astype(float) @ (patch - bank.mean)


@pytest.mark.parametrize("normalise", [True, False])
def test_dense_answers_equal_those_of_single_patches_also_at_the_border(normalise):
    learned = IndependentComponents(patches=2000, filters=8, normalise=normalise)
    bank = learned.fit(PICTURES, rng=np.random.default_rng(1))
    image = PICTURES[0][:40, :50]
    dense = np.concatenate([answers for _, answers in bank.answers(image)]).reshape(40, 50, 8)
    for position in ((0, 0), (0, 49), (17, 20), (39, 49), (39, 0)):
        assert dense[position] == pytest.approx(slow_answers(bank, image, *position), abs=2e-3)


def test_pooling_is_the_mean_logarithm_of_the_answers_size(bank):
    image, mask = PICTURES[1], Slic()(PICTURES[1])
    answers = np.concatenate([answers for _, answers in bank.answers(image)]).astype(np.float64)
    strengths = bank.strength(image, mask, mask.max() + 1)
    for segment in range(mask.max() + 1):
        inside = np.maximum(np.abs(answers[mask.ravel() == segment]), FLOOR)
        assert strengths[segment] == pytest.approx(np.log(inside).mean(0), abs=1e-5)


def test_the_place_of_pixels_within_a_segment_does_not_matter():
    """With 1 px filters, shuffling a segment's pixels only permutes its answers."""
    bank = FilterBank(np.array([[1.0, 0.3, -0.5], [0.2, -1.0, 0.4]], dtype=np.float32), np.full(3, 0.4), 1, False)
    image, mask = PICTURES[2].copy(), Slic()(PICTURES[2])
    before = bank.strength(image, mask, mask.max() + 1)
    rng = np.random.default_rng(0)
    for segment in range(mask.max() + 1):
        image[mask == segment] = rng.permutation(image[mask == segment])
    assert bank.strength(image, mask, mask.max() + 1) == pytest.approx(before, abs=1e-5)


def test_the_sign_of_filters_does_not_matter(bank):
    mask = Slic()(PICTURES[0])
    turned = FilterBank(-bank.filters, bank.mean, bank.side, bank.normalise)
    first, other = (each.strength(PICTURES[0], mask, mask.max() + 1) for each in (bank, turned))
    assert (first == other).all()


def test_normalised_answers_do_not_change_with_brightness(bank):
    image, mask = PICTURES[0] // 2, Slic()(PICTURES[0])
    brighter = (image + 60).astype(np.uint8)
    difference = bank.strength(brighter, mask, mask.max() + 1) - bank.strength(image, mask, mask.max() + 1)
    assert np.abs(difference).max() < 2e-2


def test_components_unmix_independent_sources():
    """Patches that are one pixel of three mixed Laplacian sources: each filter answers to one source."""
    rng = np.random.default_rng(2)
    sources = rng.laplace(size=(200, 200, 3)) * 10
    mixing = np.array([[1.0, 0.4, 0.2], [0.3, 1.0, -0.3], [-0.2, 0.5, 1.0]])
    image = np.clip(128 + sources @ mixing, 0, 255).astype(np.uint8)
    bank = IndependentComponents(side=1, filters=3, normalise=False, patches=20_000).fit([image], rng=rng)
    answers = np.concatenate([answers for _, answers in bank.answers(image)])
    likeness = np.abs(np.corrcoef(answers.T, sources.reshape(-1, 3).T)[:3, 3:])
    assert likeness.max(1).min() > 0.97 and sorted(likeness.argmax(1)) == [0, 1, 2]


@pytest.mark.parametrize("picture", range(4))
def test_fifty_super_pixels_asked_for_give_35_to_65_connected_ones_that_cover_the_image(picture):
    mask = Slic()(PICTURES[picture])
    assert mask.shape == (240, 320) and 35 <= mask.max() + 1 <= 65
    assert np.unique(mask).tolist() == list(range(mask.max() + 1))
    assert all(connected(mask == segment, connectivity=1).max() == 1 for segment in range(mask.max() + 1))


@pytest.mark.parametrize("word", CUTTERS)
def test_every_cutter_numbers_connected_segments_without_a_gap(word):
    mask = CUTTERS[word]()(resize(PICTURES[1], 60, 80))
    assert np.unique(mask).tolist() == list(range(mask.max() + 1))
    assert all(connected(mask == segment, connectivity=1).max() == 1 for segment in range(mask.max() + 1))


def test_segments_have_fifteen_whitened_dimensions():
    learned = Projected(IcaSegments(), PrincipalAxes(15, whiten=True)).fit(PICTURES, random_state=0)
    descriptions = [learned.describe(picture) for picture in PICTURES]
    rows = np.concatenate([segments.vectors for segments in descriptions])
    assert all(len(segments.vectors) == segments.mask.max() + 1 for segments in descriptions)
    assert rows.shape[1] == 15 and np.cov(rows.T, bias=True) == pytest.approx(np.eye(15), abs=1e-2)


@pytest.mark.parametrize("shape", [(5, 300, 3), (1, 1, 3), (40, 7, 3), (700, 500, 3)])
def test_odd_shapes_and_flat_images_are_described(bank, shape):
    out = IcaSegments(bank=bank).describe(np.full(shape, 90, dtype=np.uint8))
    assert np.isfinite(out.vectors).all() and len(out.vectors) == out.mask.max() + 1


def test_images_too_small_to_learn_from_are_an_error():
    with pytest.raises(BadInput, match="no image is 5 px wide"):
        IcaSegments().fit([np.zeros((3, 100, 3), dtype=np.uint8)], random_state=0)


@pytest.mark.parametrize("segments", [1, 255, 256, 3000])
def test_masks_are_restored_from_their_bytes(segments):
    mask = np.random.default_rng(0).integers(segments, size=(60, 80)).astype(np.int32)
    assert (unpack_mask(pack_mask(mask)) == mask).all()


def test_the_mask_of_an_image_takes_a_few_kilobytes():
    assert all(len(pack_mask(Slic()(picture))) < 8000 for picture in PICTURES)


def test_a_mask_of_too_many_segments_is_rejected():
    with pytest.raises(BadInput, match="number segments 0 to 65535"):
        pack_mask(np.array([[0, 70_000]]))


def test_a_segment_has_the_class_most_of_its_pixels_have_the_lower_on_a_tie_and_void_where_void_rules():
    mask = np.array([[0, 0, 0, 1], [1, 2, 2, 2]])
    pixels = np.array([[3, 3, 5, 4], [2, -1, -1, 6]])
    assert segment_labels(mask, pixels).tolist() == [3, 2, -1]


def test_point_labels_ignore_segments_without_points():
    mask = np.array([[0, 0, 1], [2, 2, 1]])
    labels = point_labels(mask, np.array([0, 1, 1, 1]), np.array([2, 0, 1, 1]), np.array([7, 4, 9, 9]))
    assert labels.tolist() == [-1, 7, 9]
