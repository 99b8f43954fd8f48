"""Labels split for model selection: events stay whole if every term has several, and are split otherwise."""

import numpy as np
import pytest

from benthoscope.engine.labelling.holding_out import NEVER, LabelledRows, split


def labels(y, events, groups=None, times=None, features=None, sampled=None):
    n = len(y)
    features = np.random.default_rng(0).standard_normal((n, 16)) if features is None else features
    return LabelledRows(
        np.asarray(y),
        np.asarray(events),
        np.zeros(n, int) if groups is None else np.asarray(groups),
        np.full(n, np.nan) if times is None else np.asarray(times, float),
        features,
        np.zeros(n, bool) if sampled is None else np.asarray(sampled),
    )


def units_are_whole(folds, units):
    return all(len(set(folds[units == unit])) == 1 for unit in np.unique(units))


def every_term_stays_in_training(y, folds):
    return all((y[folds != fold] == term).sum() >= 2 for fold in range(folds.max() + 1) for term in np.unique(y))


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_whole_events_are_held_out_if_every_term_has_three(rng):
    repeated = np.repeat(np.arange(8), 10)
    pieces = split(labels(repeated // 4, repeated), rng)
    assert pieces.kind == "acts" and not pieces.within_acts and units_are_whole(pieces.folds, repeated)


def test_one_event_per_term_is_split_by_dive(rng):
    y = np.repeat([0, 1], 60)
    dives = np.tile(np.arange(6), 20)
    pieces = split(labels(y, y, dives), rng)
    assert pieces.kind == "dives" and pieces.within_acts
    assert units_are_whole(pieces.folds, 10 * y + dives) and every_term_stays_in_training(y, pieces.folds)


def test_in_one_dive_it_is_split_by_blocks_of_thirty_seconds(rng):
    y = np.repeat([0, 1], 60)
    times = np.tile(np.arange(60) * 5.0, 2)
    pieces = split(labels(y, y, times=times), rng)
    assert pieces.kind == "times" and units_are_whole(pieces.folds, 100 * y + times // 30)


def test_without_times_near_duplicates_stay_together(rng):
    y = np.repeat([0, 1], 40)
    scenes = np.repeat(np.arange(20), 4)  # four images of every scene, nearly the same
    features = rng.standard_normal((20, 16))[scenes] + 0.01 * rng.standard_normal((80, 16))
    pieces = split(labels(y, y, features=features), rng)
    assert pieces.kind == "duplicates" and units_are_whole(pieces.folds, scenes)
    assert every_term_stays_in_training(y, pieces.folds)


def test_an_event_of_one_scene_cannot_be_split(rng):
    y = np.repeat([0, 1], 40)
    features = np.eye(2)[y] + 1e-3 * rng.standard_normal((80, 2))
    pieces = split(labels(y, y, features=features), rng)
    assert pieces.kind == "none" and (pieces.folds == NEVER).all()


def test_a_large_event_is_not_held_out_although_a_term_has_three(rng):
    """One event of a hundred images and two of one image: without the large one the model hardly knows the term."""
    y = np.repeat([0, 1], 102)
    event_numbers = np.concatenate([np.zeros(100), [1, 2], np.full(100, 3), [4, 5]])
    pieces = split(labels(y, event_numbers, groups=np.tile(np.arange(6), 34)), rng)
    assert pieces.kind == "dives" and every_term_stays_in_training(y, pieces.folds)


def test_random_draws_are_always_held_out_one_by_one(rng):
    y = np.concatenate([np.repeat([0, 1], 40), np.tile([0, 1], 10)])
    features = np.eye(2)[y] + 1e-3 * rng.standard_normal((100, 2))
    is_drawn = np.arange(100) >= 80
    pieces = split(labels(y, np.concatenate([y[:80], 10 + np.arange(20)]), features=features, sampled=is_drawn), rng)
    assert pieces.kind == "none" and (pieces.folds[:80] == NEVER).all()
    assert np.bincount(pieces.folds[80:]).tolist() == [4, 4, 4, 4, 4]
