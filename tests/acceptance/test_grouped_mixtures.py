"""Statistical recovery and the claims on grouped data (methods note 15.3, T17 to T26, and 11.7, C1 to C7 and C21)."""

from functools import cache

import numpy as np
import pytest

from benthoscope.engine.metrics import v_measure
from benthoscope.engine.mixtures import BGMM, GMC, VDP, SymmetricGMC
from tests.acceptance.gaussian_groups import at_random, classes, folds, in_subsets, proportional

WIDTH = 0.05


def eight(separation, seed, **shape):
    return classes(separation, np.random.default_rng(seed), **shape)


@pytest.mark.parametrize("search", ["greedy", "exhaustive"])
@pytest.mark.parametrize("kind", [BGMM, VDP, GMC])
def test_separate_classes_are_recovered_in_nine_of_ten_sets(kind, search):
    right = 0
    for seed in range(10):
        X, truth = eight(10, seed)
        groups = in_subsets(truth, 5, np.random.default_rng(100 + seed))
        model = kind(width=WIDTH, search=search).fit(X, groups=groups)
        right += model.n_clusters_ == 8 and v_measure(truth, model.labels_) >= 0.98
    assert right >= 9


@cache
def agreement(kind, deal, J, seeds=range(5), separation=3):
    """Return the mean V-measure over data sets, each distributed over J groups."""
    scores = []
    for seed in seeds:
        X, truth = eight(separation, seed)
        groups = deal(truth, J, np.random.default_rng([seed, J]))
        scores.append(v_measure(truth, kind(width=WIDTH).fit(X, groups=groups).labels_))
    return float(np.mean(scores))


def test_groups_that_hold_subsets_help_most_random_ones_some_and_proportional_ones_not():
    ten = {
        (kind, deal): agreement(kind, deal, 10)
        for kind in (GMC, SymmetricGMC)
        for deal in (proportional, at_random, in_subsets)
    }
    none = agreement(VDP, proportional, 10)
    for kind in (GMC, SymmetricGMC):
        assert ten[kind, in_subsets] - none >= 0.08
        assert ten[kind, in_subsets] > ten[kind, at_random] > ten[kind, proportional]
        assert abs(ten[kind, proportional] - none) <= 0.05
    for deal in (proportional, at_random, in_subsets):
        assert abs(ten[GMC, deal] - ten[SymmetricGMC, deal]) <= 0.02


def test_the_gain_by_groups_levels_off():
    scores = [agreement(GMC, in_subsets, J) for J in (5, 10, 20)]
    assert max(scores) - min(scores) <= 0.04


def held_out(kind, deal, seed):
    """Return the mean log density of rows in five folds, each predicted from the other four."""
    X, truth = eight(3, seed)
    groups = deal(truth, 10, np.random.default_rng([seed, 10]))
    fold, scores = folds(groups, 5, np.random.default_rng(seed)), []
    for left_out in range(5):
        learn = fold != left_out
        model = kind(width=WIDTH).fit(X[learn], groups=groups[learn])
        scores.append(model.score_samples(X[~learn], groups[~learn]))
    return float(np.concatenate(scores).mean())


def test_held_out_rows_are_predicted_better_if_groups_differ():
    def mean(kind, deal):
        return np.mean([held_out(kind, deal, seed) for seed in range(2)])

    none = mean(VDP, proportional)
    assert mean(GMC, in_subsets) - none >= 0.4
    assert mean(SymmetricGMC, in_subsets) - none >= 0.4
    assert mean(GMC, at_random) - none >= 0.1
    assert abs(mean(GMC, proportional) - none) <= 0.1


def test_wide_priors_leave_one_cluster_and_narrower_ones_more():
    X, _ = eight(3, 0)
    K = {width: VDP(width=width).fit(X).n_clusters_ for width in (0.1, 1, 10, 100)}
    assert K[10] == K[100] == 1
    assert K[0.1] >= K[1] >= K[10]


