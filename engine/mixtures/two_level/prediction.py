"""Methods of fitted two-level models: labels of new segments and images, proportions of new dives, storage."""

from typing import Any, ClassVar, Self

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads, blas_threads
from benthoscope.engine.distributions import Weights, WeightsPrior
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.data import Observations, nothing, refuse_gaps
from benthoscope.engine.mixtures.estimator import ClusteringEstimator, model_metadata, rebuild_model, take_course
from benthoscope.engine.mixtures.two_level.fitted import Explained, FittedScenes
from benthoscope.engine.mixtures.two_level.inputs import SceneInput, one_dive, scene_input
from benthoscope.engine.mixtures.two_level.model import Images
from benthoscope.engine.problems import fail


class FittedTwoLevel(ClusteringEstimator):
    """Prediction methods that need only `scenes_` and `groups_`."""

    _instead_of_target = "image_of_segment"
    __metadata_request__fit: ClassVar = {"image_of_segment": True}
    __metadata_request__predict: ClassVar = {"image_of_segment": True}

    def _shares_prior(self) -> WeightsPrior:
        raise NotImplementedError

    def _explained(
        self, X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any, compute: Compute | None
    ) -> Explained:
        """Iterate all images together until they converge, with fixed clusters. Dives that the model does not know are
        new."""
        scene_data = self._checked_input(X, image_of_segment, group_of_image, image_features)
        machine = compute or LocalThreads()
        refuse_gaps(scene_data.source, machine)
        fitted = self.scenes_
        data = Observations(
            scene_data.source,
            scene_data.images,
            len(scene_data.dives),
            fitted.segments.frame,
            machine,
            nothing,
            whole_groups=True,
        )
        features_of_images = (
            None
            if fitted.image_features is None
            else fitted.image_features.of(np.asarray(scene_data.image_features, float))
        )
        shares, new = self._shares_of(scene_data.names, group_of_image is not None)
        with blas_threads(1):
            prediction = fitted.explain(
                data,
                Images(scene_data.dives, len(scene_data.names), features_of_images),
                shares,
                self._shares_prior(),
                new,
            )
        return Explained(
            scene_data.as_given(prediction.labels),
            scene_data.as_given(prediction.probability),
            prediction.counts,
            prediction.owners,
            prediction.bounds,
        )

    def _checked_input(self, X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any) -> SceneInput:
        self._check_fitted()
        scene_data = scene_input(
            X, image_of_segment, group_of_image if self.by_dive else one_dive(group_of_image), image_features
        )
        checking.same_columns(checking.width_of(scene_data.source)[1], self.n_features_in_, type(self).__name__)
        self._check_columns(X)
        if scene_data.image_features is not None:
            refuse_gaps(scene_data.image_features, LocalThreads(), "image_features")
            self._check_looks(scene_data.image_features)
        return scene_data

    def _check_looks(self, image_features: np.ndarray) -> None:
        if self.scenes_.image_features is None:
            raise fail("image_features", "the model was fitted without descriptors of images", "leave them out")
        expected = len(self.scenes_.image_features.frame.origin)
        if image_features.shape[1] != expected:
            raise fail(
                "image_features",
                f"{image_features.shape[1]} columns, but the model was fitted to {expected}",
                "give the same columns as in the fit",
            )

    def _shares_of(self, names: np.ndarray, named: bool) -> tuple[Weights, np.ndarray]:
        """Return the posterior proportions of these dives, and the positions of unknown dives."""
        known = self.scenes_.shares
        if not named or not self.by_dive:
            return _like(known, self.scenes_.overall() if len(self.groups_) > 1 else None), np.zeros(0, int)
        at = {str(name): number for number, name in enumerate(self.groups_)}
        positions = [at.get(str(name)) for name in names]
        new = np.array([number for number, position in enumerate(positions) if position is None], int)
        rows = [position or 0 for position in positions]
        log_shares, mean, overall = known.expected_log[rows].copy(), known.mean[rows].copy(), self.scenes_.overall()
        log_shares[new], mean[new] = _log(overall), overall
        return Weights(log_shares, mean, np.zeros(len(names))), new

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted model as plain arrays and JSON metadata. `from_arrays` rebuilds it."""
        self._check_fitted()
        arrays = {
            **self.scenes_.arrays(),
            "lower_bound_history": np.array(self.lower_bound_history_),
            "groups": np.asarray(self.groups_),
        }
        return arrays, model_metadata(self)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> Self:
        """Rebuild a fitted model from the result of `to_arrays`. The labels of its own images and segments are not
        stored."""
        model = rebuild_model(cls, metadata)
        model._show(FittedScenes.from_arrays(arrays, metadata["clusters"]), np.asarray(arrays["groups"]))
        take_course(model, arrays, metadata)
        return model

    def _show(self, fitted: FittedScenes, groups: np.ndarray) -> None:
        """Set the fitted attributes that follow from `fitted`."""
        segments = fitted.segments
        self.scenes_, self.groups_ = fitted, groups
        self.n_features_in_, self.n_clusters_ = len(segments.frame.origin), segments.n_clusters
        self.n_image_clusters_, self.lower_bound_ = fitted.n_image_clusters, segments.bound
        self.proportions_, self.counts_ = segments.shares(), fitted.counts
        self.weights_ = fitted.shares.mean / fitted.shares.mean.sum(1, keepdims=True)
        self.clusters_ = segments.parameters.clusters.moved(segments.frame.origin, segments.frame.scale)
        self.prior_ = segments.prior.moved(segments.frame.origin, segments.frame.scale)
        if fitted.image_features is not None:
            self.image_clusters_ = fitted.image_features.in_units()


def _like(known: Weights, overall: np.ndarray | None) -> Weights:
    """Return one row of weights for images without a dive: the only dive, or all dives together."""
    if overall is None:
        return Weights(known.expected_log, known.mean, np.zeros(1))
    return Weights(_log(overall), overall, np.zeros(1))


def _log(shares: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(shares, np.finfo(float).tiny))
