"""The result of a round: the mixture, the lasting numbers of its clusters, and the memory in use."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.streaming.identity import ClusterEvent, Identities

TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class StreamSnapshot:
    """The state of a stream after a round. It never changes, so readers may use it while the next round runs."""

    number: int  # of the round, from 1
    rows: int  # rows seen so far
    mixture: FittedMixture
    identities: Identities
    memory: Mapping[str, int]  # values, bytes, units, clumps, points; after the compression
    budget_binds: bool  # whether the budget limits the number of clusters

    @property
    def cluster_ids(self) -> np.ndarray:
        """Return the lasting number of each cluster (K,)."""
        return self.identities.numbers

    @property
    def events(self) -> tuple[ClusterEvent, ...]:
        return self.identities.events

    @property
    def bound(self) -> float:
        """Return the lower bound of the log evidence of all rows, with rows of a clump in one cluster."""
        return self.mixture.bound

    @property
    def weights(self) -> np.ndarray:
        """Return the expected proportion of each cluster (K,). The rest up to 1 belongs to clusters that no row has
        shown yet."""
        return self.mixture.parameters.weights.mean[0]

    @property
    def sizes(self) -> np.ndarray:
        """Return the expected number of rows of each cluster (K,)."""
        return self.mixture.statistics.owned

    def log_densities(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density of rows (n, D), in units of the frame, and the term of a cluster that is not yet known
        in it, (n,) each. The parameters are integrated out."""
        clusters, prior = self.mixture.parameters.clusters, self.mixture.prior
        known = logsumexp(np.log(np.maximum(self.weights, TINY)) + clusters.log_predictive(rows), axis=1)
        unseen = np.log(max(1.0 - float(self.weights.sum()), TINY)) + prior.log_predictive(rows)[:, 0]
        return np.logaddexp(known, unseen), unseen


@dataclass(frozen=True, eq=False)
class Novelty:
    """How unusual rows are. `percentile` is the share of recent rows, scored as if they had not been learned, with a
    lower density; `new_cluster` is the probability that a row belongs to a cluster that is not yet known."""

    percentile: np.ndarray  # (n,) from 0 to 1
    new_cluster: np.ndarray  # (n,)
    is_novel: np.ndarray  # (n,) bool
    log_density: np.ndarray  # (n,)
