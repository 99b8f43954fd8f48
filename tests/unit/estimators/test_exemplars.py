"""Exemplars: gains against brute force, guarantees against enumeration, and edge cases."""

import itertools
import warnings

import numpy as np
import pytest

from benthoscope.engine.exemplars import (
    ExemplarLoss,
    SetFunction,
    StreamedLoss,
    StreamGreedy,
    baselines,
    blocks_in_a_pass,
    constant,
    cosine,
    cycling,
    deviation,
    euclidean,
    greedy,
    lazy_greedy,
    numbers,
    of_kernel,
    origin,
    precomputed,
    random_direction,
    squared_euclidean,
    stochastic_greedy,
    stream_greedy,
    validation_size,
)
from benthoscope.engine.exemplars.distances import Nearest
from benthoscope.engine.problems import BadInput
from benthoscope.engine.progress import Cancelled


def brute_utility(far, to_phantom, chosen):
    """The definition, written as it is printed."""
    return np.mean([to_phantom[i] - min([to_phantom[i], *(far[i, c] for c in chosen)]) for i in range(len(far))])


@pytest.fixture
def asymmetric():
    """A loss over a random asymmetric matrix, whose phantom owns about half of the points."""
    rng = np.random.default_rng(3)
    far = rng.gamma(2.0, 1.0, (40, 40))
    np.fill_diagonal(far, 0)
    return far, ExemplarLoss(numbers(far), dissimilarity=precomputed(far), phantom=constant(0.8))


def chosen_state(loss, items):
    state = loss.begin(len(items))
    for item in items:
        state.add(loss.evidence(np.array([item])), 0)
    return state


def test_every_swap_gains_what_brute_force_says(asymmetric):
    far, loss = asymmetric
    chosen, block = [3, 17, 8, 30], np.arange(40)
    gains = chosen_state(loss, chosen).table(loss.evidence(block)).swap_gains()
    to_phantom = np.full(40, 0.8)
    before = brute_utility(far, to_phantom, chosen)
    for slot, item in itertools.product(range(4), (item for item in block if item not in chosen)):
        after = brute_utility(far, to_phantom, [*chosen[:slot], item, *chosen[slot + 1 :]])
        assert gains[slot, item] == pytest.approx(after - before, abs=1e-12)
    assert np.isneginf(gains[:, chosen]).all()


def test_gains_stay_right_while_items_go_in_and_out_of_one_block(asymmetric):
    far, loss = asymmetric
    state = chosen_state(loss, [3, 17, 8, 30])
    table = state.table(loss.evidence(np.arange(40)))
    rng = np.random.default_rng(0)
    for _ in range(200):
        slot, item = rng.integers(4), rng.choice(np.setdiff1d(np.arange(40), state.chosen))
        table.swap(int(slot), int(item))
    anew = chosen_state(loss, state.chosen).table(loss.evidence(np.arange(40)))
    np.testing.assert_allclose(table.swap_gains(), anew.swap_gains(), atol=1e-12)
    np.testing.assert_allclose(table.addition_gains(), anew.addition_gains(), atol=1e-12)
    assert state.value == pytest.approx(brute_utility(far, np.full(40, 0.8), state.chosen), abs=1e-12)


def test_a_point_that_loses_its_exemplar_may_be_caught_by_the_newcomer():
    far = np.array([[1.0, 3.0, 2.0]])  # to the one that leaves, to the second, to the newcomer: m < D < o
    nearest = Nearest(np.array([9.0]), 2)
    nearest.add(far[:, 0]), nearest.add(far[:, 1])
    state = chosen_state(ExemplarLoss(np.zeros((1, 1)), dissimilarity=lambda X, Y: np.ones((len(X), len(Y)))), [0])
    state.nearest, state.chosen = nearest, [10, 11]
    loss_of_swap = -state.table(type("Evidence", (), {"items": np.array([2]), "far": far[:, 2:]})).swap_gains()[0, 0]
    clipped, printed = 2.0 - 1.0, 3.0 - 1.0
    assert loss_of_swap == clipped != printed


