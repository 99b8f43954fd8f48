"""Rows of Gaussian clusters in many shapes: columns, groups, clusters, separation and sizes.

The rows form images of equal size, and images form groups. Each image has a kind, which sets the proportions of its
clusters and its descriptor, so that one data set suits the models of one and of two levels.
"""

from dataclasses import dataclass

import numpy as np

SMALLEST_VARIANCE = 0.05  # along the thinnest axis of a cluster; the largest is 1
THIN = 0.001  # the same for clusters with thin axes
CONCENTRATION = 0.4  # of the clusters in a kind of image
EVERYWHERE = 0.5  # fraction of each image kind's rows that have the overall proportions, so that no cluster is tiny
OF_GROUPS = 0.7  # concentration of the image kinds in a group
DESCRIPTOR_COLUMNS, DESCRIPTOR_SPREAD = 10, 1.5


@dataclass(frozen=True)
class Shape:
    """What the rows of a data set look like."""

    columns: int = 20
    groups: int = 10
    clusters: int = 15
    separation: float = 0.4  # standard deviation of the means along each axis
    rows: int = 100_000
    zipf: bool = False  # the r-th cluster has a share proportional to 1 / r
    thin: bool = False  # variances spread over three decades
    tails: float | None = None  # degrees of freedom of Student's t; None for Gaussian clusters
    image_rows: int = 100
    image_kinds: int = 6

    def __str__(self) -> str:
        extras = [word for word, holds in (("Zipf", self.zipf), ("thin", self.thin), ("tails", self.tails)) if holds]
        numbers = f"D {self.columns} J {self.groups} K {self.clusters} sep {self.separation:g}"
        return " ".join([numbers, *([] if self.rows == Shape.rows else [f"N {self.rows:,}"]), *extras])


@dataclass(frozen=True)
class ShapedRows:
    """Rows, their images and groups, and the clusters and kinds that made them."""

    rows: np.ndarray  # (N, D)
    truth: np.ndarray  # (N,) cluster
    groups: np.ndarray  # (N,)
    images: np.ndarray  # (N,) image of each row, in ascending order
    image_groups: np.ndarray  # (I,)
    image_truth: np.ndarray  # (I,) kind
    descriptors: np.ndarray  # (I, 10)


def shaped_rows(shape: Shape, seed: int) -> ShapedRows:
    rng = np.random.default_rng([seed, shape.clusters, shape.columns])
    means = shape.separation * rng.standard_normal((shape.clusters, shape.columns))
    roots = _roots(shape, rng)
    of_kinds = _proportions(shape, rng)
    count = shape.rows // shape.image_rows
    image_groups = np.sort(np.arange(count) * shape.groups // count)
    image_kinds = _drawn(rng.dirichlet(np.full(shape.image_kinds, OF_GROUPS), shape.groups)[image_groups], rng)
    images = np.repeat(np.arange(count), shape.image_rows)
    truth = _drawn(of_kinds[image_kinds[images]], rng)
    rows = _noise(shape, len(truth), rng)
    for k in range(shape.clusters):
        members = truth == k
        rows[members] = means[k] + rows[members] @ roots[k].T
    centres = DESCRIPTOR_SPREAD * rng.standard_normal((shape.image_kinds, DESCRIPTOR_COLUMNS))
    descriptors = centres[image_kinds] + rng.standard_normal((count, DESCRIPTOR_COLUMNS))
    return ShapedRows(rows, truth, image_groups[images], images, image_groups, image_kinds, descriptors)


def _roots(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    axes = np.linalg.qr(rng.standard_normal((shape.clusters, shape.columns, shape.columns)))[0]
    smallest = np.log(THIN if shape.thin else SMALLEST_VARIANCE)
    return axes * np.exp(rng.uniform(smallest, 0, (shape.clusters, 1, shape.columns)) / 2)


def _proportions(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Return the proportions of the clusters in each kind of image (kinds, K)."""
    overall = 1 / np.arange(1, shape.clusters + 1) if shape.zipf else np.ones(shape.clusters)
    overall /= overall.sum()
    of_kinds = rng.dirichlet(CONCENTRATION * shape.clusters * overall, shape.image_kinds)
    return (1 - EVERYWHERE) * of_kinds + EVERYWHERE * overall


def _drawn(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one number per row of proportions."""
    at = (rng.random((len(shares), 1)) > shares.cumsum(1)[:, :-1]).sum(1)
    return at.astype(np.int32)


def _noise(shape: Shape, n: int, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal((n, shape.columns))
    if shape.tails is None:
        return noise
    return noise / np.sqrt(rng.chisquare(shape.tails, (n, 1)) / shape.tails)
