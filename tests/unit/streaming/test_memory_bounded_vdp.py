"""MemoryBoundedVDP as an estimator: budget, lineage, snapshots, storage, novelty, names of clusters and faults."""

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest

from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedVDP, cluster_names, units_to_label
from benthoscope.engine.streaming.identity import first_identities
from tests.streams import gaussian_stream

ROWS, CLUSTERS, HELD_OUT, _ = gaussian_stream(3, 2.5, 3000, 200)
SMALL = {"memory": 300, "epoch": 200}


def streamed(X=ROWS, **settings):
    return MemoryBoundedVDP(**{**SMALL, **settings}).partial_fit(X)


@pytest.fixture(scope="module")
def model():
    return streamed(horizon=3000)


@pytest.mark.parametrize("observation", ["full", "diagonal", "discrete"])
@pytest.mark.filterwarnings("ignore::benthoscope.engine.streaming.BudgetWarning")
def test_the_budget_is_never_exceeded_and_nothing_is_lost(observation):
    X = np.eye(12)[np.random.default_rng(0).integers(0, 12, 900)] if observation == "discrete" else ROWS[:900]
    model = MemoryBoundedVDP(memory=20, epoch=100, observation=observation)
    for batch in np.array_split(X, 9):
        model.partial_fit(batch)
        memory = model.snapshot_.memory
        assert memory["values"] <= 20 * X.shape[1]
        assert memory["units"] <= 20
        units = model.units_of()
        np.testing.assert_array_equal(np.bincount(units, minlength=memory["units"]), model.unit_sizes_)
    state = model.state_
    scaled = (X - state.frame.origin) / state.frame.scale
    np.testing.assert_allclose(state.units.total()[: 1 + X.shape[1]], [len(X), *scaled.sum(0)], rtol=1e-10, atol=1e-8)
    if observation == "full":
        products = (scaled.T @ scaled)[np.triu_indices(10)]
        np.testing.assert_allclose(state.units.total()[11:], products, rtol=1e-10, atol=1e-8)


def test_a_budget_below_the_number_of_clusters_gives_a_warning_and_few_clusters():
    with pytest.warns(BudgetWarning, match="limits the number of clusters"):
        model = streamed(memory=53)
    assert model.snapshot_.budget_binds and "memory" in model.limits_reached_
    assert model.snapshot_.memory["clumps"] <= 53 * 10 // 66


def test_a_smaller_memory_in_mid_stream_merges_more_and_a_larger_one_restores_nothing():
    model = streamed(ROWS[:1000])
    before = len(model.state_.units)
    model.set_params(memory=150).partial_fit(ROWS[1000:1200])
    memory = model.snapshot_.memory
    assert memory["values"] <= 150 * 10 and memory["units"] < before
    model.set_params(memory=1000).partial_fit(ROWS[1200:1400])
    assert model.snapshot_.memory["units"] <= memory["units"] + 200 and model.n_rows_seen_ == 1400


def test_a_budget_without_room_for_one_clump_is_refused():
    with pytest.raises(BadInput, match="memory: 6 rows have no room for a single clump of 66 numbers; use at least 7"):
        streamed(memory=6)


def test_the_clumps_of_rows_contain_these_rows(model):
    units = model.units_of()
    state = model.state_
    scaled = (ROWS - state.frame.origin) / state.frame.scale
    means = np.stack([np.bincount(units, scaled[:, d]) for d in range(10)], 1) / np.bincount(units)[:, None]
    np.testing.assert_allclose(state.units.means, means, rtol=1e-9, atol=1e-9)


def test_clusters_by_lineage_mostly_agree_with_clusters_by_value(model):
    assert (model.clusters_of() == model.predict(ROWS)).mean() > 0.95
    np.testing.assert_array_equal(model.clusters_of([5, 0]), model.clusters_of()[[5, 0]])


