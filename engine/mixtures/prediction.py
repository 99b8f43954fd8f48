"""Methods of fitted mixtures: prediction, densities, weights of new dives, sampling and storage."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads, blas_threads
from benthoscope.engine.distributions import WeightsPrior
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.data import Observations, nothing, refuse_gaps
from benthoscope.engine.mixtures.estimator import ClusteringEstimator, model_metadata, rebuild_model, take_course
from benthoscope.engine.mixtures.fitted import FittedMixture, Folded
from benthoscope.engine.mixtures.model import Scorer
from benthoscope.engine.problems import unknown


class FittedEstimator(ClusteringEstimator):
    """Prediction methods that need only `mixture_` and `groups_`."""

    _sees_groups = False

    # With metadata routing enabled, pipelines and grid searches pass `groups` to these methods by default.
    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__predict: ClassVar = {"groups": True}
    __metadata_request__predict_proba: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def _weights_prior(self) -> WeightsPrior:
        raise NotImplementedError

    def predict(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """Return the most likely cluster of each row. Groups that were not in the fit are folded in as new dives."""
        return self.assign(X, groups, compute=compute)[0]

    def assign(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the most likely cluster of each row and its probability, (N,) each."""
        data, scorer = self._scored_rows(X, groups, compute)
        with blas_threads(1):
            return data.nearest(scorer)

    def predict_proba(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """Return the probability of each cluster for each row (N, K)."""
        data, scorer = self._scored_rows(X, groups, compute)
        with blas_threads(1):
            owned = data.responsibilities(scorer)
        return owned / owned.sum(1, keepdims=True)

    def score_samples(self, X: Any, groups: Any = None, *, compute: Compute | None = None) -> np.ndarray:
        """Return the log density of each row under the mixture of its group, at the posterior's point summary (N,)."""
        data, shares = self._with_shares(X, groups, compute)
        with blas_threads(1):
            log_norms = data.log_norms(self.mixture_.density(shares))
        return log_norms - self.n_features_in_ * np.log(data.frame.scale)

    def score(self, X: Any, y: None = None, *, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of the rows, weighted by `sample_weight`. Higher is better; exp(-score) is the
        perplexity. `y` is ignored. Pipelines with metadata routing require the option `sample_weight`."""
        self._refuse_target(y, "score")
        return float(np.average(self.score_samples(X, groups), weights=sample_weight))

    def log_predictive(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the log density of each row with the clusters integrated out (Student's t). Low values indicate novel
        rows."""
        data, shares = self._with_shares(X, groups, None)
        log_shares = np.log(np.maximum(shares, np.finfo(float).tiny))
        blocks = [self.mixture_.log_predictive(chunk.read(), log_shares[chunk.groups]) for chunk in data.chunks]
        return np.concatenate(blocks)

    def fold_in(self, X: Any, groups: Any = None) -> np.ndarray:
        """Return the proportions of the clusters in new dives (J, K), in the order of their sorted names. The clusters
        stay fixed."""
        data, _ = self._observed(X, groups, None)
        with blas_threads(1):
            mean = self._folded(data).weights.mean
        return mean / mean.sum(1, keepdims=True)

    def sample(self, n: int, group: Any = None, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw n rows from the mixture of a group, or of all groups together. Returns the rows and their clusters."""
        self._check_fitted()
        checking.positive("n", n, integer=True)
        shares = self.mixture_.overall()[0] if group is None else self.weights_[self._number_of(group)]
        rng = np.random.default_rng(self.random_state if random_state is None else random_state)
        cluster = rng.choice(len(shares), n, p=shares / shares.sum())
        return self.clusters_.draw(cluster, rng), cluster

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it."""
        self._check_fitted()
        arrays = {**self.mixture_.arrays(), "lower_bound_history": np.array(self.lower_bound_history_)}
        arrays["groups"] = np.asarray(self.groups_)
        if hasattr(self, "labels_"):
            arrays["labels"] = self.labels_
        return arrays, model_metadata(self)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`."""
        model = rebuild_model(cls, metadata)
        model._show(FittedMixture.from_arrays(arrays, metadata["clusters"]), np.asarray(arrays["groups"]))
        take_course(model, arrays, metadata)
        if "labels" in arrays:
            model.labels_ = np.asarray(arrays["labels"])
        return model

    def _show(self, fitted: FittedMixture, groups: np.ndarray) -> None:
        """Set the fitted attributes that follow from the mixture."""
        self.mixture_, self.groups_ = fitted, groups
        self.n_features_in_, self.n_clusters_ = len(fitted.frame.origin), fitted.n_clusters
        self.limits_reached_ = checking.limits_reached(("max_clusters", self.max_clusters, self.n_clusters_))
        self.weights_, self.counts_, self.lower_bound_ = fitted.shares(), fitted.statistics.counts, fitted.bound
        self.clusters_ = fitted.parameters.clusters.moved(fitted.frame.origin, fitted.frame.scale)
        self.prior_ = fitted.prior.moved(fitted.frame.origin, fitted.frame.scale)

    def _observed(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, np.ndarray]:
        self._check_fitted()
        source = checking.rows_of(X)
        N, D = checking.width_of(source)
        checking.same_columns(D, self.n_features_in_, type(self).__name__)
        self._check_columns(X)
        machine = compute or LocalThreads()
        refuse_gaps(source, machine)
        names, index = checking.numbered(groups if self._sees_groups else None, N)
        return Observations(source, index, len(names), self.mixture_.frame, machine, nothing), names

    def _scored_rows(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, Scorer]:
        """Return the observations and the scorer for them, with weights for each group."""
        data, names = self._observed(X, groups, compute)
        if self._unnamed(groups):
            if len(self.groups_) > 1:
                log_shares = np.log(np.maximum(self.mixture_.overall(), np.finfo(float).tiny))
                return data, self.mixture_.scorer_with(log_shares)
            return data, self.mixture_.scorer()
        rows = self._rows_of_groups(
            data, names, self.mixture_.parameters.weights.expected_log, lambda folded: folded.weights.expected_log
        )
        return data, self.mixture_.scorer_with(rows)

    def _with_shares(self, X: Any, groups: Any, compute: Compute | None) -> tuple[Observations, np.ndarray]:
        data, names = self._observed(X, groups, compute)
        if self._unnamed(groups):
            return data, self.mixture_.overall()
        rows = self._rows_of_groups(data, names, self.weights_, lambda folded: folded.weights.mean)
        return data, rows / rows.sum(1, keepdims=True)

    def _unnamed(self, groups: Any) -> bool:
        return groups is None or not self._sees_groups

    def _rows_of_groups(
        self, data: Observations, names: np.ndarray, known: np.ndarray, of_new: Callable[[Folded], np.ndarray]
    ) -> np.ndarray:
        """Return one row per named group: known groups from the fit, the others folded in."""
        at = {str(name): number for number, name in enumerate(self.groups_)}
        positions = [at.get(str(name)) for name in names]
        new = [number for number, position in enumerate(positions) if position is None]
        rows = np.stack([known[position or 0] for position in positions])
        if new:
            in_new_groups = np.isin(data.groups, new)
            new_rows = data.take(np.flatnonzero(in_new_groups))
            renumbered = np.searchsorted(new, new_rows.groups).astype(np.int32)
            rows[new] = of_new(self._folded(new_rows.regrouped(renumbered, len(new))))
        return rows

    def _folded(self, data: Observations) -> Folded:
        return self.mixture_.fold_in(self._weights_prior(), data)

    def _number_of(self, group: Any) -> int:
        for number, name in enumerate(self.groups_):
            if str(name) == str(group):
                return number
        raise unknown("group", str(group), [str(name) for name in self.groups_])
