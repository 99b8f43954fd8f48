"""Two levels that have been learned: what they say of new images and their segments (methods note 6.6)."""

from dataclasses import dataclass, replace

import numpy as np

from engine.distributions import Clusters, Weights, WeightsPrior
from engine.mixtures.families import KINDS
from engine.mixtures.fitted import FittedMixture, in_parts, part_of, reordered
from engine.mixtures.model import Parameters, Scorer
from engine.mixtures.observations import Frame, Observations
from engine.mixtures.scenes import Images, Looks, SceneModel, Scenes
from engine.mixtures.variational import Fit, e_step

ITERATIONS = 200   # that new images are given to settle
TOLERANCE = 1e-6   # change of what any image cluster owns of an image below which it has


@dataclass(frozen=True)
class FittedLooks:
    """What image clusters look like, in units of the frame."""

    clusters: Clusters
    prior: Clusters
    frame: Frame

    def of(self, rows: np.ndarray) -> Looks:
        return Looks((rows - self.frame.origin) / self.frame.scale, self.prior)

    def in_units(self) -> Clusters:
        return self.clusters.moved(self.frame.origin, self.frame.scale)


@dataclass(frozen=True)
class Explained:
    """What is believed of images and their segments while the clusters stay as they are."""

    labels: np.ndarray       # (S,) likeliest segment cluster
    probability: np.ndarray  # (S,) how much of the segment it owns
    counts: np.ndarray       # (I, K) segments of each image that each segment cluster owns
    owners: np.ndarray       # (I, T) how much of each image each image cluster owns
    bounds: np.ndarray       # (I,) each image's part of the lower bound, in units of the frames

    @property
    def image_labels(self) -> np.ndarray:
        return self.owners.argmax(1).astype(np.int32)

    @property
    def image_probability(self) -> np.ndarray:
        return self.owners.max(1)

    @property
    def image_weights(self) -> np.ndarray:
        """(I, K) shares of the segment clusters in each image; zeros where it has no segment."""
        return shares_of(self.counts)


