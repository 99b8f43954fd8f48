"""Proposals to split one cluster in two, refined on its own members (methods note 5.6)."""

from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.model import Model, Scorer, Statistics
from engine.mixtures.observations import Observations
from engine.mixtures.variational import Fit, Rule, converge

FEWEST_MEMBERS = 4
FEWEST_ON_A_SIDE = 2
TOO_SMALL = 1.0          # rows a half must own more than, after refinement
MEMBER = 0.5             # a row is a member of the cluster that owns more of it than this
REFINEMENT = Rule(tol=1e-5, max_iter=15)


@dataclass(frozen=True)
class Members:
    """Who belongs to which cluster, once for all proposals made from one fit."""

    labels: np.ndarray  # (N,)
    sure: np.ndarray    # (N,)

    @classmethod
    def of(cls, data: Observations, fit: Fit) -> "Members":
        return cls(*data.nearest(fit.scorer))

    def rows(self, cluster: int) -> np.ndarray:
        return np.flatnonzero((self.labels == cluster) & (self.sure > MEMBER))


def halve(model: Model, members: Observations, fit: Fit, cluster: int) -> Fit | None:
    """Two clusters for the members of one, or None where they do not part."""
    if len(members) < FEWEST_MEMBERS or fit.statistics.owned[cluster] < FEWEST_MEMBERS:
        return None
    first = _first_side(members, fit, cluster)
    if min(first.sum(), (~first).sum()) < FEWEST_ON_A_SIDE:
        return None
    halves, present, index = model.of_halves(members.groups)
    few = members.regrouped(index, 1 if present is None else len(present))
    start = few.given(model.clusters, np.stack([first, ~first], axis=1).astype(float))
    pair = converge(halves, few, start, REFINEMENT)
    return _for_all_groups(model, members, present, pair) if pair.statistics.owned.min() > TOO_SMALL else None


def _for_all_groups(model: Model, members: Observations, present: np.ndarray | None, pair: Fit) -> Fit:
    """The pair with scores for every group: those without members have the weights they had before any data."""
    if present is None:
        return pair  # its one row of weights is for all groups
    unseen = model.weights.posterior(np.zeros((1, 2)), np.zeros(1)).expected_log
    log_weights = np.repeat(unseen, members.n_groups, axis=0)
    log_weights[present] = pair.parameters.weights.expected_log
    return replace(pair, scorer=Scorer(model.clusters, pair.parameters.clusters.coefficients(), log_weights))


def augmented(members: Observations, fit: Fit, cluster: int, pair: Fit) -> Statistics:
    """The fit's statistics with what the cluster owns of the second half's members moved to a new cluster."""
    share = members.responsibilities(fit.scorer)[:, cluster]
    to_second = members.responsibilities(pair.scorer)[:, 1] > MEMBER
    part = members.given(fit.scorer.clusters, (share * to_second)[:, None])
    return fit.statistics.parted(cluster, part)


def _first_side(members: Observations, fit: Fit, cluster: int) -> np.ndarray:
    normals, offsets = fit.parameters.clusters.cut()
    seen = (members.source - members.frame.origin) / members.frame.scale
    return seen @ normals[cluster] >= offsets[cluster]
