"""Which items to show next: the tasks whose answers are expected to tell most about who belongs where.

An answer on a pair tells of the clusters of both items. What is expected of it is their mutual information,

    I(answer; z_a, z_b) = H(sum_kl r_ak r_bl C_kl) - sum_kl r_ak r_bl H(C_kl)

with r the belief which cluster an item is in and C the table of a typical worker who looks. A task is grown item by
item, each the one that adds most with those already in it.
"""


import numpy as np

from engine.crowd.bayesian import BayesianCrowdClustering
from engine.crowd.workers import by_size
from engine.problems import fail

CANDIDATES = 2_000   # items weighed against each other at once: a table of 32 MB
INFORMED = 0.5       # share of a task chosen by information; with all of it, mistakes of the fit confirm themselves
LOOSE = 3.0          # views by which chance may overrule who is seen least, so that tasks mix
DOUBT = 0.2          # of an item that one worker has judged: anybody slips now and then


def informative_tasks(model: BayesianCrowdClustering, size: int, number: int, rng: np.random.Generator,
                      candidates: np.ndarray | None = None) -> list[np.ndarray]:
    """The next `number` tasks of `size` items for a fitted crowd clustering; `candidates` limits the items."""
    among = np.arange(len(model.labels_)) if candidates is None else np.asarray(candidates)
    if size > len(among):
        raise fail("tasks", f"{size} items in a task but only {len(among)} to choose from", "show fewer items")
    resp = membership(model)
    among = _worth_weighing(resp, among, max(CANDIDATES, 2 * size), rng)
    told, views = information(resp[among], tables(model)), model.views_[among].astype(float)
    tasks = []
    for _ in range(number):
        chosen = _with_least_seen(_grown(told, 1 / (1 + views), round(INFORMED * size), rng), views, size, rng)
        views[chosen] += 1
        tasks.append(rng.permutation(among[chosen]))
    return tasks


def _with_least_seen(chosen: np.ndarray, views: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Fills the task with what fewest have judged: doubt is only known of what the clusters found so far explain."""
    rank = views + LOOSE * rng.random(len(views))
    rank[chosen] = np.inf
    return np.concatenate([chosen, np.argsort(rank)[: size - len(chosen)]])


def membership(model: BayesianCrowdClustering) -> np.ndarray:
    """(N, K) belief which cluster each item is in; the fewer workers judged it, the more is left to doubt."""
    shares = (model.clusters_.sizes + 1.0) / (model.clusters_.sizes + 1.0).sum()
    doubt = np.minimum(DOUBT / np.maximum(model.views_, 1e-9), 1.0)[:, None]
    return np.where(model.labels_[:, None] < 0, shares, (1 - doubt) * model.probabilities_ + doubt * shares)


def tables(model: BayesianCrowdClustering) -> tuple[np.ndarray, np.ndarray]:
    """One table (S, K, K) for each school of workers who look, and the share of workers (S,) of that school."""
    found, schools = model.confusion().normalised, model.schools()
    if (schools < 0).all():
        return found.mean(0, keepdims=True), np.ones(1)
    numbers = by_size(schools[schools >= 0])
    parts = [found[schools >= 0][numbers == number] for number in range(numbers.max() + 1)]
    return np.stack([part.mean(0) for part in parts]), np.array([len(part) for part in parts]) / len(numbers)


def information(resp: np.ndarray, schools: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(n, n) nats that an answer on each pair is expected to tell, by a worker of a school drawn at random."""
    told = np.zeros((len(resp), len(resp)))
    for table, share in zip(*schools, strict=True):
        even = np.clip((table + table.T) / 2, 0.01, 0.99)
        told += share * (_entropy(resp @ even @ resp.T) - resp @ _entropy(even) @ resp.T)
    np.fill_diagonal(told, 0.0)
    return np.maximum(told, 0.0)


def _grown(told: np.ndarray, fresh: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy: the pair of items that tells most, then whatever adds most."""
    worth = told * fresh[:, None] * fresh[None, :]
    np.fill_diagonal(worth, 0.0)
    noise = 1 + 1e-6 * rng.random(len(worth))  # ties are common at the start
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
    """Of many items the most uncertain half, and a random other half for them to be compared with."""
    if len(among) <= most:
        return among
    order = among[np.argsort(-_spread(resp[among]), kind="stable")]
    rest = rng.choice(order[most // 2 :], most - most // 2, replace=False, shuffle=False)
    return np.sort(np.concatenate([order[: most // 2], rest]))


def _spread(resp: np.ndarray) -> np.ndarray:
    return -(resp * np.log(resp)).sum(1)


def _entropy(chance: np.ndarray) -> np.ndarray:
    return -(chance * np.log(chance) + (1 - chance) * np.log1p(-chance))


