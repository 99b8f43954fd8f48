"""Similar new rows enter a round as one clump: nothing is lost, parts are small, and the clusters stay the same."""

import numpy as np
import pytest

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.problems import BadInput
from benthoscope.engine.streaming import MemoryBoundedVDP, memory_need, rounds
from benthoscope.engine.streaming.gathering import gathered, parts_of
from tests.streams import gaussian_stream

ROWS, CLUSTERS, HELD_OUT, HELD_OUT_CLUSTERS = gaussian_stream(3, 1.6, 20_000)


@pytest.fixture(scope="module", autouse=True)
def few_single_rows():
    """Gather after 2,000 rows, so that short streams do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "FIRST", 2000)
        yield


def streamed(gather, epoch=1000, X=ROWS):
    return MemoryBoundedVDP(memory=500, epoch=epoch, horizon=len(X), gather=gather).partial_fit(X)


@pytest.fixture(scope="module")
def model():
    return streamed(16)


def test_parts_are_small_and_hold_every_row_of_their_cluster_once():
    clusters = CLUSTERS[:3000].copy()
    clusters[::50] = -1
    order, ordered, starts = parts_of(ROWS[:3000], clusters, 20, 16)
    np.testing.assert_array_equal(np.sort(order), np.flatnonzero(clusters >= 0))
    np.testing.assert_array_equal(ordered, ROWS[order])
    parts = np.split(clusters[order], starts[1:])
    assert max(map(len, parts)) <= 16
    assert all(len(set(part)) == 1 for part in parts)


def test_rows_of_a_part_are_closer_to_each_other_than_rows_of_the_cluster():
    rows = ROWS[CLUSTERS == 0][:1024]
    _, ordered, starts = parts_of(rows, np.zeros(len(rows), np.int64), 1, 16)
    within = sum(len(part) * part.var(0).sum() for part in np.split(ordered, starts[1:])) / len(rows)
    assert within < 0.5 * rows.var(0).sum()


def test_equal_rows_stay_in_one_part():
    _, _, starts = parts_of(np.ones((100, 4)), np.zeros(100, np.int64), 1, 8)
    assert len(starts) == 1


def test_no_more_than_a_hundredth_of_the_rows_stay_single_to_be_a_new_cluster(model):
    state = model.state_
    scorer = state.snapshot.mixture.parameters.scorer(state.model.clusters)
    equal = gathered(state.units, np.zeros((2000, 10)), scorer, 16)
    assert len(equal.units) == len(state.units) + 1
    scaled = (ROWS[:2000] - state.frame.origin) / state.frame.scale
    scaled[7] += 30  # unlike all others
    mixed = gathered(state.units, scaled, scorer, 16)
    single = mixed.remaining[mixed.remaining >= len(state.units.points)] - len(state.units.points)
    assert 7 in single[single < 2000]
    assert mixed.new_clumps > 2000 / 16
    assert len(mixed.units.points) - len(state.units.points) < 0.15 * 2000


@pytest.mark.parametrize("observation", ["full", "diagonal", "discrete"])
@pytest.mark.filterwarnings("ignore::benthoscope.engine.streaming.BudgetWarning")
def test_nothing_is_lost_and_the_lineage_leads_to_the_clumps(observation):
    X = np.eye(12)[np.random.default_rng(0).integers(0, 12, 3000)] if observation == "discrete" else ROWS[:3000]
    model = MemoryBoundedVDP(memory=200, epoch=500, gather=16, observation=observation).partial_fit(X)
    state = model.state_
    scaled = (X - state.frame.origin) / state.frame.scale
    expected = state.units.kind.features(np.ascontiguousarray(scaled.T)).sum(1)
    np.testing.assert_allclose(state.units.total(), expected, rtol=1e-10, atol=1e-8)
    np.testing.assert_array_equal(np.bincount(model.units_of(), minlength=len(state.units)), model.unit_sizes_)
    assert model.snapshot_.memory["values"] <= model.snapshot_.memory["budget"]


def test_the_clumps_of_gathered_rows_contain_these_rows(model):
    units, state = model.units_of(), model.state_
    scaled = (ROWS - state.frame.origin) / state.frame.scale
    means = np.stack([np.bincount(units, scaled[:, d]) for d in range(10)], 1) / np.bincount(units)[:, None]
    np.testing.assert_allclose(state.units.means, means, rtol=1e-9, atol=1e-9)


def test_gathering_leaves_the_clusters_as_they_are_with_single_rows(model):
    single = streamed(1)
    assert abs(model.n_clusters_ - single.n_clusters_) <= 1
    assert model.lower_bound_ > single.lower_bound_ - 0.005 * abs(single.lower_bound_)
    assert model.score(HELD_OUT) > single.score(HELD_OUT) - 0.02
    agreements = [v_measure(HELD_OUT_CLUSTERS, each.predict(HELD_OUT)) for each in (model, single)]
    assert agreements[0] > 0.99 * agreements[1]


def test_a_cluster_that_arrives_late_is_found_among_gathered_rows():
    late = CLUSTERS == 8
    X = np.concatenate([ROWS[~late][:10_900], ROWS[late][:100]])
    model = MemoryBoundedVDP(memory=500, epoch=1000, gather=16, horizon=len(X)).partial_fit(X)
    of_late, of_others = model.predict(ROWS[late][100:]), model.predict(ROWS[~late][11_000:])
    own = np.bincount(of_late).argmax()
    assert (of_late == own).mean() >= 0.85
    assert (of_others == own).mean() <= 0.01


def test_a_fit_of_many_rows_gathers_them_in_growing_rounds(monkeypatch):
    monkeypatch.setattr(rounds, "MANY", len(ROWS))
    seen = []
    model = MemoryBoundedVDP(memory=500, epoch=1000)
    model.fit(ROWS, on_step=lambda progress: progress.figures and seen.append(progress.figures["rows"]))
    sizes = np.diff([0, *seen])
    assert seen[-1] == len(ROWS)
    assert sizes[0] == 1000 and sizes[-2] > 2000
    assert all(size <= max(1000, 0.2 * before) for size, before in zip(sizes, [0, *seen], strict=False))
    need = memory_need(model, 10, len(ROWS))
    assert (need.rounds, need.largest_round) == (len(sizes), sizes.max())
    assert model.labels_.shape == (len(ROWS),)
    assert v_measure(CLUSTERS, model.labels_) > 0.99 * v_measure(CLUSTERS, streamed(1).predict(ROWS))


def test_a_stream_and_a_short_fit_do_not_gather(monkeypatch):
    def refuse(*_):
        raise AssertionError("rows were gathered")

    monkeypatch.setattr("benthoscope.engine.streaming.learning.gathered", refuse)
    MemoryBoundedVDP(memory=300, epoch=500).partial_fit(ROWS[:1500]).partial_fit(ROWS[1500:2500])
    MemoryBoundedVDP(memory=300, epoch=500).fit(ROWS[:1500])


def test_gathering_no_row_is_refused():
    with pytest.raises(BadInput, match="gather"):
        MemoryBoundedVDP(gather=0).fit(ROWS[:100])
