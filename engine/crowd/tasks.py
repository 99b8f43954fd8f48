"""Choose the items that are shown together, and distribute tasks among workers (note 5).

Random tasks cover all items and overlap. Informative tasks maximise the expected information about the clusters. For an
answer on a pair, this is the mutual information

    I(answer; z_a, z_b) = H(sum_kl r_ak r_bl C_kl) - sum_kl r_ak r_bl H(C_kl)

with r the cluster probabilities of an item and C the table of a typical attentive worker. A task grows item by item;
each new item adds most information to the current ones.

Coarse to fine: items of one cluster are shown again without the others (methods note 5.4). Workers who see indoor and
outdoor scenes separate these two; workers who see only indoor scenes separate kitchens from offices.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benthoscope.engine.crowd.bayesian import STRUCTURED, BayesianCrowdClustering
from benthoscope.engine.crowd.judgements import Judgements
from benthoscope.engine.crowd.workers import by_size
from benthoscope.engine.problems import fail

REDRAWS = 20  # redraws of tasks that form separate islands; this happens only with very few tasks


def sample_tasks(n_items: int, size: int, views: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw tasks of `size` different items each. Each item is in at least one task, and in `views` tasks on average.

    All items are first distributed over the tasks; then the tasks are filled at random. With views >= 2, tasks are
    redrawn until all items are connected through common tasks.
    """
    _check(n_items, size, views)
    for _ in range(REDRAWS):
        tasks = _sampled_tasks(n_items, size, math.ceil(n_items * views / size - 1e-9), rng)
        if views < 2 or is_connected(tasks, n_items):
            break
    return tasks


