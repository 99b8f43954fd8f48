"""Recent rows of a stream: scored without their own part in the clusters, so that percentiles of new rows are right."""

import numpy as np
import pytest

from benthoscope.engine.streaming import MemoryBoundedVDP
from benthoscope.engine.streaming.recent_rows import left_out_densities, with_new
from tests.streams import gaussian_stream

CONTINUOUS = np.random.default_rng(4).normal(size=(60, 3)) * [3.0, 1.0, 0.2]
WORDS = np.random.default_rng(4).multinomial(6, [0.5, 0.3, 0.2], size=60).astype(float)


def one_cluster(X, observation):
    return MemoryBoundedVDP(memory=100, epoch=100, observation=observation, max_clusters=1, prior_rows=20).fit(X)


@pytest.mark.parametrize(
    ("X", "observation"), [(CONTINUOUS, "full"), (CONTINUOUS, "diagonal"), (WORDS, "discrete")], ids=lambda value: value
)
def test_the_score_of_a_recent_row_is_its_density_in_a_model_that_never_had_it(X, observation):
    model = one_cluster(X, observation)
    state = model.state_
    np.testing.assert_array_equal(state.recent, (X - state.frame.origin) / state.frame.scale)
    for row in (25, 40, 59):  # the first 20 rows decide the prior
        without = one_cluster(np.delete(X, row, axis=0), observation)
        expected = without.snapshot_.log_densities(state.recent[[row]])[0][0]
        assert state.scores[row] == pytest.approx(expected, abs=2e-3)
        assert state.scores[row] < model.snapshot_.log_densities(state.recent[[row]])[0][0]


def test_a_row_that_is_a_cluster_of_its_own_has_the_density_of_rows_never_seen_before():
    X = np.vstack([CONTINUOUS, np.full((1, 3), 40.0)])
    model = MemoryBoundedVDP(memory=100, epoch=100, prior_rows=20).fit(X)
    unseen = model.snapshot_.log_densities(model.state_.recent[[-1]])[1][0]
    assert model.n_clusters_ >= 2
    assert model.state_.scores[-1] == pytest.approx(unseen, abs=0.7)
    assert model.state_.scores[-1] < model.state_.scores[:-1].min()


def test_rows_that_no_cluster_contains_have_finite_scores():
    model = one_cluster(CONTINUOUS, "full")
    far = np.vstack([model.state_.recent[:3], np.full((1, 3), 1e4), np.zeros((1, 3))])
    assert np.isfinite(left_out_densities(model.snapshot_, far)).all()


@pytest.mark.parametrize("seed", [4, 5])
def test_percentiles_of_new_rows_are_right_while_the_clusters_still_improve(seed):
    rows = gaussian_stream(seed, 1.6, 900)[0]
    model = MemoryBoundedVDP(memory=600, epoch=150).partial_fit(rows[:150])
    novelty = []
    for start in range(150, len(rows), 150):
        novelty.append(model.novelty(rows[start : start + 150]))
        model.partial_fit(rows[start : start + 150])
    percentile = np.concatenate([each.percentile for each in novelty])
    assert np.median(percentile) == pytest.approx(0.5, abs=0.05)
    assert (percentile < 0.1).mean() == pytest.approx(0.1, abs=0.035)
    assert np.concatenate([each.is_novel for each in novelty]).mean() < 0.025


def test_recent_rows_spread_over_several_rounds():
    rounds = np.repeat(np.arange(30), 50)[:, None]
    recent = np.empty((0, 1))
    for number in range(30):
        recent = with_new(recent, rounds[rounds[:, 0] == number], 100)
    np.testing.assert_array_equal(np.unique(recent), np.arange(20, 30))
    assert len(recent) == 100
    assert len(with_new(np.empty((0, 1)), rounds, 100)) == 100
    assert len(with_new(np.empty((0, 1)), rounds[:7], 100)) == 7