def test_nearest_two_exemplars_after_500_swaps_equal_those_found_from_scratch():
    rng = np.random.default_rng(1)
    to_phantom = rng.random(150) * 0.3
    nearest = Nearest(to_phantom, 12)
    for _ in range(12):
        nearest.add(rng.random(150))
    for _ in range(500):
        nearest.swap(int(rng.integers(12)), rng.random(150))
    table = np.vstack([to_phantom, nearest.columns])  # row 0 is the phantom, slot -1
    order = np.argsort(table, axis=0, kind="stable")
    np.testing.assert_array_equal(nearest.slot, order[0] - 1)
    np.testing.assert_array_equal(nearest.second_slot, order[1] - 1)
    np.testing.assert_array_equal(nearest.first, np.sort(table, axis=0)[0])
    np.testing.assert_array_equal(nearest.second, np.sort(table, axis=0)[1])


def test_utility_never_falls_and_a_seed_gives_the_same_choice_twice():
    X = np.random.default_rng(5).standard_normal((600, 6)) + 2
    fits = [StreamGreedy(12, block_size=40, eager=eager, random_state=7).fit(X) for eager in (True, True, False, False)]
    for fit in fits:
        assert (np.diff(fit.utility_history_) >= -1e-12 * fit.utility_).all()
    assert (fits[0].exemplars_ == fits[1].exemplars_).all() and (fits[2].exemplars_ == fits[3].exemplars_).all()


def test_the_utility_of_a_choice_made_on_a_sample_is_measured_on_other_rows():
    gaps, optimism = [], []
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((3_000, 8)) + 1
        fit = StreamGreedy(20, validation=60, random_state=seed).fit(X)
        exact = ExemplarLoss(X)
        state = exact.begin(20)
        for item in fit.exemplars_:
            state.add(exact.evidence(np.array([item])), 0)
        gaps.append(fit.utility_ / state.value - 1)
        optimism.append(fit.utility_history_[-1] / state.value - 1)
    assert np.abs(gaps).max() < 0.02
    assert np.min(optimism) > 0.05


def coverage(sets):
    return lambda chosen: float(len(set().union(*(sets[item] for item in chosen)))) if len(chosen) else 0.0


def test_the_local_optimum_of_single_swaps_is_as_predicted_by_theory():
    utility = coverage([{1}, {2}, {1, 2}, {3}])
    selection = stream_greedy(
        SetFunction(utility, 4), cycling(4, 1), 2, cycle=4, least_gain=0, eager=False, max_steps=100
    )
    assert selection.value == 2 and selection.converged
    assert selection.steps <= 4 + 1 + 2


def weighted_coverage(rng):
    weights, covers = rng.random(15), rng.random((10, 15)) < 0.3
    return lambda chosen: float(weights[covers[list(chosen)].any(0)].sum()) if len(chosen) else 0.0


def best_of_all(utility, count, k):
    return max(utility(chosen) for chosen in itertools.combinations(range(count), k))


def test_swapping_keeps_its_guarantee_on_300_coverage_problems():
    rng, k = np.random.default_rng(0), 3
    for _ in range(300):
        utility = weighted_coverage(rng)
        selection = stream_greedy(SetFunction(utility, 10), cycling(10, 2), k, cycle=5, least_gain=0, max_steps=500)
        assert selection.converged
        assert selection.value >= k / (2 * k - 1) * best_of_all(utility, 10, k) - 1e-12


def test_with_noisy_utilities_the_guarantee_holds_minus_the_error():
    rng, k, error, least = np.random.default_rng(1), 3, 0.05, 0.12
    for _ in range(60):
        exact, wrong = weighted_coverage(rng), {}

        def rough(chosen, exact=exact, wrong=wrong):
            return exact(chosen) + wrong.setdefault(frozenset(chosen), rng.uniform(-error, error))

        selection = stream_greedy(SetFunction(rough, 10), cycling(10, 2), k, cycle=5, least_gain=least, max_steps=2_000)
        promised = k / (2 * k - 1) * (best_of_all(exact, 10, k) - k * (2 * error + least))
        assert selection.converged and exact(selection.items) >= promised - 1e-12


