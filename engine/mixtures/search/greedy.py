"""Searches for the number of clusters that start from one cluster and split while the bound rises (methods note 5.4,
5.6).

`greedy` and `exhaustive` follow the papers; `together` tries all clusters at once; `random_start` starts with too many
clusters and prunes them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from benthoscope.engine.mixtures.data import Observations
from benthoscope.engine.mixtures.fit_monitor import Course, State
from benthoscope.engine.mixtures.inference import (
    Fit,
    StoppingRule,
    converge,
    converge_with_jumps,
    first_statistics,
    settle,
    step,
)
from benthoscope.engine.mixtures.model import Model, Statistics
from benthoscope.engine.mixtures.search.splits import TOO_SMALL, Members, augmented, halve

BEFORE = "before_"  # prefix of the checkpoint entries for the fit before a change
SURPLUS = 30  # number of clusters of a random start without an upper limit


@dataclass(frozen=True)
class Task:
    """The model, the data and the settings of a search."""

    model: Model
    data: Observations
    rule: StoppingRule
    course: Course
    rng: np.random.Generator
    max_clusters: int | None = None
    # nats per row by which a split, merge or birth must raise the bound; None: rule.tol
    least_gain: float | None = None
    jumps: bool = False  # whether slow iterations are skipped

    @property
    def threshold(self) -> float:
        """The increase of the bound, in nats, that a split, merge or birth must reach."""
        return (self.rule.tol if self.least_gain is None else self.least_gain) * len(self.data)

    def may_grow(self, fit: Fit) -> bool:
        return fit.n_clusters < (self.max_clusters or len(self.data))

    def settle(self, start: "Start") -> tuple[Fit, np.ndarray]:
        """Save the starting point, then converge from it. Also returns the numbers of the remaining clusters."""
        self.course.save(rng=self.rng.bit_generator.state, **start.state())
        return self._settled(start.statistics, start.bound)

    def converged(self, statistics: Statistics) -> Fit:
        """Converge from the statistics without saving them. A resumed fit repeats these iterations."""
        return self._settled(statistics, None)[0]

    def _settled(self, statistics: Statistics, bound: float | None) -> tuple[Fit, np.ndarray]:
        method = converge_with_jumps if self.jumps and not self.model.cutoff else converge
        return settle(self.model, self.data, statistics, self.rule, self.course, bound, method)

    def settle_change(self, start: "Start") -> tuple[Fit, np.ndarray, bool]:
        """Converge as `settle` does. If the changed fit ends no higher than the fit before the change, because a new
        cluster died out, returns the fit before the change and False, so that the search does not repeat the change."""
        known = len(self.course.history)
        fit, remaining_changes = self.settle(start)
        before = start.before
        if before is None or before.bound is None or fit.bound > before.bound:
            return fit, remaining_changes, True
        del self.course.history[known:]
        fit = replace(step(self.model, self.data, before.statistics), converged=fit.converged)
        return fit, np.arange(fit.n_clusters), False

    def on_sample(self, rows: int) -> "Task":
        """Return the same task on a random sample of rows, or on whole groups with about this many rows."""
        if not self.data.whole_groups:
            return replace(self, data=self.data.sample(rows, self.rng))
        groups = self.data.some_groups(rows, self.rng)
        return replace(self, data=self.data.of_groups(groups), model=self.model.of_groups(groups))

    def gains(self, fit: Fit, candidate: Fit | None) -> bool:
        """Return whether the candidate, one iteration after a change, has a higher bound than the unchanged fit after
        one iteration."""
        gain = -np.inf if candidate is None else candidate.bound - fit.bound
        if candidate is None or gain <= self.threshold:
            return False
        if self.least_gain is None or self.least_gain >= self.rule.tol:
            return True
        if gain > self.threshold + self.rule.threshold(len(self.data)):  # more than an iteration of the converged fit
            return True
        unchanged = step(self.model, self.data, fit.statistics, fit.parameters)  # the fit has not fully converged
        return candidate.bound - unchanged.bound > self.threshold


@dataclass(frozen=True)
class Start:
    """A point of a search: the statistics, the number of failed splits of each cluster, and the bound if known.

    `before` is the converged fit before the change that led here.
    """

    statistics: Statistics
    tally: tuple[int, ...] = ()
    bound: float | None = None
    before: "Start | None" = None

    @classmethod
    def after(cls, fit: Fit, tally: Iterable[int] = (), changed: Fit | None = None) -> "Start":
        return cls(fit.statistics, tuple(tally), fit.bound, None if changed is None else Start.after(changed))

    def tallies(self) -> np.ndarray:
        return np.array(self.tally or [0] * len(self.statistics.moments), int)

    def state(self, prefix: str = "") -> dict:
        statistics = self.statistics
        arrays = {
            "counts": statistics.counts,
            "moments": statistics.moments,
            "sizes": statistics.sizes,
            "owners": statistics.owners,
            "tally": self.tallies(),
            "bound": self.bound,
        }
        before = self.before.state(prefix + BEFORE) if self.before else {}
        return {**{prefix + name: value for name, value in arrays.items()}, **before}

    @classmethod
    def of_state(cls, state: State, prefix: str = "") -> "Start | None":
        """Restore a start from a checkpoint. None if nothing was saved under the prefix."""
        if f"{prefix}counts" not in state:
            return None
        owners = state.get(f"{prefix}owners")
        counts, moments, sizes = (np.asarray(state[prefix + name]) for name in ("counts", "moments", "sizes"))
        statistics = Statistics(counts, moments, sizes, owners=None if owners is None else np.asarray(owners))
        bound, tally = state[f"{prefix}bound"], tuple(int(n) for n in state[f"{prefix}tally"])
        before = cls.of_state(state, prefix + BEFORE)
        return cls(statistics, tally, None if bound is None else float(bound), before)


Search = Callable[[Task, Start | None], Fit]  # a start of None means from the beginning


Trial = tuple[Search, Start | None]  # a search and its start


@dataclass(frozen=True)
class Strategy:
    """The searches to run and what follows them.

    `searches` run on the first rows, and the best bound is kept. With `grows`, a sample of more rows is searched by
    over-complete starts instead, and later levels split all clusters locally. With `improves`, the fit of all rows is
    split and merged until the bound stops rising.
    """

    searches: tuple[Search, ...]
    improves: bool = True
    grows: bool = False

    def trials(self, start: Start | None) -> list[Trial]:
        """Return the searches of the first rows, in order."""
        return [(search, start) for search in self.searches]


def greedy(task: Task, start: Start | None = None) -> Fit:
    """Accept the first split that raises the bound. Clusters with few failed splits and a poor fit are tried first
    (Alg. 5.1)."""
    start = start or one_cluster(task)
    while True:
        fit, remaining, gained = task.settle_change(start)
        if not gained:
            return fit
        improved, tally = _first_gain(task, fit, start.tallies()[remaining])
        if improved is None:
            return fit
        start = Start.after(improved, tally, fit)


def exhaustive(task: Task, start: Start | None = None) -> Fit:
    """Try to split each cluster and accept the split that raises the bound most (Alg. 4.1)."""
    start = start or one_cluster(task)
    while True:
        fit, _, gained = task.settle_change(start)
        if not task.may_grow(fit) or not gained:
            return fit
        members = Members.of(task.data, fit)
        scored = [_scored(task, fit, members, k) for k in range(fit.n_clusters)]
        best = max((s for s in scored if s), key=lambda s: s.bound, default=None)
        if best is None or not task.gains(fit, best):
            return fit
        start = Start.after(best, changed=fit)


def random_start(task: Task, start: Start | None = None) -> Fit:
    """Start with too many clusters that own random rows. Clusters without rows are removed (Alg. 2.1)."""
    return task.settle(start or _random(task))[0]


def no_search(task: Task, start: Start | None = None) -> Fit:
    """Keep the given clusters, or a single cluster."""
    return task.settle(start or one_cluster(task))[0]


def one_cluster(task: Task) -> Start:
    return Start(task.model.opened(first_statistics(task.model, task.data), task.rng))


def _random(task: Task) -> Start:
    K = min(task.max_clusters or SURPLUS, len(task.data))
    resp = task.rng.random((len(task.data), K))
    start_statistics = task.data.statistics_of(task.model.clusters, resp / resp.sum(1, keepdims=True))
    return Start(task.model.opened(start_statistics, task.rng))


def _first_gain(task: Task, fit: Fit, tally: np.ndarray) -> tuple[Fit | None, np.ndarray]:
    tally = tally.copy()
    if not task.may_grow(fit):
        return None, tally
    members = Members.of(task.data, fit)
    for k in np.lexsort((-task.model.misfit(fit.parameters, fit.statistics), tally)):
        scored = _scored(task, fit, members, k)
        if task.gains(fit, scored):
            tally[k] = 0
            return scored, np.append(tally, 0)
        tally[k] += 1
    return None, tally


def _scored(task: Task, fit: Fit, members: Members, k: int) -> Fit | None:
    """Return the fit after one iteration on all rows from the split of cluster k, or None if the cluster does not
    split."""
    rows = members.rows(k)
    members_data = task.data.take(rows)
    pair = halve(task.model, members_data, fit, k)
    if pair is None:
        task.course.tried(fit, len(task.data), 0, int(k), False)
        return None
    scored = step(task.model, task.data, augmented(members_data, fit, k, pair))
    large = bool(scored.statistics.owned.min() > TOO_SMALL)
    row_visits = pair.iterations * len(members_data) + len(task.data)
    task.course.tried(fit, len(task.data), row_visits, int(k), large and task.gains(fit, scored))
    return scored if large else None
