"""Propose to split one cluster in two, and refine the halves on its members (methods note 5.6)."""

from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.inference import Fit, StoppingRule, converge
from benthoscope.engine.mixtures.model import Model, Scorer, Statistics

FEWEST_MEMBERS = 4
FEWEST_ON_A_SIDE = 2
TOO_SMALL = 1.0  # number of rows that each half must own after refinement
MEMBER = 0.5  # a row is a member of a cluster with at least this responsibility
REFINEMENT = StoppingRule(tol=1e-4, max_iter=15)


@dataclass(frozen=True)
class Members:
    """The cluster of each row, computed once for all proposals from one fit."""

    labels: np.ndarray  # (N,)
    sure: np.ndarray  # (N,) responsibility of that cluster

    @classmethod
    def of(cls, data: Observations, fit: Fit) -> "Members":
        return cls(*data.nearest(fit.scorer))

    def rows(self, cluster: int) -> np.ndarray:
        return np.flatnonzero((self.labels == cluster) & (self.sure > MEMBER))


def halve(model: Model, members: Observations, fit: Fit, cluster: int) -> Fit | None:
    """Return a fit of two clusters for the members of one cluster, or None if it does not split."""
    if len(members) < FEWEST_MEMBERS or fit.statistics.owned[cluster] < FEWEST_MEMBERS:
        return None
    first = _first_side(members, fit, cluster)
    if min(first.sum(), (~first).sum()) < FEWEST_ON_A_SIDE:
        return None
    halves, present, index = model.of_halves(members.groups)
    few = members.regrouped(index, 1 if present is None else len(present))
    start = few.statistics_of(model.clusters, np.stack([first, ~first], axis=1).astype(float))
    pair = converge(halves, few, start, REFINEMENT)
    return _for_all_groups(model, members, present, pair) if pair.statistics.owned.min() > TOO_SMALL else None


def _for_all_groups(model: Model, members: Observations, present: np.ndarray | None, pair: Fit) -> Fit:
    """Return the pair with scores for all groups. Groups without members have their prior weights."""
    if present is None:
        return pair  # its single row of weights applies to all groups
    unseen = model.weights.posterior(np.zeros((1, 2)), np.zeros(1)).expected_log
    log_weights = np.repeat(unseen, members.n_groups, axis=0)
    log_weights[present] = pair.parameters.weights.expected_log
    return replace(pair, scorer=Scorer(model.clusters, pair.parameters.clusters.coefficients(), log_weights))


def augmented(members: Observations, fit: Fit, cluster: int, pair: Fit) -> Statistics:
    """Return the statistics of the fit after the second half of the cluster moved to a new cluster."""
    share = members.responsibilities(fit.scorer)[:, cluster]
    to_second = members.responsibilities(pair.scorer)[:, 1] > MEMBER
    second_half = members.statistics_of(fit.scorer.clusters, (share * to_second)[:, None])
    return fit.statistics.parted(cluster, second_half)


def _first_side(members: Observations, fit: Fit, cluster: int) -> np.ndarray:
    normals, offsets = fit.parameters.clusters.cut()
    scaled = (members.source - members.frame.origin) / members.frame.scale
    return scaled @ normals[cluster] >= offsets[cluster]
