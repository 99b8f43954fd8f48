"""Known results of regularised information maximisation on toy data and scikit-learn's digits."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_circles, make_moons

from benthoscope.engine.discriminative import RIM, KernelRIM, SemiSupervisedRIM, chosen_by_cross_validation, rim_path
from benthoscope.engine.discriminative.coefficients import Coefficients
from benthoscope.engine.discriminative.kernel_factors import factored
from benthoscope.engine.discriminative.max_margin import max_margin_halves
from benthoscope.engine.discriminative.objective import Information, InformationObjective, slopes
from benthoscope.engine.discriminative.optimisation import (
    FitSettings,
    Precision,
    best_of,
    climb,
    kmeans,
    supervised_start,
)
from benthoscope.engine.discriminative.validation import overall
from benthoscope.engine.metrics import adjusted_rand
from tests.unit.estimators.test_rim import rbf, toy


@cache
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.parametrize("strength", [2, 4, 8, 16])
@pytest.mark.parametrize("seed", range(5))
def test_of_fifty_classes_three_survive(strength, seed):
    rng = np.random.default_rng(seed)
    X, truth = toy(rng)
    model = RIM(n_clusters=50, strength=strength, scale="none", n_init=1, random_state=seed).fit(X)
    assert model.n_clusters_ == 3 and adjusted_rand(truth, model.labels_) >= 0.99


def test_a_growing_penalty_leaves_fewer_and_fewer_classes():
    X, _ = digits()
    Z = overall(X)(X)
    start = kmeans(Z, 40, np.random.default_rng(0))
    path = rim_path(Z, start, FitSettings(40, 1.0), (0.125, 0.25, 0.5, 1, 2, 3, 4, 6, 8))
    counts = [step.survivors for step in path]
    assert (np.diff(counts) <= 1).all()
    assert counts[0] == 40 and next(step.survivors for step in path if step.strength == 4) <= 12


def test_rim_improves_on_its_k_means_start():
    X, y = digits()
    Z = overall(X)(X)
    gains = []
    for seed in range(10):
        start = kmeans(Z, 10, np.random.default_rng(seed))
        model = RIM(n_clusters=10, strength=1.0).fit(X, start=start)
        gains.append(adjusted_rand(y, model.labels_) - adjusted_rand(y, start))
    assert np.mean(gains) >= 0.02 and sum(gain > 0 for gain in gains) >= 8


def test_twice_the_classes_are_pruned_to_about_the_right_number():
    X, y = digits()
    models = [RIM(n_clusters=20, strength=2.0, n_init=1, random_state=seed).fit(X) for seed in range(10)]
    assert np.mean([adjusted_rand(y, model.labels_) for model in models]) >= 0.68
    assert all(12 <= model.n_clusters_ <= 16 for model in models)


def test_curved_boundaries_are_better_than_straight_ones():
    """Use the best of five starts by its own objective; strength .5 at the scale before the division by the
    diagonal."""
    X, y = digits()
    models = [KernelRIM(n_clusters=10, strength=0.5 * 1.63, n_init=5, random_state=seed).fit(X) for seed in range(3)]
    assert np.mean([adjusted_rand(y, model.labels_) for model in models]) >= 0.70


def test_the_factored_kernel_reaches_the_optimum_of_the_direct_one_in_fewer_steps():
    X, _ = digits()
    matrix = rbf(overall(X[:500])(X[:500]) * 1.5)
    centred = matrix - matrix.mean(0) - matrix.mean(0)[:, None] + matrix.mean()
    centred /= np.trace(centred) / 500
    penalty, classes = 0.5 / 500, 10
    phi = factored(matrix)(matrix)
    y = kmeans(phi, classes, np.random.default_rng(0))
    fast = best_of(phi, FitSettings(classes, penalty, precision=Precision(1e-11, 1e-7, 5000)), [y], 1)

    def direct(coefficients: Coefficients):  # climbs on alpha, where the matrix enters the slope twice
        lp = coefficients.log_probabilities(centred)
        shares = np.exp(lp).mean(0)
        G = slopes(lp, np.log(np.maximum(shares, 1e-300))) / 500
        norm = penalty * np.einsum("ki,ij,kj->", coefficients.weights, centred, coefficients.weights)
        F = float((np.exp(lp) * (lp - np.log(np.maximum(shares, 1e-300)))).sum() / 500 - norm)
        return F, Coefficients(G.T @ centred - 2 * penalty * coefficients.weights @ centred, G.sum(0))

    start = climb(InformationObjective(penalty, Information(phi)), fast.coefficients, Precision(steps=1)).coefficients
    assert direct(Coefficients(factored(matrix).dual(start.weights), start.biases))[0] == pytest.approx(
        fast.value, abs=1e-3
    )
    warm = _direct_warm_up(centred, y, classes, penalty)
    slow = climb(direct, warm, Precision(1e-11, 1e-7, 5000))
    labels = slow.coefficients.scores(centred).argmax(1)
    assert abs(slow.value - fast.value) <= 1e-3 and adjusted_rand(labels, fast.labels) >= 0.98
    assert fast.steps < slow.steps


def _direct_warm_up(matrix, y, classes, penalty):
    """The supervised start of the factored form, as coefficients of the kernel."""
    values, vectors = np.linalg.eigh(matrix)
    is_positive = values > 1e-10 * values.max()
    phi = vectors[:, is_positive] * np.sqrt(values[is_positive])
    start = supervised_start(phi, y, classes, penalty)
    return Coefficients(start.weights @ (vectors[:, is_positive] / np.sqrt(values[is_positive])).T, start.biases)


@pytest.mark.parametrize("seed", range(5))
def test_two_circles_are_separated_from_a_spectral_start(seed):
    X, truth = make_circles(400, factor=0.4, noise=0.06, random_state=seed)
    X *= 2.0  # the kernel then reaches a neighbour but not the other circle
    settings = {"n_clusters": 2, "strength": 1.0, "gamma": 3.0, "n_init": 3, "random_state": seed}
    spectral = KernelRIM(init="spectral", **settings).fit(X)
    trapped = KernelRIM(init="kmeans", **settings).fit(X)
    assert adjusted_rand(truth, spectral.labels_) >= 0.99
    assert spectral.lower_bound_ > trapped.lower_bound_


@cache
def twenty_labels():
    """Yield ten draws of two labels per digit: (hidden rows, y with -1 for hidden labels)."""
    _, y = digits()
    draws = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        known = np.concatenate([rng.permutation(np.flatnonzero(y == digit))[:2] for digit in range(10)])
        shown = np.full(len(y), -1)
        shown[known] = y[known]
        draws.append((shown < 0, shown))
    return draws


def accuracy_with_twenty_labels(**settings):
    X, y = digits()
    return np.mean(
        [SemiSupervisedRIM(**settings).fit(X, shown).score(X[hidden], y[hidden]) for hidden, shown in twenty_labels()]
    )


def test_unlabelled_rows_help_where_labels_are_few():
    supervised = max(accuracy_with_twenty_labels(penalty=penalty, information=0.0) for penalty in (0.01, 0.1, 1.0))
    semi = accuracy_with_twenty_labels(penalty=0.1, information=100.0)
    assert semi >= 0.82 and semi >= supervised + 0.05


def test_unlabelled_rows_help_because_of_the_balance_term():
    semi = accuracy_with_twenty_labels(penalty=0.1, information=100.0)
    assert semi >= accuracy_with_twenty_labels(penalty=0.1, information=100.0, balance=False) + 0.05


def test_cross_validation_selects_equally_good_settings():
    X, y = digits()
    hidden, shown = twenty_labels()[0]
    sample = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(hidden))[:300])
    rows = np.concatenate([np.flatnonzero(~hidden), sample])
    chosen = chosen_by_cross_validation(X[rows], shown[rows], (0.01, 0.1), (10.0, 100.0), random_state=0)
    assert chosen.fit(X, shown).score(X[hidden], y[hidden]) >= 0.7


def test_a_true_prior_of_sizes_finds_uneven_clusters():
    """Four overlapping Gaussians of .60, .20, .12 and .08."""
    sizes, centres = (0.60, 0.20, 0.12, 0.08), 4.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
    even, true, by_rank = [], [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = rng.choice(4, 1000, p=sizes)
        X = centres[truth] + 0.9 * rng.standard_normal((1000, 2))
        for fitted, prior in ((even, None), (true, sizes), (by_rank, "power")):
            model = RIM(n_clusters=4, strength=1.0, scale="none", sizes=prior, n_init=5, random_state=seed).fit(X)
            fitted.append(adjusted_rand(truth, model.labels_))
    assert np.mean(true) >= 0.88 and np.mean(by_rank) >= 0.88
    assert np.mean(true) >= np.mean(even) + 0.2


def test_new_rows_are_clustered_as_well_as_training_rows():
    X, y = digits()
    gaps = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:1200], order[1200:]
        model = RIM(n_clusters=20, strength=2.0, n_init=1, random_state=seed).fit(X[train])
        gap = adjusted_rand(y[train], model.labels_) - adjusted_rand(y[test], model.predict(X[test]))
        gaps.append(gap)
    assert abs(np.mean(gaps)) <= 0.04


def test_uncertain_predictions_are_more_often_wrong():
    X, y = digits()
    model = RIM(n_clusters=10, strength=1.0, n_init=5, random_state=0).fit(X)
    majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(model.n_clusters_)])
    wrong, order = majority[model.labels_] != y, np.argsort(model.uncertainty(X))
    top, lower = wrong[order[-len(y) // 10 :]].mean(), wrong[order[: len(y) // 2]].mean()
    assert top >= 3 * lower


def test_without_balance_classes_vanish_and_without_penalty_they_fragment():
    X, _ = digits()
    certain_only = RIM(n_clusters=20, strength=2.0, balance=False, n_init=1, random_state=0).fit(X)
    assert certain_only.n_clusters_ <= 2
    T, _ = toy(np.random.default_rng(0))
    free = RIM(n_clusters=12, strength=1e-9, scale="none", n_init=1, random_state=0).fit(T)
    assert free.n_clusters_ >= 10


def test_maximum_margin_halves_separate_two_moons():
    X, truth = make_moons(300, noise=0.06, random_state=0)
    matrix = np.exp(-10 * ((X[:, None] - X) ** 2).sum(2))
    side = max_margin_halves(matrix, np.random.default_rng(0))
    assert adjusted_rand(truth, side) >= 0.95
