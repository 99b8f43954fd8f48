"""Active sets of a Gaussian process (methods note 2.2, 2.3 and 6): choose the rows that a prediction conditions on.

Criteria, where A is the active set and W the validation set:

- "information": half the log determinant of I + K_AA / noise. It needs neither W nor targets.
- "variance": the mean over W of the variance that A explains. It needs no targets.
- "error": the mean over W of the squared error that predictions from A avoid.

All swaps of a block are evaluated together, from the inverse P of K_AA + noise, with two matrix products. A change of A
updates P and V = K_WA P by matrices of rank one. They are computed again, by a Cholesky factor, after a number of
changes, so that rounding errors cannot grow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benthoscope.engine.exemplars.gaussian_process import SquaredExponential
from benthoscope.engine.exemplars.objective import Swap, best_of
from benthoscope.engine.exemplars.race import Race
from benthoscope.engine.problems import fail, unknown

CRITERIA = ("error", "variance", "information")
REFACTOR = 50  # changes between two Cholesky factorisations
SMALLEST = 1e-10  # fraction of the kernel's variance; an item with less conditional variance is a copy of active items


class ActiveSet:
    """The objective of an active set of rows of X (n, D) for residuals y - mean (n,).

    `validation` are row numbers; None uses all rows. With a `race`, a swap is decided on some of them. The bound of a
    race is exact for "variance". For "error" it takes the largest squared residual as the range of one point, which a
    bad prediction may exceed.
    """

    def __init__(
        self,
        X: np.ndarray,
        residual: np.ndarray | None,
        kernel: SquaredExponential,
        *,
        criterion: str = "error",
        validation: np.ndarray | None = None,
        race: Race | None = None,
    ):
        if criterion not in CRITERIA:
            raise unknown("criterion", criterion, CRITERIA)
        if residual is None:
            if criterion == "error":
                raise fail("criterion error", "needs targets", "give targets, or choose another criterion")
            residual = np.zeros(len(X))
        self.X, self.residual, self.kernel = X, residual, kernel
        self.criterion, self.race, self.count = criterion, race, len(X)
        rows = np.arange(len(X)) if validation is None else np.asarray(validation)
        self.validation = rows[:0] if criterion == "information" else rows
        self.validation_X, self.validation_residual = X[self.validation], residual[self.validation]

    @property
    def span(self) -> float:
        """The range of one point in a race."""
        largest = float(np.max(self.residual**2, initial=0.0))
        return largest if self.criterion == "error" else self.kernel.variance

    def begin(self, k: int) -> "ActiveSetState":
        return ActiveSetState(self)

    def evidence(self, items: np.ndarray) -> "CandidateRows":
        return CandidateRows(self, np.asarray(items))


class CandidateRows:
    """The items of a block. Their covariances with the validation rows (W, b) are computed when they are used."""

    def __init__(self, objective: ActiveSet, items: np.ndarray):
        self.objective, self.items = objective, items
        self.X, self.residual = objective.X[items], objective.residual[items]

    @cached_property
    def with_validation(self) -> np.ndarray:
        return self.objective.kernel(self.objective.validation_X, self.X)


class ActiveSetState:
    """The active set. `P` (k, k), `a` = P y_A, `V` = K_WA P (W, k) and `E` (W,), the errors of the prediction."""

    def __init__(self, objective: ActiveSet):
        self.objective = objective
        self.chosen: list[int] = []
        self.P, self.a = np.zeros((0, 0)), np.zeros(0)
        self.V = np.zeros((len(objective.validation), 0))
        self.E = objective.validation_residual.copy()
        self._changes = 0
        self._log_determinant = 0.0  # of I + K_AA / noise
        self._explained = 0.0  # sum over W of the variance that A explains

    @property
    def value(self) -> float:
        if self.objective.criterion == "information":
            return 0.5 * self._log_determinant
        points = max(len(self.E), 1)
        if self.objective.criterion == "variance":
            return self._explained / points
        before = self.objective.validation_residual
        return float(before @ before - self.E @ self.E) / points

    def table(self, evidence: CandidateRows) -> "ActiveSetTable":
        return ActiveSetTable(self, evidence)

    def gain(self, evidence: CandidateRows, at: int) -> float:
        candidate = CandidateRows(self.objective, evidence.items[at : at + 1])
        return float(self.table(candidate).addition_gains()[0])

    def add(self, evidence: CandidateRows, at: int) -> None:
        self._extend(int(evidence.items[at]), evidence.X[at : at + 1], float(evidence.residual[at]))
        self._changed()

    def swap(self, slot: int, evidence: CandidateRows, at: int) -> None:
        """Add an item, remove that of a slot, and move the new item into the slot."""
        self._extend(int(evidence.items[at]), evidence.X[at : at + 1], float(evidence.residual[at]))
        self._remove(slot)
        order = np.insert(np.arange(len(self.chosen) - 1), slot, len(self.chosen) - 1)
        self.chosen = [self.chosen[number] for number in order]
        self.P, self.a, self.V = self.P[np.ix_(order, order)], self.a[order], self.V[:, order]
        self._changed()

    def given_active(self, X: np.ndarray, residual: np.ndarray) -> "ConditionalMoments":
        """Return the moments of other rows (b, D), given the active set."""
        kernel = self.objective.kernel
        with_active = kernel(self.objective.X[self.chosen], X)
        weights = self.P @ with_active
        variance = kernel.variance + kernel.diagonal_noise - np.einsum("kb,kb->b", with_active, weights)
        return ConditionalMoments(with_active, weights, variance, residual - with_active.T @ self.a)

    def _extend(self, item: int, X: np.ndarray, residual: float) -> None:
        prediction = self.given_active(X, np.array([residual]))
        u, v, e = prediction.weights[:, 0], float(prediction.variance[0]), float(prediction.error[0])
        objective = self.objective
        c = objective.kernel(objective.validation_X, X)[:, 0] - self.V @ prediction.with_active[:, 0]
        k = len(self.chosen)
        P = np.empty((k + 1, k + 1))
        P[:k, :k] = self.P + np.outer(u, u) / v
        P[k, :k] = P[:k, k] = -u / v
        P[k, k] = 1 / v
        self.P, self.a = P, np.append(self.a - u * (e / v), e / v)
        self.V = np.column_stack([self.V - np.outer(c, u / v), c / v])
        self.E = self.E - c * (e / v)
        self._log_determinant += float(np.log(v / objective.kernel.diagonal_noise))
        self._explained += float(c @ c) / v
        self.chosen.append(item)

    def _remove(self, slot: int) -> None:
        pivot, column, direction = self.P[slot, slot], self.P[:, slot].copy(), self.V[:, slot].copy()
        r = self.a[slot] / pivot
        remaining = np.delete(np.arange(len(self.chosen)), slot)
        self._log_determinant += float(np.log(pivot * self.objective.kernel.diagonal_noise))
        self._explained -= float(direction @ direction) / pivot
        self.E = self.E + direction * r
        self.a = (self.a - column * r)[remaining]
        self.V = (self.V - np.outer(direction, column / pivot))[:, remaining]
        self.P = (self.P - np.outer(column, column) / pivot)[np.ix_(remaining, remaining)]
        del self.chosen[slot]

    def _changed(self) -> None:
        self._changes += 1
        if self._changes % REFACTOR == 0:
            self._refactor()

    def _refactor(self) -> None:
        objective, kernel = self.objective, self.objective.kernel
        active = objective.X[self.chosen]
        noisy = kernel(active, active)
        noisy.flat[:: len(active) + 1] += kernel.diagonal_noise
        factor = cho_factor(noisy, lower=True)
        self.P = cho_solve(factor, np.eye(len(active)))
        self.a = cho_solve(factor, objective.residual[self.chosen])
        with_active = kernel(objective.validation_X, active)
        self.V = cho_solve(factor, with_active.T).T
        self.E = objective.validation_residual - with_active @ self.a
        self._log_determinant = float(
            2 * np.log(np.diag(factor[0])).sum() - len(active) * np.log(kernel.diagonal_noise)
        )
        self._explained = float(np.einsum("wk,wk->", self.V, with_active))


@dataclass(frozen=True)
class ConditionalMoments:
    """Moments of b rows given A: covariances with A (k, b), P times them (k, b), variances with noise (b,), and
    errors of the prediction (b,)."""

    with_active: np.ndarray
    weights: np.ndarray
    variance: np.ndarray
    error: np.ndarray


@dataclass
class ValidationSums:
    """Sums over validation rows: cc (b,), CE (b,), VC (k, b), VV (k,), VE (k,). C is (W, b), the covariances of
    validation rows and candidates, given A."""

    cc: np.ndarray
    CE: np.ndarray
    VC: np.ndarray
    VV: np.ndarray
    VE: np.ndarray
    points: int

    def __add__(self, other: "ValidationSums") -> "ValidationSums":
        return ValidationSums(
            self.cc + other.cc,
            self.CE + other.CE,
            self.VC + other.VC,
            self.VV + other.VV,
            self.VE + other.VE,
            self.points + other.points,
        )


class ActiveSetTable:
    """Gains of all changes with the items of one block."""

    def __init__(self, state: ActiveSetState, evidence: CandidateRows):
        self._state, self._evidence = state, evidence
        self._look()

    def addition_gains(self) -> np.ndarray:
        """Return the gains (b,) of additions, from the sums over all validation rows."""
        v, criterion = self._predicted.variance, self._state.objective.criterion
        if criterion == "information":
            gains = 0.5 * np.log(np.maximum(v, self._least) / self._state.objective.kernel.diagonal_noise)
        else:
            C, e = self._given_active(slice(None)), self._predicted.error
            cc = np.einsum("wb,wb->b", C, C)
            total = cc / v if criterion == "variance" else 2 * (e / v) * (C.T @ self._state.E) - (e / v) ** 2 * cc
            gains = total / max(len(C), 1)
        return np.where(self._unusable, -np.inf, gains)

    def swap_gains(self) -> np.ndarray:
        """Return the gains (k, b) of swaps, from the sums over all validation rows."""
        if self._state.objective.criterion == "information":
            return self._usable(self._information_gains())
        return self._mean_gains(self._sums(slice(None)))

    def best_swap(self, least: float) -> Swap | None:
        race = self._state.objective.race
        if race is None or self._state.objective.criterion == "information":
            return best_of(self.swap_gains(), least)
        return self._raced(race, least)

    def add(self, at: int) -> None:
        self._state.add(self._evidence, at)
        self._look()

    def swap(self, slot: int, at: int) -> None:
        self._state.swap(slot, self._evidence, at)
        self._look()

    @property
    def _least(self) -> float:
        return SMALLEST * self._state.objective.kernel.variance

    def _look(self) -> None:
        """Predict the candidates from the active set. Called after each change."""
        self._predicted = self._state.given_active(self._evidence.X, self._evidence.residual)
        self._unusable = np.isin(self._evidence.items, self._state.chosen) | (self._predicted.variance < self._least)

    def _usable(self, gains: np.ndarray) -> np.ndarray:
        gains[:, self._unusable] = -np.inf
        return gains

    def _information_gains(self) -> np.ndarray:
        u, v = self._predicted.weights, np.maximum(self._predicted.variance, self._least)
        return 0.5 * np.log(np.diag(self._state.P)[:, None] * v + u**2)

    def _raced(self, race: Race, least: float) -> Swap | None:
        total = len(self._state.objective.validation)
        sizes = race.sizes(total)
        for sums in self._growing_sums(race.rng.permutation(total), sizes):
            decided, best = race.decided(self._mean_gains(sums), sums.points, total, least)
            if decided:
                return best
        return None

    def _growing_sums(self, order: np.ndarray, sizes: list[int]) -> Iterator[ValidationSums]:
        at, sums = 0, None
        for size in sizes:
            new = self._sums(order[at:size])
            sums = new if sums is None else sums + new
            at = size
            yield sums

    def _given_active(self, rows: slice | np.ndarray) -> np.ndarray:
        """Return C (w, b): the covariances of validation rows and candidates, given the active set."""
        objective = self._state.objective
        if isinstance(rows, slice):
            with_validation = self._evidence.with_validation[rows]
        else:  # a race often needs few of the rows
            with_validation = objective.kernel(objective.validation_X[rows], self._evidence.X)
        return with_validation - self._state.V[rows] @ self._predicted.with_active

    def _sums(self, rows: slice | np.ndarray) -> ValidationSums:
        C, V, E = self._given_active(rows), self._state.V[rows], self._state.E[rows]
        return ValidationSums(
            np.einsum("wb,wb->b", C, C),
            C.T @ E,
            V.T @ C,
            np.einsum("wk,wk->k", V, V),
            V.T @ E,
            len(E),
        )

    def _mean_gains(self, sums: ValidationSums) -> np.ndarray:
        """Return the mean gain (k, b) of each swap over the points of the sums (methods note 6)."""
        u, v, e = self._predicted.weights, np.maximum(self._predicted.variance, self._least), self._predicted.error
        slope = u / v
        pivot = np.diag(self._state.P)[:, None] + u * slope  # the diagonal of P after the addition
        VV = sums.VV[:, None] - 2 * slope * sums.VC + slope**2 * sums.cc
        if self._state.objective.criterion == "variance":
            total = sums.cc / v - VV / pivot
        else:
            r = (self._state.a[:, None] - slope * e) / pivot
            VE = sums.VE[:, None] - slope * sums.CE - (e / v) * sums.VC + (e / v) * slope * sums.cc
            added = 2 * (e / v) * sums.CE - (e / v) ** 2 * sums.cc
            total = added - 2 * r * VE - r**2 * VV
        return self._usable(total / max(sums.points, 1))
