"""Pages to sort: images of one kind are next to each other."""

import numpy as np
import pytest
from scipy.ndimage import label

from benthoscope.engine.labelling.page_choice.page_layout import _touching, laid_out, likeness, page_to_sort


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def kinds_in_space(rng, kinds, each, spread=0.5):
    """(kind (n,), rows (n, 6), probabilities (n, kinds)) of images that the model distinguishes only partly."""
    of = np.repeat(np.arange(kinds), each)
    rows = 2 * rng.standard_normal((kinds, 6))[of] + spread * rng.standard_normal((len(of), 6))
    P = rng.dirichlet(np.ones(kinds), len(of)) + np.eye(kinds)[of]
    return of, rows, P / P.sum(1, keepdims=True)


def patches(kinds, columns):
    """Patches of one kind in a grid filled row by row: how many sweeps would name them all."""
    grid = np.full(-(-len(kinds) // columns) * columns, -1)
    grid[: len(kinds)] = kinds
    grid = grid.reshape(-1, columns)
    return sum(label(grid == kind, np.ones((3, 3)))[1] for kind in np.unique(kinds))


@pytest.mark.parametrize("columns", [4, 10, 13])
def test_images_of_one_kind_form_few_patches(rng, columns):
    of, rows, P = kinds_in_space(rng, 8, 12)
    mixed = rng.permutation(len(of))
    of, rows, P = of[mixed], rows[mixed], P[mixed]
    order = laid_out(likeness(rows, P), columns)
    assert sorted(order.tolist()) == list(range(len(of)))
    assert patches(of[order], columns) <= 12 < 40 < patches(of, columns)


def test_no_pairwise_exchange_improves_a_layout(rng):
    _, rows, P = kinds_in_space(rng, 3, 7)
    similarity, near = likeness(rows, P), _touching(21, 5)
    order = laid_out(similarity, 5)

    def worth(order):
        return (near * similarity[np.ix_(order, order)]).sum()

    for first in range(21):
        for other in range(first):
            changed = order.copy()
            changed[[first, other]] = changed[[other, first]]
            assert worth(changed) <= worth(order) + 1e-9


def test_a_page_contains_uncertain_images_of_few_kinds(rng):
    of, rows, P = kinds_in_space(rng, 10, 60, spread=0.3)
    sure = of >= 8
    P[sure] = 0.98 * np.eye(10)[of[sure]] + 0.002
    page = page_to_sort(rows, P, 40)
    assert len(np.unique(page)) == 40 and not sure[page].any()
    counts = np.bincount(of[page], minlength=10)
    assert np.sort(counts)[-2:].sum() >= 36


def test_a_page_has_no_more_confident_images_than_it_needs(rng):
    """Most images are certain, and very similar to one of the 30 uncertain ones."""
    rows = np.concatenate([4 * rng.standard_normal((30, 6)), np.zeros((170, 6))])
    rows[0] = 0
    P = np.repeat([[0.5, 0.5], [0.99, 0.01]], [30, 170], axis=0)
    assert sorted(page_to_sort(rows, P, 30).tolist()) == list(range(30))


def test_the_kind_with_most_uncertain_images_comes_first(rng):
    of, rows, P = kinds_in_space(rng, 2, 50, spread=0.1)
    rows_of_page = np.concatenate([np.arange(50), np.arange(50, 60)])
    page = page_to_sort(rows[rows_of_page], P[rows_of_page], 15)
    assert (of[rows_of_page][page] == 0).mean() > 0.9


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_few_images_form_a_page(rng, count):
    rows, P = rng.standard_normal((count, 4)), np.full((count, 2), 0.5)
    page = page_to_sort(rows, P, 96) if count else np.empty(0, int)
    assert sorted(page.tolist()) == list(range(count))
    assert sorted(laid_out(likeness(rows[page], P[page]), 10).tolist() if count else []) == list(range(count))


def test_duplicate_images_are_arranged_too():
    assert sorted(laid_out(likeness(np.zeros((7, 3)), np.full((7, 1), 1.0)), 3).tolist()) == list(range(7))
