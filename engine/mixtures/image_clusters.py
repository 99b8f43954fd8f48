"""Which image clusters there are: they cannot be split as those of segments can, so a surplus dies out (note 6.4).

With the segments' clusters kept, one iteration of the image level costs no look at any segment. That pays for
starting it anew several times and keeping what bounds highest, where the papers restart the whole fit.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.mixtures.scenes import SceneModel
from engine.mixtures.search import Start, Task
from engine.mixtures.variational import EMPTY, Fit

ITERATIONS = 200
TOLERANCE = 1e-7         # rise of the bound, of itself, at which the image level alone has settled
RESTARTED_UP_TO = 20_000  # images; more are owned as a sample of them taught


@dataclass(frozen=True)
class Owned:
    """Who owns the images (I, T), and what that adds to the bound while the segments' clusters stay as they are."""

    owners: np.ndarray
    evidence: float


def settled_images(task: Task, fit: Fit, restarts: int) -> Fit:
    """The fit after its image clusters settled or gave way to better ones, and those without an image are gone."""
    counts = fit.statistics.counts
    found = _settled(task.model, counts, fit.statistics.owners)
    if len(counts) <= RESTARTED_UP_TO:
        found = max([found, *_others(task, counts, restarts - 1)], key=lambda one: one.evidence)
    fit, _ = task.settle(Start(replace(fit.statistics, owners=found.owners)))
    while (kept := _owning(fit.statistics.owners)).sum() < fit.statistics.owners.shape[1]:
        fit, _ = task.settle(Start(replace(fit.statistics, owners=_without(fit.statistics.owners, kept))))
    return fit


def _others(task: Task, counts: np.ndarray, number: int) -> list[Owned]:
    found = []
    for _ in range(number):
        task.course.pulse()
        found.append(_settled(task.model, counts, task.model.random_owners(task.rng)))
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


def _without(owners: np.ndarray, kept: np.ndarray) -> np.ndarray:
    left = owners[:, kept]
    return left / left.sum(1, keepdims=True)
