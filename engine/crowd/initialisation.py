"""Find initial positions, and search over the number of dimensions (note 2.8).

The bound has many local optima, so several starts are tried in each number of dimensions. All starts get a few sweeps,
the better ones get more, and the best one is converged. A start that is behind after `ROUGH` sweeps almost never wins,
and starts that stall near the origin cost most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from benthoscope.engine.crowd.judgements import Pairs
from benthoscope.engine.crowd.posterior import Beliefs, Prior, opening, retouched, sweep
from benthoscope.engine.progress import OnStep, Progress, ignore

SURE = 0.1  # initial variance of the positions; in measurements it converges in half the sweeps of the prior's 1
WIDE = 1.0  # standard deviation of random positions; smaller ones fall back to the origin, which is a fixed point


def spectral(pairs: Pairs, D: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions (N, D): the principal axes of how often items were put together, with unit variance per axis."""
    N = pairs.n_items
    if N <= D + 1:
        return scattered(N, D, rng)
    excess = _excess(pairs)

    def centred(vector: np.ndarray) -> np.ndarray:
        across = excess @ (vector - vector.mean())
        return across - across.mean()

    operator = LinearOperator((N, N), matvec=centred, dtype=float)
    try:
        _, axes = eigsh(operator, k=D, which="LA", v0=rng.standard_normal(N), tol=1e-4, maxiter=50 * N)
    except ArpackError:  # all pairs have the same judgement, so there is no structure
        return scattered(N, D, rng)
    return _unit(axes[:, ::-1], rng)


def scattered(N: int, D: int, rng: np.random.Generator) -> np.ndarray:
    return WIDE * rng.standard_normal((N, D))