@pytest.mark.parametrize("each", [50, 200, 1000])
def test_dirichlet_and_dirichlet_process_mixtures_agree(each):
    X, _ = eight(4, each, each=each)
    assert v_measure(BGMM(width=WIDTH).fit(X).labels_, VDP(width=WIDTH).fit(X).labels_) >= 0.97


def twelve(seed, J):
    X, truth = eight(4, seed, kinds=12)
    return X, in_subsets(truth, J, np.random.default_rng([seed, J])), truth


def test_greedy_splitting_costs_seven_tenths_of_exhaustive_at_most():
    cost, quality = {"greedy": 0.0, "exhaustive": 0.0}, {"greedy": 0.0, "exhaustive": 0.0}
    for seed in range(3):
        X, groups, truth = twelve(seed, 6)
        for search in cost:
            model = GMC(width=0.02, search=search).fit(X, groups=groups)
            cost[search] += model.passes_
            quality[search] += v_measure(truth, model.labels_) / 3
    assert cost["greedy"] <= 0.7 * cost["exhaustive"]
    assert abs(quality["greedy"] - quality["exhaustive"]) <= 0.03


@pytest.mark.parametrize("kind", [GMC, SymmetricGMC])
def test_sparse_variants_evaluate_fewer_pairs_for_the_same_clusters(kind):
    for seed in range(3):
        X, groups, truth = twelve(seed, 20)
        dense, sparse = (kind(width=0.02, sparse=sparse).fit(X, groups=groups) for sparse in (False, True))
        quality = [v_measure(truth, model.labels_) for model in (dense, sparse)]
        assert abs(quality[0] - quality[1]) <= 0.02
        assert abs(dense.n_clusters_ - sparse.n_clusters_) <= 1
        assert sparse.mixture_.statistics.pairs <= 0.75 * len(X) * sparse.n_clusters_


def test_the_shares_of_a_new_dive_are_found_in_few_iterations():
    X, truth = eight(6, 0)
    groups = in_subsets(truth, 5, np.random.default_rng(1))
    model = GMC(width=WIDTH).fit(X, groups=groups)
    rng = np.random.default_rng(2)
    fresh, of = classes(6, np.random.default_rng(0), each=2000)
    expected = np.concatenate([np.flatnonzero(of == kind)[:n] for kind, n in ((0, 280), (3, 80), (5, 40))])
    rows = fresh[rng.permutation(expected)]
    share_of_class = np.stack(
        [np.bincount(model.predict(fresh[of == kind]), minlength=model.n_clusters_) / 2000 for kind in (0, 3, 5)]
    )
    assert np.abs(model.fold_in(rows)[0] - np.array([0.7, 0.2, 0.1]) @ share_of_class).max() <= 0.02
    data, _ = model._observed(rows, None, None)
    assert model._folded(data).iterations <= 50


def test_two_thousand_rows_of_512_columns_are_clustered_with_diagonal_and_do_not_break_full_covariances():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 2000)
    X = (2 * rng.standard_normal((4, 512))[truth] + rng.standard_normal((2000, 512))).astype(np.float32)
    assert v_measure(truth, GMC(observation="diagonal").fit(X, groups=truth % 2).labels_) == pytest.approx(1)
    assert np.isfinite(GMC().fit(X, groups=truth % 2).lower_bound_)


def test_splitting_reaches_the_bound_of_random_starts_in_three_of_four_sets():
    better = 0
    for seed in range(4):
        X, _ = eight(10, seed)
        split = BGMM(width=WIDTH).fit(X)
        model = BGMM(width=WIDTH, search="random", max_clusters=30, random_state=seed).fit(X)
        history = np.array(model.lower_bound_history_)
        assert (model.counts_.sum(0) >= 1).all()
        assert (np.diff(history) >= -1e-9 * abs(history[-1])).all()  # pruning included
        better += split.lower_bound_ >= model.lower_bound_ - 1e-9 * abs(model.lower_bound_)
    assert better >= 3
