"""What every fitted multilogit model is used for."""

from typing import Any

import numpy as np

from engine.discriminative.logit import BLOCK, Coefficients, entropies, log_softmax
from engine.discriminative.rows import finite_rows
from engine.mixtures import checking
from engine.mixtures.estimator import Estimator


class Multilogit(Estimator):
    """Needs `coef_` (K, D), `intercept_` (K,) and `n_features_in_`; `_rows` makes the rows they are for."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (N, K), whose softmax are the probabilities."""
        self._check_fitted()
        rows = self._rows(X)
        found = Coefficients(self.coef_, self.intercept_)
        parts = [found.scores(rows[at : at + BLOCK]) for at in range(0, len(rows), BLOCK)]
        return np.concatenate(parts)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """(N, K)"""
        return log_softmax(self.decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, K), rows sum to one."""
        return np.exp(self.predict_log_proba(X))

    def uncertainty(self, X: Any) -> np.ndarray:
        """Entropy of every row's classes (N,), in nats."""
        return entropies(self.predict_log_proba(X))

    def _rows(self, X: Any) -> np.ndarray:
        rows = finite_rows(X)
        checking.same_columns(rows.shape[1], self.n_features_in_, type(self).__name__)
        return rows

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
