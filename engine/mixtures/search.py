"""How many clusters: searches that start from one and split while the bound rises (methods note 5.4, 5.6).

`greedy` and `exhaustive` are the papers'; `together` tries every cluster at once; `random_start` prunes a surplus.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.course import Course, State
from engine.mixtures.model import Model, Statistics
from engine.mixtures.observations import Observations
from engine.mixtures.splitting import TOO_SMALL, Members, augmented, halve
from engine.mixtures.variational import Fit, Rule, first_statistics, settle, step

SURPLUS = 30  # clusters a random start begins with where no maximum is given


@dataclass(frozen=True)
class Task:
    """What a search works on."""

    model: Model
    data: Observations
    rule: Rule
    course: Course
    rng: np.random.Generator
    max_clusters: int | None = None

    def may_grow(self, fit: Fit) -> bool:
        return fit.n_clusters < (self.max_clusters or len(self.data))

    def settle(self, start: "Start") -> tuple[Fit, np.ndarray]:
        """Converges from a point of the search that is saved first; with the numbers of the clusters that are left."""
        self.course.save(rng=self.rng.bit_generator.state, **start.state())
        return settle(self.model, self.data, start.statistics, self.rule, self.course, start.bound)

    def on_sample(self, rows: int) -> "Task":
        """The same work on so many rows drawn at random, or on whole groups with about so many."""
        if not self.data.whole_groups:
            return replace(self, data=self.data.sample(rows, self.rng))
        groups = self.data.some_groups(rows, self.rng)
        return replace(self, data=self.data.of_groups(groups), model=self.model.of_groups(groups))

    def gains(self, fit: Fit, candidate: Fit | None) -> bool:
        threshold = self.rule.threshold(fit.bound, len(self.data))
        return candidate is not None and candidate.bound - fit.bound > threshold


@dataclass(frozen=True)
class Start:
    """A point of a search: statistics of the clusters so far, how often each failed to split, the bound if known."""

    statistics: Statistics
    tally: tuple[int, ...] = ()
    bound: float | None = None

    @classmethod
    def after(cls, fit: Fit, tally: Sequence[int] = ()) -> "Start":
        return cls(fit.statistics, tuple(tally), fit.bound)

    def tallies(self) -> np.ndarray:
        return np.array(self.tally or [0] * len(self.statistics.moments), int)

    def state(self) -> dict:
        found = self.statistics
        return {"counts": found.counts, "moments": found.moments, "sizes": found.sizes, "owners": found.owners,
                "tally": self.tallies(), "bound": self.bound}

    @classmethod
    def of_state(cls, state: State) -> "Start":
        owners = None if state.get("owners") is None else np.asarray(state["owners"])
        sums = (np.asarray(state[name]) for name in ("counts", "moments", "sizes"))
        statistics = Statistics(*sums, owners=owners)
        bound = state["bound"]
        return cls(statistics, tuple(int(n) for n in state["tally"]), None if bound is None else float(bound))


Search = Callable[[Task, Start | None], Fit]  # None: from the beginning


def greedy(task: Task, start: Start | None = None) -> Fit:
    """Takes the first split that gains, trying clusters that failed least and fit worst first (Alg. 5.1)."""
    start = start or one_cluster(task)
    while True:
        fit, left = task.settle(start)
        found, tally = _first_gain(task, fit, start.tallies()[left])
        if found is None:
            return fit
        start = Start.after(found, tally)


def exhaustive(task: Task, start: Start | None = None) -> Fit:
    """Tries every cluster and takes the split that gains most (Alg. 4.1)."""
    start = start or one_cluster(task)
    while True:
        fit, _ = task.settle(start)
        if not task.may_grow(fit):
            return fit
        members = Members.of(task.data, fit)
        scored = [_scored(task, fit, members, k) for k in range(fit.n_clusters)]
        best = max((s for s in scored if s), key=lambda s: s.bound, default=None)
        if not task.gains(fit, best):
            return fit
        start = Start.after(best)


def random_start(task: Task, start: Start | None = None) -> Fit:
    """Begins with a surplus of clusters that own rows at random; those that lose all die out (Alg. 2.1)."""
    return task.settle(start or _random(task))[0]


def no_search(task: Task, start: Start | None = None) -> Fit:
    """Keeps the clusters it is given, or one."""
    return task.settle(start or one_cluster(task))[0]


def one_cluster(task: Task) -> Start:
    return Start(task.model.opened(first_statistics(task.model, task.data), task.rng))


def _random(task: Task) -> Start:
    K = min(task.max_clusters or SURPLUS, len(task.data))
    resp = task.rng.random((len(task.data), K))
    given = task.data.given(task.model.clusters, resp / resp.sum(1, keepdims=True))
    return Start(task.model.opened(given, task.rng))


def _first_gain(task: Task, fit: Fit, tally: np.ndarray) -> tuple[Fit | None, np.ndarray]:
    tally = tally.copy()
    if not task.may_grow(fit):
        return None, tally
    members = Members.of(task.data, fit)
    for k in np.lexsort((-task.model.misfit(fit.parameters, fit.statistics), tally)):
        found = _scored(task, fit, members, k)
        if task.gains(fit, found):
            tally[k] = 0
            return found, np.append(tally, 0)
        tally[k] += 1
    return None, tally


def _scored(task: Task, fit: Fit, members: Members, k: int) -> Fit | None:
    """One iteration on all rows from the split of cluster k; None where it does not split."""
    rows = members.rows(k)
    mine = task.data.take(rows)
    pair = halve(task.model, mine, fit, k)
    if pair is None:
        task.course.tried(fit, len(task.data), 0, int(k), False)
        return None
    found = step(task.model, task.data, augmented(mine, fit, k, pair))
    large = bool(found.statistics.owned.min() > TOO_SMALL)
    work = pair.iterations * len(mine) + len(task.data)
    task.course.tried(fit, len(task.data), work, int(k), large and task.gains(fit, found))
    return found if large else None
