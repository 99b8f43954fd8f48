"""A classifier that learns from few labels and many unlabelled rows (methods note 8.1)."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.discriminative.coefficients import Coefficients
from benthoscope.engine.discriminative.multilogit import Multilogit
from benthoscope.engine.discriminative.objective import Information, InformationObjective, WeightedExamples
from benthoscope.engine.discriminative.optimisation import Precision, climb
from benthoscope.engine.discriminative.rim import chosen_scale
from benthoscope.engine.discriminative.validation import finite_rows, whole_above_zero
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, Progress, ignore

UNLABELLED = -1
PENALTIES, INFORMATIONS = (0.01, 0.1, 1.0), (10.0, 100.0, 1000.0)  # the grid of the paper


class SemiSupervisedRIM(ClassifierMixin, Multilogit):
    """Logistic regression on the labelled rows plus information maximisation on the others.

    Parameters
    ----------
    penalty : float
        Lambda, the strength of the penalty.
    information : float
        Tau: the number of labels that all unlabelled rows together are worth. 0 gives plain logistic regression.
    balance : bool
        False gives entropy regularisation as in Grandvalet and Bengio.
    mean_labels : bool
        Whether to divide the likelihood by the number of labels.
    include_labelled : bool
        Whether labelled rows also contribute to the information.
    """

    def __init__(
        self,
        *,
        penalty=0.1,
        information=100.0,
        balance=True,
        extra_classes=0,
        scale="overall",
        mean_labels=False,
        include_labelled=False,
        max_iter=1000,
        tol=1e-9,
    ):
        self.penalty, self.information, self.balance = penalty, information, balance
        self.extra_classes, self.scale = extra_classes, scale
        self.mean_labels, self.include_labelled = mean_labels, include_labelled
        self.max_iter, self.tol = max_iter, tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, on_step: OnStep = ignore) -> Self:
        """Fit to rows X (N, D). Rows with y = -1 are unlabelled."""
        self._check_parameters()
        rows, classes, number = self._checked(X, y)
        weights = _weights(sample_weight, len(rows))
        with blas_threads(1):
            scale = chosen_scale(self.scale)(rows)
            fitted = self._climbed(scale(rows), number, weights, len(classes), on_step)
        self._clear_fit()
        self._record_columns(X)
        self.n_features_in_, self.classes_, self.scale_ = rows.shape[1], classes, scale
        self.coef_, self.intercept_ = fitted.coefficients.weights, fitted.coefficients.biases
        self.lower_bound_, self.n_iter_, self.converged_ = fitted.value, max(fitted.steps, 1), fitted.converged
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (N, K); their softmax gives the probabilities. For two classes (N,): the second score minus the
        first, as in scikit-learn."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely label of each row. With `extra_classes`, only labels with a name are returned."""
        self._check_fitted()
        return self.classes_[self._scores(X)[:, : len(self.classes_)].argmax(1)]

    def _climbed(self, Z: np.ndarray, number: np.ndarray, weights: np.ndarray, classes: int, on_step: OnStep):
        """Maximise from the supervised fit on the labels. Without unlabelled rows, the supervised fit is the result."""
        known = number >= 0
        total = weights[known].sum() if self.mean_labels else 1.0
        labelled = WeightedExamples(Z[known], number[known], weights[known] / total)
        precision = Precision(gain=float(self.tol), steps=int(self.max_iter))
        start = Coefficients.zeros(classes + int(self.extra_classes), Z.shape[1])
        supervised = climb(InformationObjective(float(self.penalty), labelled=labelled), start, precision)
        free = Z if self.include_labelled else Z[~known]
        if not len(free) or not self.information:
            return supervised
        objective = InformationObjective(
            float(self.penalty), Information(free, bool(self.balance)), labelled, float(self.information)
        )
        return climb(objective, supervised.coefficients, precision, _progress_callback(on_step))

    def _rows(self, X: Any) -> np.ndarray:
        return self.scale_(super()._rows(X))

    def _check_parameters(self) -> None:
        for name in ("penalty", "tol"):
            checking.positive(name, getattr(self, name))
        checking.positive("information", self.information, least=-1e-300)
        checking.positive("extra_classes", self.extra_classes, least=-1, integer=True)
        whole_above_zero("max_iter", self.max_iter)

    def _checked(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rows, classes, class number of each row or -1)."""
        rows, labels = finite_rows(X), _target(y)
        if labels.shape != (len(rows),):
            raise fail(
                "y", f"has shape {labels.shape} for {len(rows)} rows of X", "give one label per row, -1 for none"
            )
        known = labels != UNLABELLED
        if not known.any():
            raise fail("y", "no row has a label", "label at least one image of each of two classes")
        classes = np.unique(labels[known])
        number = np.full(len(labels), -1)
        number[known] = np.searchsorted(classes, labels[known])
        return rows, classes, number


def chosen_by_cross_validation(
    X: Any,
    y: Any,
    penalties: Sequence[float] = PENALTIES,
    informations: Sequence[float] = INFORMATIONS,
    *,
    folds: int = 5,
    random_state: Any = None,
    **settings: Any,
) -> SemiSupervisedRIM:
    """Return the unfitted estimator that predicts held-out labels best. The labels of each fold are hidden in turn."""
    y = np.asarray(y)
    known = np.flatnonzero(y != UNLABELLED)
    fold = np.random.default_rng(random_state).permutation(len(known)) % min(folds, len(known))
    tried = [
        SemiSupervisedRIM(penalty=penalty, information=information, **settings)
        for penalty, information in product(penalties, informations)
    ]
    return max(tried, key=lambda model: _held_out_score(model, X, y, known, fold))


def _held_out_score(model: SemiSupervisedRIM, X: Any, y: np.ndarray, known: np.ndarray, fold: np.ndarray) -> float:
    right = 0
    for number in range(fold.max() + 1):
        hidden = known[fold == number]
        shown = y.copy()
        shown[hidden] = UNLABELLED
        right += int((model.fit(X, shown).predict(X[hidden]) == y[hidden]).sum())
    return right / len(known)


def _target(y: Any) -> np.ndarray:
    if y is None:
        raise fail(
            "y",
            "SemiSupervisedRIM requires y to be passed, but the target y is None",
            "give one label per row, -1 for none",
        )
    try:
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
    except ValueError as error:
        raise fail("y", str(error), "give one label per row, -1 for none") from error
    return labels


def _weights(sample_weight: Any, rows: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight, float)
    if weights.shape != (rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise fail(
            "sample_weight", f"has shape {weights.shape} for {rows} rows, or negative values", "give one weight per row"
        )
    if not weights.any():
        raise fail("sample_weight", "all sample weights are zero", "give at least one row a weight greater than 0")
    return weights


def _progress_callback(on_step: OnStep):
    steps = [0]

    def report(F: float) -> None:
        steps[0] += 1
        on_step(Progress(steps[0], None, f"step {steps[0]}", {"bound": F}))

    return report
