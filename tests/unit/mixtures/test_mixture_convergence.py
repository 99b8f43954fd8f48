"""Convergence: no iteration, split or merge raises the final bound, for any units and number of rows."""

from dataclasses import replace

import numpy as np
import pytest

from benthoscope.engine.compute import InOrder
from benthoscope.engine.distributions import Dirichlet, GaussianWishart, GeneralisedDirichlet, NestedSticks
from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import GMC, SCM, VDP
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.fit_monitor import Course
from benthoscope.engine.mixtures.inference import StoppingRule, converge, converge_with_jumps, next_gain
from benthoscope.engine.mixtures.model import Model
from benthoscope.engine.mixtures.search.cells import kmeans_cells
from benthoscope.engine.mixtures.search.greedy import Strategy, Task, greedy, no_search
from benthoscope.engine.mixtures.search.joins import best_joins, join_gains, merged, price_of_joins
from benthoscope.engine.mixtures.search.levels import in_levels
from benthoscope.engine.mixtures.search.local_splits import local_splits, split_locally
from benthoscope.engine.mixtures.search.overcomplete import damped_cells, overcomplete, with_broad_clusters
from benthoscope.engine.mixtures.search.pruning import SharedRows, deletions_of, prune
from benthoscope.engine.mixtures.search.split_merge import together
from benthoscope.engine.mixtures.two_level.image_clusters import ImageAssignment as OwnedImages
from benthoscope.engine.mixtures.two_level.image_clusters import _likely_joins, with_joins
from benthoscope.engine.mixtures.two_level.model import Images, SceneModel

WEIGHTS = pytest.mark.parametrize("weights", [Dirichlet(), GeneralisedDirichlet(), NestedSticks()], ids=repr)


def overlapping(n=1500, kinds=8, columns=3, seed=0, apart=1.6):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, kinds, n)
    X = apart * rng.standard_normal((kinds, columns))[truth] + rng.standard_normal((n, columns))
    return X, rng.integers(0, 3, n).astype(np.int32), truth


def task_of(weights, rule=None, **settings):
    X, groups, truth = overlapping(**settings)
    D = X.shape[1]
    data = Observations(X, groups, 3, Frame(np.zeros(D), 1.0), InOrder())
    model = Model(weights, GaussianWishart.prior(X.mean(0), 1.0))
    return Task(model, data, rule or StoppingRule(), Course(len(X)), np.random.default_rng(0)), truth


def entropy(resp):
    return -(resp * np.log(np.maximum(resp, 1e-300))).sum()


def bound_of(task, resp):
    statistics = task.data.statistics_of(task.model.clusters, resp)
    return task.model.evidence(statistics) + entropy(resp)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_the_rule_counts_nats_a_row_whatever_the_units(factor):
    X, groups, _ = overlapping()
    model = GMC(search="greedy", random_state=0).fit(factor * X, groups=groups)
    plain = GMC(search="greedy", random_state=0).fit(X, groups=groups)
    assert model.n_iter_ == plain.n_iter_
    assert StoppingRule(1e-7).threshold(1000) == pytest.approx(1e-4)


def test_a_converged_fit_does_not_improve_by_further_iterations():
    X, groups, _ = overlapping(6_000, apart=0.7)
    model = GMC(random_state=0).fit(X, groups=groups)
    assert model.converged_
    further = GMC(search="none", tol=1e-12, max_iter=50, warm_start=True)
    further.mixture_, further.clusters_, further.groups_ = model.mixture_, model.clusters_, model.groups_
    further.n_features_in_ = X.shape[1]
    again = further.fit(X, groups=groups)
    assert again.lower_bound_ - model.lower_bound_ < 1e-5 * len(X)


@WEIGHTS
def test_jumps_reach_the_bound_of_plain_iterations_in_fewer(weights):
    task, truth = task_of(weights, apart=0.9)
    start, rule = task.data.labelled(task.model.clusters, truth), StoppingRule(1e-7)
    plain = converge(task.model, task.data, start, rule)
    fast = converge_with_jumps(task.model, task.data, start, rule, task.course)
    assert fast.converged
    assert fast.iterations < 0.6 * plain.iterations
    assert fast.bound == pytest.approx(plain.bound, abs=1e-4 * len(truth))
    assert (np.diff(task.course.history) > 0).all()


