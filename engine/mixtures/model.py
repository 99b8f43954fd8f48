"""A mixture: a prior of the weights of each group and a prior of the clusters all groups share (methods note 5.2, 5.3).

Everything a VB iteration needs of the data are sums, `Statistics`; everything it needs of the beliefs is `Scorer`.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.distributions import Clusters, Weights, WeightsPrior, log_evidence, log_evidence_of_weights


@dataclass(frozen=True)
class Statistics:
    """Sums over rows, for J groups, K clusters and F sufficient statistics; they add over chunks of rows."""

    counts: np.ndarray     # (J, K)  rows of each group that each cluster owns
    moments: np.ndarray    # (K, F)
    sizes: np.ndarray      # (J,)    rows of each group
    log_norm: float = 0.0  # sum over rows of the log normaliser of their responsibilities
    pairs: int = 0         # (row, cluster) pairs that were evaluated
    first: int = 0         # the group of the first row of counts and sizes, where they are of a run of groups
    owners: np.ndarray | None = None  # (J, T) what each of T image clusters owns of each image, where images are groups

    def __add__(self, other: "Statistics") -> "Statistics":
        first = min(self.first, other.first)
        return Statistics(_overlaid(self.first, self.counts, other.first, other.counts), self.moments + other.moments,
                          _overlaid(self.first, self.sizes, other.first, other.sizes),
                          self.log_norm + other.log_norm, self.pairs + other.pairs, first)

    @property
    def owned(self) -> np.ndarray:
        """Rows each cluster owns (K,)."""
        return self.counts.sum(0)

    def take(self, clusters: np.ndarray) -> "Statistics":
        return replace(self, counts=self.counts[:, clusters], moments=self.moments[clusters])

    def parted(self, cluster: int, part: "Statistics") -> "Statistics":
        """With `part`, of one cluster, taken from a cluster and appended as a new one."""
        counts, moments = self.counts.copy(), self.moments.copy()
        counts[:, cluster] = np.maximum(counts[:, cluster] - part.counts[:, 0], 0.0)
        moments[cluster] -= part.moments[0]
        return replace(self, counts=np.hstack([counts, part.counts]), moments=np.vstack([moments, part.moments]))

    def replaced(self, clusters: np.ndarray, halves: "Statistics") -> "Statistics":
        """Each listed cluster replaced by the first of its two halves, the second ones appended in the same order."""
        counts, moments = self.counts.copy(), self.moments.copy()
        counts[:, clusters], moments[clusters] = halves.counts[:, 0::2], halves.moments[0::2]
        return replace(self, counts=np.hstack([counts, halves.counts[:, 1::2]]),
                       moments=np.vstack([moments, halves.moments[1::2]]))


def _overlaid(at: int, a: np.ndarray, start: int, b: np.ndarray) -> np.ndarray:
    """The sum of rows of two runs of groups that begin at these groups, over all groups from the first to the last."""
    if at == start and len(a) == len(b):
        return a + b
    first, end = min(at, start), max(at + len(a), start + len(b))
    total = np.zeros((end - first, *a.shape[1:]))
    total[at - first : at - first + len(a)] = a
    total[start - first : start - first + len(b)] += b
    return total


@dataclass(frozen=True)
class Scorer:
    """What the E-step needs, and all that travels to a worker: log joint = coefficients @ features + log weights."""

    clusters: Clusters                    # any of the family: it knows the features
    coefficients: np.ndarray              # (K, F), one more row where labels may reach beyond the K clusters
    log_weights: np.ndarray               # (J, K), likewise
    present: np.ndarray | None = None     # (J, K) bool: pairs worth evaluating; None for all
    beyond: bool = False                  # the last row stands for all clusters past the K

    @property
    def n_clusters(self) -> int:
        """Clusters whose statistics are wanted."""
        return len(self.coefficients) - self.beyond

    def of_groups(self, first: int, count: int) -> "Scorer":
        """For rows of a run of groups; a single row of weights is for all groups."""
        if len(self.log_weights) in (1, count):
            return self
        run = slice(first, first + count)
        present = None if self.present is None else self.present[run]
        return replace(self, log_weights=self.log_weights[run], present=present)


@dataclass(frozen=True)
class Parameters:
    """What is believed of weights and clusters."""

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
    """Groups here know nothing of each other; models in which they do say otherwise where a comment says "alone"."""

    weights: WeightsPrior
    clusters: Clusters
    cutoff: float = 0.0  # a cluster with fewer rows of a group than this is no longer evaluated for that group

    def parameters(self, data: Statistics, before: Parameters | None = None) -> Parameters:
        """The beliefs that bound highest for these statistics (VBM)."""
        weights = self.weights.posterior(data.counts, data.sizes, before.weights if before else None)
        return Parameters(weights, self.clusters.posterior(data.moments))

    def penalty(self, parameters: Parameters) -> float:
        return float(parameters.weights.kl.sum() + parameters.clusters.kl(self.clusters).sum())

    def present(self, data: Statistics) -> np.ndarray | None:
        """(J, K) bool: the pairs to evaluate, each group's largest cluster always among them. None where all are."""
        if not self.cutoff:
            return None
        kept = data.counts >= self.cutoff
        kept[np.arange(len(kept)), data.counts.argmax(1)] = True
        return None if kept.all() else kept

    def evidence(self, data: Statistics) -> float:
        """The lower bound less the entropy of the responsibilities, at the best beliefs for these statistics."""
        return float(self.evidence_of_weights(data) + log_evidence(self.clusters, data.moments).sum())

    def evidence_of_weights(self, data: Statistics) -> float:
        return float(log_evidence_of_weights(self.weights, data.counts).sum())  # alone

    def opened(self, data: Statistics, rng: np.random.Generator) -> Statistics:
        """The statistics a search begins with, complete with what no sweep gives."""
        return data  # alone

    def told(self, data: Statistics, weights: Weights) -> Weights:
        """The weights of groups with these statistics, given what is believed of other groups."""
        return self.weights.posterior(data.counts, data.sizes)  # alone

    def of_groups(self, groups: np.ndarray) -> "Model":
        """The model of some groups only, which are numbered anew in this order."""
        return self  # alone

    def of_halves(self, groups: np.ndarray) -> "tuple[Model, np.ndarray | None, np.ndarray]":
        """The model of two halves of one cluster, the groups it tells apart (None: it does not), and each row's."""
        present, index = np.unique(groups, return_inverse=True)  # alone; absent groups neither gain nor cost
        return replace(self, cutoff=0.0), present, index.astype(np.int32)

    def misfit(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        """Each cluster's part of the free energy (5.18), (K,)."""
        explained = (data.counts * parameters.weights.expected_log).sum(0)
        return self.misfit_of_clusters(parameters, data) - explained

    def misfit_of_clusters(self, parameters: Parameters, data: Statistics) -> np.ndarray:
        clusters = parameters.clusters
        return clusters.kl(self.clusters) - (data.moments * clusters.coefficients()).sum(1)

    def bound(self, parameters: Parameters, data: Statistics, entropy: float) -> float:
        """The lower bound for any responsibilities with these statistics and this entropy (5.3, general form)."""
        fit = (data.counts * parameters.weights.expected_log).sum()
        fit += (data.moments * parameters.clusters.coefficients()).sum()
        return float(fit + entropy - self.penalty(parameters))