def _sampled_tasks(n_items: int, size: int, number: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [_filled(task, n_items, size, rng) for task in np.array_split(rng.permutation(n_items), number)]


def _filled(task: np.ndarray, n_items: int, size: int, rng: np.random.Generator) -> np.ndarray:
    other_items = np.delete(np.arange(n_items), task)
    return rng.permutation(
        np.concatenate([task, rng.choice(other_items, size - len(task), replace=False, shuffle=False)])
    )


def _check(n_items: int, size: int, views: float) -> None:
    if size < 2:
        raise fail("tasks", f"a task of {size} items is too small", "show at least 2 items, better 10 to 20")
    if size > n_items:
        raise fail("tasks", f"a task of {size} items is too large for {n_items} items", "show fewer items in a task")
    if views < 1:
        raise fail(
            "tasks", f"each item would be in {views:g} tasks", "show each item in at least one task, better in 6"
        )


def is_connected(tasks: Sequence[np.ndarray], n_items: int) -> bool:
    """Return whether all items are connected through common tasks."""
    node = np.concatenate([np.full(len(task), n_items + number) for number, task in enumerate(tasks)])
    links = coo_array((np.ones(len(node)), (np.concatenate(tasks), node)), shape=(n_items + len(tasks),) * 2)
    return connected_components(links, directed=False, return_labels=False) == 1


def coverage(tasks: Sequence[np.ndarray], n_items: int) -> float:
    """Return the fraction of all pairs of items that occur together in some task."""
    paired = np.zeros((n_items, n_items), bool)
    for task in tasks:
        paired[np.ix_(task, task)] = True
    np.fill_diagonal(paired, False)
    return float(paired.sum() / (n_items * (n_items - 1)))


def expected_coverage(n_items: int, size: int, number: int) -> float:
    together = size * (size - 1) / (n_items * (n_items - 1))
    return 1 - (1 - together) ** number


def suggested_views(n_items: int, size: int) -> int:
    """Return how often to show each item: log2 N times the logarithm of N to the base M, rounded down."""
    return max(1, math.floor(math.log2(n_items) * math.log(n_items, size)))


def tasks_of_worker(n_tasks: int, repeats: int, n_workers: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the tasks of each worker. Each task goes to `repeats` different workers; loads differ by at most
    one task."""
    if repeats > n_workers:
        raise fail(
            "tasks",
            f"needs {repeats} different workers per task, but there are only {n_workers}",
            "invite more workers",
        )
    order = np.concatenate([rng.permutation(n_tasks) for _ in range(repeats)])
    owner = _dealt(order, n_workers, n_tasks)
    return [order[owner == worker] for worker in range(n_workers)]


def _dealt(order: np.ndarray, n_workers: int, n_tasks: int) -> np.ndarray:
    """Distribute tasks round-robin. If a worker would get a task twice, it is exchanged for a later one."""
    owner = np.empty(len(order), int)
    had: list[set[int]] = [set() for _ in range(n_workers)]
    load = np.zeros(n_workers, int)
    for at, task in enumerate(order):
        free = [worker for worker in np.argsort(load, kind="stable") if task not in had[worker]]
        owner[at] = free[0]
        had[free[0]].add(task)
        load[free[0]] += 1
    return owner


CANDIDATES = 2_000  # items compared with each other at the same time: a table of 32 MB
INFORMED = 0.5  # fraction of a task chosen by information; with 1, mistakes of the fit would confirm themselves
LOOSE = 3.0  # random number of views added to the ranking of items by views, so that tasks mix
DOUBT = 0.2  # uncertainty of an item judged by one worker, because everybody makes mistakes


def informative_tasks(
    model: BayesianCrowdClustering,
    size: int,
    number: int,
    rng: np.random.Generator,
    candidates: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the next `number` tasks of `size` items for a fitted crowd clustering. `candidates` limits the items."""
    among = np.arange(len(model.labels_)) if candidates is None else np.asarray(candidates)
    if size > len(among):
        raise fail("tasks", f"a task of {size} items is too large for {len(among)} candidates", "show fewer items")
    resp = membership(model)
    among = _worth_weighing(resp, among, max(CANDIDATES, 2 * size), rng)
    gain, views = information(resp[among], tables(model)), model.views_[among].astype(float)
    tasks = []
    for _ in range(number):
        chosen = _with_least_seen(_grown(gain, 1 / (1 + views), round(INFORMED * size), rng), views, size, rng)
        views[chosen] += 1
        tasks.append(rng.permutation(among[chosen]))
    return tasks


def _with_least_seen(chosen: np.ndarray, views: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Fill the task with the items that have the fewest views, because uncertainty is only known for the clusters found
    so far."""
    rank = views + LOOSE * rng.random(len(views))
    rank[chosen] = np.inf
    return np.concatenate([chosen, np.argsort(rank)[: size - len(chosen)]])


def membership(model: BayesianCrowdClustering) -> np.ndarray:
    """Return the cluster probabilities of each item (N, K). Items judged by few workers stay more uncertain."""
    shares = (model.clusters_.sizes + 1.0) / (model.clusters_.sizes + 1.0).sum()
    doubt = np.minimum(DOUBT / np.maximum(model.views_, 1e-9), 1.0)[:, None]
    return np.where(model.labels_[:, None] < 0, shares, (1 - doubt) * model.probabilities_ + doubt * shares)


def tables(model: BayesianCrowdClustering) -> tuple[np.ndarray, np.ndarray]:
    """Return one table per school of attentive workers (S, K, K), and the fraction of workers in each school (S,)."""
    confusion, schools = model.confusion().normalised, model.schools()
    if (schools < 0).all():
        return confusion.mean(0, keepdims=True), np.ones(1)
    numbers = by_size(schools[schools >= 0])
    by_school = [confusion[schools >= 0][numbers == number] for number in range(numbers.max() + 1)]
    return np.stack([members.mean(0) for members in by_school]), np.array(
        [len(members) for members in by_school]
    ) / len(numbers)


def information(resp: np.ndarray, schools: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the expected information in nats (n, n) of an answer on each pair, by a worker of a random school."""
    gain = np.zeros((len(resp), len(resp)))
    for table, share in zip(*schools, strict=True):
        even = np.clip((table + table.T) / 2, 0.01, 0.99)
        gain += share * (_entropy(resp @ even @ resp.T) - resp @ _entropy(even) @ resp.T)
    np.fill_diagonal(gain, 0.0)
    return np.maximum(gain, 0.0)


def _grown(information: np.ndarray, fresh: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a task grown greedily: the most informative pair, then the items that add most."""
    worth = information * fresh[:, None] * fresh[None, :]
    np.fill_diagonal(worth, 0.0)
    noise = 1 + 1e-6 * rng.random(len(worth))  # breaks ties, which are common at the start
    first = int((worth.sum(1) * noise).argmax())
    chosen, gain = [first], worth[first].copy()
    gain[first] = -1.0
    while len(chosen) < size:
        best = int((gain * noise).argmax())
        chosen.append(best)
        gain += worth[best]
        gain[best] = -np.inf
        gain[first] = -np.inf
    return np.array(chosen)


def _worth_weighing(resp: np.ndarray, among: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the more uncertain half of many items, and a random other half for comparison."""
    if len(among) <= most:
        return among
    order = among[np.argsort(-_spread(resp[among]), kind="stable")]
    sampled = rng.choice(order[most // 2 :], most - most // 2, replace=False, shuffle=False)
    return np.sort(np.concatenate([order[: most // 2], sampled]))


def _spread(resp: np.ndarray) -> np.ndarray:
    return -(resp * np.log(resp)).sum(1)


def _entropy(chance: np.ndarray) -> np.ndarray:
    return -(chance * np.log(chance) + (1 - chance) * np.log1p(-chance))


Ask = Callable[[Sequence[np.ndarray]], Judgements]  # tasks of item numbers -> judgements of these tasks
NewModel = Callable[[], BayesianCrowdClustering]


@dataclass(frozen=True)
class Branch:
    """A set of items that were sorted, and the parts they were divided into; a leaf has no parts."""

    items: np.ndarray
    children: tuple["Branch", ...] = field(default_factory=tuple)

    def leaves(self) -> list["Branch"]:
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]


def refined(
    items: np.ndarray,
    ask: Ask,
    new_model: NewModel,
    rng: np.random.Generator,
    *,
    size: int = 20,
    views: float = 6,
    depth: int = 1,
) -> Branch:
    """Sort the items, then the items of each cluster, down to `depth` levels or until workers see no difference."""
    if len(items) < size:
        return Branch(items)
    tasks = [items[task] for task in sample_tasks(len(items), size, views, rng)]
    groups = split_by(items, ask(tasks), new_model())
    if len(groups) < 2:
        return Branch(items)
    if depth == 0:
        return Branch(items, tuple(Branch(group) for group in groups))
    return Branch(
        items, tuple(refined(group, ask, new_model, rng, size=size, views=views, depth=depth - 1) for group in groups)
    )


def split_by(items: np.ndarray, judgements: Judgements, model: BayesianCrowdClustering) -> list[np.ndarray]:
    """Return the items of each cluster that the judgements distinguish, or all items together if there is no
    structure."""
    model.fit(judgements)
    if model.n_clusters_ < 2 or model.gain_ < STRUCTURED:
        return [items]
    labels = model.labels_[items]
    return [items[labels == label] for label in range(model.n_clusters_) if (labels == label).any()]


def labels_of(branch: Branch, n_items: int) -> np.ndarray:
    """Return the number of each item's leaf (n_items,); -1 for items without a leaf."""
    labels = np.full(n_items, -1)
    for number, leaf in enumerate(branch.leaves()):
        labels[leaf.items] = number
    return labels
