"""Common base classes of the clustering estimators, on top of those of scikit-learn, and the metadata stored with
fitted models."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from benthoscope.engine.problems import fail


class RowsEstimator(BaseEstimator):
    """Base class of estimators that also accept the path of a file instead of rows."""

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    def _record_columns(self, X: Any) -> None:
        """Set `n_features_in_`, and `feature_names_in_` if X is a table with column names."""
        if _has_columns(X):
            validate_data(self, X, skip_check_array=True)

    def _check_columns(self, X: Any) -> None:
        """Raise if the column names of X differ from those of the fit."""
        if _has_columns(X):
            validate_data(self, X, reset=False, skip_check_array=True)

    def _clear_fit(self) -> None:
        """Remove the fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)


class ClusteringEstimator(ClusterMixin, RowsEstimator):
    """An estimator without a target. `_instead_of_target` names the option that users may confuse with y."""

    _instead_of_target = "groups"

    def fit_predict(self, X: Any, y: None = None, **options: Any) -> np.ndarray:
        """Fit to the rows X and return the cluster of each row. Options are those of `fit`; `y` is ignored."""
        self._refuse_target(y, "fit_predict")
        return self.fit(X, **options).labels_

    def _refuse_target(self, y: Any, method: str) -> None:
        """Raise unless y is None. scikit-learn passes y as the second argument to all estimators. A clustering does not
        use it, and class labels must not be taken for dives."""
        if y is not None:
            instead = self._instead_of_target
            raise fail(
                "y",
                "a clustering has no target",
                f"write {method}(X) without y, or {method}(X, {instead}=...) if you meant {instead}",
            )


def changed_parameters(estimator: BaseEstimator) -> str:
    """Return the estimator and its non-default parameters in one line, for checkpoints. Unlike `repr`, the text does
    not depend on the version or the settings of scikit-learn."""
    defaults = inspect.signature(type(estimator).__init__).parameters
    changed = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if not _same(value, defaults[name].default)
    }
    return f"{type(estimator).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _has_columns(X: Any) -> bool:
    return not isinstance(X, str | Path)


def model_metadata(model: Any) -> dict[str, Any]:
    """Return the class name, parameters and convergence history of a fitted mixture as a dict that JSON can store."""
    return {
        "model": type(model).__name__,
        "clusters": type(model.clusters_).__name__,
        "params": model.get_params(),
        "n_iter": model.n_iter_,
        "passes": model.passes_,
        "converged": model.converged_,
    }


def rebuild_model(kind: type, metadata: dict[str, Any]) -> Any:
    """Rebuild an unfitted model from `metadata`. Raises if the metadata belong to another class. Lists become tuples,
    because JSON has no tuples."""
    if metadata.get("model") != kind.__name__:
        raise fail(
            "stored model", f"is a {metadata.get('model')}, not a {kind.__name__}", "choose the class from MODELS"
        )
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in metadata["params"].items()})


def take_course(model: Any, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """Restore the convergence history of a stored fit."""
    model.lower_bound_history_ = [float(bound) for bound in arrays["lower_bound_history"]]
    model.n_iter_, model.passes_, model.converged_ = metadata["n_iter"], metadata["passes"], metadata["converged"]
