"""A fitted two-level model: predictions for new images and their segments (methods note 6.6)."""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.distributions import Clusters, Weights, WeightsPrior
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.fitted import FittedMixture, in_parts, part_of, reordered
from benthoscope.engine.mixtures.inference import Fit, e_step
from benthoscope.engine.mixtures.model import Parameters, Scorer
from benthoscope.engine.mixtures.observation_models import KINDS
from benthoscope.engine.mixtures.two_level.model import Images, Looks, SceneModel, Scenes, scenes_in

ITERATIONS = 200  # iterations for new images to converge
TOLERANCE = 1e-6  # the probabilities have converged when none of them changes by more than this


@dataclass(frozen=True)
class FittedLooks:
    """The image clusters in the space of the image descriptors, in units of the frame."""

    clusters: Clusters
    prior: Clusters
    frame: Frame

    def of(self, rows: np.ndarray) -> Looks:
        return Looks((rows - self.frame.origin) / self.frame.scale, self.prior)

    def in_units(self) -> Clusters:
        return self.clusters.moved(self.frame.origin, self.frame.scale)


@dataclass(frozen=True)
class Explained:
    """The predictions for images and their segments under fixed clusters."""

    labels: np.ndarray  # (S,) most likely segment cluster
    probability: np.ndarray  # (S,) and its probability
    counts: np.ndarray  # (I, K) expected number of segments of each image in each segment cluster
    owners: np.ndarray  # (I, T) probabilities of the image clusters for each image
    bounds: np.ndarray  # (I,) each image's part of the lower bound, in units of the frames

    @property
    def image_labels(self) -> np.ndarray:
        return self.owners.argmax(1).astype(np.int32)

    @property
    def image_probability(self) -> np.ndarray:
        return self.owners.max(1)

    @property
    def image_weights(self) -> np.ndarray:
        """Return the proportions of the segment clusters in each image (I, K); zeros for images without segments."""
        return shares_of(self.counts)


