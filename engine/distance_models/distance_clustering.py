"""The common base class of k-means and HDBSCAN: reading of rows, and storage of fitted models."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.estimator import ClusteringEstimator, rebuild_model
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import require_usable_values


class DistanceClustering(ClusteringEstimator):
    """A clustering without a lower bound and without proportions of dives. `_arrays` are its fitted attributes."""

    _sees_groups = False
    _arrays: ClassVar[tuple[str, ...]] = ()

    __metadata_request__fit: ClassVar = {"groups": True}

    lower_bound_: None
    lower_bound_history_: list[float]

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it."""
        self._check_fitted()
        metadata = {
            "model": type(self).__name__,
            "params": self.get_params(),
            "n_features_in": self.n_features_in_,
            "n_clusters": self.n_clusters_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
        }
        return {name: np.asarray(getattr(self, f"{name}_")) for name in self._arrays}, metadata

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`."""
        model = rebuild_model(cls, metadata)
        for name in cls._arrays:
            setattr(model, f"{name}_", np.asarray(arrays[name])[()])
        model._store_fit(metadata["n_features_in"], metadata["n_clusters"], metadata["n_iter"], metadata["converged"])
        return model

    def _store_fit(self, columns: int, clusters: int, iterations: int, converged: bool) -> None:
        self.n_features_in_, self.n_clusters_ = columns, clusters
        self.n_iter_, self.converged_ = iterations, converged
        self.lower_bound_, self.lower_bound_history_ = None, []


def usable_rows(X: Any) -> np.ndarray:
    """Return the rows (N, D); float32 stays float32, all else becomes float64. A file is mapped, not read."""
    source = checking.rows_of(X)
    rows = np.load(source, mmap_mode="r", allow_pickle=False) if isinstance(source, Path) else source
    return require_usable_values(np.asarray(rows, rows.dtype if rows.dtype == np.float32 else np.float64))


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number; BadInput if it is smaller than `least`."""
    checking.positive(name, value, integer=True)
    if value < least:
        raise fail(name, f"must be at least {least} (got {value})")
    return int(value)


def by_size(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (labels renumbered by the sizes of their clusters, the largest first; the earlier numbers in this order).
    Rows with -1 keep it."""
    sizes = np.bincount(labels[labels >= 0])
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    number = np.full(len(sizes) + 1, -1, np.int64)  # the last entry is for rows with -1
    number[order] = np.arange(len(order))
    return number[labels], order