def test_ids_name_the_rows():
    names = np.array([f"image {row}" for row in range(600)])
    model = MemoryBoundedVDP(**SMALL)
    model.partial_fit(ROWS[:300], ids=names[:300]).partial_fit(ROWS[300:600], ids=names[300:])
    np.testing.assert_array_equal(model.units_of(["image 599", "image 0"]), model.units_of()[[599, 0]])
    with pytest.raises(BadInput, match="no row with the id 'image 600' was learned"):
        model.units_of(["image 600"])
    with pytest.raises(BadInput, match="ids: were given for some rows only"):
        model.partial_fit(ROWS[:5])


def test_rows_wait_for_a_full_round_unless_flushed():
    model = MemoryBoundedVDP(**SMALL).partial_fit(ROWS[:30], flush=False)
    with pytest.raises(BadInput, match="all 30 rows wait for their first round"):
        model.predict(ROWS)
    model.partial_fit(ROWS[30:450], flush=False)
    assert (model.n_rows_seen_, len(model.waiting_), model.n_rounds_) == (400, 50, 2)
    assert model.flush().n_rows_seen_ == 450


def test_the_calls_that_bring_the_rows_do_not_change_the_result():
    complete, subsets = MemoryBoundedVDP(**SMALL), MemoryBoundedVDP(**SMALL)
    complete.partial_fit(ROWS[:1000], flush=False)
    for batch in np.array_split(ROWS[:1000], 37):
        subsets.partial_fit(batch, flush=False)
    assert subsets.lower_bound_ == complete.lower_bound_
    np.testing.assert_array_equal(subsets.cluster_ids_, complete.cluster_ids_)


def test_single_rows_are_accepted_from_the_start():
    model = MemoryBoundedVDP(**SMALL)
    for row in ROWS[:8]:
        model.partial_fit(row[None])
    assert model.n_rows_seen_ == 8 and model.predict(ROWS[:8]).shape == (8,)


@pytest.mark.parametrize("rounds", [1, 4])
def test_a_saved_stream_continues_as_if_it_had_not_been_saved(tmp_path, rounds):
    model = MemoryBoundedVDP(**SMALL, horizon=3000)
    batches, ids = np.array_split(ROWS[:2000], 10), np.split(np.arange(2000) + 7, 10)
    for batch, names in zip(batches, ids, strict=True):
        model.partial_fit(batch, ids=names)
        if model.n_rounds_ == rounds:
            model.save(tmp_path / "stream.npz")
    resumed = MemoryBoundedVDP.load(tmp_path / "stream.npz")
    for batch, names in zip(batches[rounds:], ids[rounds:], strict=True):
        resumed.partial_fit(batch, ids=names)
    np.testing.assert_allclose(resumed.lower_bound_history_, model.lower_bound_history_, rtol=1e-12)
    np.testing.assert_array_equal(resumed.cluster_ids_, model.cluster_ids_)
    np.testing.assert_allclose(resumed.score_samples(HELD_OUT), model.score_samples(HELD_OUT), rtol=1e-12)
    np.testing.assert_array_equal(resumed.clusters_of(), model.clusters_of())
    assert resumed.snapshot_.events == model.snapshot_.events


def test_a_file_that_is_no_saved_model_is_refused(tmp_path):
    (tmp_path / "broken.npz").write_bytes(b"PK not a zip")
    with pytest.raises(BadInput, match="is not a saved model"):
        MemoryBoundedVDP.load(tmp_path / "broken.npz")
    with pytest.raises(BadInput, match="no such file"):
        MemoryBoundedVDP.load(tmp_path / "none.npz")


def test_a_stored_model_without_its_memory_still_predicts(model):
    copy = MemoryBoundedVDP.from_arrays(*model.to_arrays())
    np.testing.assert_array_equal(copy.predict(HELD_OUT), model.predict(HELD_OUT))
    np.testing.assert_allclose(copy.score_samples(HELD_OUT), model.score_samples(HELD_OUT), rtol=1e-12)


