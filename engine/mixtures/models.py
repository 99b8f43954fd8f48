"""The estimators: Bayesian mixtures whose clusters all groups share and whose proportions each group has of its own.

    model = GMC(width=0.05, random_state=0).fit(descriptors, groups=dives)
    model.labels_, model.weights_, model.n_clusters_
"""

from collections.abc import Callable

from engine.distributions import (
    Dirichlet,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    WeightsPrior,
)
from engine.mixtures import checking
from engine.mixtures.bayesian import BayesianMixture
from engine.problems import fail, unknown

TRUNCATIONS: dict[str, Callable[[float], WeightsPrior]] = {
    "nested": NestedSticks, "tied": TiedSticks, "truncated": TruncatedSticks,
}


class BGMM(BayesianMixture):
    """Bayesian Gaussian mixture with symmetric Dirichlet weights; groups are not looked at."""

    def __init__(self, *, width=0.05, scaled_prior=True, observation="full", concentration=1.0, search="greedy",
                 search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000, warm_start=False, random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.concentration = concentration
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return Dirichlet(self.concentration)

    def _check_weights(self) -> None:
        checking.positive("concentration", self.concentration)


class VDP(BayesianMixture):
    """Variational Dirichlet process: as many clusters as the rows call for; groups are not looked at."""

    def __init__(self, *, width=0.05, scaled_prior=True, observation="full", concentration=1.0, truncation="nested",
                 search="greedy", search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000, warm_start=False,
                 random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.concentration, self.truncation = concentration, truncation
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return TRUNCATIONS[self.truncation](self.concentration)

    def _check_weights(self) -> None:
        checking.positive("concentration", self.concentration)
        if self.truncation not in TRUNCATIONS:
            raise unknown("truncation", str(self.truncation), TRUNCATIONS)


class _Grouped(BayesianMixture):
    """Proportions of its own for every group."""

    _sees_groups = True

    @property
    def _cutoff(self) -> float:
        return float(self.sparse_cutoff) if self.sparse else 0.0


class GMC(_Grouped):
    """Grouped mixtures clustering: every dive or album has proportions of its own under a generalised Dirichlet."""

    def __init__(self, *, width=0.05, scaled_prior=True, observation="full", sticks=(1.0, 1.0), sparse=False,
                 sparse_cutoff=1.0, search="greedy", search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000,
                 warm_start=False, random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.sticks, self.sparse, self.sparse_cutoff = sticks, sparse, sparse_cutoff
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return GeneralisedDirichlet(*(float(value) for value in self.sticks))

    def _check_weights(self) -> None:
        if not isinstance(self.sticks, tuple | list) or len(self.sticks) != 2:
            raise fail("sticks", f"{self.sticks!r} is not a pair", "give the two parameters of a Beta distribution")
        for value in self.sticks:
            checking.positive("sticks", value)


class SymmetricGMC(_Grouped):
    """Grouped mixtures clustering whose proportions have a symmetric Dirichlet prior."""

    def __init__(self, *, width=0.05, scaled_prior=True, observation="full", concentration=1.0, sparse=False,
                 sparse_cutoff=1.0, search="greedy", search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000,
                 warm_start=False, random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.concentration, self.sparse, self.sparse_cutoff = concentration, sparse, sparse_cutoff
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return Dirichlet(self.concentration)

    def _check_weights(self) -> None:
        checking.positive("concentration", self.concentration)
