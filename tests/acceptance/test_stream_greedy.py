"""StreamGreedy compared with greedy selection, enumeration and the other one-pass methods, on data with known
structure."""

import itertools
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from benthoscope.engine.exemplars import (
    ExemplarLoss,
    Race,
    SparseGPRegressor,
    StreamedLoss,
    blocks_in_a_pass,
    cycling,
    euclidean,
    lazy_greedy,
    numbers,
    precomputed,
    sieve_streaming,
    sieve_streaming_plus_plus,
    stochastic_greedy,
    stream_greedy,
    three_sieves,
)
from benthoscope.engine.exemplars.stream_greedy import partition
from tests.robot_arm import hand_distances

SEEDS = range(5)
K = 20


def clusters_of_dirichlet_sizes(seed):
    """4,000 rows in 10 dimensions from 25 Gaussians, centred."""
    rng = np.random.default_rng(seed)
    means, sizes = 3 * rng.standard_normal((25, 10)), rng.dirichlet(np.full(25, 2.0))
    X = means[rng.choice(25, 4_000, p=sizes)] + rng.standard_normal((4_000, 10))
    return X - X.mean(0)


@pytest.fixture(scope="module", params=SEEDS)
def rows(request):
    X = clusters_of_dirichlet_sizes(request.param)
    return X, ExemplarLoss(X), lazy_greedy(ExemplarLoss(X), K).value


def streamed(loss, size, k, seed=0, **settings):
    cycle = blocks_in_a_pass(loss.count, size)
    return stream_greedy(loss, cycling(loss.count, size, np.random.default_rng(seed)), k, cycle=cycle, **settings)


def utility(loss, items):
    state = loss.begin(len(items))
    for item in items:
        state.add(loss.evidence(np.array([item])), 0)
    return state.value


@pytest.mark.parametrize("size", [1, 20, 100])
def test_swapping_ends_no_worse_than_greedy_at_any_block_size(rows, size):
    _, loss, by_greedy = rows
    assert streamed(loss, size, K, eager=False).value >= 0.99 * by_greedy


def test_a_tenth_of_the_points_is_enough_to_judge_by(rows):
    X, loss, by_greedy = rows
    tenth = np.random.default_rng(1).choice(4_000, 400, replace=False)
    selection = streamed(ExemplarLoss(X, validation=tenth), 100, K)
    assert utility(loss, selection.items) >= 0.97 * by_greedy


def test_chosen_exemplars_are_far_better_than_random_ones(rows):
    _, loss, _ = rows
    rng = np.random.default_rng(2)
    at_random = np.mean([utility(loss, rng.choice(4_000, K, replace=False)) for _ in range(20)])
    assert streamed(loss, 100, K).value >= 1.2 * at_random


def test_baselines_rank_as_in_the_literature(rows):
    _, loss, by_greedy = rows
    rng = np.random.default_rng(3)
    blocks = partition(rng.permutation(4_000), 100)
    assert stochastic_greedy(loss, K, rng).value >= 0.95 * by_greedy
    assert sieve_streaming(loss, blocks, K).value >= 0.4 * by_greedy
    assert sieve_streaming_plus_plus(loss, blocks, K).value >= 0.4 * by_greedy
    assert three_sieves(loss, blocks, K, patience=50, largest=lazy_greedy(loss, 1).value).value >= 0.8 * by_greedy


def test_swapping_also_works_on_dissimilarities_that_are_not_distances():
    far = np.random.default_rng(0).gamma(2.0, 1.0, (600, 600))
    np.fill_diagonal(far, 0)
    loss = ExemplarLoss(numbers(far), dissimilarity=precomputed(far), phantom=lambda X, measure: far.max(1)[X[:, 0]])
    assert streamed(loss, 50, K).value >= 0.99 * lazy_greedy(loss, K).value


