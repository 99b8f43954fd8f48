"""A mixture that has been learned: what it says of rows, of groups it knows and of groups it has never seen (5.8)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.distributions import Clusters, Weights, WeightsPrior
from engine.mixtures.families import KINDS
from engine.mixtures.model import Parameters, Scorer, Statistics
from engine.mixtures.observations import Frame, Observations

FOLDS = 200           # iterations a new group's weights are given to settle
FOLD_TOLERANCE = 1e-6  # change of any weight below which they have


@dataclass(frozen=True)
class Folded:
    """The weights of new groups under clusters that are kept as they are."""

    weights: Weights
    iterations: int


@dataclass(frozen=True)
class FittedMixture:
    """All in units of the frame; groups are the rows of the weights."""

    parameters: Parameters
    statistics: Statistics
    prior: Clusters
    frame: Frame
    bound: float  # in units of the rows as they came

    @property
    def n_clusters(self) -> int:
        return len(self.statistics.moments)

    def by_size(self) -> "FittedMixture":
        """The same, with the cluster that owns most rows first."""
        return self.ordered(np.argsort(-self.statistics.owned, kind="stable"))

    def ordered(self, order: np.ndarray) -> "FittedMixture":
        """The same, with the clusters in this order."""
        clusters, moved = self.parameters.clusters, reordered(self.parameters.weights, order)
        taken = type(clusters)(**{name: values[order] for name, values in clusters.arrays().items()})
        return replace(self, parameters=Parameters(moved, taken), statistics=self.statistics.take(order))

    def shares(self) -> np.ndarray:
        """E[pi] of every group (J, K), summing to 1."""
        mean = self.parameters.weights.mean
        return mean / mean.sum(1, keepdims=True)

    def overall(self) -> np.ndarray:
        """Shares of the clusters over all rows (1, K), for rows of a group nobody names."""
        sizes = self.statistics.sizes
        return (sizes @ self.shares() / sizes.sum())[None]

    def scorer(self, present: np.ndarray | None = None) -> Scorer:
        return self.parameters.scorer(self.prior, present)

    def scorer_with(self, log_weights: np.ndarray) -> Scorer:
        return Scorer(self.prior, self.parameters.clusters.coefficients(), log_weights)

    def density(self, shares: np.ndarray) -> Scorer:
        """Scores whose log normaliser is a row's log density in units of the frame, at the point summary (4.14)."""
        tiny = np.finfo(float).tiny
        return Scorer(self.prior, self.parameters.clusters.point_coefficients(), np.log(np.maximum(shares, tiny)))

    def log_predictive(self, X: np.ndarray, log_shares: np.ndarray) -> np.ndarray:
        """Log density of rows as they came (N,), clusters integrated out, for log shares (N, K)."""
        seen = (np.asarray(X, float) - self.frame.origin) / self.frame.scale
        joint = log_shares + self.parameters.clusters.log_predictive(seen)
        top = joint.max(1)
        return top + np.log(np.exp(joint - top[:, None]).sum(1)) - X.shape[1] * np.log(self.frame.scale)

    def fold_in(self, prior: WeightsPrior, data: Observations) -> Folded:
        """Weights of the groups of new rows, the clusters kept: from uniform responsibilities until they settle."""
        sizes = np.bincount(data.groups, minlength=data.n_groups).astype(float)
        counts = np.repeat(sizes[:, None] / self.n_clusters, self.n_clusters, axis=1)
        weights = prior.posterior(counts, sizes)
        iterations, settled = 0, False
        while not settled and iterations < FOLDS:
            found = data.sweep(Parameters(weights, self.parameters.clusters).scorer(self.prior))
            weights, before = prior.posterior(found.counts, sizes, weights), weights
            iterations, settled = iterations + 1, np.abs(weights.mean - before.mean).max() < FOLD_TOLERANCE
        return Folded(weights, iterations)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything but class names, as plain arrays."""
        parts = {"weights": vars(self.parameters.weights), "clusters": self.parameters.clusters.arrays(),
                 "prior": self.prior.arrays(), "statistics": vars(self.statistics), "frame": vars(self.frame)}
        return {**in_parts(parts), "bound": np.asarray(self.bound)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], kind: str) -> "FittedMixture":
        """`kind` is the class name of the clusters."""
        statistics, frame = part_of(arrays, "statistics"), part_of(arrays, "frame")
        for name, plain in (("log_norm", float), ("pairs", int), ("first", int)):
            statistics[name] = plain(statistics.get(name, 0))
        clusters, prior = (KINDS[kind](**part_of(arrays, part)) for part in ("clusters", "prior"))
        return cls(Parameters(Weights(**part_of(arrays, "weights")), clusters), Statistics(**statistics), prior,
                   Frame(frame["origin"], float(frame["scale"])), float(arrays["bound"]))


def reordered(weights: Weights, order: np.ndarray) -> Weights:
    """With the clusters in this order."""
    position = np.argsort(order)
    return replace(weights, expected_log=weights.expected_log[:, order], mean=weights.mean[:, order],
                   order=None if weights.order is None else position[weights.order])


def in_parts(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """All values that are there as arrays, under the names of part and value."""
    return {f"{part}.{name}": np.asarray(value) for part, held in parts.items() for name, value in held.items()
            if value is not None}


def part_of(arrays: dict[str, np.ndarray], part: str) -> dict[str, Any]:
    """What was stored under names that begin with the part's."""
    return {name.removeprefix(f"{part}."): value for name, value in arrays.items() if name.startswith(f"{part}.")}