@WEIGHTS
def test_the_gain_of_the_next_iteration_is_known_before_it(weights):
    task, truth = task_of(weights)
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), StoppingRule(0.0, 3))
    for _ in range(5):
        expected, before = next_gain(task.model, fit), fit
        fit = converge(task.model, task.data, fit.statistics, StoppingRule(0.0, 1))
        gain = fit.bound - before.bound
        assert 0 < gain < 1.02 * expected
        assert expected < 4 * gain


@pytest.mark.parametrize("clusters", [3, 15, 16])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_sums_do_not_depend_on_the_number_of_clusters_in_a_product(clusters, precision):
    task, truth = task_of(Dirichlet(), kinds=clusters)
    data = replace(task.data, precision=precision)
    fit = converge(task.model, data, data.labelled(task.model.clusters, truth), StoppingRule(0.0, 2))
    resp, features = data.responsibilities(fit.scorer), task.model.clusters.features(np.asarray(data.source).T)
    for sums in (data.sweep(fit.scorer), data.statistics_of(task.model.clusters, resp)):
        np.testing.assert_allclose(sums.moments, resp.T @ features.T, rtol=1e-4, atol=1e-2)
        assert sums.counts.shape == (3, clusters)


def test_the_best_of_all_searches_is_at_least_as_good_as_each():
    for seed in range(3):
        X, groups, _ = overlapping(seed=seed, apart=1.0)
        best = GMC(random_state=0).fit(X, groups=groups).lower_bound_
        for search in ("greedy", "together", "overcomplete"):
            assert best >= GMC(search=search, random_state=0).fit(X, groups=groups).lower_bound_ - 1.0


def test_the_history_is_that_of_the_best_search_alone():
    X, groups, _ = overlapping(apart=1.0)
    model = GMC(random_state=0).fit(X, groups=groups)
    assert (np.diff(model.lower_bound_history_) > -1e-6).all()
    assert model.lower_bound_history_[-1] == pytest.approx(model.lower_bound_)


@WEIGHTS
def test_the_price_of_joins_is_the_difference_of_two_bounds(weights):
    task, truth = task_of(weights)
    start = task.data.labelled(task.model.clusters, 2 * truth + (np.arange(len(truth)) % 2))
    fit = converge(task.model, task.data, start, StoppingRule(0.0, 3))
    overlap, resp = task.data.overlap(fit.scorer), task.data.responsibilities(fit.scorer)
    pairs, estimates = join_gains(task.model, fit.statistics, overlap)
    assert len(pairs) >= 8
    before = bound_of(task, resp)
    for pair, estimate in list(zip(pairs, estimates, strict=True))[:8]:
        gain = price_of_joins(task.model, fit.statistics, overlap, pair[None])
        assert gain == pytest.approx(bound_of(task, joined_columns(resp, [pair])) - before, abs=1e-3)
        assert estimate == pytest.approx(gain, abs=0.1 * abs(gain) + 3)
    chosen = best_joins(task.model, fit.statistics, overlap)
    assert len(chosen) >= 2
    gain = price_of_joins(task.model, fit.statistics, overlap, chosen)
    assert gain == pytest.approx(bound_of(task, joined_columns(resp, chosen)) - before, abs=1e-3)
    assert merged(fit.statistics, chosen).owned.sum() == pytest.approx(len(truth))


def joined_columns(resp, pairs):
    after = resp.copy()
    for a, b in pairs:
        after[:, a] += resp[:, b]
    return np.delete(after, [b for _, b in pairs], axis=1)


def test_a_pass_in_single_precision_gives_nearly_the_same_statistics():
    task, truth = task_of(GeneralisedDirichlet())
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), StoppingRule(0.0, 3))
    single = task.data.in_single_precision()
    for data in (single, replace(single, is_sample=True)):
        for _ in range(2):  # the second pass uses the features of the first one, if they may remain in memory
            swept = data.sweep(fit.scorer)
            assert swept.moments == pytest.approx(fit.statistics.moments, rel=1e-4, abs=1e-2)
            assert swept.log_norm == pytest.approx(fit.statistics.log_norm, rel=1e-6)
    assert single.responsibilities(fit.scorer).dtype == np.float32


