"""StreamGreedy (methods note 3): fill k slots from a stream, then swap items whenever a swap gains enough.

`StreamGreedy` is the scikit-learn estimator; `stream_greedy` is the algorithm for any objective and order of items.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from benthoscope.engine.exemplars.distances import Dissimilarity, squared_euclidean
from benthoscope.engine.exemplars.loss import ExemplarLoss, Phantom, origin
from benthoscope.engine.exemplars.objective import GainTable, Objective
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore
from benthoscope.engine.value_checks import require_usable_values

Blocks = Iterator[np.ndarray]


def cycling(count: int, size: int, rng: np.random.Generator | None = None) -> Blocks:
    """Yield the same blocks of item numbers forever. With a generator, the items are shuffled once."""
    order = np.arange(count) if rng is None else rng.permutation(count)
    return chain.from_iterable(repeat(partition(order, size)))


def partition(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[at : at + size] for at in range(0, len(order), size)]


def blocks_in_a_pass(count: int, size: int) -> int:
    return -(-count // size)


SIGNIFICANT = 1e-4  # default gain that a swap needs, as a fraction of the utility after the fill
# fraction of the utility; smaller gains may be rounding errors, and two such swaps could alternate forever
ROUNDING = 1e-12


@dataclass(frozen=True)
class Chosen:
    """The result: `items` in slot order, `values` with the utility after each block, and the number of `swaps` after
    the fill."""

    items: np.ndarray
    value: float
    values: np.ndarray
    swaps: int
    converged: bool  # whether a whole cycle passed without a swap that gains enough

    @property
    def steps(self) -> int:
        return len(self.values)


def stream_greedy(
    objective: Objective,
    blocks: Blocks,
    k: int,
    *,
    cycle: int,
    least_gain: float | None = None,
    eager: bool = True,
    max_steps: int | None = None,
    on_step: OnStep = ignore,
) -> Chosen:
    """Select k items. `cycle` blocks contain every item once.

    Each block allows one change, or with `eager` all changes that gain more than `least_gain` (in units of the mean
    utility; by default a fraction of the utility after the fill).
    """
    search = _Search(objective, k, cycle, least_gain, eager)
    for block in blocks:
        search.step(block)
        on_step(Progress(search.steps, max_steps, f"utility {search.state.value:.5g}", {"utility": search.state.value}))
        if search.converged or search.steps == max_steps:
            break
    return search.result()


class _Search:
    def __init__(self, objective: Objective, k: int, cycle: int, least_gain: float | None, eager: bool):
        self._objective, self._cycle, self._least, self._eager = objective, cycle, least_gain, eager
        self._k = min(k, objective.count)
        self._quota = max(1, -(-4 * k // cycle)) if eager else 1
        self.state = objective.begin(self._k)
        self._idle = self._swaps = 0
        self._values: list[float] = []

    @property
    def steps(self) -> int:
        return len(self._values)

    @property
    def converged(self) -> bool:
        everything = len(self.state.chosen) == self._objective.count
        return everything or self._idle > self._cycle

    def step(self, block: np.ndarray) -> None:
        table = self.state.table(self._objective.evidence(block))
        changed = sum(self._changes(table)) > 0
        self._idle = 0 if changed else self._idle + 1
        self._values.append(self.state.value)

    def result(self) -> Chosen:
        value, values = self.state.value, np.array(self._values)
        return Chosen(np.array(self.state.chosen, np.int64), value, values, self._swaps, self.converged)

    def _changes(self, table: GainTable) -> Iterator[int]:
        """Apply the changes allowed in this block one by one."""
        room = min(self._quota, self._k - len(self.state.chosen))
        filling = room > 0
        while room > 0 and self._added(table):
            room -= 1
            yield 1
        if filling and (not self._eager or len(self.state.chosen) < self._k):
            return
        while self._swapped(table):
            yield 1
            if not self._eager:
                return

    def _added(self, table: GainTable) -> bool:
        gains = table.addition_gains()
        at = int(np.argmax(gains))
        if gains[at] == -np.inf:
            return False
        table.add(at)
        return True

    def _swapped(self, table: GainTable) -> bool:
        best = table.best_swap(self._threshold())
        if best is None:
            return False
        table.swap(best.slot, best.at)
        self._swaps += 1
        return True

    def _threshold(self) -> float:
        if self._least is None:
            self._least = SIGNIFICANT * self.state.value
        return max(self._least, ROUNDING * abs(self.state.value))


PER_EXEMPLAR = 50  # validation points per exemplar; more hardly improve the selection (methods note 10)
AT_LEAST = 2_000  # minimum number of validation points
ROWS_AT_ONCE = 4_096


class StreamGreedy(ClusterMixin, BaseEstimator):
    """Select rows that represent all others: at most `n_exemplars`, chosen by streaming through X and swapping.

    Parameters
    ----------
    validation : int or None
        Number of rows on which the loss is measured. None selects a sufficient number.
    phantom
        Cost of a row without a near exemplar.

    Attributes
    ----------
    exemplars_ : ndarray
        Row numbers of the exemplars.
    labels_ : ndarray (N,)
        Nearest exemplar of each row, as a position in `exemplars_`.
    owners_ : ndarray (N,)
        As `labels_`, but -1 if the phantom is nearer.
    utility_ : float
        Mean gain over the phantom. With a sample of validation rows, it is measured on all other rows, because the
        selection overfits the validation rows.
    utility_history_ : ndarray
        Utility on the validation rows during the search.
    loss_ : float
        Mean dissimilarity of all rows to their nearest exemplar.
    """

    def __init__(
        self,
        n_exemplars: int = 8,
        *,
        dissimilarity: Dissimilarity = squared_euclidean,
        phantom: Phantom = origin,
        block_size: int = 500,
        validation: int | None = None,
        eager: bool = True,
        max_passes: int = 10,
        random_state=None,
    ):
        self.n_exemplars, self.dissimilarity, self.phantom = n_exemplars, dissimilarity, phantom
        self.block_size, self.validation, self.eager = block_size, validation, eager
        self.max_passes, self.random_state = max_passes, random_state

    def fit(self, X, y=None, *, on_step: OnStep = ignore):
        X = require_usable_values(validate_data(self, X, dtype=[np.float64, np.float32]))
        self._check_numbers()
        rng = np.random.default_rng(self.random_state)
        loss = ExemplarLoss(
            X, dissimilarity=self.dissimilarity, phantom=self.phantom, validation=self._validation(len(X), rng)
        )
        cycle = blocks_in_a_pass(len(X), self.block_size)
        result = stream_greedy(
            loss,
            cycling(len(X), self.block_size, rng),
            self.n_exemplars,
            cycle=cycle,
            eager=self.eager,
            max_steps=self._steps(cycle),
            on_step=on_step,
        )
        self.exemplars_, self.utility_history_ = result.items, result.values
        self.n_steps_, self.converged_ = result.steps, result.converged
        self.exemplar_rows_ = X[result.items]
        self.labels_, self.owners_ = self._assigned(X)
        self.utility_ = result.value if len(loss.validation) == len(X) else self._utility(X, loss.validation)
        self.loss_ = -self.score(X)
        return self

    def predict(self, X) -> np.ndarray:
        """Return the nearest exemplar of each row (n,), as a position in `exemplars_`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return self._assigned(require_usable_values(X))[0]

    def score(self, X, y=None) -> float:
        """Return minus the mean dissimilarity of the rows to their nearest exemplar."""
        check_is_fitted(self)
        X = require_usable_values(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))
        total = sum(float(self.dissimilarity(block, self.exemplar_rows_).min(1).sum()) for block in _blocks(X))
        return -total / len(X)

    def _utility(self, X: np.ndarray, used_rows: np.ndarray) -> float:
        """Return the mean gain over the phantom on rows that are neither validation rows nor exemplars."""
        fresh = np.setdiff1d(np.arange(len(X)), np.union1d(used_rows, self.exemplars_))
        if not len(fresh):
            fresh = np.arange(len(X))
        total = 0.0
        for block in _blocks(fresh):
            to_phantom = self.phantom(X[block], self.dissimilarity)
            near = self.dissimilarity(X[block], self.exemplar_rows_).min(1)
            total += float(np.maximum(to_phantom - near, 0).sum(dtype=np.float64))
        return total / len(fresh)

    def _assigned(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, owners = [], []
        for block in _blocks(X):
            far = self.dissimilarity(block, self.exemplar_rows_)
            nearest = far.argmin(1)
            apart = self.phantom(block, self.dissimilarity) < far[np.arange(len(block)), nearest]
            labels.append(nearest)
            owners.append(np.where(apart, -1, nearest))
        return np.concatenate(labels), np.concatenate(owners)

    def _validation(self, count: int, rng: np.random.Generator) -> np.ndarray | None:
        size = self.validation or max(AT_LEAST, PER_EXEMPLAR * self.n_exemplars)
        return None if size >= count else rng.choice(count, size, replace=False)

    def _steps(self, cycle: int) -> int:
        """Return the number of blocks. Without eager swaps, the fill takes one block per exemplar."""
        return self.max_passes * cycle + (0 if self.eager else self.n_exemplars)

    def _check_numbers(self) -> None:
        for name in ("n_exemplars", "block_size", "max_passes"):
            if not (isinstance(getattr(self, name), int | np.integer) and getattr(self, name) > 0):
                raise fail(name, f"must be a whole number greater than 0 (got {getattr(self, name)!r})")


def _blocks(X: np.ndarray) -> list[np.ndarray]:
    return [X[at : at + ROWS_AT_ONCE] for at in range(0, len(X), ROWS_AT_ONCE)]