def test_a_noisy_utility_does_not_run_the_search_in_circles():
    rng, k, error, least = np.random.default_rng(2), 3, 0.05, 0.12  # one swap gains more than both errors together
    exact = weighted_coverage(rng)
    selection = stream_greedy(
        SetFunction(lambda chosen: exact(chosen) + rng.uniform(-error, error), 10),
        cycling(10, 2),
        k,
        cycle=5,
        least_gain=least,
        max_steps=2_000,
    )
    assert selection.converged


@pytest.mark.parametrize("in_memory", [True, False])
def test_lazy_greedy_chooses_what_greedy_chooses(asymmetric, in_memory, monkeypatch):
    if not in_memory:
        monkeypatch.setattr(baselines, "LARGEST_TABLE", 0)
    far, loss = asymmetric
    X = np.random.default_rng(2).standard_normal((700, 5)) + 1
    both_ways = ExemplarLoss(numbers(far), dissimilarity=precomputed(far + far.T), phantom=constant(3.0))
    some = ExemplarLoss(X, dissimilarity=cosine, phantom=constant(1.0), validation=np.arange(0, 700, 3))
    for objective, k in ((loss, 10), (both_ways, 10), (ExemplarLoss(X), 15), (some, 15)):
        lazy, plain = lazy_greedy(objective, k), greedy(objective, k)
        assert lazy.chosen == plain.chosen and lazy.value == pytest.approx(plain.value, rel=1e-12)


def test_a_matrix_is_symmetric_if_no_pair_differs():
    matrix = np.random.default_rng(0).random((600, 600))
    matrix = matrix + matrix.T
    assert precomputed(matrix).symmetric
    matrix[599, 3] += 1e-12
    assert not precomputed(matrix).symmetric


def test_stochastic_greedy_repeats_with_its_generator_and_takes_nothing_twice():
    loss = ExemplarLoss(np.random.default_rng(2).standard_normal((300, 5)) + 1)
    first, second = (stochastic_greedy(loss, 20, np.random.default_rng(4)).chosen for _ in range(2))
    assert first == second and len(set(first)) == 20


def test_repeatedly_read_points_give_the_swaps_of_stored_points():
    X = np.random.default_rng(6).standard_normal((500, 4)) + 1.5
    remaining, again = (
        stream_greedy(loss, cycling(500, 50), 6, cycle=10, eager=False, max_steps=40)
        for loss in (ExemplarLoss(X), StreamedLoss(X, chunk=64))
    )
    assert (remaining.items == again.items).all()
    assert remaining.value == pytest.approx(again.value, rel=1e-12)


def test_validation_sizes_of_the_literature():
    sizes = [validation_size(60_000, error=error, failure=0.05) for error in (0.05, 0.02, 0.01)]
    assert sizes == pytest.approx([729, 4282, 14108], abs=1)  # rounded there, rounded up here
    assert validation_size(1_500_000, error=0.01, failure=0.05) == pytest.approx(18220, abs=1)


def test_the_error_bound_of_a_sample_holds_and_is_zero_for_all_points():
    rng = np.random.default_rng(0)
    values = rng.beta(0.5, 0.5, 2_000)
    for number in (50, 400, 1_500):
        means = np.array([rng.choice(values, number, replace=False).mean() for _ in range(400)])
        missed = np.abs(means - values.mean()) > deviation(number, 2_000, failure=0.1)
        assert missed.mean() <= 0.1
    assert deviation(2_000, 2_000, failure=0.1) == 0


