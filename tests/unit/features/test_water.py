"""Water correction on dives whose water, lamp and altitudes are known."""

import numpy as np
import pytest

from benthoscope.engine.features.water import WaterModel, learn_water, side_by_side
from benthoscope.engine.problems import BadInput

RATE = np.array([0.5, 0.15, 0.08])  # a metre: red goes first
TINT = np.array([0.35, 0.8, 0.7])
SHAPE = (90, 120)


def seafloor(rng):
    """A random texture of browns and greys, the truth beneath the water."""
    coarse = rng.uniform(80, 200, (9, 12, 1)) * rng.uniform(0.85, 1.15, (9, 12, 3))
    return np.clip(np.kron(coarse, np.ones((10, 10, 1))) + rng.normal(0, 8, (*SHAPE, 3)), 1, 255)


def lamp(shape=SHAPE):
    y, x = np.linspace(-1, 1, shape[0])[:, None, None], np.linspace(-1, 1, shape[1])[None, :, None]
    return np.exp(-0.5 * (y**2 + x**2) + 0.2 * x)


def under_water(truth, altitude):
    return np.clip(truth * TINT * np.exp(-RATE * (altitude - 2)) * lamp(), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def dive():
    rng = np.random.default_rng(0)
    altitudes = rng.uniform(1.4, 3.2, 80)
    truths = [seafloor(rng) for _ in altitudes]
    return truths, [under_water(t, a) for t, a in zip(truths, altitudes, strict=True)], altitudes


@pytest.fixture(scope="module")
def model(dive):
    return learn_water(dive[1], dive[2])


def test_the_loss_of_each_colour_a_metre_is_found(model):
    assert model.rate == pytest.approx(RATE, abs=0.05)


def test_the_lamps_pattern_is_found(model):
    light = np.log(lamp(model.pattern.shape[:2]))[:, :, 0]
    mean_value = model.pattern.mean(2)
    assert np.corrcoef(mean_value.ravel(), light.ravel())[0, 1] > 0.98
    assert np.ptp(mean_value) == pytest.approx(np.ptp(light), rel=0.15)


def test_corrected_images_are_nearer_to_the_seafloor_than_those_taken(dive, model):
    """Nearer up to one overall gain a channel, which no image can tell from the seafloor's own colour."""

    def likeness(image, truth):
        return np.corrcoef(np.log(image.astype(float) + 1).ravel(), np.log(truth + 1).ravel())[0, 1]

    for truth, used, altitude in list(zip(*dive, strict=True))[::10]:
        assert likeness(model.correct(used, altitude), truth) > likeness(used, truth) + 0.15


def test_the_same_place_looks_the_same_from_every_altitude(dive, model):
    truth = dive[0][0]
    arrays = [model.correct(under_water(truth, a), a).astype(float) for a in (1.5, 2.0, 2.5, 3.0)]
    before = [under_water(truth, a).astype(float) for a in (1.5, 2.0, 2.5, 3.0)]
    assert np.ptp([image.mean() for image in arrays]) < 0.25 * np.ptp([image.mean() for image in before])


def test_the_average_colour_of_a_corrected_dive_is_grey(dive, model):
    corrected = np.mean([model.correct(i, a).mean((0, 1)) for _, i, a in zip(*dive, strict=True)], axis=0)
    mean_value = np.mean([image.mean((0, 1)) for image in dive[1]], axis=0)
    assert np.ptp(corrected) < 0.1 * np.ptp(mean_value)


def test_some_wild_frames_and_unknown_altitudes_change_little(dive, model):
    _, images, altitudes = dive
    images, altitudes = list(images), list(altitudes)
    for bad in (3, 30, 60):
        images[bad] = np.full((*SHAPE, 3), 255, dtype=np.uint8)
    altitudes[10], altitudes[11] = None, np.nan
    again = learn_water(images, altitudes)
    assert again.rate == pytest.approx(model.rate, abs=0.05)
    assert again.gain == pytest.approx(model.gain, abs=0.05)


def test_without_altitudes_or_without_a_range_of_them_no_fading_is_claimed(dive):
    _, images, _ = dive
    assert not learn_water(images).rate.any()
    assert not learn_water(images, [2.0] * len(images)).rate.any()
    model = learn_water(images)
    assert (model.correct(images[0]) == model.correct(images[0], None)).all()


def test_automatic_exposure_does_not_hide_the_loss_of_red(dive):
    _, images, altitudes = dive
    exposed = [np.clip(image * (110 / image.mean()), 0, 255).astype(np.uint8) for image in images]
    rate = learn_water(exposed, altitudes).rate
    assert rate - rate.min() == pytest.approx(RATE - RATE.min(), abs=0.06)


def test_a_clean_dive_is_hardly_changed():
    rng = np.random.default_rng(5)
    images = [np.clip(rng.normal(120, 40, (*SHAPE, 3)), 0, 255).astype(np.uint8) for _ in range(40)]
    model = learn_water(images, rng.uniform(1, 3, 40))
    change = np.abs(model.correct(images[0], 2.0).astype(int) - images[0])
    assert np.median(change) <= 6


def test_gains_are_limited_so_a_dead_channel_does_not_become_noise(dive):
    dead = [image * np.array([0, 1, 1], dtype=np.uint8) for image in dive[1]]
    corrected = learn_water(dead, dive[2]).correct(dead[0], dive[2][0])
    assert corrected[:, :, 0].max() <= 4


def test_a_model_is_restored_from_its_arrays_and_works_at_any_size(model, dive):
    again = WaterModel.restored(model.arrays())
    big = np.kron(dive[1][0], np.ones((3, 3, 1), dtype=np.uint8))
    assert (again.correct(big, 2.2) == model.correct(big, 2.2)).all()
    small = model.correct(dive[1][0], 2.2).astype(int)
    assert np.abs(again.correct(big, 2.2)[1::3, 1::3].astype(int) - small).mean() < 2


def test_images_are_not_changed_and_come_back_as_bytes(model, dive):
    before = dive[1][0].copy()
    out = model.correct(dive[1][0], 2.0)
    assert (dive[1][0] == before).all() and out.dtype == np.uint8 and out.shape == before.shape


def test_a_handful_of_images_is_too_few(dive):
    with pytest.raises(BadInput, match="7 images to learn from"):
        learn_water(dive[1][:7])
    with pytest.raises(BadInput, match="give one altitude per image"):
        learn_water(dive[1][:20], [1.0])


def test_before_and_after_are_shown_side_by_side(dive, model):
    after = model.correct(dive[1][0], 2.0)
    both = side_by_side(dive[1][0], after)
    assert (both[:, :120] == dive[1][0]).all() and (both[:, -120:] == after).all()
