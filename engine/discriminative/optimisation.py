"""L-BFGS from several starts. The objective is not concave, so the result depends on the start.

Starts are over-segmentations, with more groups than needed, because classes can become empty but new ones never appear.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy

from benthoscope.engine.discriminative.coefficients import Coefficients
from benthoscope.engine.discriminative.objective import Information, InformationObjective, WeightedExamples
from benthoscope.engine.discriminative.validation import fitted_gamma, power_law, tied_by_rank
from benthoscope.engine.progress import OnStep, Progress, ignore

Evaluate = Callable[[Coefficients], tuple[float, Coefficients]]
WARM_UP = 15  # steps of the supervised fit of a start; 5 to 200 steps lead to the same optimum, 1 step does not


@dataclass(frozen=True)
class Precision:
    """The stopping rule: relative gain of a step, largest gradient entry, number of steps."""

    gain: float = 1e-9
    slope: float = 1e-6
    steps: int = 1000


@dataclass(frozen=True)
class Summit:
    coefficients: Coefficients
    value: float
    steps: int
    converged: bool


def climb(
    objective: Evaluate, start: Coefficients, precision: Precision, on_value: Callable[[float], None] = lambda F: None
) -> Summit:
    """Maximise the objective. `on_value` is called with F after each step and may raise to stop."""
    classes, latest = len(start.biases), [0.0]

    def downhill(flat: np.ndarray) -> tuple[float, np.ndarray]:
        F, gradient = objective(Coefficients.unpacked(flat, classes))
        latest[0] = F
        return -F, -gradient.packed()

    options = {
        "maxcor": 10,
        "ftol": precision.gain,
        "gtol": precision.slope,
        "maxiter": precision.steps,
        "maxfun": 10 * precision.steps,
    }
    solution = scipy.optimize.minimize(
        downhill, start.packed(), jac=True, method="L-BFGS-B", options=options, callback=lambda _: on_value(latest[0])
    )
    return Summit(
        Coefficients.unpacked(solution.x, classes), float(-solution.fun), int(solution.nit), bool(solution.success)
    )


def supervised_start(X: np.ndarray, y: np.ndarray, classes: int, penalty: float, steps: int = WARM_UP) -> Coefficients:
    """Return the coefficients after a few steps of logistic regression towards labels y (N,), starting from zero."""
    mean = WeightedExamples(X, y, np.full(len(y), 1 / len(y)))
    start = Coefficients.zeros(classes, X.shape[1])
    return climb(InformationObjective(penalty, labelled=mean), start, Precision(steps=steps)).coefficients


# precision of the exponent's prior, in rows per row; without it, "power" sizes would end with one class
EXPONENT_PRIOR = 3.0
ROUNDS = 10  # rounds of assigning sizes to classes; their order stabilises after two or three rounds


class Sizes(Protocol):
    """A prior of class sizes. Maps the current shares (K,) of the classes to log shares (K,)."""

    def __call__(self, shares: np.ndarray) -> np.ndarray | None: ...


def even(shares: np.ndarray) -> None:
    """Uniform sizes: the balance term of the mutual information itself."""
    return None


@dataclass(frozen=True)
class Given:
    sizes: tuple[float, ...]

    def __call__(self, shares: np.ndarray) -> np.ndarray:
        """Assign the given sizes to the classes by rank. Additional classes get the smallest size."""
        known = np.array(self.sizes, float)
        padded = np.concatenate([known, np.full(max(len(shares) - len(known), 0), known.min())])
        return tied_by_rank(padded[: len(shares)], shares)


def power(shares: np.ndarray) -> np.ndarray:
    """Return a power law of the ranks. Its exponent follows the shares and a prior."""
    return tied_by_rank(power_law(len(shares), fitted_gamma(shares, EXPONENT_PRIOR)), shares)


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit. `penalty` is lambda, not multiplied by the number of rows."""

    classes: int
    penalty: float
    balance: bool = True
    sizes: Sizes = even
    precision: Precision = field(default_factory=Precision)


@dataclass(frozen=True)
class Fitted:
    """A fit: `labels` are those of the fitted rows; `history` has F after each step."""

    coefficients: Coefficients
    value: float
    labels: np.ndarray
    steps: int
    converged: bool
    history: tuple[float, ...] = ()


