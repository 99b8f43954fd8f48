"""Several beginnings in each number of dimensions; the one that bounds highest is followed to its end (note 2.8).

Halving: all beginnings get a few sweeps, the better ones some more, the best is carried on. A start that is behind
after `ROUGH` sweeps hardly ever ends in front, and those that stall near the origin are the dearest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engine.crowd.beliefs import Beliefs, Prior, opening, retouched, sweep
from engine.crowd.pairs import Pairs
from engine.crowd.starts import SURE, grown, scattered, spectral
from engine.progress import OnStep, Progress, ignore

ROUGH, MIDDLE, LONG = 8, 16, 30  # sweeps all beginnings get, those of them that are kept, and the last
KEPT = 2                         # beginnings that are carried on
PATIENCE = 2                     # numbers of dimensions in a row that bound lower before no higher one is tried
CLOSE = 0.005                    # share of the bound within which the second best dimension is followed to its end too
TRIVIAL = (30, 1e-5)             # sweeps and tolerance of the fit without structure, which settles soon
LEAST = 4                        # sweeps before a fit may be called settled


@dataclass(frozen=True)
class Rule:
    tol: float = 1e-6
    max_sweeps: int = 300


@dataclass(frozen=True, eq=False)
class Trial:
    """Beliefs and the bound after each of the sweeps that led to them."""

    beliefs: Beliefs
    history: tuple[float, ...] = ()

    @property
    def bound(self) -> float:
        return self.history[-1] if self.history else -np.inf

    @property
    def D(self) -> int:
        return self.beliefs.D


@dataclass(frozen=True, eq=False)
class Found:
    best: Trial
    evidence: Mapping[int, float]  # the highest bound found with each number of dimensions


@dataclass
class Sweeping:
    """Sweeps over one set of pairs, told one by one."""

    pairs: Pairs
    prior: Prior
    on_step: OnStep = ignore
    done: int = 0
    words: str = field(default="")

    def carry(self, trial: Trial, sweeps: int, tol: float = 0.0) -> Trial:
        """More sweeps, fewer if the bound settles."""
        beliefs, history = trial.beliefs, list(trial.history)
        for _ in range(sweeps):
            beliefs, bound = sweep(self.pairs, beliefs, self.prior)
            history.append(bound)
            self._tell(beliefs.D, bound)
            if len(history) > LEAST and abs(history[-1] - history[-2]) < tol * abs(bound):
                break
        return Trial(beliefs, tuple(history))

    def begin(self, position: np.ndarray, variance: float | np.ndarray = SURE) -> Trial:
        return Trial(opening(self.pairs, self.prior, position, variance))

    def on(self, pairs: Pairs) -> "Sweeping":
        return Sweeping(pairs, self.prior, self.on_step, self.done, self.words)

    def _tell(self, D: int, bound: float) -> None:
        self.done += 1
        per = bound / max(self.pairs.n_judgements, 1)
        figures = {"bound": bound, "bound_per_judgement": per, "dimensions": D, "sweeps": self.done}
        self.on_step(Progress(self.done, None, f"{D} dimensions, bound {per:.4f} a judgement{self.words}", figures))


def search(work: Sweeping, dimensions: Sequence[int], restarts: int, rule: Rule, rng: np.random.Generator) -> Found:
    """The best fit among the given numbers of dimensions, converged."""
    trials: list[Trial] = []
    for D in sorted(dimensions):
        trials.append(_in_dimensions(work, D, restarts, trials[-1] if trials else None, rng))
        if _falling(trials):
            break
    ends = [work.carry(trial, rule.max_sweeps, rule.tol) for trial in _candidates(trials)]
    evidence = {trial.D: trial.bound for trial in [*trials, *ends]}
    return Found(max(ends, key=lambda trial: trial.bound), evidence)


def _in_dimensions(work: Sweeping, D: int, restarts: int, before: Trial | None, rng: np.random.Generator) -> Trial:
    starts = [work.begin(position) for position in _positions(work.pairs, D, restarts, before, rng)]
    tried = _best([work.carry(start, ROUGH) for start in starts], KEPT)
    tried = _best([work.carry(trial, MIDDLE) for trial in tried], 1)
    return work.carry(tried[0], LONG)


def _positions(pairs: Pairs, D: int, restarts: int, before: Trial | None, rng: np.random.Generator) -> list[np.ndarray]:
    """The spectral beginning; then in turn ones grown from the last number of dimensions and random ones."""
    found = [spectral(pairs, D, rng)]
    for number in range(1, restarts):
        can_grow = before is not None and before.D == D - 1 and number % 2
        found.append(grown(before.beliefs.position, rng) if can_grow else scattered(pairs.n_items, D, rng))
    return found


def _best(trials: Sequence[Trial], count: int) -> list[Trial]:
    return sorted(trials, key=lambda trial: -trial.bound)[:count]


def _falling(trials: Sequence[Trial]) -> bool:
    best = max(range(len(trials)), key=lambda at: trials[at].bound)
    return len(trials) - 1 - best >= PATIENCE


def _candidates(trials: Sequence[Trial]) -> list[Trial]:
    first, *others = _best(trials, 2)
    return [first, *(trial for trial in others if first.bound - trial.bound < CLOSE * abs(first.bound))]


def transferred(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Trial:
    """Beliefs taken over to other judgements, perhaps of more items and workers.

    New items begin at the origin, from where their first judgements move them; new workers as the average one.
    """
    more, hired = pairs.n_items - len(beliefs.position), pairs.n_workers - len(beliefs.bias)
    D, typical = beliefs.D, beliefs.matrix.mean(0) if len(beliefs.matrix) else np.eye(beliefs.D)
    moved = replace(
        beliefs,
        position=_extended(beliefs.position, more, np.zeros(D)),
        position_variance=_extended(beliefs.position_variance, more, np.full(D, prior.items)),
        matrix=_extended(beliefs.matrix, hired, typical),
        matrix_variance=_extended(beliefs.matrix_variance, hired, np.full((D, D), float(prior.matrices))),
        bias=_extended(beliefs.bias, hired, np.float64(0.0)),
        bias_variance=_extended(beliefs.bias_variance, hired, np.float64(prior.bias)),
        delta=np.empty(len(pairs.other)), weight=np.empty(len(pairs.other)),
    )
    return Trial(retouched(pairs, moved)[0])


def _extended(values: np.ndarray, more: int, value: np.ndarray) -> np.ndarray:
    return np.concatenate([values, np.broadcast_to(value, (more, *value.shape))])


def nothing_to_find(pairs: Pairs, prior: Prior) -> float:
    """The bound of the trivial fit, all items at one place: what structure has to beat."""
    work = Sweeping(pairs, prior)
    return work.carry(work.begin(np.zeros((pairs.n_items, 1)), prior.items), *TRIVIAL).bound