@pytest.mark.parametrize(("seed", "k"), list(itertools.product(range(5), (3, 6))))
def test_on_far_clusters_two_passes_find_the_best_medoids(seed, k):
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(6), 30)
    X = 10 * np.eye(6)[cluster] + 0.15 * rng.standard_normal((180, 6))
    loss = ExemplarLoss(X, dissimilarity=euclidean)
    selection = streamed(loss, 1, k, seed, least_gain=0.0, eager=False, max_steps=2 * 180)
    best = sorted((max(utility(loss, [item]) for item in np.flatnonzero(cluster == c)) for c in range(6)), reverse=True)
    assert selection.value == pytest.approx(sum(best[:k]), rel=1e-6)


def test_small_problems_are_solved_nearly_to_the_optimum():
    ratios = []
    for seed in range(60):
        X = np.random.default_rng(seed).standard_normal((14, 2)) + 1
        loss = ExemplarLoss(X)
        best = max(utility(loss, items) for items in itertools.combinations(range(14), 3))
        ratios.append(streamed(loss, 2, 3, seed, least_gain=0.0).value / best)
    assert min(ratios) >= 3 / 5 and np.mean(ratios) >= 0.99


def test_one_eager_pass_over_digits_equals_greedy():
    X = load_digits().data
    X = X - X.mean(0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    loss = ExemplarLoss(PCA(50, random_state=0).fit_transform(X))
    selection = streamed(loss, 50, 100, max_steps=blocks_in_a_pass(loss.count, 50))
    assert selection.value >= 0.97 * lazy_greedy(loss, 100).value


def test_a_race_sees_few_points_while_swaps_are_plain():
    """From ten exemplars in three of ten clusters, each step adds a missing cluster after few points."""
    rng = np.random.default_rng(0)
    cluster = np.arange(100_000) % 10
    X = (6 * np.eye(10)[cluster] + 0.3 * rng.standard_normal((100_000, 10))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    race = Race(failure=0.05, span=1.0, comparisons=7 * (10 * 50 + 1) * 20, rng=rng)
    state = StreamedLoss(X, race=race).begin(10)
    state.chosen = [0, 10, 20, 30, 1, 11, 21, 2, 12, 22]
    for _ in range(7):
        block, before = rng.choice(100_000, 50, replace=False), len(set(cluster[state.chosen]))
        table = state.table(block)
        best = table.best_swap(1e-4)
        state.chosen[best.slot] = int(block[best.at])
        assert len(set(cluster[state.chosen])) == before + 1
    assert max(race.shares) <= 0.15


def test_memory_does_not_grow_with_the_data_when_points_are_read_repeatedly(tmp_path):
    peaks = []
    for count in (10_000, 100_000):
        path = tmp_path / f"{count}.npy"
        np.save(path, np.random.default_rng(0).standard_normal((count, 8)).astype(np.float32) + 1)
        loss = StreamedLoss(np.load(path, mmap_mode="r"), chunk=1_000)
        tracemalloc.start()
        stream_greedy(
            loss, (np.arange(at, at + 100) for at in range(0, 10_000, 100)), 10, cycle=100, eager=False, max_steps=14
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 1.1 * peaks[0]


def test_active_sets_chosen_for_error_or_variance_predict_better_than_random_ones():
    angles, distance = hand_distances(5_000, seed=0)
    X, y, new_X, new_y = angles[:3_000], distance[:3_000], angles[3_000:], distance[3_000:]
    settings = {"kernel": SparseGPRegressor(1, random_state=0).fit(X, y).kernel_, "block_size": 50}

    def error(criterion, seed=0):
        model = SparseGPRegressor(150, criterion=criterion, validation=3_000, random_state=seed, **settings).fit(X, y)
        return np.mean((model.predict(new_X) - new_y) ** 2)

    at_random = np.mean([error("random", seed) for seed in range(5)])
    assert error("variance") < at_random
    assert error("error") <= 0.6 * at_random