def test_later_rounds_do_not_change_a_predictor(model):
    stream = streamed(ROWS[:1000])
    predictor, loaded = stream.predictor(), MemoryBoundedVDP.from_arrays(*stream.to_arrays())
    before = predictor.score_samples(HELD_OUT), predictor.novelty(HELD_OUT).percentile, predictor.cluster_ids_.copy()
    stream.partial_fit(ROWS[1000:])
    assert stream.n_rounds_ > predictor.n_rounds_ == predictor.snapshot_.number
    np.testing.assert_array_equal(predictor.score_samples(HELD_OUT), before[0])
    np.testing.assert_array_equal(predictor.novelty(HELD_OUT).percentile, before[1])
    np.testing.assert_array_equal(predictor.cluster_ids_, before[2])
    np.testing.assert_allclose(predictor.score_samples(HELD_OUT), loaded.score_samples(HELD_OUT), rtol=1e-12)
    with pytest.raises(BadInput, match="lineage: was not stored"):
        predictor.clusters_of()


def test_a_cancelled_round_loses_nothing():
    def cancel(progress):
        if model.n_rounds_ == 2 and progress.done == 400:
            raise Cancelled

    model = MemoryBoundedVDP(**SMALL)
    model.partial_fit(ROWS[:400])
    before = model.snapshot_
    with pytest.raises(Cancelled):
        model.partial_fit(ROWS[400:600], on_step=cancel)
    assert model.snapshot_ is before and len(model.waiting_) == 200
    model.flush()
    assert model.lower_bound_ == MemoryBoundedVDP(**SMALL).partial_fit(ROWS[:600]).lower_bound_


class InMemory:
    """A checkpoint that stores its state here."""

    state = None

    def save(self, state):
        self.state = dict(state)

    def load(self):
        return self.state


