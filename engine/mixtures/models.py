"""The mixture estimators. All groups share the clusters; each group has its own proportions.

model = GMC(width=0.05, random_state=0).fit(descriptors, groups=dives)
model.labels_, model.weights_, model.n_clusters_
"""

from collections.abc import Callable

from benthoscope.engine.distributions import (
    Dirichlet,
    GeneralisedDirichlet,
    NestedSticks,
    TiedSticks,
    TruncatedSticks,
    WeightsPrior,
)
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.bayesian import BayesianMixture
from benthoscope.engine.problems import fail, unknown

TRUNCATIONS: dict[str, Callable[[float], WeightsPrior]] = {
    "nested": NestedSticks,
    "tied": TiedSticks,
    "truncated": TruncatedSticks,
}


class BGMM(BayesianMixture):
    """Bayesian Gaussian mixture with symmetric Dirichlet weights. Ignores groups."""

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        observation="full",
        concentration=1.0,
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        warm_start=False,
        random_state=None,
    ):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.concentration = concentration
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return Dirichlet(self.concentration)

    def _check_weights(self) -> None:
        checking.positive("concentration", self.concentration)


class VDP(BayesianMixture):
    """Variational Dirichlet process: the data determine the number of clusters. Ignores groups."""

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        observation="full",
        concentration=1.0,
        truncation="nested",
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        warm_start=False,
        random_state=None,
    ):
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
    """Base class of models in which each group has its own proportions."""

    _sees_groups = True

    @property
    def _cutoff(self) -> float:
        return float(self.sparse_cutoff) if self.sparse else 0.0


class GMC(_Grouped):
    """Grouped mixtures clustering: each dive or album has its own proportions under a generalised Dirichlet prior."""

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        observation="full",
        sticks=(1.0, 1.0),
        sparse=False,
        sparse_cutoff=1.0,
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        warm_start=False,
        random_state=None,
    ):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.sticks, self.sparse, self.sparse_cutoff = sticks, sparse, sparse_cutoff
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return GeneralisedDirichlet(*(float(value) for value in self.sticks))

    def _check_weights(self) -> None:
        if not isinstance(self.sticks, tuple | list) or len(self.sticks) != 2:
            raise fail(
                "sticks", f"{self.sticks!r} is not a pair of numbers", "give the two parameters of a Beta distribution"
            )
        for value in self.sticks:
            checking.positive("sticks", value)


class SymmetricGMC(_Grouped):
    """Grouped mixtures clustering with a symmetric Dirichlet prior of the proportions of each group."""

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        observation="full",
        concentration=1.0,
        sparse=False,
        sparse_cutoff=1.0,
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        warm_start=False,
        random_state=None,
    ):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.concentration, self.sparse, self.sparse_cutoff = concentration, sparse, sparse_cutoff
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.warm_start, self.random_state = tol, max_iter, warm_start, random_state

    def _weights_prior(self) -> WeightsPrior:
        return Dirichlet(self.concentration)

    def _check_weights(self) -> None:
        checking.positive("concentration", self.concentration)
