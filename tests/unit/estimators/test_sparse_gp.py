"""The Gaussian process on an active set: gains against refitted models, likelihoods, predictions and edge cases."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from benthoscope.engine.exemplars import (
    ActiveSet,
    Race,
    SparseGPRegressor,
    SquaredExponential,
    blocks_in_a_pass,
    cycling,
    greedy,
    stream_greedy,
)
from benthoscope.engine.exemplars.gaussian_process import fitted_kernel, log_marginal_likelihood
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled

KERNEL = SquaredExponential(1.7, np.array([1.0, 2.0, 0.7]), 0.05)
CRITERIA = ("information", "variance", "error")


def refitted(criterion, X, y, active, validation, kernel=KERNEL):
    """The criterion from its definition, by solving with K_AA + noise."""
    A = X[active]
    noisy = kernel(A, A) + kernel.noise * np.eye(len(active))
    if criterion == "information":
        return 0.5 * np.linalg.slogdet(noisy / kernel.noise)[1]
    across = kernel(X[validation], A)
    if criterion == "variance":
        return np.mean(np.sum(across * np.linalg.solve(noisy, across.T).T, axis=1))
    return np.mean(y[validation] ** 2 - (y[validation] - across @ np.linalg.solve(noisy, y[active])) ** 2)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(80), rng.choice(80, 50, replace=False)


def state_of(objective, items):
    state = objective.begin(len(items))
    for item in items:
        state.add(objective.evidence(np.array([item])), 0)
    return state


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gains_of_additions_and_swaps_equal_those_of_refitted_models(rows, criterion):
    X, y, validation = rows
    objective = ActiveSet(X, y, KERNEL, criterion=criterion, validation=validation)
    active, block = [3, 17, 8, 30, 41], np.arange(0, 80, 4)
    state = state_of(objective, active)
    table = state.table(objective.evidence(block))
    before = refitted(criterion, X, y, active, validation)
    assert state.value == pytest.approx(before, abs=1e-10)
    additions, swaps = table.addition_gains(), table.swap_gains()
    for at, item in enumerate(block):
        if item in active:
            assert additions[at] == -np.inf and np.isneginf(swaps[:, at]).all()
            continue
        assert additions[at] == pytest.approx(refitted(criterion, X, y, [*active, item], validation) - before, abs=1e-8)
        for slot in range(len(active)):
            swapped = [*active[:slot], item, *active[slot + 1 :]]
            after = refitted(criterion, X, y, swapped, validation)
            assert swaps[slot, at] == pytest.approx(after - before, abs=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_state_stays_right_through_200_swaps(rows, criterion):
    X, y, validation = rows
    objective = ActiveSet(X, y, KERNEL, criterion=criterion, validation=validation)
    state, rng = state_of(objective, [3, 17, 8, 30, 41]), np.random.default_rng(1)
    evidence = objective.evidence(np.arange(80))
    for _ in range(200):
        state.swap(int(rng.integers(5)), evidence, int(rng.choice(np.setdiff1d(np.arange(80), state.chosen))))
    assert state.value == pytest.approx(refitted(criterion, X, y, state.chosen, validation), abs=1e-9)
    anew = state_of(objective, state.chosen)
    np.testing.assert_allclose(state.P, anew.P, atol=1e-8)
    np.testing.assert_allclose(state.E, anew.E, atol=1e-9)


def test_selection_by_information_equals_greedy_selection_by_determinant(rows):
    X, y, _ = rows
    chosen = greedy(ActiveSet(X, None, KERNEL, criterion="information"), 4).chosen
    expected: list[int] = []
    for _ in range(4):
        expected.append(
            max(
                (item for item in range(80) if item not in expected),
                key=lambda item: refitted("information", X, y, [*expected, item], None),
            )
        )
    assert [refitted("information", X, y, chosen[: n + 1], None) for n in range(4)] == pytest.approx(
        [refitted("information", X, y, expected[: n + 1], None) for n in range(4)], rel=1e-12
    )


def test_swapping_never_lowers_the_criterion_and_ends(rows):
    X, y, _ = rows
    result = stream_greedy(ActiveSet(X, y, KERNEL, criterion="variance"), cycling(80, 10), 6, cycle=8, least_gain=0)
    assert result.converged and (np.diff(result.values) >= -1e-12).all()


def test_a_race_takes_the_swap_that_all_points_take_when_one_is_far_better():
    rng = np.random.default_rng(0)
    X = np.repeat(np.array([0.0, 50.0, 100.0]), 4_000)[:, None] + 0.1 * rng.standard_normal((12_000, 1))
    kernel = SquaredExponential(1.0, np.array([5.0]), 0.01)
    race = Race(0.05, 1.0, 10_000, np.random.default_rng(1))
    objective = ActiveSet(X, None, kernel, criterion="variance", race=race)
    state = state_of(objective, [0, 1, 4_000])  # two for the first group, none for the third
    swap = state.table(objective.evidence(np.array([5, 4_005, 8_000]))).best_swap(0.0)
    assert swap.at == 2 and swap.slot in (0, 1)
    assert race.shares[-1] <= 0.15


def test_the_marginal_likelihood_is_that_of_a_normal_distribution_and_its_gradient_that_of_differences(rows):
    X, y, _ = rows
    value, gradient = log_marginal_likelihood(KERNEL, X, y)
    assert value == pytest.approx(
        multivariate_normal(np.zeros(80), KERNEL(X, X) + 0.05 * np.eye(80)).logpdf(y), rel=1e-10
    )

    def at(logs):
        return log_marginal_likelihood(
            SquaredExponential(float(np.exp(logs[3])), np.exp(logs[:3]), float(np.exp(logs[4]))), X, y
        )[0]

    logs = np.log([1.0, 2.0, 0.7, 1.7, 0.05])
    by_differences = [(at(logs + step) - at(logs - step)) / 2e-5 for step in 1e-5 * np.eye(5)]
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-5)


def test_the_fitted_kernel_recovers_length_scales_and_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (500, 2))
    y = np.sin(X[:, 0]) * 2 + 0.3 * rng.standard_normal(500)  # the second column does not matter
    kernel = fitted_kernel(X, y - y.mean())
    assert kernel.lengthscales[1] > 10 * kernel.lengthscales[0]
    assert kernel.noise == pytest.approx(0.09, rel=0.2)
    common = fitted_kernel(X, y - y.mean(), each_column=False)
    assert common.lengthscales[0] == common.lengthscales[1]


def test_all_rows_active_is_the_exact_gaussian_process(rows):
    X, y, _ = rows
    fit = SparseGPRegressor(80, kernel=KERNEL).fit(X, y)
    new = np.random.default_rng(3).standard_normal((20, 3))
    noisy, across = KERNEL(X, X) + 0.05 * np.eye(80), KERNEL(new, X)
    mean, std = fit.predict(new, return_std=True)
    np.testing.assert_allclose(mean, y.mean() + across @ np.linalg.solve(noisy, y - y.mean()), atol=1e-10)
    variance = 1.7 + 0.05 - np.sum(across * np.linalg.solve(noisy, across.T).T, axis=1)
    np.testing.assert_allclose(std, np.sqrt(variance), atol=1e-10)


def test_the_band_contains_the_share_of_measurements_that_it_promises():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (2_000, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(2_000)
    fit = SparseGPRegressor(150, random_state=0, kernel_rows=400).fit(X[:1_000], y[:1_000])
    mean, std = fit.predict(X[1_000:], return_std=True)
    assert np.mean(np.abs(y[1_000:] - mean) < 1.645 * std) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("criterion", ["error", "variance", "information", "random"])
def test_a_seed_gives_the_same_active_set_twice(rows, criterion):
    X, y, _ = rows
    first, second = (SparseGPRegressor(10, criterion=criterion, random_state=3).fit(X, y) for _ in range(2))
    assert (first.active_ == second.active_).all() and len(set(first.active_.tolist())) == 10


def test_a_target_that_never_changes_is_predicted_and_equal_rows_end_the_search():
    fit = SparseGPRegressor(5, random_state=0).fit(np.ones((50, 2)), np.full(50, 3.0))
    np.testing.assert_allclose(fit.predict(np.ones((2, 2))), 3.0)
    assert len(set(fit.active_.tolist())) == 5


def test_a_listener_can_stop_the_fit(rows):
    def impatient(progress):
        raise Cancelled

    with pytest.raises(Cancelled):
        SparseGPRegressor(10).fit(*rows[:2], on_step=impatient)


@pytest.mark.parametrize(
    "setting",
    [{"n_active": 0}, {"kernel_rows": 1.5}, {"criterion": "eror"}, {"lengthscales": "all"}, {"race": 2}],
)
def test_invalid_settings_are_rejected_by_name(setting):
    with pytest.raises(BadInput, match=next(iter(setting))):
        SparseGPRegressor(**setting).fit(np.ones((5, 2)), np.arange(5.0))


def test_values_that_cannot_be_used_are_rejected_by_row():
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.arange(20.0)
    y[7] = 1e300
    with pytest.raises(BadInput, match="y row 7"):
        SparseGPRegressor().fit(X, y)
    with pytest.raises(BadInput, match="criterion error"):
        ActiveSet(X, None, SquaredExponential(1.0, np.ones(2), 0.1))


def test_the_number_of_blocks_is_limited_by_the_passes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    fit = SparseGPRegressor(20, max_passes=1, block_size=50, kernel=KERNEL, random_state=0).fit(X, np.sin(X[:, 0]))
    assert fit.n_steps_ <= blocks_in_a_pass(400, 50) and len(fit.criterion_history_) == fit.n_steps_
