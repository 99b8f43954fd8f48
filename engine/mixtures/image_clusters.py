"""Which image clusters there are: they cannot be split as those of segments can, so a surplus dies out (note 6.4).

With the segments' clusters kept, one iteration of the image level costs no look at any segment. That pays for
starting it anew several times and keeping what bounds highest, where the papers restart the whole fit.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.model import Statistics
from engine.mixtures.scenes import SceneModel
from engine.mixtures.search import Task
from engine.mixtures.sweep import Division
from engine.mixtures.together import divided, gains_of_clusters
from engine.mixtures.variational import EMPTY, Fit, settle, step

ITERATIONS = 200
TOLERANCE = 1e-7         # rise of the bound, of itself, at which the image level alone has settled
RESTARTED_UP_TO = 20_000  # images; more are owned as a sample of them taught
PARTED_UP_TO = 20_000     # segments; of more, what parts together with images has been found on a sample
ON_A_SAMPLE = 3           # starts at most where all rows are still to come, on which there will be others
FEWEST_ANEW = 100         # image clusters a new start begins with, if a fit may begin with so many
ROUNDS = 10


@dataclass(frozen=True)
class Owned:
    """Who owns the images (I, T), and what that adds to the bound while the segments' clusters stay as they are."""

    owners: np.ndarray
    evidence: float


def settled_images(task: Task, fit: Fit, restarts: int) -> Fit:
    """The fit after its image clusters settled or gave way to better ones, and those without an image are gone."""
    if len(task.data) < task.course.total_rows:
        restarts = min(restarts, ON_A_SAMPLE)
    fit = _restarted(task, fit, restarts)
    for _ in range(ROUNDS):
        better = parted_with_images(task, fit) if len(task.data) <= PARTED_UP_TO else None
        if better is None:
            return fit
        fit = _restarted(task, better, restarts)
    return fit


def _restarted(task: Task, fit: Fit, restarts: int) -> Fit:
    counts = fit.statistics.counts
    found = _settled(task.model, counts, fit.statistics.owners)
    if len(counts) <= RESTARTED_UP_TO:
        anew = max(FEWEST_ANEW, 2 * found.owners.shape[1])
        found = max([found, *_others(task, counts, restarts - 1, anew)], key=lambda one: one.evidence)
    fit = _converged(task, fit, found.owners)
    while (kept := _owning(fit.statistics.owners)).sum() < fit.statistics.owners.shape[1]:
        fit = _converged(task, fit, _without(fit.statistics.owners, kept))
    return fit


def _converged(task: Task, fit: Fit, owners: np.ndarray) -> Fit:
    """Not a point to take up again: whoever resumes repeats the end of a level whole, with the same random numbers."""
    return settle(task.model, task.data, replace(fit.statistics, owners=owners), task.rule, task.course)[0]


def parted_with_images(task: Task, fit: Fit) -> Fit | None:
    """One iteration from the parting of a segment cluster that gains most if image clusters part along with it.

    Two kinds of objects that overlap are told apart by the company they keep. While they are one cluster, the images
    of both look alike, so neither a split of segments nor one of images gains anything alone.
    """
    halved = divided(task, fit)
    if halved is None:
        return None
    parents, division = halved
    whole = fit.statistics
    parted = [_parted(task.model, whole, parents, division, p) for p in range(len(parents))]
    before = _settled(task.model, whole.counts, whole.owners).evidence
    gains = gains_of_clusters(task.model, whole, parents, division) + [one.evidence - before for one in parted]
    best = int(gains.argmax())
    if gains[best] <= task.rule.threshold(fit.bound, len(task.data)):
        return None
    start = replace(whole.replaced(parents[[best]], _halves(division, best)), owners=parted[best].owners)
    found = step(task.model, task.data, start)
    return found if task.gains(fit, found) else None


def _parted(model: SceneModel, whole: Statistics, parents: np.ndarray, division: Division, p: int) -> Owned:
    """The best owners if the p-th of the parents parts, begun with each image cluster parted by which half prevails."""
    halves = _halves(division, p)
    counts = whole.replaced(parents[[p]], halves).counts
    first, second = halves.owned
    more = halves.counts[:, 0] * second > halves.counts[:, 1] * first
    owners = np.hstack([whole.owners * more[:, None], whole.owners * ~more[:, None]])
    return _settled(model, counts, _largest(owners, min(model.surplus, len(owners))))


def _halves(division: Division, p: int) -> Statistics:
    return division.halves.take(np.array([2 * p, 2 * p + 1]))


def _others(task: Task, counts: np.ndarray, number: int, clusters: int) -> list[Owned]:
    """What as many random starts come to, each with no more than so many image clusters."""
    model, found = replace(task.model, surplus=min(clusters, task.model.surplus)), []
    for _ in range(number):
        task.course.pulse()
        found.append(_settled(model, counts, model.random_owners(task.rng)))
    return found


def _settled(model: SceneModel, counts: np.ndarray, owners: np.ndarray) -> Owned:
    """Iterates the image level until it settles and no image cluster is empty."""
    found = _iterated(model, counts, owners)
    while (kept := _owning(found.owners)).sum() < found.owners.shape[1]:
        found = _iterated(model, counts, _without(found.owners, kept))
    return found


def _iterated(model: SceneModel, counts: np.ndarray, owners: np.ndarray) -> Owned:
    last = -np.inf
    for _ in range(ITERATIONS):
        owners, evidence = model.explained(counts, model.scenes(counts, owners))
        if evidence - last <= TOLERANCE * abs(evidence):
            break
        last = evidence
    return Owned(owners, evidence)


def _owning(owners: np.ndarray) -> np.ndarray:
    """(T,) bool: the image clusters that own an image; the largest always does."""
    owned = owners.sum(0)
    kept = owned >= EMPTY
    kept[owned.argmax()] = True
    return kept


def _largest(owners: np.ndarray, most: int) -> np.ndarray:
    """No more image clusters than `most`, those that own most; what the others owned is shared among them."""
    kept = np.zeros(owners.shape[1], bool)
    kept[np.argsort(-owners.sum(0), kind="stable")[:most]] = True
    return _without(owners + owners.sum(1, keepdims=True) * np.finfo(float).eps, kept)


def _without(owners: np.ndarray, kept: np.ndarray) -> np.ndarray:
    left = owners[:, kept]
    return left / left.sum(1, keepdims=True)
