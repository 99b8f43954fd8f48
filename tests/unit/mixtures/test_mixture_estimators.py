"""Public behaviour of BGMM, VDP, GMC and SymmetricGMC: fitting, new rows and dives, cancelling, storing, bad input."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from benthoscope.engine.compute import InOrder, LocalThreads
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import BGMM, GMC, MODELS, VDP, SymmetricGMC, model_named
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.validation import numbered
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled

EVERY_MODEL = pytest.mark.parametrize("name", sorted(MODELS))


def dives(n=900, seed=0, apart=6.0):
    """Rows of five clusters in three dives that hold them in different shares; names of the dives; true clusters."""
    rng = np.random.default_rng(seed)
    shares = np.array([(0.6, 0.3, 0.1, 0, 0), (0, 0.2, 0.5, 0.3, 0), (0.1, 0, 0, 0.3, 0.6)])
    dive = np.sort(rng.integers(0, 3, n))
    truth = np.array([rng.choice(5, p=shares[j]) for j in dive])
    X = apart * rng.standard_normal((5, 4))[truth] + rng.standard_normal((n, 4))
    return X, np.array(["north reef", "sand flat", "wreck"])[dive], truth


X, DIVES, TRUTH = dives()


class Kept:
    """A checkpoint in memory that may fail after some saves, as a killed process does."""

    def __init__(self, fails_after=10**9):
        self.state, self.saves, self.fails_after = None, 0, fails_after

    def save(self, state):
        if self.saves == self.fails_after:
            raise KeyboardInterrupt
        self.state, self.saves = copy.deepcopy(dict(state)), self.saves + 1

    def load(self):
        return self.state


@EVERY_MODEL
@pytest.mark.parametrize("search", ["greedy", "exhaustive", "together"])
def test_separate_clusters_are_found_by_every_search(name, search):
    model = model_named(name)(search=search, random_state=0).fit(X, groups=DIVES)
    assert model.n_clusters_ == 5
    assert v_measure(TRUTH, model.labels_) > 0.98


@EVERY_MODEL
def test_the_history_of_bounds_never_falls_and_ends_at_the_bound(name):
    model = model_named(name)(random_state=0).fit(X, groups=DIVES)
    history = np.array(model.lower_bound_history_)
    assert (np.diff(history) >= -1e-9 * abs(history[-1])).all()
    assert history[-1] == model.lower_bound_
    assert model.converged_


@EVERY_MODEL
def test_clusters_come_largest_first_with_shares_that_sum_to_one(name):
    model = model_named(name)().fit(X, groups=DIVES)
    assert (np.diff(model.counts_.sum(0)) <= 0).all()
    assert model.weights_.sum(1) == pytest.approx(np.ones(len(model.groups_)))
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_)
    assert np.abs(sizes - model.counts_.sum(0)).max() < 0.02 * len(X)


@EVERY_MODEL
def test_fitting_again_and_on_other_threads_repeats_every_number(name):
    first = model_named(name)(random_state=3, search_rows=200).fit(X, groups=DIVES, compute=InOrder())
    again = model_named(name)(random_state=3, search_rows=200).fit(X, groups=DIVES, compute=LocalThreads(3))
    assert (first.labels_ == again.labels_).all()
    assert first.lower_bound_ == again.lower_bound_


@EVERY_MODEL
def test_the_input_is_left_as_it_was(name):
    rows, names = X.copy(), DIVES.copy()
    model_named(name)(search_rows=300, random_state=0).fit(rows, groups=names).predict(rows, names)
    assert (rows == X).all()
    assert (names == DIVES).all()


def test_with_one_group_grouped_models_equal_ungrouped_ones():
    plain, grouped = BGMM().fit(X), SymmetricGMC().fit(X)
    assert grouped.lower_bound_ == pytest.approx(plain.lower_bound_, rel=1e-9)
    sticks, vdp = GMC().fit(X), VDP(truncation="truncated").fit(X)
    assert sticks.lower_bound_ == pytest.approx(vdp.lower_bound_, rel=1e-9)


def test_truncations_of_the_dirichlet_process_agree_on_the_clusters():
    fits = [VDP(truncation=word).fit(X) for word in ("nested", "truncated", "tied")]
    assert [fit.n_clusters_ for fit in fits] == [5, 5, 5]
    assert v_measure(fits[0].labels_, fits[2].labels_) > 0.999
    assert fits[2].predict_proba(X).sum(1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("kind", [GMC, SymmetricGMC])
def test_sparse_variants_find_the_same_clusters(kind):
    dense, sparse = kind().fit(X, groups=DIVES), kind(sparse=True).fit(X, groups=DIVES)
    assert abs(dense.n_clusters_ - sparse.n_clusters_) <= 1
    assert v_measure(dense.labels_, sparse.labels_) > 0.98


@pytest.mark.parametrize("observation", ["full", "diagonal"])
def test_both_gaussian_observation_models_find_separate_clusters(observation):
    assert v_measure(TRUTH, GMC(observation=observation).fit(X, groups=DIVES).labels_) > 0.97


def test_exponential_clusters_are_separated_by_their_rates():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    rows = rng.exponential(np.array([(1, 20, 1, 30), (20, 1, 30, 1)])[truth])
    model = VDP(observation="exponential", width=1.0).fit(rows)
    assert v_measure(truth, model.labels_) > 0.95
    assert np.isfinite(model.score(rows))


def test_a_search_on_a_sample_ends_where_the_search_on_all_rows_does():
    rows, names, truth = dives(6000, 1)
    small = GMC(search_rows=400, random_state=0).fit(rows, groups=names)
    model = GMC(search_rows=None).fit(rows, groups=names)
    assert small.n_clusters_ == model.n_clusters_ == 5
    assert small.lower_bound_ >= model.lower_bound_ - 1e-4 * abs(model.lower_bound_)
    assert v_measure(truth, small.labels_) > 0.98


def test_a_cluster_too_rare_for_the_sample_is_found_on_all_rows():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((5_000, 3))
    rows[:15] = 0.2 * rng.standard_normal((15, 3)) + 12
    assert VDP(search_rows=300, random_state=0).fit(rows).n_clusters_ == 2


def test_no_more_clusters_than_allowed():
    for search in ("greedy", "exhaustive", "together", "random"):
        assert VDP(search=search, max_clusters=3, random_state=0).fit(X).n_clusters_ <= 3


def test_a_file_of_rows_gives_what_the_array_gives(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    from_array = GMC(search_rows=300, random_state=0).fit(X, groups=DIVES)
    for source in (tmp_path / "rows.npy", str(tmp_path / "rows.npy"), np.load(tmp_path / "rows.npy", mmap_mode="r")):
        from_file = GMC(search_rows=300, random_state=0).fit(source, groups=DIVES)
        assert from_file.lower_bound_ == from_array.lower_bound_
        assert (from_file.predict(source, DIVES) == from_array.labels_).all()


def test_part_of_a_mapped_file_and_changes_to_one_are_seen(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    archive = np.load(tmp_path / "rows.npy", mmap_mode="r")[100:]
    assert _bound(archive, DIVES[100:]) == _bound(X[100:], DIVES[100:])
    changed = np.load(tmp_path / "rows.npy", mmap_mode="c")
    changed[400:500] *= 2
    assert _bound(changed, DIVES) == _bound(np.array(changed), DIVES)


def _bound(rows, dives):
    return GMC(random_state=0).fit(rows, groups=dives).lower_bound_


@pytest.mark.parametrize("order", ["C", "F"])
def test_few_and_many_rows_of_a_file_are_the_rows_of_the_array(order, tmp_path):
    rows = np.asarray(np.random.default_rng(0).standard_normal((5000, 3)), order=order)
    np.save(tmp_path / "rows.npy", rows)
    frame, groups = Frame(np.zeros(3), 1.0), np.zeros(5000, np.int32)
    data = Observations(tmp_path / "rows.npy", groups, 1, frame, chunk_rows=700)
    assert (np.vstack([chunk.read() for chunk in data.chunks]) == rows).all()
    for row_numbers in (np.array([3, 4999]), np.arange(5000)[::3], np.array([], int)):
        assert (data.take(row_numbers).source == rows[row_numbers]).all()


@pytest.mark.parametrize(
    "names",
    [
        np.array([7, 7, 3, 200], np.uint8),
        np.array([-100, 100, 5], np.int8),
        np.array([0, 10**12]),
        np.array(["b", "a", "b"]),
        np.array([True, False]),
    ],
)
def test_groups_are_numbered_in_the_order_of_their_names(names):
    ids, index = numbered(names, len(names))
    assert (ids == np.unique(names)).all()
    assert (ids[index] == names).all()


def test_starting_from_labels_keeps_good_ones_and_no_search_keeps_their_number():
    model = GMC(search="none").fit(X, groups=DIVES, start=TRUTH)
    assert model.n_clusters_ == 5
    assert v_measure(TRUTH, model.labels_) > 0.98
    halves = GMC(search="none").fit(X, groups=DIVES, start=(X[:, 0] > 0).astype(int))
    assert halves.n_clusters_ == 2
    assert GMC().fit(X, groups=DIVES, start=(X[:, 0] > 0).astype(int)).n_clusters_ == 5


def test_a_warm_start_goes_on_from_the_clusters_of_the_last_fit():
    model = GMC(warm_start=True).fit(X[::2], groups=DIVES[::2])
    cold = GMC().fit(X, groups=DIVES)
    before = model.n_iter_
    model.fit(X, groups=DIVES)
    assert model.n_iter_ < min(before, cold.n_iter_)
    assert model.lower_bound_ == pytest.approx(cold.lower_bound_, rel=1e-4)


# new rows and new dives


@EVERY_MODEL
def test_predicting_the_rows_fitted_to_gives_their_labels(name):
    model = model_named(name)().fit(X, groups=DIVES)
    assert (model.predict(X, DIVES) == model.labels_).all()
    owned = model.predict_proba(X, DIVES)
    assert owned.sum(1) == pytest.approx(np.ones(len(X)))
    assert (owned.argmax(1) == model.labels_).all()
    assert model.assign(X, DIVES)[1] == pytest.approx(owned.max(1), abs=1e-6)


def test_a_row_is_predicted_with_the_proportions_of_its_dive():
    rng = np.random.default_rng(3)
    names = np.repeat(["a", "b"], 400)
    rows = np.where(names == "a", -1.2, 1.2)[:, None] + rng.standard_normal((800, 1))
    model = GMC(search="none", width=0.5).fit(rows, groups=names, start=(names == "b").astype(int))
    between = np.zeros((2, 1))
    assert len(set(model.predict(between, np.array(["a", "b"])))) == 2


def test_the_shares_of_a_new_dive_are_recovered_with_the_clusters_kept():
    model = GMC().fit(X, groups=DIVES)
    rng = np.random.default_rng(4)
    which = rng.choice(5, 400, p=(0.7, 0.2, 0.1, 0, 0))
    centres = np.array([X[k == TRUTH].mean(0) for k in range(5)])
    rows = centres[which] + rng.standard_normal((400, 4))
    shares = model.fold_in(rows)[0]
    of_cluster = model.predict(centres)
    expected = np.bincount(of_cluster[which], minlength=model.n_clusters_) / 400
    assert np.abs(shares - expected).max() < 0.02
    assert model.predict(rows, np.full(400, "new wreck")).shape == (400,)


def test_old_and_new_dives_can_be_predicted_together():
    model = GMC().fit(X, groups=DIVES)
    names = np.concatenate([DIVES, np.full(len(X), "elsewhere")])
    both = model.predict(np.vstack([X, X]), names)
    assert (both[: len(X)] == model.labels_).all()
    assert v_measure(TRUTH, both[len(X) :]) > 0.98


def test_rows_without_a_dive_use_the_overall_proportions():
    model = GMC().fit(X, groups=DIVES)
    assert v_measure(TRUTH, model.predict(X)) > 0.97


def test_different_dives_are_predicted_better_by_the_grouped_model():
    rows, names, _ = dives(3000, 5, apart=2.0)
    half = np.arange(3000) % 2 == 0
    grouped, plain = GMC().fit(rows[half], groups=names[half]), VDP().fit(rows[half])
    assert grouped.score(rows[~half], groups=names[~half]) > plain.score(rows[~half]) + 0.1


def test_densities_integrate_to_one():
    rows = np.random.default_rng(6).standard_normal((300, 1)) * [[2.0]] + 5
    model = VDP().fit(rows)
    grid = np.linspace(-60, 70, 200_001)[:, None]
    for log_density in (model.score_samples(grid), model.log_predictive(grid)):
        assert np.exp(log_density).sum() * (grid[1, 0] - grid[0, 0]) == pytest.approx(1, abs=1e-3)


def test_a_row_far_from_all_clusters_is_novel():
    model = GMC().fit(X, groups=DIVES)
    assert model.log_predictive(X.max(0, keepdims=True) + 100)[0] < model.log_predictive(X).min() - 10


def test_drawn_rows_fall_into_the_clusters_they_were_drawn_from():
    model = GMC().fit(X, groups=DIVES)
    rows, cluster = model.sample(2000, random_state=0)
    assert v_measure(cluster, model.predict(rows)) > 0.95
    _, in_wreck = model.sample(2000, group="wreck", random_state=0)
    shares = np.bincount(in_wreck, minlength=5) / 2000
    assert np.abs(shares - model.weights_[list(model.groups_).index("wreck")]).max() < 0.05


# progress, stopping, going on, storing


def test_every_iteration_and_candidate_is_reported():
    histories = []
    model = GMC().fit(X, groups=DIVES, on_step=histories.append)
    figures = [progress.figures for progress in histories if progress.figures]
    assert {"bound", "clusters", "candidate"} <= set(figures[-1])
    assert max(f["clusters"] for f in figures) == model.n_clusters_
    assert {f["candidate"] for f in figures} >= set(range(5))
    assert all(progress.message for progress in histories)


def test_a_fit_can_be_stopped_between_any_two_chunks():
    """Sixteen thousand rows a chunk take some ten milliseconds, so a stop is heeded at once however many rows."""
    rows = np.random.default_rng(0).standard_normal((100_000, 2))
    calls = []
    VDP(search="none", max_iter=2).fit(rows, on_step=calls.append)
    assert len(calls) >= 3 * 100_000 / 16_384


@pytest.mark.parametrize("steps", [1, 30, 100])
def test_a_cancelled_fit_leaves_usable_clusters(steps):
    reported = []

    def stop(progress):
        reported.append(progress)
        if len([p for p in reported if p.figures]) >= steps:
            raise Cancelled

    model = GMC()
    with pytest.raises(Cancelled):
        model.fit(X, groups=DIVES, on_step=stop)
    assert model.predict(X, DIVES).max() < model.n_clusters_
    assert not hasattr(model, "labels_")
    assert np.isfinite(model.lower_bound_)


@pytest.mark.parametrize("search", ["greedy", "exhaustive", "together"])
def test_a_killed_fit_resumes_to_the_same_result(search):
    rows, names, _ = dives(3000, 7)

    def made():
        return GMC(search=search, search_rows=150, random_state=5)

    model = made().fit(rows, groups=names)
    saved = Kept()
    made().fit(rows, groups=names, checkpoint=saved)
    for fails_after in range(1, saved.saves):
        checkpoint = Kept(fails_after)
        with pytest.raises(KeyboardInterrupt):
            made().fit(rows, groups=names, checkpoint=checkpoint)
        checkpoint.fails_after = 10**9
        resumed = made().fit(rows, groups=names, checkpoint=checkpoint)
        assert (resumed.labels_ == model.labels_).all()
        assert resumed.lower_bound_history_ == model.lower_bound_history_


def test_a_checkpoint_of_another_fit_is_rejected():
    checkpoint = Kept()
    GMC().fit(X, groups=DIVES, checkpoint=checkpoint)
    with pytest.raises(BadInput, match="checkpoint: belongs to another fit"):
        GMC(width=0.2).fit(X, groups=DIVES, checkpoint=checkpoint)
    with pytest.raises(BadInput, match="checkpoint: belongs to another fit"):
        GMC().fit(X[1:], groups=DIVES[1:], checkpoint=checkpoint)


def test_a_saved_state_is_arrays_and_what_json_can_hold():
    checkpoint = Kept()
    GMC(random_state=0).fit(X, groups=DIVES, checkpoint=checkpoint)
    plain = {name: value for name, value in checkpoint.state.items() if not isinstance(value, np.ndarray)}
    assert json.loads(json.dumps(plain)) == plain


@EVERY_MODEL
def test_a_stored_model_predicts_as_the_fitted_one(name, tmp_path):
    model = model_named(name)(random_state=0).fit(X, groups=DIVES)
    arrays, metadata = model.to_arrays()
    np.savez(tmp_path / "run.npz", **arrays)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
        again = model_named(name).from_arrays(dict(archive), json.loads(json.dumps(metadata)))
    assert (again.predict(X, DIVES) == model.labels_).all()
    assert (again.predict_proba(X, DIVES) == model.predict_proba(X, DIVES)).all()
    assert again.score(X, groups=DIVES) == model.score(X, groups=DIVES)
    assert again.get_params() == model.get_params()
    assert again.lower_bound_history_ == model.lower_bound_history_
    assert sorted(vars(again)) == sorted(vars(model))


def test_a_model_is_not_loaded_from_the_run_of_another():
    arrays, metadata = GMC().fit(X, groups=DIVES).to_arrays()
    with pytest.raises(BadInput, match="is a GMC, not a VDP"):
        VDP.from_arrays(arrays, metadata)


@EVERY_MODEL
def test_fitted_models_pickle_and_unfitted_ones_clone(name):
    model = model_named(name)(width=0.1).fit(X, groups=DIVES)
    assert (pickle.loads(pickle.dumps(model)).predict(X, DIVES) == model.labels_).all()
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == f"{type(model).__name__}(width=0.1)"


def test_the_models_come_without_a_compiler():
    text = "import sys, benthoscope.engine.mixtures.named_models; print('numba' in sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == ["False"]


# bad and difficult input


def spoilt(value, row=17, column=2):
    rows = X.copy()
    rows[row, column] = value
    return rows


REFUSED = {
    "a NaN": (spoilt(np.nan), DIVES, "X row 17: contains NaN in column 2"),
    "an infinity": (spoilt(-np.inf), DIVES, "X row 17: contains inf in column 2"),
    "one dimension": (X[:, 0], DIVES, "Reshape your data"),
    "a huge value": (spoilt(1e300), DIVES, r"X row 17: contains 1e\+300, .* too large .* in column 2"),
    "no rows": (X[:0], DIVES[:0], r"0 sample\(s\)"),
    "no columns": (X[:, :0], DIVES, r"0 feature\(s\)"),
    "words": (np.full((4, 2), "kelp"), None, "not a number"),
    "too few groups": (X, DIVES[:-1], "groups: has shape .899,. for 900 rows of X"),
    "groups with gaps": (X, np.where(np.arange(900) == 5, np.nan, 1.0), "row 5 has no group"),
    "no file": ("nowhere.npy", None, "no such file"),
}


@pytest.mark.parametrize("case", REFUSED)
@EVERY_MODEL
def test_unusable_input_is_rejected_in_one_line(name, case):
    rows, names, message = REFUSED[case]
    if "groups" in case and name in ("bgmm", "vdp"):
        pytest.skip("this model does not look at groups")
    with pytest.raises(BadInput, match=message) as refused:
        model_named(name)().fit(rows, groups=names)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("width", 0),
        ("width", "wide"),
        ("tol", -1.0),
        ("max_clusters", 0),
        ("max_clusters", 2.5),
        ("search_rows", -3),
        ("search", "greddy"),
        ("observation", "ful"),
        ("max_iter", None),
        ("width", float("nan")),
    ],
)
def test_invalid_parameters_are_rejected(parameter, value):
    with pytest.raises(BadInput, match=parameter):
        GMC(**{parameter: value}).fit(X, groups=DIVES)


def test_a_misspelt_model_gets_the_nearest_name():
    with pytest.raises(BadInput, match="did you mean 'gmc'"):
        model_named("gmcc")


def test_new_rows_with_gaps_are_rejected():
    with pytest.raises(BadInput, match=r"X row 17: contains NaN in column 2 \(1 such"):
        GMC().fit(X, groups=DIVES).predict(spoilt(np.nan), DIVES)


def test_rows_of_other_columns_are_rejected():
    with pytest.raises(BadInput, match="X has 3 features, but GMC is expecting 4"):
        GMC().fit(X, groups=DIVES).predict(X[:, :3])


DIFFICULT = {
    "one row": (X[:1], DIVES[:1]),
    "three rows": (X[:3], DIVES[:3]),
    "equal rows": (np.repeat(X[:1], 50, axis=0), None),
    "duplicated rows": (np.repeat(X[:20], 20, axis=0), np.repeat(DIVES[:20], 20)),
    "a constant column": (np.hstack([X, np.full((900, 1), 7.0)]), DIVES),
    "only constants": (np.ones((60, 3)), None),
    "one group": (X, np.full(900, 7)),
    "a group of one row": (X, np.array(["alone", *DIVES[1:]])),
    "as many groups as rows": (X, np.arange(900)),
    "dependent columns": (np.hstack([X, X @ np.ones((4, 2)), X[:, :1]]), DIVES),
    "half precision": (X.astype(np.float16), DIVES),
    "whole numbers": (np.round(10 * X).astype(np.int32), DIVES),
    "bytes": (np.random.default_rng(0).integers(0, 256, (300, 4)).astype(np.uint8), None),
    "columns backwards": (X[::-1, ::-1], DIVES),
    "Fortran order": (np.asfortranarray(X), DIVES),
    "every other row": (np.repeat(X, 2, axis=0)[::2], DIVES),
    "lists": (X.tolist(), DIVES.tolist()),
    "tiny": (1e-8 * X, DIVES),
    "huge": (1e8 * X, DIVES),
    "far from zero": (X + 1e7, DIVES),
    "columns of very different scale": (X * np.array([1e-8, 1, 1e8, 1]), DIVES),
    "more columns than rows": (np.random.default_rng(1).standard_normal((30, 60)), None),
    "whole-number groups": (X, np.unique(DIVES, return_inverse=True)[1] * 1000 - 5),
}


@pytest.mark.parametrize("case", DIFFICULT)
@EVERY_MODEL
def test_difficult_rows_get_finite_bounds_and_a_label_each(name, case):
    rows, names = DIFFICULT[case]
    model = model_named(name)(random_state=0).fit(rows, groups=names)
    assert np.isfinite(model.lower_bound_)
    assert model.labels_.shape == (len(rows),)
    assert 1 <= model.n_clusters_ <= len(rows)
    assert np.isfinite(model.score(rows, groups=names))


@pytest.mark.parametrize("case", ["tiny", "huge", "far from zero", "half precision", "Fortran order", "lists"])
def test_units_and_storage_do_not_change_the_clusters(case):
    rows, names = DIFFICULT[case]
    assert v_measure(GMC().fit(X, groups=DIVES).labels_, GMC().fit(rows, groups=names).labels_) > 0.99


def test_the_bound_is_in_units_of_the_rows():
    plain, scaled = GMC().fit(X, groups=DIVES), GMC().fit(1e8 * X, groups=DIVES)
    assert scaled.lower_bound_ == pytest.approx(plain.lower_bound_ - X.size * np.log(1e8), rel=1e-9)
    assert scaled.score(1e8 * X, groups=DIVES) == pytest.approx(
        plain.score(X, groups=DIVES) - 4 * np.log(1e8), rel=1e-6
    )


def test_nearly_flat_clusters_do_not_break_the_factorisation():
    rng = np.random.default_rng(8)
    rows = np.vstack([rng.standard_normal((200, 5)) * [1, 1e-9, 1, 1e-9, 1] + 10 * k for k in range(3)])
    truth = np.repeat([0, 1, 2], 200)
    for width in (1e-3, 1e-6):
        assert v_measure(truth, VDP(width=width).fit(rows).labels_) == pytest.approx(1)
    assert np.isfinite(VDP(width=1e-10).fit(rows).lower_bound_)


def test_random_starts_leave_no_empty_cluster():
    model = BGMM(search="random", max_clusters=12, random_state=0).fit(X)
    assert (model.counts_.sum(0) >= 1).all()
    assert model.n_clusters_ < 12
