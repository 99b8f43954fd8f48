"""A classifier that learns from few labels and many unlabelled rows (methods note 8.1)."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np

from engine.compute import blas_threads
from engine.discriminative.climbing import Precision, climb
from engine.discriminative.logit import Coefficients
from engine.discriminative.objective import Information, Labelled, Objective
from engine.discriminative.predicting import Multilogit
from engine.discriminative.rim import chosen_scale
from engine.discriminative.rows import finite_rows, whole_above_zero
from engine.mixtures import checking
from engine.problems import fail
from engine.progress import OnStep, Progress, ignore

UNLABELLED = -1
PENALTIES, INFORMATIONS = (0.01, 0.1, 1.0), (10.0, 100.0, 1000.0)  # the source's grid


class SemiSupervisedRIM(Multilogit):
    """Multilogit regression on labelled rows plus information maximisation on the others.

    `penalty` is lambda. `information` is tau: a number of pseudo-labels that all unlabelled rows together are worth.
    `balance=False` is entropy regularisation after Grandvalet and Bengio, `information=0` plain multilogit regression.
    `mean_labels` divides the likelihood by the number of labels; `include_labelled` lets labelled rows inform too.
    """

    def __init__(self, *, penalty=0.1, information=100.0, balance=True, extra_classes=0, scale="overall",
                 mean_labels=False, include_labelled=False, max_iter=1000, tol=1e-9):
        self.penalty, self.information, self.balance = penalty, information, balance
        self.extra_classes, self.scale = extra_classes, scale
        self.mean_labels, self.include_labelled = mean_labels, include_labelled
        self.max_iter, self.tol = max_iter, tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, on_step: OnStep = ignore) -> Self:
        """Learns from rows X (N, D) of which those with y = -1 are unlabelled."""
        self._check_parameters()
        rows, classes, number = self._checked(X, y)
        weights = _weights(sample_weight, len(rows))
        with blas_threads(1):
            scale = chosen_scale(self.scale)(rows)
            found = self._climbed(scale(rows), number, weights, len(classes), on_step)
        self._forget()
        self.n_features_in_, self.classes_, self.scale_ = rows.shape[1], classes, scale
        self.coef_, self.intercept_ = found.coefficients.weights, found.coefficients.biases
        self.lower_bound_, self.n_iter_, self.converged_ = found.value, max(found.steps, 1), found.converged
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest label of every row; with `extra_classes`, only labels that have a name."""
        self._check_fitted()
        return self.classes_[self.decision_function(X)[:, : len(self.classes_)].argmax(1)]

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose label is foretold."""
        return float((self.predict(X) == np.asarray(y)).mean())

    def _climbed(self, Z: np.ndarray, number: np.ndarray, weights: np.ndarray, classes: int, on_step: OnStep):
        """From the supervised fit on the labels, which is all there is to do without unlabelled rows."""
        known = number >= 0
        total = weights[known].sum() if self.mean_labels else 1.0
        labelled = Labelled(Z[known], number[known], weights[known] / total)
        precision = Precision(gain=float(self.tol), steps=int(self.max_iter))
        start = Coefficients.zeros(classes + int(self.extra_classes), Z.shape[1])
        supervised = climb(Objective(float(self.penalty), labelled=labelled), start, precision)
        free = Z if self.include_labelled else Z[~known]
        if not len(free) or not self.information:
            return supervised
        objective = Objective(float(self.penalty), Information(free, bool(self.balance)), labelled,
                              float(self.information))
        return climb(objective, supervised.coefficients, precision, _telling(on_step))

    def _rows(self, X: Any) -> np.ndarray:
        return self.scale_(super()._rows(X))

    def _check_parameters(self) -> None:
        for name in ("penalty", "tol"):
            checking.positive(name, getattr(self, name))
        checking.positive("information", self.information, least=-1e-300)
        checking.positive("extra_classes", self.extra_classes, least=-1, integer=True)
        whole_above_zero("max_iter", self.max_iter)

    def _checked(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, classes, class number of every row or -1)."""
        rows, given = finite_rows(X), np.asarray(y)
        if given.shape != (len(rows),):
            raise fail("y", f"shape {given.shape} for {len(rows)} rows of X", "give one label per row, -1 for none")
        known = given != UNLABELLED
        if not known.any():
            raise fail("y", "no row has a label", "label at least one image of two classes")
        classes = np.unique(given[known])
        number = np.full(len(given), -1)
        number[known] = np.searchsorted(classes, given[known])
        return rows, classes, number

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, Tags, TargetTags  # only scikit-learn itself asks

        target = TargetTags(required=True)
        return Tags(estimator_type="classifier", target_tags=target, classifier_tags=ClassifierTags())


def chosen_by_cross_validation(
    X: Any, y: Any, penalties: Sequence[float] = PENALTIES, informations: Sequence[float] = INFORMATIONS, *,
    folds: int = 5, random_state: Any = None, **settings: Any,
) -> SemiSupervisedRIM:
    """The estimator, not fitted, that foretells held-out labels best; every fold's labels are hidden in turn."""
    y = np.asarray(y)
    known = np.flatnonzero(y != UNLABELLED)
    fold = np.random.default_rng(random_state).permutation(len(known)) % min(folds, len(known))
    tried = [SemiSupervisedRIM(penalty=penalty, information=information, **settings)
             for penalty, information in product(penalties, informations)]
    return max(tried, key=lambda model: _held_out_score(model, X, y, known, fold))


def _held_out_score(model: SemiSupervisedRIM, X: Any, y: np.ndarray, known: np.ndarray, fold: np.ndarray) -> float:
    right = 0
    for number in range(fold.max() + 1):
        hidden = known[fold == number]
        shown = y.copy()
        shown[hidden] = UNLABELLED
        right += int((model.fit(X, shown).predict(X[hidden]) == y[hidden]).sum())
    return right / len(known)


def _weights(given: Any, rows: int) -> np.ndarray:
    if given is None:
        return np.ones(rows)
    weights = np.asarray(given, float)
    if weights.shape != (rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise fail("sample_weight", f"shape {weights.shape} for {rows} rows, or negative", "give one weight per row")
    return weights


def _telling(on_step: OnStep):
    steps = [0]

    def tell(F: float) -> None:
        steps[0] += 1
        on_step(Progress(steps[0], None, f"step {steps[0]}", {"bound": F}))

    return tell