def best_of(
    Z: np.ndarray, plan: FitSettings, starts: Iterable[np.ndarray], total: int, on_step: OnStep = ignore
) -> Fitted:
    """Return the fit with the highest F over all `starts`, each given by group numbers (N,); raises without starts."""
    best: Fitted | None = None
    for number, y in enumerate(starts):
        teller = Teller(number, total, on_step, best.value if best else None)
        first = supervised_start(Z, y, plan.classes, plan.penalty)
        fitted = climb_from(Z, plan, first, teller)
        if best is None or fitted.value > best.value:
            best = fitted
    if best is None:
        raise ValueError("there are no starts")
    return best


def climb_from(Z: np.ndarray, plan: FitSettings, start: Coefficients, report: "Teller | None" = None) -> Fitted:
    """Maximise from one start. If sizes are assigned to classes by rank, repeats while their order changes."""
    report, log_sizes = report or Teller(), plan.sizes(_shares(start, Z))
    for _ in range(ROUNDS):
        summit = climb(_objective(Z, plan, log_sizes), start, plan.precision, report)
        before, log_sizes = log_sizes, plan.sizes(_shares(summit.coefficients, Z))
        if before is None or log_sizes is None or np.allclose(before, log_sizes, atol=1e-3):
            break
        start = summit.coefficients
    return _fitted(Z, summit, report)


class Teller:
    """Reports the progress of the optimisation: the start, F, and the best F so far."""

    def __init__(self, number: int = 0, total: int = 1, on_step: OnStep = ignore, best: float | None = None):
        self._number, self._total, self._on_step, self._best = number, total, on_step, best
        self.history: list[float] = []

    def __call__(self, F: float) -> None:
        self.history.append(F)
        message = f"start {self._number + 1} of {self._total}, step {len(self.history)}"
        self._on_step(Progress(self._number, self._total, message, {"bound": F, "best": self._best}))


def survivors(labels: np.ndarray) -> np.ndarray:
    """Return the classes that own rows, largest first."""
    counts = np.bincount(labels)
    alive = np.flatnonzero(counts)
    return alive[np.argsort(-counts[alive], kind="stable")]


def _objective(Z: np.ndarray, plan: FitSettings, log_sizes: np.ndarray | None) -> InformationObjective:
    return InformationObjective(plan.penalty, Information(Z, plan.balance, log_sizes))


def _shares(coefficients: Coefficients, Z: np.ndarray) -> np.ndarray:
    return np.exp(coefficients.log_probabilities(Z)).mean(0, dtype=np.float64)


def _fitted(Z: np.ndarray, summit: Summit, report: Teller) -> Fitted:
    labels = summit.coefficients.scores(Z).argmax(1)
    return Fitted(summit.coefficients, summit.value, labels, summit.steps, summit.converged, tuple(report.history))


SAMPLE = 20_000  # rows used to fit k-means; the others are assigned


def kmeans(X: np.ndarray, count: int, rng: np.random.Generator, restarts: int = 1) -> np.ndarray:
    """Return k-means groups of the rows (N,), numbered from 0."""
    from sklearn.cluster import KMeans  # slow to import

    rows = X if len(X) <= SAMPLE else X[rng.choice(len(X), SAMPLE, replace=False)]
    count = min(count, len(np.unique(rows, axis=0)))
    model = KMeans(count, n_init=restarts, random_state=int(rng.integers(2**31))).fit(rows)
    return (model.labels_ if len(rows) == len(X) else model.predict(X)).astype(np.int64)


def spectral(affinity: np.ndarray, count: int, rng: np.random.Generator, restarts: int = 10) -> np.ndarray:
    """Return normalised spectral clusters (Ng, Jordan, Weiss) of a non-negative affinity matrix."""
    graph = np.maximum(affinity, 0.0)
    np.fill_diagonal(graph, 0.0)
    degree = np.maximum(graph.sum(1), 1e-300)
    scaled = graph / np.sqrt(degree[:, None] * degree)
    count = min(count, len(graph))
    vectors = scipy.linalg.eigh(scaled, subset_by_index=[len(graph) - count, len(graph) - 1])[1]
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    return kmeans(vectors / lengths, count, rng, restarts)


def _by_kernel_kmeans(X, phi, matrix, count, rng):
    return kmeans(phi, count, rng)  # distances between rows of phi are distances in the kernel's space


def _by_kmeans(X, phi, matrix, count, rng):
    return kmeans(phi if X is None else X, count, rng)


def _by_spectral(X, phi, matrix, count, rng):
    return spectral(matrix, count, rng, restarts=1)


KernelStart = Callable[[np.ndarray | None, np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]
KERNEL_STARTS: dict[str, KernelStart] = {
    "kernel_kmeans": _by_kernel_kmeans,
    "kmeans": _by_kmeans,
    "spectral": _by_spectral,
}
