"""Clustering that learns a classifier: boundaries run where images are sparse, and classes it can do without die."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from engine.compute import blas_threads
from engine.discriminative.climbing import Precision
from engine.discriminative.fitting import Fitted, Given, Plan, Sizes, best_of, even, power, survivors
from engine.discriminative.objective import mutual_information
from engine.discriminative.path import chosen_strength, rim_path
from engine.discriminative.predicting import Multilogit
from engine.discriminative.rows import at_least_two, finite_rows, whole_above_zero
from engine.discriminative.scaling import SCALES, Scale
from engine.discriminative.starting import kmeans
from engine.mixtures import checking
from engine.mixtures.stored import made_anew
from engine.problems import fail, unknown
from engine.progress import OnStep, ignore

PATHS = 3  # starts a strength is chosen with


class Clustering(Multilogit):
    """What the linear and the kernel model share: a search over starts, and the classes that survive it."""

    _sees_groups = False

    def fit_predict(self, X: Any, groups: Any = None, **rest: Any) -> np.ndarray:
        """The cluster of every row of X after fitting to it."""
        return self.fit(X, groups, **rest).labels_

    def predict(self, X: Any, groups: Any = None) -> np.ndarray:
        """The likeliest cluster of every row."""
        return self.decision_function(X).argmax(1)

    def assign(self, X: Any, groups: Any = None, *, compute: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest cluster of every row, and its probability, (N,) each; groups and machine as in `fit`."""
        P = self.predict_proba(X)
        best = P.argmax(1)
        return best, P[np.arange(len(P)), best]

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The fitted model as plain arrays, and what JSON can hold: together `from_arrays` makes it anew."""
        self._check_fitted()
        arrays = {"coef": self.coef_, "intercept": self.intercept_, "labels": self.labels_,
                  "lower_bound_history": np.array(self.lower_bound_history_), **self._map_arrays()}
        told = {"model": type(self).__name__, "params": self.get_params(), "n_features_in": self.n_features_in_,
                "lower_bound": self.lower_bound_, "n_iter": self.n_iter_, "converged": self.converged_,
                "strength": self.strength_}
        return arrays, told

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], told: dict[str, Any]) -> Self:
        """The model that `to_arrays` was asked of."""
        model = made_anew(cls, told)
        model.coef_, model.intercept_, model.labels_ = (np.asarray(arrays[name]) for name in (
            "coef", "intercept", "labels"))
        model.n_features_in_, model.n_clusters_ = told["n_features_in"], len(model.coef_)
        model.lower_bound_, model.lower_bound_history_ = told["lower_bound"], arrays["lower_bound_history"].tolist()
        model.n_iter_, model.converged_, model.strength_ = told["n_iter"], told["converged"], told["strength"]
        model._take_map(arrays)
        return model

    def information(self, X: Any) -> float:
        """Mutual information of the rows and their clusters, in nats; greater is better."""
        return mutual_information(self.decision_function(X))

    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            whole_above_zero(name, getattr(self, name))
        for name in ("tol", *(("strength",) if self.strength != "auto" else ())):
            checking.positive(name, getattr(self, name))

    def _plan(self, rows: int) -> Plan:
        strength = 1.0 if self.strength == "auto" else self.strength
        return Plan(int(self.n_clusters), float(strength) / rows, bool(self.balance), sizes_named(self.sizes),
                    Precision(gain=float(self.tol), steps=int(self.max_iter)))

    def _searched(self, Z: np.ndarray, starts: list[np.ndarray], on_step: OnStep) -> Fitted:
        plan = self._plan(len(Z))
        self.strength_ = self._strength(Z, plan, starts)
        return best_of(Z, replace(plan, penalty=self.strength_ / len(Z)), starts, len(starts), on_step)

    def _strength(self, Z: np.ndarray, plan: Plan, starts: list[np.ndarray]) -> float:
        if self.strength != "auto":
            return float(self.strength)
        return chosen_strength([rim_path(Z, start, plan) for start in starts[:PATHS]])

    def _keep(self, found: Fitted) -> np.ndarray:
        """The surviving classes, the largest first; labels are numbered anew in that order."""
        alive = survivors(found.labels)
        renamed = np.empty(int(self.n_clusters), np.int64)
        renamed[alive] = np.arange(len(alive))
        self.labels_, self.n_clusters_ = renamed[found.labels], len(alive)
        self.lower_bound_, self.lower_bound_history_ = found.value, list(found.history)
        self.n_iter_, self.converged_ = max(found.steps, 1), found.converged
        return alive


class RIM(Clustering):
    """Regularised information maximisation with linear boundaries.

    `n_clusters` is the most there can be. `strength` is lambda times the number of rows, at the scale "overall":
    greater leaves fewer clusters; "auto" takes the middle of the widest plateau of their number. `sizes` is a prior
    of cluster sizes: None, shares, or "power" for a power law of their ranks. `coef_` is for rows after `scale_`.
    """

    def __init__(self, *, n_clusters=20, strength=2.0, scale="overall", balance=True, sizes=None, n_init=10,
                 max_iter=1000, tol=1e-9, random_state=None):
        self.n_clusters, self.strength, self.scale = n_clusters, strength, scale
        self.balance, self.sizes, self.n_init = balance, sizes, n_init
        self.max_iter, self.tol, self.random_state = max_iter, tol, random_state

    def fit(self, X: Any, groups: Any = None, *, start: Any = None, compute: Any = None, on_step: OnStep = ignore,
            checkpoint: Any = None) -> Self:
        """Learns from rows X (N, D); groups are not looked at. `start` gives group numbers to begin with, in place of
        `n_init` runs of k-means. `on_step` may raise Cancelled. It always computes here and begins anew after a kill:
        `compute` and `checkpoint` are there for whoever calls all models alike."""
        self._check_parameters()
        scale = chosen_scale(self.scale)
        rows = at_least_two(finite_rows(X))
        with blas_threads(1):
            scaled = scale(rows)
            Z = scaled(rows)
            self._forget()
            self.n_features_in_ = rows.shape[1]
            found = self._searched(Z, self._starts(Z, start), on_step)
        kept = found.coefficients.take(self._keep(found))
        self.scale_, self.coef_, self.intercept_ = scaled, kept.weights, kept.biases
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
        raise fail("start", f"group {int(labels.max())} with n_clusters={most}", "raise n_clusters or merge groups")
    return labels.astype(np.int64)


def chosen_scale(word: str):
    if word not in SCALES:
        raise unknown("scale", str(word), SCALES)
    return SCALES[word]


def sizes_named(given: Any) -> Sizes:
    if given is None:
        return even
    if isinstance(given, str):
        if given != "power":
            raise unknown("sizes", given, ["power"])
        return power
    shares = np.asarray(given, float)
    if shares.ndim != 1 or not len(shares) or not np.isfinite(shares).all() or (shares <= 0).any():
        raise fail("sizes", f"{given!r} are no shares", "give positive numbers, the largest cluster first")
    return Given(tuple(shares / shares.sum()))
