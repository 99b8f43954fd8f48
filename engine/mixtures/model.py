"""A mixture model: a prior of the weights of each group and a prior of the shared clusters (methods note 5.2, 5.3).

A VB iteration needs only sums from the data (`Statistics`) and only scores from the posterior (`Scorer`).
"""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.distributions import Clusters, Weights, WeightsPrior, log_evidence, log_evidence_of_weights


@dataclass(frozen=True)
class Statistics:
    """Sums over rows for J groups, K clusters and F sufficient statistics. Statistics of chunks can be added."""

    counts: np.ndarray  # (J, K)  expected number of rows of each group in each cluster
    moments: np.ndarray  # (K, F)
    sizes: np.ndarray  # (J,)    rows of each group
    log_norm: float = 0.0  # sum of the log normalisers of the responsibilities over all rows
    pairs: int = 0  # (row, cluster) pairs that were evaluated
    first: int = 0  # the group of the first row of `counts` and `sizes`, if they cover a range of groups
    owners: np.ndarray | None = None  # (J, T) ownership of each image by each of T image clusters, if groups are images

    def __add__(self, other: "Statistics") -> "Statistics":
        first = min(self.first, other.first)
        return Statistics(
            _overlaid(self.first, self.counts, other.first, other.counts),
            self.moments + other.moments,
            _overlaid(self.first, self.sizes, other.first, other.sizes),
            self.log_norm + other.log_norm,
            self.pairs + other.pairs,
            first,
        )

    @property
    def owned(self) -> np.ndarray:
        """Return the number of rows each cluster owns (K,)."""
        return self.counts.sum(0)

    @property
    def image_owners(self) -> np.ndarray:
        """Return the ownership of each image by each image cluster; raises if groups are not images."""
        if self.owners is None:
            raise ValueError("these statistics have no image clusters")
        return self.owners

    def take(self, clusters: np.ndarray) -> "Statistics":
        return replace(self, counts=self.counts[:, clusters], moments=self.moments[clusters])

    def parted(self, cluster: int, split_off: "Statistics") -> "Statistics":
        """Return the statistics with `split_off`, a part of one cluster, moved to a new last cluster."""
        counts, moments = self.counts.copy(), self.moments.copy()
        counts[:, cluster] = np.maximum(counts[:, cluster] - split_off.counts[:, 0], 0.0)
        moments[cluster] -= split_off.moments[0]
        return replace(
            self, counts=np.hstack([counts, split_off.counts]), moments=np.vstack([moments, split_off.moments])
        )

    def replaced(self, clusters: np.ndarray, halves: "Statistics") -> "Statistics":
        """Return the statistics with each listed cluster replaced by its first half. The second halves are appended in
        the same order."""
        counts, moments = self.counts.copy(), self.moments.copy()
        counts[:, clusters], moments[clusters] = halves.counts[:, 0::2], halves.moments[0::2]
        return replace(
            self, counts=np.hstack([counts, halves.counts[:, 1::2]]), moments=np.vstack([moments, halves.moments[1::2]])
        )


def _overlaid(at: int, a: np.ndarray, start: int, b: np.ndarray) -> np.ndarray:
    """Add two tables whose rows are ranges of groups that start at `at` and `start`. The result covers both ranges."""
    if at == start and len(a) == len(b):
        return a + b
    first, end = min(at, start), max(at + len(a), start + len(b))
    total = np.zeros((end - first, *a.shape[1:]))
    total[at - first : at - first + len(a)] = a
    total[start - first : start - first + len(b)] += b
    return total


@dataclass(frozen=True)
class Scorer:
    """The data needed by the E-step, also on remote workers: log joint = coefficients @ features + log weights."""

    clusters: Clusters  # clusters of the observation model, which compute the features
    coefficients: np.ndarray  # (K, F), plus one row if labels may belong to clusters beyond K
    log_weights: np.ndarray  # (J, K), plus one column in the same case
    present: np.ndarray | None = None  # (J, K) bool: pairs to evaluate; None for all
    beyond: bool = False  # the last row stands for all clusters beyond K

    @property
    def n_clusters(self) -> int:
        """Number of clusters for which statistics are computed."""
        return len(self.coefficients) - self.beyond

    def of_groups(self, first: int, count: int) -> "Scorer":
        """Return the scorer for rows of a range of groups. A single row of weights applies to all groups."""
        if len(self.log_weights) in (1, count):
            return self
        run = slice(first, first + count)
        present = None if self.present is None else self.present[run]
        return replace(self, log_weights=self.log_weights[run], present=present)


