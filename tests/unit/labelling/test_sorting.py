"""Pages to be sorted: what may be one kind lies together."""

import numpy as np
import pytest
from scipy.ndimage import label

from engine.labelling.sorting import _touching, laid_out, likeness, page_to_sort


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def kinds_in_space(rng, kinds, each, spread=0.5):
    """(kind (n,), rows (n, 6), probabilities (n, kinds)) of images the model can only half tell apart."""
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
def test_one_kind_lies_in_few_patches(rng, columns):
    of, rows, P = kinds_in_space(rng, 8, 12)
    mixed = rng.permutation(len(of))
    of, rows, P = of[mixed], rows[mixed], P[mixed]
    order = laid_out(likeness(rows, P), columns)
    assert sorted(order.tolist()) == list(range(len(of)))
    assert patches(of[order], columns) <= 12 < 40 < patches(of, columns)


def test_no_exchange_of_two_makes_a_layout_better(rng):
    _, rows, P = kinds_in_space(rng, 3, 7)
    alike, near = likeness(rows, P), _touching(21, 5)
    order = laid_out(alike, 5)

    def worth(order):
        return (near * alike[np.ix_(order, order)]).sum()

    for one in range(21):
        for other in range(one):
            changed = order.copy()
            changed[[one, other]] = changed[[other, one]]
            assert worth(changed) <= worth(order) + 1e-9


def test_a_page_holds_doubtful_images_of_few_kinds(rng):
    of, rows, P = kinds_in_space(rng, 10, 60, spread=0.3)
    sure = of >= 8
    P[sure] = 0.98 * np.eye(10)[of[sure]] + 0.002
    page = page_to_sort(rows, P, 40)
    assert len(np.unique(page)) == 40 and not sure[page].any()
    counts = np.bincount(of[page], minlength=10)
    assert np.sort(counts)[-2:].sum() >= 36


def test_the_kind_of_which_most_is_in_doubt_comes_first(rng):
    of, rows, P = kinds_in_space(rng, 2, 50, spread=0.1)
    kept = np.concatenate([np.arange(50), np.arange(50, 60)])
    page = page_to_sort(rows[kept], P[kept], 15)
    assert (of[kept][page] == 0).mean() > 0.9


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_few_images_are_a_page_too(rng, count):
    rows, P = rng.standard_normal((count, 4)), np.full((count, 2), 0.5)
    page = page_to_sort(rows, P, 96) if count else np.empty(0, int)
    assert sorted(page.tolist()) == list(range(count))
    assert sorted(laid_out(likeness(rows[page], P[page]), 10).tolist() if count else []) == list(range(count))


def test_twins_are_laid_out_too():
    assert sorted(laid_out(likeness(np.zeros((7, 3)), np.full((7, 1), 1.0)), 3).tolist()) == list(range(7))
