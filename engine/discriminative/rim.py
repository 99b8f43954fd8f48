"""Clustering that trains a classifier: boundaries lie where data are sparse, and superfluous classes become empty."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.compute import blas_threads
from benthoscope.engine.discriminative.multilogit import Multilogit
from benthoscope.engine.discriminative.objective import mutual_information
from benthoscope.engine.discriminative.optimisation import (
    FitSettings,
    Fitted,
    Given,
    Precision,
    Sizes,
    best_of,
    even,
    kmeans,
    power,
    survivors,
)
from benthoscope.engine.discriminative.penalty_path import chosen_strength, rim_path
from benthoscope.engine.discriminative.validation import SCALES, Scale, at_least_two, finite_rows, whole_above_zero
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.estimator import ClusteringEstimator, rebuild_model
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.progress import OnStep, ignore

PATHS = 3  # number of starts used to choose a strength


class Clustering(ClusteringEstimator, Multilogit):
    """Common base class of the linear and the kernel model: a search over starts, and the remaining classes."""

    _sees_groups = False

    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the most likely cluster of each row."""
        return self.decision_function(X).argmax(1)

    def assign(self, X: Any, groups: Any = None, *, compute: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the most likely cluster of each row and its probability, (N,) each. `groups` and `compute` as in
        `fit`."""
        P = self.predict_proba(X)
        best = P.argmax(1)
        return best, P[np.arange(len(P)), best]

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it."""
        self._check_fitted()
        arrays = {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "labels": self.labels_,
            "lower_bound_history": np.array(self.lower_bound_history_),
            **self._map_arrays(),
        }
        metadata = {
            "model": type(self).__name__,
            "params": self.get_params(),
            "n_features_in": self.n_features_in_,
            "lower_bound": self.lower_bound_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "strength": self.strength_,
        }
        return arrays, metadata

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`."""
        model = rebuild_model(cls, metadata)
        model.coef_, model.intercept_, model.labels_ = (
            np.asarray(arrays[name]) for name in ("coef", "intercept", "labels")
        )
        model.n_features_in_, model.n_clusters_ = metadata["n_features_in"], len(model.coef_)
        model.lower_bound_, model.lower_bound_history_ = metadata["lower_bound"], arrays["lower_bound_history"].tolist()
        model.n_iter_, model.converged_, model.strength_ = (
            metadata["n_iter"],
            metadata["converged"],
            metadata["strength"],
        )
        model._take_map(arrays)
        return model

    def information(self, X: Any) -> float:
        """Return the mutual information between the rows and their clusters in nats. Higher is better."""
        return mutual_information(self.decision_function(X))

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            whole_above_zero(name, getattr(self, name))
        for name in ("tol", *(("strength",) if self.strength != "auto" else ())):
            checking.positive(name, getattr(self, name))

    def _plan(self, rows: int) -> FitSettings:
        strength = 1.0 if self.strength == "auto" else self.strength
        return FitSettings(
            int(self.n_clusters),
            float(strength) / rows,
            bool(self.balance),
            sizes_named(self.sizes),
            Precision(gain=float(self.tol), steps=int(self.max_iter)),
        )

    def _searched(self, Z: np.ndarray, starts: list[np.ndarray], on_step: OnStep) -> Fitted:
        plan = self._plan(len(Z))
        self.strength_ = self._strength(Z, plan, starts)
        return best_of(Z, replace(plan, penalty=self.strength_ / len(Z)), starts, len(starts), on_step)

    def _strength(self, Z: np.ndarray, plan: FitSettings, starts: list[np.ndarray]) -> float:
        if self.strength != "auto":
            return float(self.strength)
        return chosen_strength([rim_path(Z, start, plan) for start in starts[:PATHS]])

    def _keep(self, fitted: Fitted) -> np.ndarray:
        """Store the remaining classes, largest first. Labels are renumbered in that order."""
        alive = survivors(fitted.labels)
        renamed = np.empty(int(self.n_clusters), np.int64)
        renamed[alive] = np.arange(len(alive))
        self.labels_, self.n_clusters_ = renamed[fitted.labels], len(alive)
        self.lower_bound_, self.lower_bound_history_ = fitted.value, list(fitted.history)
        self.n_iter_, self.converged_ = max(fitted.steps, 1), fitted.converged
        return alive


class RIM(Clustering):
    """Regularised information maximisation with linear boundaries.

    Parameters
    ----------
    n_clusters : int
        Largest number of clusters.
    strength : float or "auto"
        Lambda times the number of rows, for rows scaled by "overall". A larger strength gives fewer clusters. "auto"
        uses the middle of the widest plateau of the number of clusters.
    sizes : None, sequence of float or "power"
        Prior of the cluster sizes: None, shares, or a power law of the ranks. The exponent of "power" follows the
        clusters, and one cluster with a large exponent would fit itself perfectly; a prior centred on Zipf's law
        (exponent 1) prevents this. Give shares if you know them.

    Attributes
    ----------
    labels_ : ndarray (N,)
        Cluster of each row.
    n_clusters_ : int
        Number of clusters with rows.
    coef_ : ndarray (K, D)
        Weights for rows transformed by `scale_`.
    """

    def __init__(
        self,
        *,
        n_clusters=20,
        strength=2.0,
        scale="overall",
        balance=True,
        sizes=None,
        n_init=10,
        max_iter=1000,
        tol=1e-9,
        random_state=None,
    ):
        self.n_clusters, self.strength, self.scale = n_clusters, strength, scale
        self.balance, self.sizes, self.n_init = balance, sizes, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        groups: Any = None,
        start: Any = None,
        compute: Any = None,
        on_step: OnStep = ignore,
        checkpoint: Any = None,
    ) -> Self:
        """Fit to rows X (N, D). `groups` and `y` are ignored.

        `start` gives initial group numbers instead of `n_init` runs of k-means. `on_step` may raise Cancelled.
        `compute` and `checkpoint` exist only for compatibility with the mixtures: the fit runs in this process and
        cannot resume.
        """
        self._refuse_target(y, "fit")
        self._check_parameters()
        scale = chosen_scale(self.scale)
        rows = at_least_two(finite_rows(X))
        with blas_threads(1):
            scaled = scale(rows)
            Z = scaled(rows)
            self._clear_fit()
            self._record_columns(X)
            self.n_features_in_ = rows.shape[1]
            fitted = self._searched(Z, self._starts(Z, start), on_step)
        used = fitted.coefficients.take(self._keep(fitted))
        self.scale_, self.coef_, self.intercept_ = scaled, used.weights, used.biases
        return self

    def _rows(self, X: Any) -> np.ndarray:
        return self.scale_(super()._rows(X))

    def _map_arrays(self) -> dict[str, np.ndarray]:
        return {"centre": self.scale_.centre, "scale": self.scale_.scale}

    def _take_map(self, arrays: dict[str, np.ndarray]) -> None:
        self.scale_ = Scale(np.asarray(arrays["centre"]), np.asarray(arrays["scale"]))

    def _starts(self, Z: np.ndarray, start: Any) -> list[np.ndarray]:
        if start is not None:
            return [given_start(start, len(Z), self.n_clusters)]
        rng = np.random.default_rng(self.random_state)
        return [kmeans(Z, int(self.n_clusters), rng) for _ in range(int(self.n_init))]


def given_start(start: Any, rows: int, most: int) -> np.ndarray:
    labels = checking.labels_column(start, rows)
    if labels.max() >= most:
        raise fail("start", f"group {int(labels.max())} with n_clusters={most}", "increase n_clusters or merge groups")
    return labels.astype(np.int64)


def chosen_scale(word: str):
    if word not in SCALES:
        raise unknown("scale", str(word), SCALES)
    return SCALES[word]


def sizes_named(sizes: Any) -> Sizes:
    if sizes is None:
        return even
    if isinstance(sizes, str):
        if sizes != "power":
            raise unknown("sizes", sizes, ["power"])
        return power
    shares = np.asarray(sizes, float)
    if shares.ndim != 1 or not len(shares) or not np.isfinite(shares).all() or (shares <= 0).any():
        raise fail("sizes", f"{sizes!r} are not valid shares", "give positive numbers, the largest cluster first")
    return Given(tuple(shares / shares.sum()))
