"""Gaussian classes distributed over groups as in the papers (methods note 15.3, generator G8)."""

from collections.abc import Callable

import numpy as np

Dealt = Callable[[np.ndarray, int, np.random.Generator], np.ndarray]


def classes(
    separation: float, rng: np.random.Generator, *, kinds: int = 8, each: int = 200, columns: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and their classes: means in random directions, standard deviations of each column between 0.6 and
    1.2."""
    directions = rng.standard_normal((kinds, columns))
    means = separation * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    deviations = rng.uniform(0.6, 1.2, (kinds, columns))
    truth = np.repeat(np.arange(kinds), each)
    return means[truth] + deviations[truth] * rng.standard_normal((len(truth), columns)), truth


def proportional(truth: np.ndarray, J: int, rng: np.random.Generator) -> np.ndarray:
    """Give each group the overall proportions: round robin inside each class."""
    group = np.empty(len(truth), int)
    for kind in np.unique(truth):
        positions = np.flatnonzero(truth == kind)
        group[positions] = np.arange(len(positions)) % J
    return group


def at_random(truth: np.ndarray, J: int, rng: np.random.Generator) -> np.ndarray:
    """Distribute each class over the groups by its own random proportions."""
    return _dealt(truth, rng.dirichlet(np.ones(J), truth.max() + 1), rng)


def in_subsets(truth: np.ndarray, J: int, rng: np.random.Generator) -> np.ndarray:
    """As `at_random`, with each class in each group with probability one half. No class and no group is empty."""
    while True:
        is_selected = rng.random((truth.max() + 1, J)) < 0.5
        if is_selected.any(0).all() and is_selected.any(1).all():
            break
    shares = rng.dirichlet(np.ones(J), truth.max() + 1) * is_selected
    return _dealt(truth, shares / shares.sum(1, keepdims=True), rng)


def _dealt(truth: np.ndarray, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(shares.shape[1], p=shares[kind]) for kind in truth])


def folds(groups: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return a fold for each row, balanced inside each group so that each keeps rows to learn from."""
    fold = np.empty(len(groups), int)
    for group in np.unique(groups):
        shuffled = rng.permutation(np.flatnonzero(groups == group))
        fold[shuffled] = (np.arange(len(shuffled)) + rng.integers(number)) % number
    return fold
