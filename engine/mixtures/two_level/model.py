"""Two levels: images fall into clusters too, and the cluster of an image decides what segments it shows (note 6).

To the segments this is a mixture whose groups are images, so all that searches and sums serves as it is; what differs
is how the weights of an image come about: it is owned in parts by image clusters, which have proportions each.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from engine.distributions import Clusters, GeneralisedDirichlet, Weights, WeightsPrior, log_evidence_of_weights
from engine.mixtures.model import Model, Parameters, Statistics
from engine.mixtures.sweep import add_by_group

BLOCK = 8192  # images whose sufficient statistics are held at once


@dataclass(frozen=True)
class Looks:
    """Descriptors of whole images as a frame sees them, and the prior of what an image cluster looks like."""

    rows: np.ndarray  # (I, D1)
    prior: Clusters

    def moments(self, owners: np.ndarray) -> np.ndarray:
        return sum(owners[at : at + BLOCK].T @ block.T for at, block in self._blocks())

    def log_likelihood(self, clusters: Clusters) -> np.ndarray:
        """(I, T)"""
        coefficients = clusters.coefficients()
        return np.concatenate([(coefficients @ block).T for _, block in self._blocks()])

    def _blocks(self):
        for at in range(0, len(self.rows), BLOCK):
            yield at, self.prior.features(np.ascontiguousarray(self.rows[at : at + BLOCK].T, dtype=np.float64))


@dataclass(frozen=True)
class Images:
    """The images that are the groups: which dive each is of, and how it looks where that is known."""

    dives: np.ndarray  # (I,) int32, 0 .. n_dives - 1
    n_dives: int
    looks: Looks | None = None

    def __len__(self) -> int:
        return len(self.dives)

    def take(self, images: np.ndarray) -> "Images":
        looks = None if self.looks is None else replace(self.looks, rows=self.looks.rows[images])
        return replace(self, dives=self.dives[images], looks=looks)

    def owned_by_dive(self, owners: np.ndarray) -> np.ndarray:
        """(dives, T)"""
        counts = np.zeros((self.n_dives, owners.shape[1]))
        add_by_group(counts, self.dives, owners.T)
        return counts


@dataclass(frozen=True)
class Scenes:
    """What is believed of T image clusters."""

    shares: Weights         # (dives, T) of each dive
    proportions: Weights    # (T, K) of segment clusters in each image cluster
    looks: Clusters | None  # T of them
    owned: np.ndarray       # (dives, T) images of each dive they were learned from


@dataclass(frozen=True)
class SceneWeights(Weights):
    """The weights of images: their owners' proportions, mixed. `kl` is what the whole level costs, in one number."""

    scenes: Scenes | None = None


