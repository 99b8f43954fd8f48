"""A fitted mixture: labels and densities of rows, and weights of known and new groups (5.8)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benthoscope.engine.distributions import Clusters, Weights, WeightsPrior
from benthoscope.engine.mixtures.data import Frame, Observations
from benthoscope.engine.mixtures.model import Parameters, Scorer, Statistics
from benthoscope.engine.mixtures.observation_models import KINDS

FOLDS = 200  # iterations for the weights of a new group to converge
FOLD_TOLERANCE = 1e-6  # the weights have converged when none of them changes by more than this


@dataclass(frozen=True)
class Folded:
    """The weights of new groups under fixed clusters."""

    weights: Weights
    iterations: int


@dataclass(frozen=True)
class FittedMixture:
    """A fitted mixture in units of the frame. Groups are the rows of the weights."""

    parameters: Parameters
    statistics: Statistics
    prior: Clusters
    frame: Frame
    bound: float  # in units of the original rows

    @property
    def n_clusters(self) -> int:
        return len(self.statistics.moments)

    def by_size(self) -> "FittedMixture":
        """Return the mixture with its clusters sorted by size, largest first."""
        return self.ordered(np.argsort(-self.statistics.owned, kind="stable"))

    def ordered(self, order: np.ndarray) -> "FittedMixture":
        """Return the mixture with its clusters in this order."""
        clusters, moved = self.parameters.clusters, reordered(self.parameters.weights, order)
        reordered_clusters = type(clusters)(**{name: values[order] for name, values in clusters.arrays().items()})
        return replace(self, parameters=Parameters(moved, reordered_clusters), statistics=self.statistics.take(order))

    def shares(self) -> np.ndarray:
        """Return the expected proportions E[pi] of each group (J, K); rows sum to 1."""
        mean = self.parameters.weights.mean
        return mean / mean.sum(1, keepdims=True)

    def overall(self) -> np.ndarray:
        """Return the proportions of the clusters over all rows (1, K), used for rows of an unnamed group."""
        sizes = self.statistics.sizes
        return (sizes @ self.shares() / sizes.sum())[None]

    def scorer(self, present: np.ndarray | None = None) -> Scorer:
        return self.parameters.scorer(self.prior, present)

    def scorer_with(self, log_weights: np.ndarray) -> Scorer:
        return Scorer(self.prior, self.parameters.clusters.coefficients(), log_weights)

    def density(self, shares: np.ndarray) -> Scorer:
        """Return a scorer whose log normaliser is the log density of a row in units of the frame, at the posterior's
        point summary (4.14)."""
        tiny = np.finfo(float).tiny
        return Scorer(self.prior, self.parameters.clusters.point_coefficients(), np.log(np.maximum(shares, tiny)))

    def log_predictive(self, X: np.ndarray, log_shares: np.ndarray) -> np.ndarray:
        """Return the log density of the original rows (N,), with the clusters integrated out, for log proportions (N,
        K)."""
        scaled = (np.asarray(X, float) - self.frame.origin) / self.frame.scale
        joint = log_shares + self.parameters.clusters.log_predictive(scaled)
        top = joint.max(1)
        return top + np.log(np.exp(joint - top[:, None]).sum(1)) - X.shape[1] * np.log(self.frame.scale)

    def fold_in(self, prior: WeightsPrior, data: Observations) -> Folded:
        """Estimate the weights of the groups of new rows under fixed clusters, starting from uniform
        responsibilities."""
        sizes = np.bincount(data.groups, minlength=data.n_groups).astype(float)
        counts = np.repeat(sizes[:, None] / self.n_clusters, self.n_clusters, axis=1)
        weights = prior.posterior(counts, sizes)
        iterations, settled = 0, False
        while not settled and iterations < FOLDS:
            swept = data.sweep(Parameters(weights, self.parameters.clusters).scorer(self.prior))
            weights, before = prior.posterior(swept.counts, sizes, weights), weights
            iterations, settled = iterations + 1, np.abs(weights.mean - before.mean).max() < FOLD_TOLERANCE
        return Folded(weights, iterations)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the mixture as plain arrays, without class names."""
        sections = {
            "weights": vars(self.parameters.weights),
            "clusters": self.parameters.clusters.arrays(),
            "prior": self.prior.arrays(),
            "statistics": vars(self.statistics),
            "frame": vars(self.frame),
        }
        return {**in_parts(sections), "bound": np.asarray(self.bound)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], kind: str) -> "FittedMixture":
        """Rebuild a mixture from arrays. `kind` is the class name of the clusters."""
        statistics, frame = part_of(arrays, "statistics"), part_of(arrays, "frame")
        for name, plain in (("log_norm", float), ("pairs", int), ("first", int)):
            statistics[name] = plain(statistics.get(name, 0))
        clusters, prior = (KINDS[kind](**part_of(arrays, section)) for section in ("clusters", "prior"))
        return cls(
            Parameters(Weights(**part_of(arrays, "weights")), clusters),
            Statistics(**statistics),
            prior,
            Frame(frame["origin"], float(frame["scale"])),
            float(arrays["bound"]),
        )


def reordered(weights: Weights, order: np.ndarray) -> Weights:
    """Return the weights with the clusters in this order."""
    position = np.argsort(order)
    return replace(
        weights,
        expected_log=weights.expected_log[:, order],
        mean=weights.mean[:, order],
        order=None if weights.order is None else position[weights.order],
    )


def in_parts(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return all values that are not None as arrays with names of the form section and value."""
    return {
        f"{section}.{name}": np.asarray(value)
        for section, values in sections.items()
        for name, value in values.items()
        if value is not None
    }


def part_of(arrays: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return the values stored under the names of one section."""
    return {name.removeprefix(f"{section}."): value for name, value in arrays.items() if name.startswith(f"{section}.")}
