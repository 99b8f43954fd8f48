"""The two-level model: images belong to clusters too, and the cluster of an image sets the proportions of its segments
(note 6).

For the segments, this is a mixture whose groups are images, so the searches and sums of mixtures apply unchanged. Only
the weights of an image differ: they are an average over image clusters, each with its own proportions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from benthoscope.engine.distributions import (
    Clusters,
    GeneralisedDirichlet,
    Weights,
    WeightsPrior,
)
from benthoscope.engine.mixtures.e_step import add_by_group
from benthoscope.engine.mixtures.model import Model, Parameters, Statistics

BLOCK = 8192  # number of images whose sufficient statistics are in memory at the same time
CACHED = 1_000_000  # up to this many numbers (8 MB), the sufficient statistics of the images are computed only once


@dataclass(frozen=True)
class Looks:
    """Descriptors of whole images in units of the frame, and the prior of the image clusters."""

    rows: np.ndarray  # (I, D1)
    prior: Clusters

    def moments(self, owners: np.ndarray) -> np.ndarray:
        return sum(owners[at : at + BLOCK].T @ block.T for at, block in self._blocks())

    def log_likelihood(self, clusters: Clusters) -> np.ndarray:
        """(I, T)"""
        coefficients = clusters.coefficients()
        return np.concatenate([(coefficients @ block).T for _, block in self._blocks()])

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        if len(self.rows) <= BLOCK and len(self.rows) * self.prior.n_statistics <= CACHED:
            yield 0, self._only_block
            return
        for at in range(0, len(self.rows), BLOCK):
            yield at, self._statistics_from(at)

    @cached_property
    def _only_block(self) -> np.ndarray:
        """The sufficient statistics of few images, which an iteration needs twice."""
        return self._statistics_from(0)

    def _statistics_from(self, at: int) -> np.ndarray:
        return self.prior.features(np.ascontiguousarray(self.rows[at : at + BLOCK].T, dtype=np.float64))


@dataclass(frozen=True)
class Images:
    """The images that form the groups: their dives and, if known, their descriptors."""

    dives: np.ndarray  # (I,) int32, 0 .. n_dives - 1
    n_dives: int
    image_features: Looks | None = None

    def __len__(self) -> int:
        return len(self.dives)

    def take(self, images: np.ndarray) -> "Images":
        image_features = (
            None if self.image_features is None else replace(self.image_features, rows=self.image_features.rows[images])
        )
        return replace(self, dives=self.dives[images], image_features=image_features)

    def owned_by_dive(self, owners: np.ndarray) -> np.ndarray:
        """Return the expected number of images of each dive in each image cluster (dives, T)."""
        counts = np.zeros((self.n_dives, owners.shape[1]))
        add_by_group(counts, self.dives, owners.T)
        return counts


@dataclass(frozen=True)
class Scenes:
    """Posterior of T image clusters."""

    shares: Weights  # (dives, T) proportions in each dive
    proportions: Weights  # (T, K) of segment clusters in each image cluster
    image_features: Clusters | None  # T clusters of the image descriptors
    owned: np.ndarray  # (dives, T) expected number of images of each dive


@dataclass(frozen=True)
class SceneWeights(Weights):
    """Weights of the images: the proportions of their image clusters, averaged. `kl` is the cost of the image level in
    one number."""

    scenes: Scenes | None = None


def scenes_in(weights: Weights) -> Scenes:
    """Return the image clusters of the weights of a two-level model; raises for other weights."""
    if not isinstance(weights, SceneWeights) or weights.scenes is None:
        raise TypeError("these weights have no image clusters")
    return weights.scenes


@dataclass(frozen=True, kw_only=True)
class SceneModel(Model):
    """A mixture of segments. `weights` is the prior of the segment clusters in an image cluster, `shares` that of the
    image clusters in a dive."""

    images: Images
    shares: WeightsPrior = field(default_factory=GeneralisedDirichlet)
    surplus: int = 100  # initial number of image clusters, if there are as many images
    hard: bool = False  # start with each image in one image cluster instead of random probabilities
    frozen: bool = False  # keep the image clusters fixed while there is only one segment cluster (6.4)

    def parameters(self, data: Statistics, before: Parameters | None = None) -> Parameters:
        scenes = self.scenes(data.counts, data.image_owners)
        owners = data.image_owners if self.frozen and data.counts.shape[1] == 1 else self.owners(data.counts, scenes)
        return Parameters(self.believed(scenes, owners), self.clusters.posterior(data.moments))

    def scenes(self, counts: np.ndarray, owners: np.ndarray) -> Scenes:
        """Return the optimal posterior for these image clusters (I, T) and segment counts (I, K)."""
        image_features, owned = self.images.image_features, self.images.owned_by_dive(owners)
        return Scenes(
            self.shares.posterior(owned),
            self.weights.posterior(owners.T @ counts),
            None if image_features is None else image_features.prior.posterior(image_features.moments(owners)),
            owned,
        )

    def owners(self, counts: np.ndarray, scenes: Scenes) -> np.ndarray:
        """Return q(Y) (I, T): the probabilities of the image clusters for each image (5.12)."""
        return self.explained(counts, scenes)[0]

    def first_owners(self, evidence: np.ndarray, scenes: Scenes) -> np.ndarray:
        """Return initial probabilities for new images, from the evidence (I, T) of their segments under each image
        cluster."""
        return _normalised(self._of_images(scenes) + evidence)[0]

    def believed(self, scenes: Scenes, owners: np.ndarray) -> SceneWeights:
        kl = np.array([self.unlike(scenes, owners).sum() + self.cost(scenes)])
        return SceneWeights(
            owners @ scenes.proportions.expected_log, owners @ scenes.proportions.mean, kl, owners=owners, scenes=scenes
        )

    def unlike(self, scenes: Scenes, owners: np.ndarray) -> np.ndarray:
        """Return the divergence between the probabilities and what the dive and the descriptors predict for each image
        (I,)."""
        return (owners * (np.log(np.maximum(owners, np.finfo(float).tiny)) - self._of_images(scenes))).sum(1)

    def cost(self, scenes: Scenes) -> float:
        """Return KL(posterior || prior) of all parameters of the image clusters."""
        descriptors, cost = self.images.image_features, scenes.shares.kl.sum() + scenes.proportions.kl.sum()
        if descriptors is not None and scenes.image_features is not None:
            cost += scenes.image_features.kl(descriptors.prior).sum()
        return float(cost)

    def explained(self, counts: np.ndarray, scenes: Scenes) -> tuple[np.ndarray, float]:
        """Return the best image clusters for this posterior and these counts, and their part of the lower bound."""
        owners, log_norm = _normalised(self._of_images(scenes) + counts @ scenes.proportions.expected_log.T)
        return owners, float(log_norm.sum() - self.cost(scenes))

    def _of_images(self, scenes: Scenes) -> np.ndarray:
        """Return E[log pi] of the dive plus E[log N(w)] of the image descriptor (I, T), without the segments."""
        descriptors, log_joint = self.images.image_features, scenes.shares.expected_log[self.images.dives]
        if descriptors is None or scenes.image_features is None:
            return log_joint
        return log_joint + descriptors.log_likelihood(scenes.image_features)

    # --- methods called by a search

    def opened(self, data: Statistics, rng: np.random.Generator) -> Statistics:
        return replace(data, owners=self.random_owners(rng))

    def random_owners(self, rng: np.random.Generator) -> np.ndarray:
        T = min(self.surplus, len(self.images))
        if self.hard:
            return np.eye(T)[rng.integers(T, size=len(self.images))]
        shares = rng.random((len(self.images), T))
        return shares / shares.sum(1, keepdims=True)

    def counts_of_weights(self, data: Statistics) -> np.ndarray:
        """Return the counts of each image cluster (T, K). With fixed image clusters, only the evidence of their
        proportions changes when segment clusters split or merge."""
        return data.image_owners.T @ data.counts

    def weights_for_new_groups(self, data: Statistics, weights: Weights) -> SceneWeights:
        scenes = scenes_in(weights)
        return self.believed(scenes, self.owners(data.counts, scenes))

    def of_groups(self, groups: np.ndarray) -> "SceneModel":
        return replace(self, images=self.images.take(groups))

    @property
    def sees_groups(self) -> bool:
        return False  # all members of a cluster use one image cluster

    def of_halves(self, groups: np.ndarray) -> tuple[Model, None, np.ndarray]:
        """Return the model for two halves of a cluster. All members use one image cluster (6.4)."""
        return Model(self.weights, self.clusters), None, np.zeros(len(groups), np.int32)

    def misfit(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        return self.misfit_of_clusters(parameters, data)  # excludes the weights (5.19)


def _normalised(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that sum to one, and the log of their previous sums. Overwrites log_joint (I, T)."""
    top = log_joint.max(1, keepdims=True)
    log_joint -= top
    shares = np.exp(log_joint, out=log_joint)
    total = shares.sum(1, keepdims=True)
    shares /= total
    return shares, (np.log(total) + top)[:, 0]
