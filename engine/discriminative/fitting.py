"""From rows of the right scale to the best of several summits."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from engine.discriminative.climbing import Precision, Summit, climb, supervised_start
from engine.discriminative.logit import Coefficients
from engine.discriminative.objective import Information, Objective
from engine.discriminative.sizes import fitted_gamma, power_law, tied_by_rank
from engine.progress import OnStep, Progress, ignore

ROUNDS = 10  # of tying sizes to classes anew; the order of the classes settles in two or three


class Sizes(Protocol):
    """What is believed of class sizes: log shares (K,) for classes that now have these shares (K,)."""

    def __call__(self, shares: np.ndarray) -> np.ndarray | None: ...


def even(shares: np.ndarray) -> None:
    """The balance of the mutual information itself."""
    return None


@dataclass(frozen=True)
class Given:
    sizes: tuple[float, ...]

    def __call__(self, shares: np.ndarray) -> np.ndarray:
        """The sizes go to the classes by rank; classes beyond those given get the least of them."""
        known = np.array(self.sizes, float)
        padded = np.concatenate([known, np.full(max(len(shares) - len(known), 0), known.min())])
        return tied_by_rank(padded[: len(shares)], shares)


def power(shares: np.ndarray) -> np.ndarray:
    """A power law of the ranks whose exponent follows the shares."""
    return tied_by_rank(power_law(len(shares), fitted_gamma(shares)), shares)


@dataclass(frozen=True)
class Plan:
    """`penalty` is lambda, not multiplied by the number of rows."""

    classes: int
    penalty: float
    balance: bool = True
    sizes: Sizes = even
    precision: Precision = field(default_factory=Precision)


@dataclass(frozen=True)
class Fitted:
    """`labels` are those of the rows it was fitted to; `history` holds F after every step."""

    coefficients: Coefficients
    value: float
    labels: np.ndarray
    steps: int
    converged: bool
    history: tuple[float, ...] = ()


def best_of(Z: np.ndarray, plan: Plan, starts: Iterable[np.ndarray], total: int, on_step: OnStep = ignore) -> Fitted:
    """The summit with the highest F of those reached from over-segmentations `starts`, each (N,) group numbers."""
    best = None
    for number, y in enumerate(starts):
        teller = Teller(number, total, on_step, best.value if best else None)
        first = supervised_start(Z, y, plan.classes, plan.penalty)
        found = climb_from(Z, plan, first, teller)
        if best is None or found.value > best.value:
            best = found
    return best


def climb_from(Z: np.ndarray, plan: Plan, start: Coefficients, tell: "Teller | None" = None) -> Fitted:
    """Climbs; where sizes are tied to classes by rank, again for as long as their order changes."""
    tell, before, log_sizes = tell or Teller(), None, plan.sizes(_shares(start, Z))
    for _ in range(ROUNDS):
        summit = climb(_objective(Z, plan, log_sizes), start, plan.precision, tell)
        before, log_sizes = log_sizes, plan.sizes(_shares(summit.coefficients, Z))
        if log_sizes is None or np.allclose(before, log_sizes, atol=1e-3):
            break
        start = summit.coefficients
    return _fitted(Z, summit, tell)


class Teller:
    """Tells of a climb: which start of how many, F, the best so far."""

    def __init__(self, number: int = 0, total: int = 1, on_step: OnStep = ignore, best: float | None = None):
        self._number, self._total, self._on_step, self._best = number, total, on_step, best
        self.history: list[float] = []

    def __call__(self, F: float) -> None:
        self.history.append(F)
        message = f"start {self._number + 1} of {self._total}, step {len(self.history)}"
        self._on_step(Progress(self._number, self._total, message, {"bound": F, "best": self._best}))


def survivors(labels: np.ndarray) -> np.ndarray:
    """The classes that own rows, the largest first."""
    counts = np.bincount(labels)
    alive = np.flatnonzero(counts)
    return alive[np.argsort(-counts[alive], kind="stable")]


def _objective(Z: np.ndarray, plan: Plan, log_sizes: np.ndarray | None) -> Objective:
    return Objective(plan.penalty, Information(Z, plan.balance, log_sizes))


def _shares(coefficients: Coefficients, Z: np.ndarray) -> np.ndarray:
    return np.exp(coefficients.log_probabilities(Z)).mean(0, dtype=np.float64)


def _fitted(Z: np.ndarray, summit: Summit, tell: Teller) -> Fitted:
    labels = summit.coefficients.scores(Z).argmax(1)
    return Fitted(summit.coefficients, summit.value, labels, summit.steps, summit.converged, tuple(tell.history))