@WEIGHTS
def test_a_cluster_that_hides_several_others_is_split_into_all_of_them_at_once(weights):
    task, truth = task_of(weights, apart=4.0)
    labels = np.where(truth < 4, 0, truth - 3)
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, labels), StoppingRule(0.0, 3))
    splits = local_splits(task, fit, task.data.nearest(fit.scorer)[0], np.zeros(fit.n_clusters, bool))
    assert [split.cluster for split in splits] == [0]
    assert len(splits[0].coefficients) == 4
    better, tried = split_locally(task, fit, np.zeros(0))
    assert better.n_clusters == 8
    assert better.bound > fit.bound + 100
    assert tried.tolist() == [True] * 4 + [False] * 4
    assert v_measure(truth, task.data.nearest(better.scorer)[0]) > 0.9
    assert split_locally(task, fit, np.ones(fit.n_clusters, bool)) is None
    assert split_locally(replace(task, max_clusters=5), fit, np.zeros(0)) is None


@WEIGHTS
def test_the_price_of_a_deletion_is_a_bound_that_iterations_reach_and_no_row_is_lost(weights):
    task, truth = task_of(weights)
    fit = converge(task.model, task.data, task.data.labelled(task.model.clusters, truth), StoppingRule(0.0, 3))
    for k, deletion in deletions_of(task, fit, np.arange(3)).items():
        after = replace(
            fit.statistics,
            counts=fit.statistics.counts + deletion.counts,
            moments=fit.statistics.moments + deletion.moments,
        )
        assert after.owned.sum() == pytest.approx(len(truth), rel=1e-9)
        assert after.owned[k] == pytest.approx(0, abs=1e-6)
        assert k == deletion.cluster
        subset = after.take(np.delete(np.arange(fit.n_clusters), k))
        reached = converge(task.model, task.data, subset, StoppingRule(0.0, 10)).bound
        assert reached >= fit.bound + deletion.gain - 0.5


def test_joins_and_deletions_together_never_lower_the_bound():
    task, truth = task_of(GeneralisedDirichlet())
    start = task.data.labelled(task.model.clusters, 3 * truth + (np.arange(len(truth)) % 3))
    fit = converge(task.model, task.data, start, StoppingRule(0.0, 3))
    overlap = SharedRows.of(task, fit).overlap
    statistics = merged(fit.statistics, best_joins(task.model, fit.statistics, overlap))
    assert len(statistics.moments) < fit.n_clusters
    assert converge(task.model, task.data, statistics, StoppingRule(0.0, 1)).bound > fit.bound
    pruned = prune(task, fit)
    assert pruned.bound > fit.bound
    assert pruned.n_clusters <= 9


def test_cells_cover_all_rows_and_survive_rows_that_are_all_alike():
    rng = np.random.default_rng(0)
    assert kmeans_cells(np.ones((50, 2)), 8, rng).max() == 0
    labels = kmeans_cells(rng.standard_normal((500, 2)), 16, rng)
    assert set(labels) == set(range(labels.max() + 1))
    assert labels.max() >= 12
    task, _ = task_of(NestedSticks())
    assert 8 < damped_cells(task.model, task.data, 32, rng, lambda: None).n_clusters <= 32


def test_clusters_that_no_single_split_finds_are_found_together():
    """Forty long, thin kinds around one centre: no split of all of them in two pays for itself."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 40, 6_000)
    axes = np.linalg.qr(rng.standard_normal((40, 8, 8)))[0] * np.exp(rng.uniform(np.log(0.02), 0, (40, 1, 8)) / 2)
    noise = np.einsum("nij,nj->ni", axes[truth], rng.standard_normal((6_000, 8)))
    X = 0.4 * rng.standard_normal((40, 8))[truth] + noise
    split, pruned = (VDP(search=search, tol=1e-5, random_state=0).fit(X) for search in ("greedy", "overcomplete"))
    assert pruned.lower_bound_ > split.lower_bound_ + 500
    assert v_measure(truth, pruned.labels_) > v_measure(truth, split.labels_) + 0.1


def test_clusters_of_unequal_size_or_very_few_may_hide_others():
    task, truth = task_of(NestedSticks(), n=2_000)

    def fit_of(labels):
        return converge(task.model, task.data, task.data.labelled(task.model.clusters, labels), StoppingRule(0.0, 1))

    assert not with_broad_clusters(fit_of(truth))
    assert with_broad_clusters(fit_of(np.minimum(truth, 1)))
    one_broad = np.where(np.arange(2_000) < 1_700, 0, np.arange(2_000) % 8)
    assert with_broad_clusters(fit_of(one_broad))


def test_many_clusters_that_a_small_sample_shows_as_one_are_found_on_more_rows():
    """Sixty thin kinds around one centre, of which the first sample has too few rows each."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 60, 24_000)
    axes = np.linalg.qr(rng.standard_normal((60, 8, 8)))[0] * np.exp(rng.uniform(np.log(0.02), 0, (60, 1, 8)) / 2)
    noise = np.einsum("nij,nj->ni", axes[truth], rng.standard_normal((24_000, 8)))
    X = 0.4 * rng.standard_normal((60, 8))[truth] + noise
    settings = {"search_rows": 1_000, "tol": 1e-5, "random_state": 0}
    best, together_alone = (VDP(search=search, **settings).fit(X) for search in ("best", "together"))
    assert best.lower_bound_ > together_alone.lower_bound_ + 500
    assert best.n_clusters_ >= 45