@dataclass(frozen=True)
class FittedScenes:
    """`segments` is the mixture of segments whose groups are the image clusters, (T, K)."""

    segments: FittedMixture
    shares: Weights     # (J, T) of each dive
    counts: np.ndarray  # (J, T) images of each dive that each image cluster owns
    looks: FittedLooks | None

    @classmethod
    def of(cls, fit: Fit, model: SceneModel, frames: tuple[Frame, Frame | None], bound: float) -> "FittedScenes":
        """With the clusters of both levels in the order of `places`."""
        scenes, owners, found = fit.parameters.weights.scenes, fit.statistics.owners, fit.statistics
        per_scene = replace(found, counts=owners.T @ found.counts, owners=None, sizes=owners.T @ found.sizes)
        segments = FittedMixture(Parameters(scenes.proportions, fit.parameters.clusters), per_scene, model.clusters,
                                 frames[0], bound)
        looks = scenes.looks and FittedLooks(scenes.looks, model.images.looks.prior, frames[1])
        of_segments, of_images = orders(fit)
        return cls(segments.ordered(of_segments), scenes.shares, scenes.owned, looks)._ordered(of_images)

    @property
    def n_image_clusters(self) -> int:
        return self.counts.shape[1]

    def overall(self) -> np.ndarray:
        """Shares of the image clusters over all images (1, T)."""
        return (self.counts.sum(0) / self.counts.sum())[None]

    def explain(self, data: Observations, images: Images, shares: Weights, prior: WeightsPrior | None = None,
                new: np.ndarray | None = None) -> Explained:
        """Iterates owners and responsibilities, all clusters frozen, from the likeliest owner of each image whole.
        `shares` are of the dives of these images; those of the `new` ones are learned from them under the prior."""
        model = SceneModel(prior, self.segments.prior, images=images)
        scenes = Scenes(shares, self.segments.parameters.weights, self.looks and self.looks.clusters, self.counts)
        found = _Frozen(model, scenes, self.segments.parameters.clusters).settled(data, prior, new)
        labels, probability = data.nearest(found.scorer)
        return Explained(labels, probability, found.statistics.counts, found.statistics.owners,
                         _bounds(data, model, found))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything but class names, as plain arrays."""
        parts = {"shares": vars(self.shares)}
        if self.looks is not None:
            parts |= {"looks": self.looks.clusters.arrays(), "looks_prior": self.looks.prior.arrays(),
                      "looks_frame": vars(self.looks.frame)}
        return {**self.segments.arrays(), **in_parts(parts), "dive_counts": self.counts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], kind: str) -> "FittedScenes":
        """`kind` is the class name of the clusters of both levels."""
        looks = None
        if frame := part_of(arrays, "looks_frame"):
            clusters, prior = (KINDS[kind](**part_of(arrays, part)) for part in ("looks", "looks_prior"))
            looks = FittedLooks(clusters, prior, Frame(frame["origin"], float(frame["scale"])))
        return cls(FittedMixture.from_arrays(arrays, kind), Weights(**part_of(arrays, "shares")),
                   np.asarray(arrays["dive_counts"]), looks)

    def _ordered(self, order: np.ndarray) -> "FittedScenes":
        """The same, with the image clusters in this order."""
        proportions, found = self.segments.parameters.weights, self.segments.statistics
        rows = {name: value[order] for name, value in vars(proportions).items() if value is not None}
        segments = replace(self.segments, parameters=replace(self.segments.parameters, weights=Weights(**rows)),
                           statistics=replace(found, counts=found.counts[order], sizes=found.sizes[order]))
        looks = self.looks and replace(self.looks, clusters=_taken(self.looks.clusters, order))
        return FittedScenes(segments, reordered(self.shares, order), self.counts[:, order], looks)


@dataclass(frozen=True)
class _Frozen:
    """Beliefs of both levels that are kept, and the images they are to explain."""

    model: SceneModel
    scenes: Scenes
    clusters: Clusters

    def settled(self, data: Observations, prior: WeightsPrior | None, new: np.ndarray | None) -> Fit:
        fit, scenes = None, self.scenes
        coefficients = self.clusters.coefficients()
        evidence = data.evidence(Scorer(self.model.clusters, coefficients, scenes.proportions.expected_log))
        owners, moved = self.model.first_owners(evidence, scenes), np.inf
        for _ in range(ITERATIONS):
            if new is not None and len(new):
                scenes = replace(scenes, shares=self._learned(owners, prior, new, scenes.shares))
            fit = e_step(self.model, data, Parameters(self.model.believed(scenes, owners), self.clusters))
            if moved < TOLERANCE:
                break
            owners, before = self.model.owners(fit.statistics.counts, scenes), owners
            moved = np.abs(owners - before).max(initial=0.0)
        return fit

    def _learned(self, owners: np.ndarray, prior: WeightsPrior, new: np.ndarray, before: Weights) -> Weights:
        """The shares with those of new dives as these owners say."""
        found = prior.posterior(self.model.images.owned_by_dive(owners))
        expected_log, mean = before.expected_log.copy(), before.mean.copy()
        expected_log[new], mean[new] = found.expected_log[new], found.mean[new]
        return Weights(expected_log, mean, np.zeros(len(mean)))


def orders(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """The clusters of segments and those of images, those that own most first."""
    sizes = fit.statistics.owned, fit.parameters.weights.scenes.owned.sum(0)
    return tuple(np.argsort(-size, kind="stable") for size in sizes)


def shares_of(counts: np.ndarray) -> np.ndarray:
    """Rows that sum to one; zeros where nothing was counted."""
    total = counts.sum(1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def _bounds(data: Observations, model: SceneModel, fit: Fit) -> np.ndarray:
    of_segments = np.bincount(data.groups, data.log_norms(fit.scorer), minlength=data.n_groups)
    return of_segments - model.unlike(fit.parameters.weights.scenes, fit.statistics.owners)


def _taken(clusters: Clusters, order: np.ndarray) -> Clusters:
    return type(clusters)(**{name: values[order] for name, values in clusters.arrays().items()})
