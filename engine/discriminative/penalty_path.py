"""Number of remaining classes for each penalty strength, and the choice of a strength (methods note 6, 7)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np

from benthoscope.engine.discriminative.coefficients import Coefficients
from benthoscope.engine.discriminative.objective import mutual_information
from benthoscope.engine.discriminative.optimisation import FitSettings, climb_from, supervised_start
from benthoscope.engine.metrics import adjusted_rand

STRENGTHS = tuple(2.0**power for power in range(-3, 5))  # lambda times the number of rows, for rows scaled by `overall`


@dataclass(frozen=True)
class PathStep:
    """Result for one strength. `perplexity` is exp of the entropy of the class shares, an effective number of
    classes."""

    strength: float
    survivors: int
    information: float
    value: float
    perplexity: float
    labels: np.ndarray
    coefficients: Coefficients


def rim_path(
    Z: np.ndarray, start: np.ndarray, plan: FitSettings, strengths: Sequence[float] = STRENGTHS
) -> list[PathStep]:
    """Fit with ascending strengths, each starting from the previous result. `start` (N,) is an over-segmentation."""
    steps, coefficients = [], None
    for strength in sorted(strengths):
        step_plan = replace(plan, penalty=strength / len(Z))
        if coefficients is None:
            coefficients = supervised_start(Z, start, plan.classes, step_plan.penalty)
        fitted = climb_from(Z, step_plan, coefficients)
        coefficients = fitted.coefficients
        steps.append(_step(Z, strength, fitted.value, fitted.labels, coefficients))
    return steps


def chosen_strength(paths: Sequence[Sequence[PathStep]], target: int | None = None) -> float:
    """Choose a penalty strength.

    With a `target`, returns the strength with this number of classes or the closest one. Otherwise returns the middle
    of the widest plateau of the number of classes; ties are decided by the agreement of the paths. Strengths that keep
    all classes, and those that leave only one, are ignored.
    """
    path = paths[0]
    if target is not None:
        return min(path, key=lambda step: abs(step.survivors - target)).strength
    most = len(path[0].coefficients.biases)
    plateaus = [
        [at for at, _ in run]
        for count, run in groupby(enumerate(path), key=lambda pair: pair[1].survivors)
        if 1 < count < most
    ]
    if not plateaus:
        return path[len(path) // 2].strength
    widest = max(plateaus, key=lambda plateau: (len(plateau), _agreement(paths, plateau)))
    return path[widest[len(widest) // 2]].strength


def stability(labelings: Sequence[np.ndarray]) -> float:
    """Return the mean pairwise adjusted Rand index; 1 for a single labeling."""
    pairs = list(combinations(labelings, 2))
    return float(np.mean([adjusted_rand(a, b) for a, b in pairs])) if pairs else 1.0


def _agreement(paths: Sequence[Sequence[PathStep]], steps: Sequence[int]) -> float:
    return float(np.mean([stability([path[at].labels for path in paths]) for at in steps]))


def _step(Z: np.ndarray, strength: float, value: float, labels: np.ndarray, fitted: Coefficients) -> PathStep:
    scores = fitted.scores(Z)
    shares = np.exp(fitted.log_probabilities(Z)).mean(0)
    perplexity = float(np.exp(-(shares * np.log(np.maximum(shares, 1e-300))).sum()))
    return PathStep(strength, len(np.unique(labels)), mutual_information(scores), value, perplexity, labels, fitted)