@dataclass(frozen=True, kw_only=True)
class SceneModel(Model):
    """`weights` is the prior of the proportions of an image cluster, `shares` of image clusters in a dive."""

    images: Images
    shares: WeightsPrior = field(default_factory=GeneralisedDirichlet)
    surplus: int = 100    # image clusters to begin with, if there are as many images
    hard: bool = False    # begin with every image owned whole by one of them, not by all in random parts
    frozen: bool = False  # leave owners as they are while there is only one segment cluster (6.4)

    def parameters(self, data: Statistics, before: Parameters | None = None) -> Parameters:
        scenes = self.scenes(data.counts, data.owners)
        owners = data.owners if self.frozen and data.counts.shape[1] == 1 else self.owners(data.counts, scenes)
        return Parameters(self.believed(scenes, owners), self.clusters.posterior(data.moments))

    def scenes(self, counts: np.ndarray, owners: np.ndarray) -> Scenes:
        """The beliefs that bound highest for these owners (I, T) of images and counts (I, K) of their segments."""
        looks, owned = self.images.looks, self.images.owned_by_dive(owners)
        return Scenes(self.shares.posterior(owned), self.weights.posterior(owners.T @ counts),
                      None if looks is None else looks.prior.posterior(looks.moments(owners)), owned)

    def owners(self, counts: np.ndarray, scenes: Scenes) -> np.ndarray:
        """q(Y) (I, T): how much of every image each image cluster owns (5.12)."""
        return self.explained(counts, scenes)[0]

    def first_owners(self, evidence: np.ndarray, scenes: Scenes) -> np.ndarray:
        """Of new images, by the evidence (I, T) their segments give if a single image cluster owned them whole."""
        return _normalised(self._of_images(scenes) + evidence)[0]

    def believed(self, scenes: Scenes, owners: np.ndarray) -> SceneWeights:
        kl = np.array([self.unlike(scenes, owners).sum() + self.cost(scenes)])
        return SceneWeights(owners @ scenes.proportions.expected_log, owners @ scenes.proportions.mean, kl,
                            owners=owners, scenes=scenes)

    def unlike(self, scenes: Scenes, owners: np.ndarray) -> np.ndarray:
        """(I,): how much less the dive's shares and the looks say for these owners than the owners for themselves."""
        return (owners * (np.log(np.maximum(owners, np.finfo(float).tiny)) - self._of_images(scenes))).sum(1)

    def cost(self, scenes: Scenes) -> float:
        """KL(posterior || prior) of all that is believed of image clusters."""
        of_weights = scenes.shares.kl.sum() + scenes.proportions.kl.sum()
        return float(of_weights + (0.0 if scenes.looks is None else scenes.looks.kl(self.images.looks.prior).sum()))

    def explained(self, counts: np.ndarray, scenes: Scenes) -> tuple[np.ndarray, float]:
        """The best owners for these beliefs and counts, and what the image level then adds to the lower bound."""
        owners, log_norm = _normalised(self._of_images(scenes) + counts @ scenes.proportions.expected_log.T)
        return owners, float(log_norm.sum() - self.cost(scenes))

    def _of_images(self, scenes: Scenes) -> np.ndarray:
        """E[log pi] of the dive and E[log N(w)] of the looks (I, T): all that speaks for owners but the segments."""
        found = scenes.shares.expected_log[self.images.dives]
        return found if scenes.looks is None else found + self.images.looks.log_likelihood(scenes.looks)

    # --- what a search asks of a model

    def opened(self, data: Statistics, rng: np.random.Generator) -> Statistics:
        return replace(data, owners=self.random_owners(rng))

    def random_owners(self, rng: np.random.Generator) -> np.ndarray:
        T = min(self.surplus, len(self.images))
        if self.hard:
            return np.eye(T)[rng.integers(T, size=len(self.images))]
        parts = rng.random((len(self.images), T))
        return parts / parts.sum(1, keepdims=True)

    def evidence_of_weights(self, data: Statistics) -> float:
        """Of the proportions alone, the owners kept: what a parting of segment clusters changes."""
        return float(log_evidence_of_weights(self.weights, data.owners.T @ data.counts).sum())

    def told(self, data: Statistics, weights: SceneWeights) -> SceneWeights:
        return self.believed(weights.scenes, self.owners(data.counts, weights.scenes))

    def of_groups(self, groups: np.ndarray) -> "SceneModel":
        return replace(self, images=self.images.take(groups))

    def of_halves(self, groups: np.ndarray) -> tuple[Model, None, np.ndarray]:
        """One image cluster for all members (6.4)."""
        return Model(self.weights, self.clusters), None, np.zeros(len(groups), np.int32)

    def misfit(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        return self.misfit_of_clusters(parameters, data)  # without weights (5.19)


def _normalised(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that sum to one, and the log of what each summed to; overwrites log_joint (I, T)."""
    top = log_joint.max(1, keepdims=True)
    log_joint -= top
    shares = np.exp(log_joint, out=log_joint)
    total = shares.sum(1, keepdims=True)
    shares /= total
    return shares, (np.log(total) + top)[:, 0]
