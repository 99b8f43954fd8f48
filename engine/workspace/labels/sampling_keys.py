"""Random keys of images. The order of draws follows from a stored seed, not from time or process."""

import secrets

import numpy as np

MASK = np.uint64(0xFFFFFFFFFFFFFFFF)


def new_seed() -> int:
    """Return a seed that nobody can predict."""
    return secrets.randbits(62)


def uniform_keys(seed: int, images: np.ndarray, stream: int = 0) -> np.ndarray:
    """Return numbers in (0, 1) (n,), a fixed function of seed, stream and image id: the SplitMix64 hash."""
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(stream + 1))
        hashed = _mixed(_mixed(np.asarray(images, np.int64).astype(np.uint64) ^ start) + start)
    return ((hashed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def gumbel_keys(seed: int, images: np.ndarray, weights: np.ndarray, stream: int) -> np.ndarray:
    """Return log weight + Gumbel noise (n,). The images with the largest keys, in order, are a sample without
    replacement in which each draw takes an image with probability proportional to its weight."""
    return np.log(weights) - np.log(-np.log(uniform_keys(seed, images, stream)))


def draw_uniform(seed: int, images: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions of the `count` images with the smallest keys, in order; the probability of each at its
    draw)."""
    keys = uniform_keys(seed, images)
    order = np.lexsort((images, keys))[:count]
    return order, 1.0 / (len(images) - np.arange(len(order)))


def draw_weighted(
    seed: int, images: np.ndarray, weights: np.ndarray, count: int, stream: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions of `count` images in the order of the draws; the probability of each at its draw)."""
    order = np.lexsort((images, -gumbel_keys(seed, images, weights, stream)))[:count]
    mass = np.asarray(weights, float)[order]
    before = np.concatenate([[0.0], np.cumsum(mass)[:-1]])
    return order, mass / (weights.sum() - before)


def _mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) & MASK
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB) & MASK
    return x ^ (x >> np.uint64(31))
