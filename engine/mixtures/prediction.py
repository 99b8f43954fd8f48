"""What a fitted mixture is used for: labels and densities of new rows, weights of new dives, drawing, storing."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from engine.compute import Compute, LocalThreads, blas_threads
from engine.distributions import WeightsPrior
from engine.mixtures import checking
from engine.mixtures.estimator import Estimator
from engine.mixtures.fitted import FittedMixture, Folded
from engine.mixtures.model import Scorer
from engine.mixtures.observations import Observations, nothing
from engine.mixtures.stored import made_anew, take_course, told_of
from engine.mixtures.summary import refuse_gaps
from engine.problems import unknown


class FittedEstimator(Estimator):
    """The half of an estimator that follows from `mixture_` and `groups_`."""

    _sees_groups = False

    def _weights_prior(self) -> WeightsPrior:
        raise NotImplementedError

    def predict(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """The likeliest cluster of every row. Groups the model was not fitted to are folded in as new dives."""
        return self.assign(X, groups, compute=compute)[0]

    def assign(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The likeliest cluster of every row, and how much of the row it owns, (N,) each."""
        data, scorer = self._seen(X, groups, compute)
        with blas_threads(1):
            return data.nearest(scorer)

    def predict_proba(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """How much of every row each cluster owns (N, K)."""
        data, scorer = self._seen(X, groups, compute)
        with blas_threads(1):
            owned = data.responsibilities(scorer)
        return owned / owned.sum(1, keepdims=True)

    def score_samples(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """Log density of every row under its group's mixture at the posterior's point summary (N,)."""
        data, shares = self._with_shares(X, groups, compute)
        with blas_threads(1):
            found = data.log_norms(self.mixture_.density(shares))
        return found - self.n_features_in_ * np.log(data.frame.scale)

    def score(self, X: Any, groups: Any = None) -> float:
        """Mean held-out log-likelihood of a row; greater is better, exp(-score) is the perplexity."""
        return float(self.score_samples(X, groups).mean())

    def log_predictive(self, X: Any, groups: Any = None) -> np.ndarray:
        """Log density of every row with the clusters integrated out (Student's t); what is low is novel."""
        data, shares = self._with_shares(X, groups, None)
        log_shares = np.log(np.maximum(shares, np.finfo(float).tiny))
        parts = [self.mixture_.log_predictive(chunk.read(), log_shares[chunk.groups]) for chunk in data.chunks]
        return np.concatenate(parts)

    def fold_in(self, X: Any, groups: Any = None) -> np.ndarray:
        """Shares of the clusters in new dives (J, K), in the order of their sorted names, the clusters kept."""
        data, _ = self._observed(X, groups, None)
        with blas_threads(1):
            mean = self._folded(data).weights.mean
        return mean / mean.sum(1, keepdims=True)

    def sample(self, n: int, group: Any = None, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """n rows drawn from a group's mixture, or from all groups together, and their clusters."""
        self._check_fitted()
        checking.positive("n", n, integer=True)
        shares = self.mixture_.overall()[0] if group is None else self.weights_[self._number_of(group)]
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        cluster = rng.choice(len(shares), n, p=shares / shares.sum())
        return self.clusters_.draw(cluster, rng), cluster

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The fitted model as plain arrays, and what JSON can hold: together `from_arrays` makes it anew."""
        self._check_fitted()
        arrays = {**self.mixture_.arrays(), "lower_bound_history": np.array(self.lower_bound_history_)}
        arrays["groups"] = np.asarray(self.groups_)
        if hasattr(self, "labels_"):
            arrays["labels"] = self.labels_
        return arrays, told_of(self)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], told: dict[str, Any]) -> Self:
        """The model that `to_arrays` was asked of."""
        model = made_anew(cls, told)
        model._show(FittedMixture.from_arrays(arrays, told["clusters"]), np.asarray(arrays["groups"]))
        take_course(model, arrays, told)
        if "labels" in arrays:
            model.labels_ = np.asarray(arrays["labels"])
        return model

    def _show(self, found: FittedMixture, groups: np.ndarray) -> None:
        """The fitted attributes that follow from the mixture."""
        self.mixture_, self.groups_ = found, groups
        self.n_features_in_, self.n_clusters_ = len(found.frame.origin), found.n_clusters
        self.weights_, self.counts_, self.lower_bound_ = found.shares(), found.statistics.counts, found.bound
        self.clusters_ = found.parameters.clusters.moved(found.frame.origin, found.frame.scale)
        self.prior_ = found.prior.moved(found.frame.origin, found.frame.scale)

    def _observed(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, np.ndarray]:
        self._check_fitted()
        source = checking.rows_of(X)
        N, D = checking.width_of(source)
        checking.same_columns(D, self.n_features_in_, type(self).__name__)
        machine = compute or LocalThreads()
        refuse_gaps(source, machine)
        names, index = checking.numbered(groups if self._sees_groups else None, N)
        return Observations(source, index, len(names), self.mixture_.frame, machine, nothing), names

    def _seen(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, Scorer]:
        """Rows and the scores that give their responsibilities, each group with weights of its own."""
        data, names = self._observed(X, groups, compute)
        if self._unnamed(groups):
            if len(self.groups_) > 1:
                log_shares = np.log(np.maximum(self.mixture_.overall(), np.finfo(float).tiny))
                return data, self.mixture_.scorer_with(log_shares)
            return data, self.mixture_.scorer()
        rows = self._rows_of_groups(data, names, self.mixture_.parameters.weights.expected_log,
                                    lambda folded: folded.weights.expected_log)
        return data, self.mixture_.scorer_with(rows)

    def _with_shares(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, np.ndarray]:
        data, names = self._observed(X, groups, compute)
        if self._unnamed(groups):
            return data, self.mixture_.overall()
        rows = self._rows_of_groups(data, names, self.weights_, lambda folded: folded.weights.mean)
        return data, rows / rows.sum(1, keepdims=True)

    def _unnamed(self, groups: Any) -> bool:
        return groups is None or not self._sees_groups

    def _rows_of_groups(self, data: Observations, names: np.ndarray, known: np.ndarray,
                        of_new: Callable[[Folded], np.ndarray]) -> np.ndarray:
        """A row per named group: the known ones from the fit, the others folded in."""
        at = {str(name): number for number, name in enumerate(self.groups_)}
        places = [at.get(str(name)) for name in names]
        new = [number for number, place in enumerate(places) if place is None]
        rows = np.stack([known[place or 0] for place in places])
        if new:
            mine = np.isin(data.groups, new)
            part = data.take(np.flatnonzero(mine))
            renumbered = np.searchsorted(new, part.groups).astype(np.int32)
            rows[new] = of_new(self._folded(part.regrouped(renumbered, len(new))))
        return rows

    def _folded(self, data: Observations) -> Folded:
        return self.mixture_.fold_in(self._weights_prior(), data)

    def _number_of(self, group: Any) -> int:
        for number, name in enumerate(self.groups_):
            if str(name) == str(group):
                return number
        raise unknown("group", str(group), [str(name) for name in self.groups_])