@dataclass(frozen=True)
class FittedScenes:
    """A fitted model of both levels. `segments` is a mixture whose groups are the image clusters, (T, K)."""

    segments: FittedMixture
    shares: Weights  # (J, T) proportions in each dive
    counts: np.ndarray  # (J, T) expected number of images of each dive in each image cluster
    image_features: FittedLooks | None

    @classmethod
    def of(cls, fit: Fit, model: SceneModel, frames: tuple[Frame, Frame | None], bound: float) -> "FittedScenes":
        """Create the fitted model, with the clusters of both levels in the order of `orders`."""
        scenes, owners, statistics = scenes_of(fit), fit.statistics.image_owners, fit.statistics
        per_scene = replace(
            statistics, counts=owners.T @ statistics.counts, owners=None, sizes=owners.T @ statistics.sizes
        )
        segments = FittedMixture(
            Parameters(scenes.proportions, fit.parameters.clusters), per_scene, model.clusters, frames[0], bound
        )
        image_features = None
        if scenes.image_features is not None and model.images.image_features is not None and frames[1] is not None:
            image_features = FittedLooks(scenes.image_features, model.images.image_features.prior, frames[1])
        of_segments, of_images = orders(fit)
        return cls(segments.ordered(of_segments), scenes.shares, scenes.owned, image_features)._ordered(of_images)

    @property
    def n_image_clusters(self) -> int:
        return self.counts.shape[1]

    def overall(self) -> np.ndarray:
        """Return the proportions of the image clusters over all images (1, T)."""
        return (self.counts.sum(0) / self.counts.sum())[None]

    def explain(
        self,
        data: Observations,
        images: Images,
        shares: Weights,
        prior: WeightsPrior,
        new: np.ndarray | None = None,
    ) -> Explained:
        """Predict labels and image clusters under fixed clusters. Starts with each image in its most likely image
        cluster and iterates both levels. `shares` are the proportions of the dives of these images; those of the `new`
        dives are learned under the prior."""
        model = SceneModel(prior, self.segments.prior, images=images)
        clusters_of_looks = None if self.image_features is None else self.image_features.clusters
        scenes = Scenes(shares, self.segments.parameters.weights, clusters_of_looks, self.counts)
        settled = _Frozen(model, scenes, self.segments.parameters.clusters).settled(data, prior, new)
        labels, probability = data.nearest(settled.scorer)
        return Explained(
            labels,
            probability,
            settled.statistics.counts,
            settled.statistics.image_owners,
            _bounds(data, model, settled),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the model as plain arrays, without class names."""
        sections = {"shares": vars(self.shares)}
        if self.image_features is not None:
            sections |= {
                "looks": self.image_features.clusters.arrays(),
                "looks_prior": self.image_features.prior.arrays(),
                "looks_frame": vars(self.image_features.frame),
            }
        return {**self.segments.arrays(), **in_parts(sections), "dive_counts": self.counts}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], kind: str) -> "FittedScenes":
        """Rebuild a model from arrays. `kind` is the class name of the clusters of both levels."""
        image_features = None
        if frame := part_of(arrays, "looks_frame"):
            clusters, prior = (KINDS[kind](**part_of(arrays, section)) for section in ("looks", "looks_prior"))
            image_features = FittedLooks(clusters, prior, Frame(frame["origin"], float(frame["scale"])))
        return cls(
            FittedMixture.from_arrays(arrays, kind),
            Weights(**part_of(arrays, "shares")),
            np.asarray(arrays["dive_counts"]),
            image_features,
        )

    def _ordered(self, order: np.ndarray) -> "FittedScenes":
        """Return the model with the image clusters in this order."""
        proportions, statistics = self.segments.parameters.weights, self.segments.statistics
        rows = {name: value[order] for name, value in vars(proportions).items() if value is not None}
        segments = replace(
            self.segments,
            parameters=replace(self.segments.parameters, weights=Weights(**rows)),
            statistics=replace(statistics, counts=statistics.counts[order], sizes=statistics.sizes[order]),
        )
        image_features = self.image_features and replace(
            self.image_features, clusters=_reordered(self.image_features.clusters, order)
        )
        return FittedScenes(segments, reordered(self.shares, order), self.counts[:, order], image_features)


@dataclass(frozen=True)
class _Frozen:
    """The fixed posterior of both levels, and the images to predict."""

    model: SceneModel
    scenes: Scenes
    clusters: Clusters

    def settled(self, data: Observations, prior: WeightsPrior, new: np.ndarray | None) -> Fit:
        scenes, iteration = self.scenes, 0
        coefficients = self.clusters.coefficients()
        evidence = data.evidence(Scorer(self.model.clusters, coefficients, scenes.proportions.expected_log))
        owners, moved = self.model.first_owners(evidence, scenes), np.inf
        while True:
            if new is not None and len(new):
                scenes = replace(scenes, shares=self._learned(owners, prior, new, scenes.shares))
            fit = e_step(self.model, data, Parameters(self.model.believed(scenes, owners), self.clusters))
            iteration += 1
            if moved < TOLERANCE or iteration == ITERATIONS:
                return fit
            owners, before = self.model.owners(fit.statistics.counts, scenes), owners
            moved = np.abs(owners - before).max(initial=0.0)

    def _learned(self, owners: np.ndarray, prior: WeightsPrior, new: np.ndarray, before: Weights) -> Weights:
        """Return the proportions, with those of the new dives learned from these probabilities."""
        posterior = prior.posterior(self.model.images.owned_by_dive(owners))
        expected_log, mean = before.expected_log.copy(), before.mean.copy()
        expected_log[new], mean[new] = posterior.expected_log[new], posterior.mean[new]
        return Weights(expected_log, mean, np.zeros(len(mean)))


def orders(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the segment clusters and of the image clusters, largest first."""
    of_segments, of_images = fit.statistics.owned, scenes_of(fit).owned.sum(0)
    return np.argsort(-of_segments, kind="stable"), np.argsort(-of_images, kind="stable")


def scenes_of(fit: Fit) -> Scenes:
    """Return the image clusters of a fit of a two-level model."""
    return scenes_in(fit.parameters.weights)


def shares_of(counts: np.ndarray) -> np.ndarray:
    """Return counts scaled to rows that sum to one. Rows without counts stay zero."""
    total = counts.sum(1, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def _bounds(data: Observations, model: SceneModel, fit: Fit) -> np.ndarray:
    of_segments = np.bincount(data.groups, data.log_norms(fit.scorer), minlength=data.n_groups)
    return of_segments - model.unlike(scenes_of(fit), fit.statistics.image_owners)


def _reordered(clusters: Clusters, order: np.ndarray) -> Clusters:
    return type(clusters)(**{name: values[order] for name, values in clusters.arrays().items()})
