"""What two fitted levels are used for: labels of new segments and images, shares of new dives, storing."""

from typing import Any, Self

import numpy as np

from engine.compute import Compute, LocalThreads, blas_threads
from engine.distributions import Weights, WeightsPrior
from engine.mixtures import checking
from engine.mixtures.estimator import Estimator
from engine.mixtures.fitted_scenes import Explained, FittedScenes
from engine.mixtures.observations import Observations, nothing
from engine.mixtures.scene_input import SceneInput, one_dive, scene_input
from engine.mixtures.scenes import Images
from engine.mixtures.stored import made_anew, take_course, told_of
from engine.mixtures.summary import refuse_gaps
from engine.problems import fail


class FittedTwoLevel(Estimator):
    """The half of an estimator that follows from `scenes_` and `groups_`."""

    def _shares_prior(self) -> WeightsPrior:
        raise NotImplementedError

    def _explained(self, X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any,
                   compute: Compute | None) -> Explained:
        """Iterates all images together until they settle, the clusters kept; dives the model does not know are new."""
        given = self._given(X, image_of_segment, group_of_image, image_features)
        machine = compute or LocalThreads()
        refuse_gaps(given.source, machine)
        found = self.scenes_
        data = Observations(given.source, given.images, len(given.dives), found.segments.frame, machine, nothing,
                            whole_groups=True)
        looks = None if found.looks is None else found.looks.of(np.asarray(given.looks, float))
        shares, new = self._shares_of(given.names, group_of_image is not None)
        with blas_threads(1):
            told = found.explain(data, Images(given.dives, len(given.names), looks), shares, self._shares_prior(), new)
        return Explained(given.as_given(told.labels), given.as_given(told.probability), told.counts, told.owners,
                         told.bounds)

    def _given(self, X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any) -> SceneInput:
        self._check_fitted()
        given = scene_input(X, image_of_segment, group_of_image if self.by_dive else one_dive(group_of_image),
                            image_features)
        checking.same_columns(checking.width_of(given.source)[1], self.n_features_in_, type(self).__name__)
        if given.looks is not None:
            refuse_gaps(given.looks, LocalThreads())
            self._check_looks(given.looks)
        return given

    def _check_looks(self, looks: np.ndarray) -> None:
        expected = len(self.scenes_.looks.frame.origin)
        if looks.shape[1] != expected:
            raise fail("image_features", f"{looks.shape[1]} columns, but the model was fitted to {expected}",
                       "give the same columns the model was fitted to")

    def _shares_of(self, names: np.ndarray, named: bool) -> tuple[Weights, np.ndarray]:
        """What is believed of the shares of these dives, and the numbers of those nobody knows."""
        known = self.scenes_.shares
        if not named or not self.by_dive:
            return _like(known, self.scenes_.overall() if len(self.groups_) > 1 else None), np.zeros(0, int)
        at = {str(name): number for number, name in enumerate(self.groups_)}
        places = [at.get(str(name)) for name in names]
        new = np.array([number for number, place in enumerate(places) if place is None], int)
        rows = [place or 0 for place in places]
        log_shares, mean, overall = known.expected_log[rows].copy(), known.mean[rows].copy(), self.scenes_.overall()
        log_shares[new], mean[new] = _log(overall), overall
        return Weights(log_shares, mean, np.zeros(len(names))), new

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """The fitted model as plain arrays, and what JSON can hold: together `from_arrays` makes it anew."""
        self._check_fitted()
        arrays = {**self.scenes_.arrays(), "lower_bound_history": np.array(self.lower_bound_history_),
                  "groups": np.asarray(self.groups_)}
        return arrays, told_of(self)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], told: dict[str, Any]) -> Self:
        """The model that `to_arrays` was asked of, but for what the fit said of its own images and segments."""
        model = made_anew(cls, told)
        model._show(FittedScenes.from_arrays(arrays, told["clusters"]), np.asarray(arrays["groups"]))
        take_course(model, arrays, told)
        return model

    def _show(self, found: FittedScenes, groups: np.ndarray) -> None:
        """The fitted attributes that follow from what was learned."""
        segments = found.segments
        self.scenes_, self.groups_ = found, groups
        self.n_features_in_, self.n_clusters_ = len(segments.frame.origin), segments.n_clusters
        self.n_image_clusters_, self.lower_bound_ = found.n_image_clusters, segments.bound
        self.proportions_, self.counts_ = segments.shares(), found.counts
        self.weights_ = found.shares.mean / found.shares.mean.sum(1, keepdims=True)
        self.clusters_ = segments.parameters.clusters.moved(segments.frame.origin, segments.frame.scale)
        self.prior_ = segments.prior.moved(segments.frame.origin, segments.frame.scale)
        if found.looks is not None:
            self.image_clusters_ = found.looks.in_units()


def _like(known: Weights, overall: np.ndarray | None) -> Weights:
    """One row for images of which nobody tells the dive: the only one there is, or all together."""
    if overall is None:
        return Weights(known.expected_log, known.mean, np.zeros(1))
    return Weights(_log(overall), overall, np.zeros(1))


def _log(shares: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(shares, np.finfo(float).tiny))