def test_a_change_whose_cluster_dies_out_is_reverted():
    task, _ = task_of(NestedSticks(), n=400)
    fits = {search: in_levels(Strategy((search,)), task, None) for search in (greedy, together, overcomplete)}
    assert all(fit.converged for fit in fits.values())
    levels = in_levels(Strategy((no_search,), improves=False), task, None)
    assert levels.n_clusters == 1


def scenes_in_parts(seed=0):
    """Images of three kinds of scenes; the counts of their segments, and owners with each kind in two parts."""
    rng = np.random.default_rng(seed)
    proportions = np.array([(8, 1, 1), (1, 8, 1), (1, 1, 8)]) / 10
    kinds = np.arange(120) % 3
    counts = np.stack([rng.multinomial(20, proportions[kind]) for kind in kinds]).astype(float)
    images = Images(np.zeros(120, np.int32), 1)
    model = SceneModel(Dirichlet(), GaussianWishart.prior(np.zeros(2), 1.0), images=images)
    owners = np.eye(6)[kinds + 3 * (np.arange(120) // 60)]
    return model, counts, owners


def test_equal_image_clusters_are_merged():
    model, counts, owners = scenes_in_parts()
    owned_images = OwnedImages(owners, model.explained(counts, model.scenes(counts, owners))[1])
    assert {b - a for a, b in _likely_joins(model, counts, owned_images)[:3]} == {3}
    better = with_joins(model, counts, owned_images, lambda: None)
    assert better.owners.shape[1] == 3
    assert better.evidence > owned_images.evidence + 5


def test_a_limit_that_keeps_the_fit_from_more_clusters_is_named():
    X, groups, _ = overlapping(600, apart=5)
    limited, free = (GMC(max_clusters=most, random_state=0).fit(X, groups=groups) for most in (3, None))
    assert limited.limits_reached_ == ["max_clusters"]
    assert free.limits_reached_ == []
    images = np.repeat(np.arange(60), 10)
    few = SCM(max_image_clusters=1, restarts=1, random_state=0).fit(X, image_of_segment=images)
    assert few.limits_reached_ == ["max_image_clusters"]


def test_a_model_and_a_checkpoint_of_the_former_rule_still_load():
    """The former release stored tol=1e-5 and search="greedy", and its checkpoints knew one search and no last level."""
    X, groups, _ = overlapping(600, apart=3)
    fitted = GMC(tol=1e-5, search="greedy", random_state=0).fit(X, groups=groups)
    arrays, metadata = fitted.to_arrays()
    loaded = GMC.from_arrays(arrays, {**metadata, "params": {**metadata["params"], "tol": 1e-5, "search": "greedy"}})
    np.testing.assert_array_equal(loaded.predict(X, groups), fitted.predict(X, groups))
    saved = Saved()
    GMC(random_state=0).fit(X, groups=groups, checkpoint=saved)
    first = {
        name: value
        for name, value in saved.states[1].items()
        if name != "search" and not name.startswith(("best_", "before_"))
    }
    assert {"level", "level_rng", "rng", "counts", "moments", "tally", "bound", "history"} <= set(first)
    resumed = GMC(random_state=0).fit(X, groups=groups, checkpoint=Saved(first))
    assert resumed.lower_bound_ == pytest.approx(GMC(random_state=0).fit(X, groups=groups).lower_bound_, abs=0.1)


class Saved:
    def __init__(self, state=None):
        self.states, self.state = [], state

    def save(self, state):
        self.states.append(state)

    def load(self):
        return self.state
