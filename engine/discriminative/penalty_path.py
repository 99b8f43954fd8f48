"""How many classes survive at which strength of the penalty, and which strength to take (methods note 6, 7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np

from engine.discriminative.climbing import supervised_start
from engine.discriminative.fitting import Plan, climb_from
from engine.discriminative.logit import Coefficients
from engine.discriminative.objective import mutual_information
from engine.metrics import adjusted_rand

STRENGTHS = tuple(2.0**power for power in range(-3, 5))  # lambda times the number of rows, at the scale `overall`


@dataclass(frozen=True)
class PathStep:
    """`perplexity` counts the classes by their shares: exp of their entropy."""

    strength: float
    survivors: int
    information: float
    value: float
    perplexity: float
    labels: np.ndarray
    coefficients: Coefficients


def rim_path(Z: np.ndarray, start: np.ndarray, plan: Plan, strengths: Sequence[float] = STRENGTHS) -> list[PathStep]:
    """Ascending strengths, each begun where the last one ended; `start` (N,) is one over-segmentation."""
    steps, coefficients = [], None
    for strength in sorted(strengths):
        now = replace(plan, penalty=strength / len(Z))
        if coefficients is None:
            coefficients = supervised_start(Z, start, plan.classes, now.penalty)
        found = climb_from(Z, now, coefficients)
        coefficients = found.coefficients
        steps.append(_step(Z, strength, found.value, found.labels, coefficients))
    return steps


def chosen_strength(paths: Sequence[Sequence[PathStep]], target: int | None = None) -> float:
    """The strength that gives `target` classes or comes nearest; without a target the middle of the widest plateau of
    the number of survivors, of plateaus equally wide the one where the paths agree best. Penalties too weak to let any
    class die tell nothing, nor those under which one is left."""
    path = paths[0]
    if target is not None:
        return min(path, key=lambda step: abs(step.survivors - target)).strength
    most = len(path[0].coefficients.biases)
    plateaus = [[at for at, _ in run] for count, run in
                groupby(enumerate(path), key=lambda pair: pair[1].survivors) if 1 < count < most]
    if not plateaus:
        return path[len(path) // 2].strength
    widest = max(plateaus, key=lambda places: (len(places), _agreement(paths, places)))
    return path[widest[len(widest) // 2]].strength


def stability(labelings: Sequence[np.ndarray]) -> float:
    """Mean pairwise adjusted Rand index; 1 for a single labeling."""
    pairs = list(combinations(labelings, 2))
    return float(np.mean([adjusted_rand(a, b) for a, b in pairs])) if pairs else 1.0


def _agreement(paths: Sequence[Sequence[PathStep]], places: Sequence[int]) -> float:
    return float(np.mean([stability([path[at].labels for path in paths]) for at in places]))


def _step(Z: np.ndarray, strength: float, value: float, labels: np.ndarray, found: Coefficients) -> PathStep:
    scores = found.scores(Z)
    shares = np.exp(found.log_probabilities(Z)).mean(0)
    perplexity = float(np.exp(-(shares * np.log(np.maximum(shares, 1e-300))).sum()))
    return PathStep(strength, len(np.unique(labels)), mutual_information(scores), value, perplexity, labels, found)
