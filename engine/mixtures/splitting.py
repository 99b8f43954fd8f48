"""Proposals to split one cluster in two, refined on its own members (methods note 5.6)."""

from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.model import Model, Statistics
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
    start = members.given(model.clusters, np.stack([first, ~first], axis=1).astype(float))
    pair = converge(replace(model, cutoff=0.0), members, start, REFINEMENT)
    return pair if pair.statistics.owned.min() > TOO_SMALL else None


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