@dataclass(frozen=True)
class Parameters:
    """Posterior of the weights and of the clusters."""

    weights: Weights
    clusters: Clusters

    def scorer(self, prior: Clusters, present: np.ndarray | None = None) -> Scorer:
        coefficients, log_weights = self.clusters.coefficients(), self.weights.expected_log
        if self.weights.beyond is not None:
            coefficients = np.vstack([coefficients, prior.coefficients()])
            log_weights = np.hstack([log_weights, self.weights.beyond[:, None]])
        return Scorer(prior, coefficients, log_weights, present, self.weights.beyond is not None)


@dataclass(frozen=True)
class Model:
    """A mixture whose groups are independent. Subclasses with dependent groups override the methods marked "independent
    groups"."""

    weights: WeightsPrior
    clusters: Clusters
    cutoff: float = 0.0  # pairs of a group and a cluster with fewer rows than this are no longer evaluated

    def parameters(self, data: Statistics, before: Parameters | None = None) -> Parameters:
        """Return the posterior that maximises the bound for these statistics (VBM)."""
        weights = self.weights.posterior(data.counts, data.sizes, before.weights if before else None)
        return Parameters(weights, self.clusters.posterior(data.moments))

    def penalty(self, parameters: Parameters) -> float:
        return float(parameters.weights.kl.sum() + parameters.clusters.kl(self.clusters).sum())

    def present(self, data: Statistics) -> np.ndarray | None:
        """Return the pairs to evaluate (J, K) bool, always with the largest cluster of each group. None means all
        pairs."""
        if not self.cutoff:
            return None
        is_used = data.counts >= self.cutoff
        is_used[np.arange(len(is_used)), data.counts.argmax(1)] = True
        return None if is_used.all() else is_used

    def evidence(self, data: Statistics) -> float:
        """Return the lower bound without the entropy of the responsibilities, at the optimal posterior for these
        statistics."""
        return float(self.evidence_of_weights(data) + log_evidence(self.clusters, data.moments).sum())

    def evidence_of_weights(self, data: Statistics) -> float:
        return float(log_evidence_of_weights(self.weights, self.counts_of_weights(data)).sum())

    def counts_of_weights(self, data: Statistics) -> np.ndarray:
        """Return the counts for which there are weights: one row per group."""
        return data.counts  # independent groups

    def opened(self, data: Statistics, rng: np.random.Generator) -> Statistics:
        """Return the initial statistics of a search, with the values that no pass over the data computes."""
        return data  # independent groups

    def weights_for_new_groups(self, data: Statistics, weights: Weights) -> Weights:
        """Return the weights of groups with these statistics, given the posterior of other groups."""
        return self.weights.posterior(data.counts, data.sizes)  # independent groups

    def of_groups(self, groups: np.ndarray) -> "Model":
        """Return the model of some groups, renumbered in this order."""
        return self  # independent groups

    @property
    def sees_groups(self) -> bool:
        """Return whether the parts of a cluster have their own proportions in each group."""
        return True  # independent groups

    def of_halves(self, groups: np.ndarray) -> "tuple[Model, np.ndarray | None, np.ndarray]":
        """Return the model for two halves of one cluster, the groups it distinguishes (None: none), and the group of
        each row."""
        # independent groups: groups without rows do not change the bound
        present, index = np.unique(groups, return_inverse=True)
        return replace(self, cutoff=0.0), present, index.astype(np.int32)

    def misfit(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        """Return each cluster's part of the free energy (5.18), (K,)."""
        explained = (data.counts * parameters.weights.expected_log).sum(0)
        return self.misfit_of_clusters(parameters, data) - explained

    def misfit_of_clusters(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        clusters = parameters.clusters
        return clusters.kl(self.clusters) - (data.moments * clusters.coefficients()).sum(1)

    def bound(self, parameters: Parameters, data: Statistics, entropy: float) -> float:
        """Return the lower bound for any responsibilities with these statistics and this entropy (5.3,
        general form)."""
        fit = (data.counts * parameters.weights.expected_log).sum()
        fit += (data.moments * parameters.clusters.coefficients()).sum()
        return float(fit + entropy - self.penalty(parameters))
