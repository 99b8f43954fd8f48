"""How unusual an image of a live dive is, compared with recent images.

The clusters use a few axes of the features, and the features a few directions of the description. A new kind of image
often differs in other directions, where it may lie in the middle of all images. So an image counts as unusual both by
its density in the clusters and by its distance from the axes.

Images that trained the features or the axes are closer to them than any new image. Only later images are compared with.
"""

from dataclasses import dataclass

import numpy as np

from benthoscope.engine.features.compression import LinearProjection
from benthoscope.engine.streaming import MemoryBoundedVDP

MOST = 1_000  # recent images that new ones are compared with
LEAST = 99  # with fewer, no image can be said to be more unusual than 99 % of the others
SMALLEST = 1e-5  # of the squared length of the features; smaller squared distances from the axes are rounding errors


@dataclass(frozen=True, eq=False)
class RecentImages:
    """The features of recent images (n, D), and the squared distance (n,) of each description from its features."""

    vectors: np.ndarray
    outside: np.ndarray

    def and_later(self, later: "RecentImages") -> "RecentImages":
        """Return these images and later ones, without the oldest beyond MOST."""
        if not len(self.outside):
            return RecentImages(later.vectors[-MOST:], later.outside[-MOST:])
        return RecentImages(
            np.concatenate([self.vectors, later.vectors])[-MOST:], np.concatenate([self.outside, later.outside])[-MOST:]
        )


NO_IMAGES = RecentImages(np.empty((0, 0), np.float32), np.empty(0))


@dataclass(frozen=True)
class Distances:
    """A gamma distribution of squared distances from the axes. Without a shape, distances say nothing."""

    mean: float
    shape: float | None

    @classmethod
    def fitted(cls, squares: np.ndarray, typical: float) -> "Distances":
        """Fit to squared distances by their mean and variance. `typical` is the mean squared length of the rows."""
        mean, variance = float(squares.mean()), float(squares.var())
        is_known = mean > SMALLEST * typical and variance > 0.0
        return cls(mean, mean**2 / variance if is_known else None)

    def log_density(self, squares: np.ndarray) -> np.ndarray:
        """Return the log density up to a constant, (n,)."""
        if self.shape is None:
            return np.zeros(len(squares))
        ratio = np.maximum(squares / self.mean, SMALLEST)
        return (self.shape - 1) * np.log(ratio) - self.shape * ratio


@dataclass(frozen=True, eq=False)
class NoveltyScale:
    """The scores of recent images under the present clusters, as if they had not been learned."""

    scores: np.ndarray  # ascending
    distances: Distances

    @classmethod
    def of(cls, model: MemoryBoundedVDP, projection: LinearProjection, images: RecentImages) -> "NoveltyScale | None":
        """Return the scale of these images; None if there are too few of them."""
        if len(images.outside) < LEAST:
            return None
        rows = projection(images.vectors).astype(np.float64)
        squares = projection.squared_distances(images.vectors) + images.outside
        distances = Distances.fitted(squares, float((rows**2).sum(1).mean()))
        return cls(np.sort(model.score_left_out(rows) + distances.log_density(squares)), distances)

    def percentiles(self, densities: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Return the share of images that are at least as unusual as each image (n,), from its log density and its
        squared distance from the axes. The image itself counts, so that the share is never smaller than can be known.
        """
        more_unusual = np.searchsorted(self.scores, densities + self.distances.log_density(squares))
        return (1 + more_unusual) / (1 + len(self.scores))