def test_a_stopped_fit_resumes_from_its_last_saved_round(monkeypatch):
    monkeypatch.setattr("benthoscope.engine.streaming.stream_estimator.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    checkpoint, seen = InMemory(), []

    def stop(progress):
        if progress.done == 1000:
            raise Cancelled

    with pytest.raises(Cancelled):
        MemoryBoundedVDP(**SMALL).fit(ROWS[:1600], on_step=stop, checkpoint=checkpoint)
    resumed = MemoryBoundedVDP(**SMALL).fit(
        ROWS[:1600], on_step=lambda progress: seen.append(progress.done), checkpoint=checkpoint
    )
    assert min(seen) == 800
    complete = MemoryBoundedVDP(**SMALL).fit(ROWS[:1600])
    assert resumed.lower_bound_history_ == complete.lower_bound_history_
    np.testing.assert_array_equal(resumed.labels_, complete.labels_)
    with pytest.raises(BadInput, match="belongs to another fit"):
        MemoryBoundedVDP(memory=301, epoch=200).fit(ROWS[:1600], checkpoint=checkpoint)


def test_a_file_of_rows_gives_the_clusters_of_its_rows(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS[:900])
    from_file = MemoryBoundedVDP(**SMALL).fit(tmp_path / "rows.npy")
    in_memory = MemoryBoundedVDP(**SMALL).fit(ROWS[:900])
    np.testing.assert_array_equal(from_file.labels_, in_memory.labels_)
    np.testing.assert_array_equal(in_memory.labels_, in_memory.predict(ROWS[:900]))


def test_a_missing_value_is_named_by_its_row_and_nothing_is_learned():
    model = MemoryBoundedVDP(**SMALL).partial_fit(ROWS[:200])
    broken = ROWS[200:400].copy()
    broken[7, 3] = np.nan
    with pytest.raises(BadInput, match="X row 7: contains NaN in column 3"):
        model.partial_fit(broken)
    assert model.n_rows_seen_ == 200 and not len(model.waiting_)
    with pytest.raises(BadInput, match="X row 207"):
        MemoryBoundedVDP(**SMALL).fit(np.concatenate([ROWS[:200], broken]))


def test_other_features_in_mid_stream_are_refused(model):
    with pytest.raises(BadInput, match="X has 9 features, but MemoryBoundedVDP is expecting 10"):
        MemoryBoundedVDP(**SMALL).partial_fit(ROWS[:50]).partial_fit(ROWS[:50, :9])


def test_constant_features_do_no_harm():
    X = np.column_stack([ROWS[:600], np.full(600, 3.0)])
    assert np.isfinite(streamed(X).score_samples(X)).all()
    constant = MemoryBoundedVDP(**SMALL).partial_fit(np.full((300, 3), 7.0))
    assert constant.n_clusters_ == 1


def test_novel_rows_are_flagged_and_recent_rows_are_not(model):
    novelty = model.novelty(np.concatenate([HELD_OUT, np.full((5, 10), 60.0)]))
    assert novelty.is_novel[-5:].all() and (novelty.new_cluster[-5:] > 0.5).all()
    assert novelty.is_novel[:-5].mean() < 0.1
    assert ((novelty.percentile >= 0) & (novelty.percentile <= 1)).all()


def test_densities_do_not_depend_on_the_units_of_the_rows(model):
    scaled = streamed(1000 * ROWS + 5, horizon=3000)
    expected = model.score_samples(HELD_OUT) - 10 * np.log(1000)
    np.testing.assert_allclose(scaled.score_samples(1000 * HELD_OUT + 5), expected, rtol=1e-6)


def test_a_density_integrates_to_one():
    model = MemoryBoundedVDP(memory=30, epoch=50).partial_fit(np.random.default_rng(0).normal(size=(200, 1)) * 3)
    grid = np.linspace(-4000, 4000, 800_001)
    assert np.trapezoid(np.exp(model.score_samples(grid[:, None])), grid) == pytest.approx(1, abs=2e-2)


def test_clusters_keep_their_numbers_and_new_clusters_get_new_ones():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0], [20, 0], [0, 20], [20, 20]])
    model = MemoryBoundedVDP(memory=40, epoch=100)
    where = {}
    for number, present in enumerate([2, 2, 3, 3, 4, 4]):
        model.partial_fit(centres[rng.integers(0, present, 100)] + rng.normal(size=(100, 2)))
        ids = model.predict_ids(centres)
        for cluster in range(present):
            assert where.setdefault(cluster, ids[cluster]) == ids[cluster]
        kinds = [event.kind for event in model.snapshot_.events]
        assert kinds == {0: ["birth", "birth"], 2: ["birth"], 4: ["birth"]}.get(number, [])
    assert sorted(where.values()) == [0, 1, 2, 3]


def test_a_cluster_that_joins_or_leaves_another_is_reported():
    identities = first_identities(np.array([60.0, 40.0]))
    weights, is_new = np.ones(100), np.zeros(100, bool)
    two = np.repeat(np.eye(2), [60, 40], axis=1)[:, :100]
    joined = identities.then(two, np.ones((1, 100)), weights, is_new)
    assert [(event.kind, event.cluster, event.other) for event in joined.events] == [("merge", 1, 0)]
    parted = joined.then(np.ones((1, 100)), two, weights, is_new)
    assert [(event.kind, event.cluster, event.other) for event in parted.events] == [("split", 2, 0)]
    assert list(parted.numbers) == [0, 2]


def test_a_cold_round_builds_the_same_clusters_again():
    cold, warm = (streamed(ROWS[:1000], restart_every=every) for every in (2, None))
    assert cold.lower_bound_ == pytest.approx(warm.lower_bound_, rel=0.005)


def test_limits_of_clusters_are_respected_and_reported():
    assert streamed(max_clusters=3).n_clusters_ == 3
    assert "max_clusters" in streamed(max_clusters=3).limits_reached_


