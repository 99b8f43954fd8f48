"""The phantom exemplar x0 (methods note 2.1): always there, never counted; it makes the utility of nothing zero.

A phantom gives the dissimilarity of every row to itself, (n,).
"""

from collections.abc import Callable

import numpy as np

from engine.exemplars.dissimilarity import Dissimilarity

Phantom = Callable[[np.ndarray, Dissimilarity], np.ndarray]


def origin(X: np.ndarray, dissimilarity: Dissimilarity) -> np.ndarray:
    """x0 = 0: on rows of unit length it owns what is less than half alike (cosine) to every exemplar."""
    return dissimilarity(X, np.zeros_like(X[:1]))[:, 0]


def at(point: np.ndarray) -> Phantom:
    return lambda X, dissimilarity: dissimilarity(X, point[None].astype(X.dtype))[:, 0]


def constant(far: float) -> Phantom:
    """Equally far from all: for dissimilarities that know no points."""
    return lambda X, dissimilarity: np.full(len(X), far)


def random_direction(width: int, rng: np.random.Generator) -> Phantom:
    """A Gaussian vector made like the rows of normalised data: its mean taken off, of unit length."""
    point = rng.standard_normal(width)
    point -= point.mean()
    return at(point / np.linalg.norm(point))
