"""StreamGreedy as scikit-learn users know things: fit, then look at the exemplars."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from engine.exemplars.dissimilarity import Dissimilarity, squared_euclidean
from engine.exemplars.loss import ExemplarLoss
from engine.exemplars.phantom import Phantom, origin
from engine.exemplars.streams import blocks_in_a_pass, cycling
from engine.exemplars.swapping import stream_greedy
from engine.problems import fail
from engine.progress import OnStep, ignore

PER_EXEMPLAR = 50   # validation points: from about here on the choice is as good as with all (methods note 10)
AT_LEAST = 2_000    # and however few exemplars are asked for
ROWS_AT_ONCE = 4_096


class StreamGreedy(ClusterMixin, BaseEstimator):
    """Rows that stand for all others: at most `n_exemplars` of them, chosen by streaming through X and swapping.

    `validation` is the number of rows the loss is measured on (None: as many as it takes), `phantom` what a row costs
    that no exemplar is near to. Afterwards `exemplars_` are row numbers, `labels_` the nearest exemplar of every row,
    `owners_` the same but -1 where the phantom is nearer, `utility_` the mean gain over the phantom on the validation
    rows, `loss_` the mean dissimilarity of all rows to their nearest exemplar.
    """

    def __init__(self, n_exemplars: int = 8, *, dissimilarity: Dissimilarity = squared_euclidean,
                 phantom: Phantom = origin, block_size: int = 500, validation: int | None = None, eager: bool = True,
                 max_passes: int = 10, random_state=None):
        self.n_exemplars, self.dissimilarity, self.phantom = n_exemplars, dissimilarity, phantom
        self.block_size, self.validation, self.eager = block_size, validation, eager
        self.max_passes, self.random_state = max_passes, random_state

    def fit(self, X, y=None, *, on_step: OnStep = ignore):
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self._check_numbers()
        rng = np.random.default_rng(self.random_state)
        loss = ExemplarLoss(X, dissimilarity=self.dissimilarity, phantom=self.phantom,
                            validation=self._validation(len(X), rng))
        cycle = blocks_in_a_pass(len(X), self.block_size)
        found = stream_greedy(loss, cycling(len(X), self.block_size, rng), self.n_exemplars, cycle=cycle,
                              eager=self.eager, max_steps=self._steps(cycle), on_step=on_step)
        self.exemplars_, self.utility_, self.utility_history_ = found.items, found.value, found.values
        self.n_steps_, self.converged_ = found.steps, found.converged
        self.exemplar_rows_ = X[found.items]
        self.labels_, self.owners_ = self._assigned(X)
        self.loss_ = -self.score(X)
        return self

    def predict(self, X) -> np.ndarray:
        """The nearest exemplar of every row, (n,), as a position in `exemplars_`."""
        check_is_fitted(self)
        return self._assigned(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))[0]

    def score(self, X, y=None) -> float:
        """Minus the mean dissimilarity of the rows to their nearest exemplar."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        total = sum(float(self.dissimilarity(part, self.exemplar_rows_).min(1).sum()) for part in _parts(X))
        return -total / len(X)

    def _assigned(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, owners = [], []
        for part in _parts(X):
            far = self.dissimilarity(part, self.exemplar_rows_)
            nearest = far.argmin(1)
            apart = self.phantom(part, self.dissimilarity) < far[np.arange(len(part)), nearest]
            labels.append(nearest)
            owners.append(np.where(apart, -1, nearest))
        return np.concatenate(labels), np.concatenate(owners)

    def _validation(self, count: int, rng: np.random.Generator) -> np.ndarray | None:
        wanted = self.validation or max(AT_LEAST, PER_EXEMPLAR * self.n_exemplars)
        return None if wanted >= count else rng.choice(count, wanted, replace=False)

    def _steps(self, cycle: int) -> int:
        """Without eager swaps the fill alone takes a block for each exemplar."""
        return self.max_passes * cycle + (0 if self.eager else self.n_exemplars)

    def _check_numbers(self) -> None:
        for name in ("n_exemplars", "block_size", "max_passes"):
            if not (isinstance(getattr(self, name), int | np.integer) and getattr(self, name) > 0):
                raise fail(name, f"is {getattr(self, name)!r}", "give a whole number above 0")


def _parts(X: np.ndarray) -> list[np.ndarray]:
    return [X[at : at + ROWS_AT_ONCE] for at in range(0, len(X), ROWS_AT_ONCE)]