def test_names_of_clusters_follow_the_labels_of_their_rows(model):
    rng = np.random.default_rng(0)
    ids = rng.choice(len(ROWS), 200, replace=False)
    words = np.array([f"kind {cluster}" for cluster in CLUSTERS])
    named = cluster_names(model, ids, words[ids])
    truth = [f"kind {np.bincount(CLUSTERS[model.predict(ROWS) == k]).argmax()}" for k in range(model.n_clusters_)]
    pairs = [(name, true) for name, true in zip(named.names, truth, strict=True) if name is not None]
    assert len(pairs) >= 10 and sum(name == true for name, true in pairs) >= 0.8 * len(pairs)
    assert ((named.share >= 0) & (named.share <= 1)).all() and ((named.labelled >= 0) & (named.labelled <= 1)).all()
    clump = int(model.unit_sizes_.argmax())
    inside = np.flatnonzero(model.units_of() == clump)[:2]
    assert list(cluster_names(model, inside, ["kelp", "sand"]).mixed_units) == [clump]


def test_kinds_without_any_label_are_clusters_without_a_name():
    """OE6: a label may come with any image, and no image needs one."""
    rng = np.random.default_rng(3)
    centres, kinds = 12 * rng.normal(size=(4, 3)), rng.integers(0, 4, 600)
    rows = centres[kinds] + rng.normal(size=(600, 3))
    model = MemoryBoundedVDP(memory=60, epoch=100).partial_fit(rows)
    labelled = rng.permutation(np.flatnonzero(kinds < 2))[:40]
    named = cluster_names(model, labelled, np.array(["sand", "kelp"])[kinds[labelled]])
    name_of_kind = [named.names[k] for k in model.predict(centres)]
    assert model.n_clusters_ == 4 and name_of_kind == ["sand", "kelp", None, None]
    assert (named.labelled[model.predict(centres[2:])] == 0).all()


def test_labels_are_asked_for_large_units_of_unnamed_clusters(model):
    row = int(np.flatnonzero(model.units_of() == model.unit_sizes_.argmax())[0])
    units = units_to_label(model, [row], ["kelp"], 5)
    assert len(units) == 5 and model.units_of([row])[0] not in units
    cluster = model.unit_probabilities().argmax(1)
    named = cluster_names(model, [row], ["kelp"]).names
    unnamed = np.flatnonzero([named[k] is None for k in cluster])
    assert unnamed[model.unit_sizes_[unnamed].argmax()] in units


def test_the_memory_maps_to_new_features():
    model = streamed(ROWS[:1000])
    A = np.random.default_rng(3).normal(size=(6, 10))
    before, means = model.unit_sizes_, model.state_.units.means * model.state_.frame.scale + model.state_.frame.origin
    model.transform_units(A, np.arange(6.0))
    after = model.state_.units.means * model.state_.frame.scale + model.state_.frame.origin
    np.testing.assert_allclose(after, means @ A.T + np.arange(6.0), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(model.unit_sizes_, before)
    model.partial_fit(ROWS[1000:1400] @ A.T + np.arange(6.0))
    assert model.n_rows_seen_ == 1400 and model.predict(HELD_OUT @ A.T + np.arange(6.0)).shape == (200,)


def test_a_diagonal_memory_maps_by_scales_only():
    model = streamed(ROWS[:600], observation="diagonal")
    with pytest.raises(BadInput, match="mixes columns"):
        model.transform_units(np.ones((10, 10)))
    model.transform_units(np.diag(np.arange(1.0, 11)))
    assert model.n_rows_seen_ == 600


def test_memory_does_not_grow_with_the_stream():
    def peak(rows):
        model = MemoryBoundedVDP(memory=60, epoch=100, lineage=False, prior_rows=100, recent=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(ROWS[:300])
            tracemalloc.start()
            for start in range(0, rows, 100):
                model.partial_fit(ROWS[start : start + 100])
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peaks = [peak(rows) for rows in (300, 900)]
    assert max(peaks) / min(peaks) < 1.25


def test_progress_reports_rounds_in_order():
    reports = []
    MemoryBoundedVDP(**SMALL).fit(ROWS[:600], on_step=reports.append)
    ends = [report for report in reports if report.figures]
    assert [report.done for report in ends] == [200, 400, 600]
    assert all(a.done <= b.done for a, b in pairwise(reports))
    assert ends[-1].total == 600 and ends[-1].figures["clusters"] > 5
