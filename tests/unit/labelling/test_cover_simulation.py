"""Coverage of intervals in simulated campaigns: acceptance by seeds that are fixed beforehand."""

import numpy as np
import pytest

from benthoscope.engine.labelling.cover.estimate import (
    Cells,
    GuessCounts,
    cells_of,
    expected_counts,
    limits,
    melded_limits,
)
from tests.cover_populations import HUNTS, MODELS, SIZES, SLIPS, bulk, hunted, slipping, table_of_settings

pytestmark = pytest.mark.thorough

RUNS = 1_000
NOMINAL, NOISE = 0.945, 0.007  # of a coverage by a thousand runs


def test_intervals_hold_in_42_settings_and_for_seven_shares_each():
    coverage = table_of_settings(RUNS, seed=1)
    assert coverage.shape == (len(SIZES), len(MODELS), 7) and len(SIZES) * len(MODELS) == 42
    assert coverage.min() >= NOMINAL - NOISE
    assert coverage.mean((0, 1)).min() >= 0.97 and coverage.mean() >= 0.97


@pytest.mark.parametrize("hunt", HUNTS)
def test_draws_represent_the_images_at_the_time_of_the_draw(hunt):
    coverage = hunted(*hunt, RUNS, np.random.default_rng(0))
    assert coverage["when drawn"] >= NOMINAL - NOISE and coverage["both waves"] >= NOMINAL - NOISE
    assert coverage["second wave"] >= NOMINAL - NOISE
    assert coverage["of today's rest"] < 0.8  # or the simulation hunts nothing


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("setting", SLIPS)
def test_second_answers_correct_mistakes(setting, blind):
    once, again = slipping(*setting, blind, RUNS, np.random.default_rng(0))
    assert again >= NOMINAL - NOISE
    if setting[2] == 4:
        assert once < 0.8  # or the simulation has no slips


@pytest.mark.parametrize("wrong", [0.02, 0.1])
def test_bulk_labels_are_cells_and_not_the_truth(wrong):
    as_cells, as_truth = bulk(wrong, RUNS, np.random.default_rng(0))
    assert as_cells >= NOMINAL - NOISE
    if wrong > 0.05:
        assert as_truth < 0.85  # or the simulation has no wrong labels


@pytest.mark.parametrize("share", [0.005, 0.02, 0.2])
def test_dives_with_unequal_sampling_rates_are_combined(share):
    rng = np.random.default_rng(3)
    sizes = np.array([50, 80, 100, 150, 200, 300, 400, 600, 900, 1500, 3000, 5000])
    filled, runs = np.full(12, 25), 250
    inside, narrower = [], []
    for _ in range(runs):
        with_term = rng.binomial(sizes, share)
        hits = rng.hypergeometric(with_term, sizes - with_term, filled)
        cells = Cells.of(sizes, filled, hits)
        low, high = melded_limits(cells, np.zeros(12, int), repeats=1000)
        inside.append(low <= with_term.sum() / sizes.sum() <= high)
        each = limits(cells)
        narrower.append((high - low) / (each[1] - each[0]))
    assert np.mean(inside) >= NOMINAL - 2 * NOISE
    assert np.mean(narrower) < (0.8 if share < 0.1 else 1.05)  # than one cell for each dive


def test_estimates_of_many_terms_sum_to_one_lie_in_their_intervals_and_add_up_in_the_tree():
    rng = np.random.default_rng(4)
    for _ in range(300):
        K, n = int(rng.integers(2, 30)), int(rng.integers(20, 300))
        images = np.append(rng.multinomial(3000, rng.dirichlet(np.full(K, 0.5))), 0).astype(float)
        answers = np.zeros((K + 1, K))
        drawn_counts = np.minimum(rng.multinomial(n, images / images.sum()), images).astype(int)
        for h in range(K):
            answers[h] = rng.multinomial(drawn_counts[h], 0.8 * np.eye(K)[h] + 0.2 * rng.dirichlet(np.ones(K)))
        table = GuessCounts(images, answers, np.zeros(K + 1), np.zeros(K + 1))
        counts = expected_counts(table)
        assert counts.sum() == pytest.approx(images.sum(), rel=1e-12) and (counts >= 0).all()
        low, high = limits(cells_of(table, np.eye(K)))
        share = counts / counts.sum()
        assert (low <= share + 1e-9).all() and (share <= high + 1e-9).all()
        parents = (np.arange(K) % 3 == np.arange(3)[:, None]).astype(float)
        low, high = limits(cells_of(table, parents))
        assert ((low <= parents @ share + 1e-9) & (parents @ share <= high + 1e-9)).all()
