"""The methods of fitted models of multinomial logistic regression."""

from typing import Any

import numpy as np

from benthoscope.engine.discriminative.coefficients import BLOCK, Coefficients, entropies, log_softmax
from benthoscope.engine.discriminative.validation import finite_rows
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.estimator import RowsEstimator


class Multilogit(RowsEstimator):
    """Prediction methods that need `coef_` (K, D), `intercept_` (K,) and `n_features_in_`. `_rows` converts
    input rows."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (N, K); their softmax gives the probabilities."""
        return self._scores(X)

    def _scores(self, X: Any) -> np.ndarray:
        self._check_fitted()
        rows = self._rows(X)
        coefficients = Coefficients(self.coef_, self.intercept_)
        blocks = [coefficients.scores(rows[at : at + BLOCK]) for at in range(0, len(rows), BLOCK)]
        return np.concatenate(blocks)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the log probabilities of the classes (N, K)."""
        return log_softmax(self._scores(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes (N, K); rows sum to one."""
        return np.exp(self.predict_log_proba(X))

    def uncertainty(self, X: Any) -> np.ndarray:
        """Return the entropy of each row's class probabilities (N,) in nats."""
        return entropies(self.predict_log_proba(X))

    def _rows(self, X: Any) -> np.ndarray:
        rows = finite_rows(X)
        checking.same_columns(rows.shape[1], self.n_features_in_, type(self).__name__)
        self._check_columns(X)
        return rows