@pytest.mark.parametrize(
    "measure", [squared_euclidean, euclidean, cosine, of_kernel(lambda X, Y: np.exp(-squared_euclidean(X, Y) / 8))]
)
def test_any_dissimilarity_puts_one_exemplar_into_each_of_three_far_groups(measure):
    rng = np.random.default_rng(8)
    X = np.repeat(np.eye(3) * 9, 50, axis=0) + 0.1 * rng.standard_normal((150, 3))
    fit = StreamGreedy(3, dissimilarity=measure, phantom=origin, block_size=25, random_state=0).fit(X)
    assert sorted(fit.exemplars_ // 50) == [0, 1, 2]
    assert len(np.unique(fit.labels_[:50])) == 1 and fit.loss_ < 0.5


def test_cosine_to_the_origin_is_one_and_blind_to_length():
    rows = np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    np.testing.assert_allclose(cosine(rows, rows), [[0, 1, 1], [1, 0, 1], [1, 1, 1]])


def test_a_distant_phantom_owns_few_rows_and_a_near_one_many():
    X = np.random.default_rng(0).standard_normal((200, 30))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    near = StreamGreedy(5, random_state=0).fit(X)
    far = StreamGreedy(5, phantom=constant(10.0), random_state=0).fit(X)
    assert (near.owners_ == -1).mean() > 0.5 and (far.owners_ >= 0).all()
    assert (near.labels_ >= 0).all()
    at_random = random_direction(30, np.random.default_rng(1))(X, squared_euclidean)
    assert at_random == pytest.approx(np.full(200, 2.0), abs=1.5)


def test_more_exemplars_than_rows_give_all_rows():
    fit = StreamGreedy(9, random_state=0).fit(np.random.default_rng(0).standard_normal((4, 2)))
    assert sorted(fit.exemplars_) == [0, 1, 2, 3] and fit.converged_


def test_equal_rows_are_chosen_by_number_and_the_search_ends():
    fit = StreamGreedy(3, random_state=0).fit(np.ones((50, 2)))
    assert len(set(fit.exemplars_.tolist())) == 3 and fit.converged_ and fit.loss_ == 0


def test_a_listener_can_stop_the_search():
    def impatient(progress):
        if progress.done == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        StreamGreedy(50, block_size=1, random_state=0).fit(np.random.default_rng(0).random((200, 2)), on_step=impatient)


def test_predict_gives_new_rows_their_nearest_exemplar():
    X = np.random.default_rng(0).standard_normal((300, 3)) + 2
    fit = StreamGreedy(6, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)
    assert fit.score(X) == pytest.approx(-fit.loss_, rel=1e-9)


@pytest.mark.parametrize("setting", [{"n_exemplars": 0}, {"block_size": 1.5}, {"max_passes": -1}])
def test_invalid_settings_are_rejected_by_name(setting):
    with pytest.raises(BadInput, match=next(iter(setting))):
        StreamGreedy(**setting).fit(np.ones((5, 2)))


def test_rows_without_numbers_and_negative_dissimilarities_are_rejected():
    with pytest.raises(ValueError, match="NaN"):
        StreamGreedy().fit(np.array([[1.0], [np.nan]]))
    with pytest.raises(BadInput, match="negative"):
        precomputed(np.array([[0.0, -1.0], [1.0, 0.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # refused before anything is computed with them
        for row in ([np.inf], [-np.inf], [np.nan]):
            with pytest.raises(BadInput, match="not finite"):
                ExemplarLoss(np.array([row]))
            with pytest.raises(BadInput, match="not finite"):
                StreamedLoss(np.array([[0.0], row])).begin(1).nearest(np.arange(2))
    with pytest.raises(BadInput, match="infinitely far"):
        ExemplarLoss(np.ones((2, 1)), phantom=constant(np.inf))


def test_a_pass_has_as_many_blocks_as_it_takes():
    blocks = cycling(10, 4, np.random.default_rng(0))
    first = [next(blocks) for _ in range(blocks_in_a_pass(10, 4))]
    assert sorted(np.concatenate(first)) == list(range(10))
    assert (next(blocks) == first[0]).all()
