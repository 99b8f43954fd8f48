"""Simulated crowds with known truth: what people who sort pictures do, well and badly (methods note 7.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benthoscope.engine.crowd import Judgements, Sorting, judgements_of, sample_tasks
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.crowd.records import Campaign

Habit = Callable[[np.ndarray, np.random.Generator], np.ndarray]  # items shown -> a group for each


@dataclass(frozen=True)
class Crowd:
    """`truth` is the finest partition anybody goes by; `kind` names each worker's habit."""

    truth: np.ndarray
    habits: Sequence[Habit]
    kind: np.ndarray
    rng: np.random.Generator = field(repr=False)

    @property
    def n_items(self) -> int:
        return len(self.truth)

    @property
    def spam(self) -> np.ndarray:
        return np.isin(self.kind, ("spammer", "colluder", "lazy"))

    def answer(self, worker: int, items: np.ndarray) -> Sorting:
        groups = self.habits[worker](items, self.rng)
        return Sorting(worker, items.tolist(), groups.tolist())

    def answers(self, tasks: Sequence[np.ndarray], repeats: int = 1) -> list[Sorting]:
        """Each task done by the `repeats` least busy workers, ties at random."""
        load, all_answers = np.zeros(len(self.habits)), []
        for task in tasks:
            order = np.lexsort((self.rng.random(len(load)), load))[:repeats]
            load[order] += 1
            all_answers += [self.answer(int(worker), self.rng.permutation(task)) for worker in order]
        return all_answers

    def judgements(self, tasks: Sequence[np.ndarray], repeats: int = 1) -> Judgements:
        return judgements_of(self.answers(tasks, repeats), self.n_items, len(self.habits)).judgements

    def answer_all(self, workspace: Workspace, campaign: Campaign, people: int | None = None) -> None:
        """So many of them, or all, join a campaign and take turns until there is nothing left to do."""
        people = [workspace.crowd.join(campaign, f"w{number}")[0] for number in range(people or len(self.habits))]
        tasks = [True]
        while any(tasks):
            tasks = [workspace.crowd.next_task(campaign, person) for person in people]
            for person, task in zip(people, tasks, strict=True):
                if task:
                    groups = self.answer(person.number, np.array(task.shown)).groups
                    workspace.crowd.submit(campaign, person, task.task, f"word-{task.task:04d}", list(map(int, groups)))


def sorted_by(value: np.ndarray, noise: float = 0.05) -> Habit:
    """Goes by an attribute (N,) and mistakes each item with probability `noise`."""
    top = int(value.max()) + 1

    def habit(items, rng):
        slip = rng.random(len(items)) < noise
        return np.where(slip, rng.integers(0, top, len(items)), value[items])

    return habit


def at_random(items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A spammer: any group, their number new for each task."""
    return rng.integers(0, rng.integers(2, 8), len(items))


def all_in_one(items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A lazy worker who clicks through."""
    return np.zeros(len(items), int)


def by_place(items: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A lazy worker who puts what stands in one row into one group."""
    return np.arange(len(items)) // 5


def agreed(n_items: int, groups: int, rng: np.random.Generator) -> Habit:
    """A colluder: many workers give the answer of one made-up key."""
    return sorted_by(rng.integers(0, groups, n_items), 0.02)


def attribute_crowd(
    seed: int,
    *,
    n_items: int = 300,
    n_workers: int = 40,
    spammers: float = 0.15,
    kinds: Sequence[tuple[str, float]] = (("first", 0.4), ("second", 0.3), ("both", 0.3)),
) -> Crowd:
    """Six true clusters, three values of one attribute by two of another; schools go by one, the other or both."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n_items) % 6)
    by = {"first": sorted_by(truth // 2), "second": sorted_by(truth % 2), "both": sorted_by(truth)}
    return _crowd(truth, by, kinds, {"spammer": at_random}, {"spammer": spammers}, n_workers, rng)


def school_crowd(
    seed: int,
    *,
    n_items: int = 300,
    n_workers: int = 40,
    spammers: float = 0.0,
    lazy: float = 0.0,
    colluders: float = 0.0,
) -> Crowd:
    """The attribute crowd with any mixture of people who do not look: spammers, lazy ones, colluders."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n_items) % 6)
    by = {"first": sorted_by(truth // 2), "second": sorted_by(truth % 2), "both": sorted_by(truth)}
    bad = {"spammer": at_random, "lazy": by_place if seed % 2 else all_in_one, "colluder": agreed(n_items, 5, rng)}
    shares = {"spammer": spammers, "lazy": lazy, "colluder": colluders}
    return _crowd(truth, by, (("first", 0.4), ("second", 0.3), ("both", 0.3)), bad, shares, n_workers, rng)


def single_criterion_crowd(
    seed: int, *, n_items: int = 120, n_workers: int = 24, clusters: int = 4, spammers: float = 0.125
) -> Crowd:
    """All attentive workers use the same criterion."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n_items) % clusters)
    return _crowd(
        truth, {"all": sorted_by(truth)}, (("all", 1.0),), {"spammer": at_random}, {"spammer": spammers}, n_workers, rng
    )


def greeble_crowd(seed: int, *, n_items: int = 200, n_workers: int = 40) -> Crowd:
    """Three independent yes-no attributes, each the criterion of one school; truth numbers the eight combinations."""
    rng = np.random.default_rng(seed)
    height, colour, dots = rng.integers(0, 2, (3, n_items))
    by = {"height": sorted_by(height, 0.03), "colour": sorted_by(colour, 0.03), "dots": sorted_by(dots, 0.03)}
    truth = 4 * height + 2 * colour + dots
    return _crowd(truth, by, (("height", 0.4), ("colour", 0.4), ("dots", 0.2)), {}, {}, n_workers, rng)


def context_crowd(seed: int, *, n_items: int = 240, n_workers: int = 20, coarse: int = 2, fine: int = 3) -> Crowd:
    """Sorts by the coarse class where two of them are in sight, else by the fine one."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(n_items) % (coarse * fine))

    def habit(items, rng):
        roughly = truth[items] // fine
        counts = np.bincount(roughly, minlength=coarse)
        value, top = (roughly, coarse) if (counts >= 2).sum() >= 2 else (truth[items], coarse * fine)
        return np.where(rng.random(len(items)) < 0.03, rng.integers(0, top, len(items)), value)

    return Crowd(truth, [habit] * n_workers, np.full(n_workers, "context"), rng)


def _crowd(truth, by, kinds, bad, shares, n_workers, rng) -> Crowd:
    names = [name for name, share in shares.items() for _ in range(round(share * n_workers))]
    looking = n_workers - len(names)
    marks = np.floor(np.cumsum([0.0] + [share for _, share in kinds]) * looking + 0.5).astype(int)
    for (name, _), begin, end in zip(kinds, marks[:-1], marks[1:], strict=True):
        names += [name] * (end - begin)
    names = rng.permutation(np.array(names))
    habits = [({**by, **bad})[name] for name in names]
    return Crowd(truth, habits, names, rng)


def tasks_for(crowd: Crowd, size: int = 20, views: int = 6) -> list[np.ndarray]:
    return sample_tasks(crowd.n_items, size, views, crowd.rng)
