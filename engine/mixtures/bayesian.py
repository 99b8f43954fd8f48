"""Fitting a Bayesian mixture: what the four models have in common."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from engine.compute import Compute, LocalThreads, blas_threads
from engine.mixtures import checking
from engine.mixtures.course import Checkpoint, Course, Forgetful, State
from engine.mixtures.families import family_named
from engine.mixtures.fitted import FittedMixture
from engine.mixtures.levels import in_levels
from engine.mixtures.model import Model, Scorer
from engine.mixtures.observations import Observations
from engine.mixtures.search import Search, Start, Task, exhaustive, greedy, no_search, random_start
from engine.mixtures.summary import summarised
from engine.mixtures.together import together
from engine.mixtures.using import FittedEstimator
from engine.mixtures.variational import Fit, Rule
from engine.problems import fail, unknown
from engine.progress import Cancelled, OnStep, ignore

SEARCHES: dict[str, Search] = {
    "exhaustive": exhaustive, "greedy": greedy, "none": no_search, "random": random_start, "together": together,
}

MANY_GROUPS, SMALL_GROUP = 100, 500  # dives are fewer than the one or have more rows than the other


class BayesianMixture(FittedEstimator):
    """The models differ by the prior of their weights and by whether they see groups. What they share:

    width         variance a cluster is expected to have, over the variance along the first principal axis of all rows:
                  within reason, the larger the fewer clusters. With scaled_prior=False, in squared units of the rows,
                  which is for whitened columns.
    observation   "full" covariances, "diagonal" ones, or "exponential" columns of non-negative values.
    search        "greedy" splits the first cluster that gains by it, "exhaustive" the one that gains most, "together"
                  all that gain, and joins; "random" prunes a random surplus; "none" keeps the clusters of the start.
    search_rows   rows of the sample the search begins on; larger sets are reached in steps. None searches all rows.
    max_clusters  no more clusters than this; None for no limit.
    tol           an iteration, a split or a join counts if it raises the bound by more than this part of it.

    After fit: labels_ (N,), weights_ (J, K) shares of every group, groups_ (J,) their names, n_clusters_, clusters_ and
    prior_ in units of the rows, counts_ (J, K), lower_bound_ (minus the papers' free energy), lower_bound_history_ on
    all rows, n_iter_ and passes_ (iterations on all rows, and rows gone through over rows), converged_.
    """

    _cutoff = 0.0

    def fit(self, X: Any, groups: Any = None, *, start: Any = None, compute: Compute | None = None,
            on_step: OnStep = ignore, checkpoint: Checkpoint | None = None) -> Self:
        """Learns clusters of rows X (N, D): an array, a memmap or the path of a .npy file.

        `groups` names the dive or album of every row; `start` gives cluster numbers to begin with. `on_step` hears of
        every iteration and may raise Cancelled: the clusters found so far, perhaps on a sample of the rows only, then
        stay usable, and `labels_` is missing.
        With a checkpoint, a fit that was killed goes on where it last saved.
        """
        self._check_parameters()
        source = checking.rows_of(X)
        N, D = checking.width_of(source)
        names, index = checking.numbered(groups if self._sees_groups else None, N)
        course = Course(N, on_step, checkpoint or Forgetful())
        machine = compute or LocalThreads()
        with blas_threads(1):
            data, model = self._prepared(source, index, len(names), machine, course)
            task = Task(model, data, Rule(self.tol, self.max_iter), course, self._generator(), self.max_clusters)
            opening = self._opening(data, model, start)
            self._forget()
            self.n_features_in_, self.groups_ = D, names
            self._learned(task, opening)
        return self

    def fit_predict(self, X: Any, groups: Any = None, **rest: Any) -> np.ndarray:
        """The cluster of every row of X after fitting to it."""
        return self.fit(X, groups, **rest).labels_

    def _check_weights(self) -> None:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        for name in ("width", "tol"):
            checking.positive(name, getattr(self, name))
        for name in ("max_iter", "max_clusters", "search_rows"):
            if getattr(self, name) is not None or name == "max_iter":
                checking.positive(name, getattr(self, name), integer=True)
        if self.search not in SEARCHES:
            raise unknown("search", str(self.search), SEARCHES)
        family_named(self.observation)
        self._check_weights()

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(self.random_state)

    def _prepared(self, source: np.ndarray | Path, index: np.ndarray, n_groups: int, machine: Compute,
                  course: Course) -> tuple[Observations, Model]:
        family = family_named(self.observation)
        summary = summarised(source, machine, course.pulse)
        frame = family.frame(summary)
        course.bound_offset = -summary.count * len(frame.origin) * float(np.log(frame.scale))
        model = Model(self._weights_prior(), family.prior(frame, self.width, self.scaled_prior), self._cutoff)
        data = Observations(source, index, n_groups, frame, machine, course.pulse,
                            whole_groups=_are_images(index, n_groups))
        return data, model

    def _opening(self, data: Observations, model: Model, start: Any) -> Start | None:
        """Clusters to begin with: those of the last fit where warm, or those of the labels given."""
        if start is not None:
            labels = checking.labels_column(start, len(data))
            return Start(data.labelled(model.clusters, labels))
        if self.warm_start and hasattr(self, "mixture_"):
            checking.same_columns(len(data.frame.origin), self.n_features_in_, type(self).__name__)
            return Start(data.sweep(self._as_seen_in(data, model)))
        return None

    def _as_seen_in(self, data: Observations, model: Model) -> Scorer:
        """The clusters of the last fit in the frame of new data, with their overall shares for every group."""
        frame = data.frame
        clusters = self.clusters_.moved(-frame.origin / frame.scale, 1 / frame.scale)
        log_shares = np.log(np.maximum(self.mixture_.overall(), np.finfo(float).tiny))
        return Scorer(model.clusters, clusters.coefficients(), np.repeat(log_shares, data.n_groups, axis=0))

    def _learned(self, task: Task, opening: Start | None) -> None:
        course, data = task.course, task.data
        identity = {"model": repr(self), "shape": [len(data), self.n_features_in_], "groups": data.n_groups}
        course.mark(**identity)
        state = of_same_fit(course.resume(), identity)
        try:
            fit = in_levels(SEARCHES[self.search], task, self.search_rows, state, opening)
        except Cancelled:
            if course.latest is not None:
                self._keep(course.latest, task)
            raise
        self._keep(fit, task)
        self.labels_ = data.nearest(self.mixture_.scorer(_present(task.model, self.mixture_)))[0]

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)

    def _keep(self, fit: Fit, task: Task) -> None:
        offset = task.course.bound_offset * fit.statistics.sizes.sum() / len(task.data)
        found = FittedMixture(fit.parameters, fit.statistics, task.model.clusters, task.data.frame, fit.bound + offset)
        self._show(found.by_size(), self.groups_)
        self.lower_bound_history_ = list(task.course.history)
        self.n_iter_, self.passes_ = max(task.course.iterations, 1), task.course.passes
        self.converged_ = fit.converged


def _are_images(index: np.ndarray, n_groups: int) -> bool:
    """Many small groups, one after the other: the rows are segments, and a sample without whole images shows no
    shares of any."""
    small = n_groups > MANY_GROUPS and len(index) < SMALL_GROUP * n_groups
    return small and bool((np.diff(index) >= 0).all())


def _present(model: Model, found: FittedMixture) -> np.ndarray | None:
    return model.present(found.statistics) if model.cutoff else None


def of_same_fit(state: State | None, identity: dict[str, Any]) -> State | None:
    """Refuses to go on with somebody else's state."""
    if state is None:
        return None
    for name, value in identity.items():
        if name not in state or (list(state[name]) if isinstance(value, list) else state[name]) != value:
            raise fail("checkpoint", f"is of another fit: {name} {state.get(name)!r}, not {value!r}",
                       "give each fit a checkpoint of its own")
    return state