def grown(position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return positions of one dimension less, with a new random axis."""
    return np.hstack([position, scattered(len(position), 1, rng)])


def _excess(pairs: Pairs) -> coo_array:
    """Return a sparse matrix (N, N): the fraction of judgements that put a pair together, minus the fraction over all
    pairs."""
    item = np.repeat(pairs.item, np.diff(pairs.start))
    shape = (pairs.n_items, pairs.n_items)
    count, net = (coo_array((column, (item, pairs.other)), shape=shape).tocsr() for column in (pairs.count, pairs.net))
    rate = (net.data / count.data + 1) / 2  # both matrices have all entries in the same order
    overall = (pairs.net.sum() / max(pairs.count.sum(), 1e-300) + 1) / 2
    count.data = rate - overall
    return count


def _unit(axes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    spread = axes.std(0)
    flat = spread < 1e-12
    return np.where(flat, scattered(axes.shape[0], axes.shape[1], rng), axes / np.where(flat, 1.0, spread))


ROUGH, MIDDLE, LONG = 8, 16, 30  # sweeps of all starts, of the better ones, and of the last ones
KEPT = 2  # number of starts that are continued
PATIENCE = 2  # stop after this many successive numbers of dimensions with a lower bound
CLOSE = 0.005  # if the bounds of the two best dimensions differ by less than this fraction, both are converged
TRIVIAL = (30, 1e-5)  # sweeps and tolerance of the fit without structure, which converges quickly
LEAST = 4  # smallest number of sweeps before a fit counts as converged


@dataclass(frozen=True)
class SearchRule:
    tol: float = 1e-6
    max_sweeps: int = 300


@dataclass(frozen=True, eq=False)
class Trial:
    """A posterior, and the bound after each of the sweeps that led to it."""

    beliefs: Beliefs
    history: tuple[float, ...] = ()

    @property
    def bound(self) -> float:
        return self.history[-1] if self.history else -np.inf

    @property
    def D(self) -> int:
        return self.beliefs.D


@dataclass(frozen=True, eq=False)
class SearchResult:
    best: Trial
    evidence: Mapping[int, float]  # the highest bound for each number of dimensions


@dataclass
class Sweeping:
    """Runs sweeps over one set of pairs and reports each of them."""

    pairs: Pairs
    prior: Prior
    on_step: OnStep = ignore
    done: int = 0
    words: str = field(default="")

    def carry(self, trial: Trial, sweeps: int, tol: float = 0.0) -> Trial:
        """Run more sweeps, or fewer if the bound converges."""
        beliefs, history = trial.beliefs, list(trial.history)
        for _ in range(sweeps):
            beliefs, bound = sweep(self.pairs, beliefs, self.prior)
            history.append(bound)
            self._report(beliefs.D, bound)
            if len(history) > LEAST and abs(history[-1] - history[-2]) < tol * abs(bound):
                break
        return Trial(beliefs, tuple(history))

    def begin(self, position: np.ndarray, variance: float | np.ndarray = SURE) -> Trial:
        return Trial(opening(self.pairs, self.prior, position, variance))

    def on(self, pairs: Pairs) -> "Sweeping":
        return Sweeping(pairs, self.prior, self.on_step, self.done, self.words)

    def _report(self, D: int, bound: float) -> None:
        self.done += 1
        per = bound / max(self.pairs.n_judgements, 1)
        figures = {"bound": bound, "bound_per_judgement": per, "dimensions": D, "sweeps": self.done}
        self.on_step(Progress(self.done, None, f"{D} dimensions, bound {per:.4f} per judgement{self.words}", figures))


def search(
    ascent: Sweeping, dimensions: Sequence[int], restarts: int, rule: SearchRule, rng: np.random.Generator
) -> SearchResult:
    """Return the best converged fit among the given numbers of dimensions."""
    trials: list[Trial] = []
    for D in sorted(dimensions):
        trials.append(_in_dimensions(ascent, D, restarts, trials[-1] if trials else None, rng))
        if _falling(trials):
            break
    ends = [ascent.carry(trial, rule.max_sweeps, rule.tol) for trial in _candidates(trials)]
    evidence = {trial.D: trial.bound for trial in [*trials, *ends]}
    return SearchResult(max(ends, key=lambda trial: trial.bound), evidence)


def _in_dimensions(ascent: Sweeping, D: int, restarts: int, before: Trial | None, rng: np.random.Generator) -> Trial:
    starts = [ascent.begin(position) for position in _positions(ascent.pairs, D, restarts, before, rng)]
    tried = _best([ascent.carry(start, ROUGH) for start in starts], KEPT)
    tried = _best([ascent.carry(trial, MIDDLE) for trial in tried], 1)
    return ascent.carry(tried[0], LONG)


def _positions(pairs: Pairs, D: int, restarts: int, before: Trial | None, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the initial positions: spectral ones, then alternately extended positions of the previous dimension and
    random ones."""
    starts = [spectral(pairs, D, rng)]
    for number in range(1, restarts):
        if before is not None and before.D == D - 1 and number % 2:
            starts.append(grown(before.beliefs.position, rng))
        else:
            starts.append(scattered(pairs.n_items, D, rng))
    return starts


def _best(trials: Sequence[Trial], count: int) -> list[Trial]:
    return sorted(trials, key=lambda trial: -trial.bound)[:count]


def _falling(trials: Sequence[Trial]) -> bool:
    best = max(range(len(trials)), key=lambda at: trials[at].bound)
    return len(trials) - 1 - best >= PATIENCE


def _candidates(trials: Sequence[Trial]) -> list[Trial]:
    first, *runners_up = _best(trials, 2)
    return [first, *(trial for trial in runners_up if first.bound - trial.bound < CLOSE * abs(first.bound))]


def transferred(pairs: Pairs, beliefs: Beliefs, prior: Prior) -> Trial:
    """Transfer a posterior to other judgements, possibly with more items and workers.

    New items start at the origin, which their first judgements change. New workers start as the average worker.
    """
    new_items, new_workers = pairs.n_items - len(beliefs.position), pairs.n_workers - len(beliefs.bias)
    D, typical = beliefs.D, beliefs.matrix.mean(0) if len(beliefs.matrix) else np.eye(beliefs.D)
    moved = replace(
        beliefs,
        position=_extended(beliefs.position, new_items, np.zeros(D)),
        position_variance=_extended(beliefs.position_variance, new_items, np.full(D, prior.items)),
        matrix=_extended(beliefs.matrix, new_workers, typical),
        matrix_variance=_extended(beliefs.matrix_variance, new_workers, np.full((D, D), float(prior.matrices))),
        bias=_extended(beliefs.bias, new_workers, np.float64(0.0)),
        bias_variance=_extended(beliefs.bias_variance, new_workers, np.float64(prior.bias)),
        delta=np.empty(len(pairs.other)),
        weight=np.empty(len(pairs.other)),
    )
    return Trial(retouched(pairs, moved)[0])


def _extended(values: np.ndarray, count: int, value: np.ndarray | np.float64) -> np.ndarray:
    return np.concatenate([values, np.broadcast_to(value, (count, *value.shape))])


def nothing_to_find(pairs: Pairs, prior: Prior) -> float:
    """Return the bound of the trivial fit with all items at one position, which a fit with structure must exceed."""
    ascent = Sweeping(pairs, prior)
    return ascent.carry(ascent.begin(np.zeros((pairs.n_items, 1)), prior.items), *TRIVIAL).bound
