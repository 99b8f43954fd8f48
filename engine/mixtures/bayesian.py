"""Common base class of the Bayesian mixtures for rows: parameters, fitting and checkpoints."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads, blas_threads
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.data import Observations, summarised
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.mixtures.fit_monitor import Checkpoint, Course, NoCheckpoint, State
from benthoscope.engine.mixtures.fitted import FittedMixture
from benthoscope.engine.mixtures.inference import Fit, StoppingRule
from benthoscope.engine.mixtures.model import Model, Scorer
from benthoscope.engine.mixtures.observation_models import family_named
from benthoscope.engine.mixtures.prediction import FittedEstimator
from benthoscope.engine.mixtures.search.greedy import Start, Strategy, Task, exhaustive, greedy, no_search, random_start
from benthoscope.engine.mixtures.search.levels import in_levels
from benthoscope.engine.mixtures.search.overcomplete import overcomplete
from benthoscope.engine.mixtures.search.split_merge import together
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import Cancelled, OnStep, ignore

STARTS = 6  # over-complete starts, when the number of rows is small
SEARCHES: dict[str, Strategy] = {
    "best": Strategy((greedy, together, *[overcomplete] * STARTS), grows=True),
    "exhaustive": Strategy((exhaustive,)),
    "greedy": Strategy((greedy,)),
    "none": Strategy((no_search,), improves=False),
    "overcomplete": Strategy((overcomplete,), grows=True),
    "random": Strategy((random_start,), improves=False),
    "together": Strategy((together,)),
}
# With many tiny groups, a longer search raises the bound by adding clusters that fit only a few groups, and the
# clusters match objects less well. Measured on 300 images of 20 segments: 7 clusters and V .72 with "greedy", 8 to 18
# clusters and .69 after further splits and births, 72 clusters and .45 after over-complete starts.
OF_TINY_GROUPS = Strategy((greedy,), improves=False)

MANY_GROUPS = 100  # there are fewer than 100 dives
TINY_GROUP = 50  # rows, on average
SMALL_GROUP = 500  # a dive has more rows


class BayesianMixture(FittedEstimator):
    """Base class of the mixtures. Subclasses choose the prior of the weights and whether they use groups.

    Parameters
    ----------
    width : float
        Expected variance of a cluster, as a fraction of the variance of all rows along the first principal axis. A
        larger width gives fewer clusters, for widths above about .02. If the width is smaller than the true variance of
        the clusters along their thin axes, the number of clusters and the bound fall again, because each cluster then
        needs many rows to overrule the prior. With `scaled_prior=False` the width is in squared units of the rows; use
        this for whitened columns.
    observation : {"full", "diagonal", "exponential"}
        Distribution of a cluster: a Gaussian with a full or diagonal covariance, or independent exponential columns for
        non-negative values.
    search : str
        "greedy" splits the first cluster whose split raises the bound, "exhaustive" the cluster whose split raises it
        most. "together" accepts all improving splits at once and then merges clusters. "overcomplete" starts with many
        small clusters and deletes or merges those that do not improve the bound. "random" starts with too many random
        clusters, and "none" keeps the initial clusters. "best" keeps the highest bound of several searches: on up to
        `search_rows` rows "greedy", "together" and four over-complete starts. On more rows, over-complete starts on
        samples follow each other, each with two or three times more clusters and rows, until most are superfluous.
        Then all clusters are split into several parts at once, merged and deleted while that raises the bound. With
        many tiny groups, such as images of a few segments, "best" runs "greedy" only, because longer searches then add
        clusters of only a few groups.
    search_rows : int or None
        Number of rows in the first sample of the search. Larger data sets are reached in steps. None searches all rows.
    max_clusters : int or None
        Upper limit for the number of clusters; None means no limit.
    tol : float
        The fit stops when no iteration, split or merge raises the bound by more than `tol` nats per row. The value does
        not depend on the units of the rows. Before the last level, gains below 1e-4 nats per row are ignored.

    Attributes
    ----------
    labels_ : ndarray (N,)
        Cluster of each row.
    weights_ : ndarray (J, K)
        Proportions of the clusters in each group.
    groups_ : ndarray (J,)
        Names of the groups.
    n_clusters_ : int
        Number of clusters.
    clusters_, prior_
        Posterior and prior of the clusters, in units of the rows.
    counts_ : ndarray (J, K)
        Expected number of rows of each group in each cluster.
    lower_bound_ : float
        Lower bound of the log evidence, which is minus the free energy of the papers.
    lower_bound_history_ : list of float
        Lower bound after each iteration on all rows.
    n_iter_, passes_
        Number of iterations on all rows, and number of rows processed divided by the number of rows.
    converged_ : bool
        Whether the fit met `tol`.
    limits_reached_ : list of str
        Names of the parameters that prevented the fit from finding more clusters.
    """

    @property
    def _cutoff(self) -> float:
        """Pairs of a group and a cluster with fewer rows than this are no longer evaluated."""
        return 0.0

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        start: Any = None,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit the mixture to rows X (N, D): an array, a table, a memmap or the path of a .npy file. `y` is ignored.

        `groups` gives the dive or album of each row; `start` gives initial cluster numbers. `on_step` is called with
        the progress of each iteration and may raise Cancelled. The clusters found so far, perhaps on a sample of the
        rows, then remain usable, but `labels_` is not set. With a checkpoint, an interrupted fit resumes from its last
        saved state.
        """
        self._refuse_target(y, "fit")
        self._check_parameters()
        source = checking.rows_of(X)
        N, D = checking.width_of(source)
        names, index = checking.numbered(groups if self._sees_groups else None, N)
        course = Course(N, on_step, checkpoint or NoCheckpoint())
        machine = compute or LocalThreads()
        with blas_threads(1):
            data, model = self._prepared(source, index, len(names), machine, course)
            task = Task(
                model, data, StoppingRule(self.tol, self.max_iter), course, self._generator(), self.max_clusters
            )
            opening = self._opening(data, model, start)
            self._clear_fit()
            self._record_columns(X)
            self.n_features_in_, self.groups_ = D, names
            self._learned(task, opening)
        return self

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

    def _prepared(
        self, source: np.ndarray | Path, index: np.ndarray, n_groups: int, machine: Compute, course: Course
    ) -> tuple[Observations, Model]:
        family = family_named(self.observation)
        summary = summarised(source, machine, course.pulse)
        frame = family.frame(summary)
        course.bound_offset = -summary.count * len(frame.origin) * float(np.log(frame.scale))
        model = Model(self._weights_prior(), family.prior(frame, self.width, self.scaled_prior), self._cutoff)
        data = Observations(
            source, index, n_groups, frame, machine, course.pulse, whole_groups=_are_images(index, n_groups)
        )
        return data, model

    def _opening(self, data: Observations, model: Model, start: Any) -> Start | None:
        """Return the initial clusters: those of the last fit for a warm start, or those given by labels. None if there
        are none."""
        if start is not None:
            labels = checking.labels_column(start, len(data))
            return Start(data.labelled(model.clusters, labels))
        if self.warm_start and hasattr(self, "mixture_"):
            checking.same_columns(len(data.frame.origin), self.n_features_in_, type(self).__name__)
            return Start(data.sweep(self._as_seen_in(data, model)))
        return None

    def _as_seen_in(self, data: Observations, model: Model) -> Scorer:
        """Return the clusters of the last fit in the frame of the new data, with their overall proportions for each
        group."""
        frame = data.frame
        clusters = self.clusters_.moved(-frame.origin / frame.scale, 1 / frame.scale)
        log_shares = np.log(np.maximum(self.mixture_.overall(), np.finfo(float).tiny))
        return Scorer(model.clusters, clusters.coefficients(), np.repeat(log_shares, data.n_groups, axis=0))

    def _learned(self, task: Task, opening: Start | None) -> None:
        course, data = task.course, task.data
        identity = {
            "model": changed_parameters(self),
            "shape": [len(data), self.n_features_in_],
            "groups": data.n_groups,
        }
        course.mark(**identity)
        state = of_same_fit(course.resume(), identity)
        try:
            fit = in_levels(self._strategy(data), task, self.search_rows, state, opening)
        except Cancelled:
            if course.latest is not None:
                self._keep(course.result, task)
            raise
        self._keep(fit, task)
        self.labels_ = data.nearest(self.mixture_.scorer(_present(task.model, self.mixture_)))[0]

    def _strategy(self, data: Observations) -> Strategy:
        if self.search == "best" and _many_groups(len(data), data.n_groups, TINY_GROUP):
            return OF_TINY_GROUPS
        return SEARCHES[self.search]

    def _keep(self, fit: Fit, task: Task) -> None:
        offset = task.course.bound_offset * fit.statistics.sizes.sum() / len(task.data)
        fitted = FittedMixture(fit.parameters, fit.statistics, task.model.clusters, task.data.frame, fit.bound + offset)
        self._show(fitted.by_size(), self.groups_)
        self.lower_bound_history_ = list(task.course.history)
        self.n_iter_, self.passes_ = max(task.course.iterations, 1), task.course.passes
        self.converged_ = fit.converged


def _are_images(index: np.ndarray, n_groups: int) -> bool:
    """Return whether the groups are many, small and contiguous. The rows are then segments of images, and only a sample
    of complete images shows the proportions within images."""
    return _many_groups(len(index), n_groups, SMALL_GROUP) and bool((np.diff(index) >= 0).all())


def _many_groups(rows: int, n_groups: int, fewer_than: int) -> bool:
    """Return whether there are many groups with fewer rows than this on average."""
    return n_groups > MANY_GROUPS and rows < fewer_than * n_groups


def _present(model: Model, fitted: FittedMixture) -> np.ndarray | None:
    return model.present(fitted.statistics) if model.cutoff else None


def of_same_fit(state: State | None, identity: dict[str, Any]) -> State | None:
    """Return the state if it belongs to this fit; raise otherwise."""
    if state is None:
        return None
    for name, value in identity.items():
        if name not in state or (list(state[name]) if isinstance(value, list) else state[name]) != value:
            raise fail(
                "checkpoint",
                f"belongs to another fit: {name} is {state.get(name)!r}, not {value!r}",
                "use a separate checkpoint for each fit",
            )
    return state
