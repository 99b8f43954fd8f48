"""The two-level estimators: clusters of segments (objects) and clusters of images (scenes).

model = MCM(random_state=0).fit(
    segments, image_of_segment=images, group_of_image=dives, image_features=descriptors)
model.image_labels_, model.labels_, model.proportions_
"""

from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import Compute
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.fit_monitor import Checkpoint
from benthoscope.engine.mixtures.two_level.estimator import TwoLevelMixture
from benthoscope.engine.mixtures.two_level.fitted import Explained
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import OnStep, ignore


class SCM(TwoLevelMixture):
    """Simultaneous clustering model. Images are clustered by their segments; segments are clustered by their rows and
    their image."""

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        observation="full",
        priors="gd",
        diversity=1.0,
        by_dive=False,
        max_image_clusters=100,
        restarts=10,
        image_start="soft",
        frozen_start=False,
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        random_state=None,
    ):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.priors, self.diversity, self.by_dive = priors, diversity, by_dive
        self.max_image_clusters, self.restarts = max_image_clusters, restarts
        self.image_start, self.frozen_start = image_start, frozen_start
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        image_of_segment: Any = None,
        group_of_image: Any = None,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit the model to segments X (S, D), an array, a memmap or a .npy file, and to their images. `y` is ignored.

        `image_of_segment` (S,) is the image number of each segment, from 0 (None: all segments belong to one image).
        `group_of_image` (I,) is the dive or album of each image. `on_step` is called with the progress of each
        iteration and may raise Cancelled. The clusters found so far then remain usable, but the labels are not set.
        With a checkpoint, an interrupted fit resumes from its last saved state.
        """
        self._refuse_target(y, "fit")
        return self._fitted(X, image_of_segment, group_of_image, None, compute, on_step, checkpoint)

    def explain(
        self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, compute: Compute | None = None
    ) -> Explained:
        """Predict the clusters of new images and segments, with all clusters fixed."""
        return self._explained(X, image_of_segment, group_of_image, None, compute)

    def predict(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None) -> np.ndarray:
        """Return the most likely cluster of each segment (S,)."""
        return self.explain(X, image_of_segment, group_of_image).labels

    def predict_images(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None) -> np.ndarray:
        """Return the most likely image cluster of each image (I,)."""
        return self.explain(X, image_of_segment, group_of_image).image_labels


class MCM(TwoLevelMixture):
    """Multiple-source clustering model. Images are clustered by their segments and by a descriptor of the whole image.

    Parameters
    ----------
    image_width : float
        Expected variance of an image cluster, as a fraction of the largest principal variance of the image descriptors.
    """

    def __init__(
        self,
        *,
        width=0.05,
        scaled_prior=True,
        image_width=0.05,
        observation="full",
        priors="gd",
        diversity=1.0,
        by_dive=True,
        max_image_clusters=100,
        restarts=10,
        image_start="soft",
        frozen_start=False,
        search="best",
        search_rows=10_000,
        max_clusters=None,
        tol=1e-7,
        max_iter=1000,
        random_state=None,
    ):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.image_width = image_width
        self.priors, self.diversity, self.by_dive = priors, diversity, by_dive
        self.max_image_clusters, self.restarts = max_image_clusters, restarts
        self.image_start, self.frozen_start = image_start, frozen_start
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        image_of_segment: Any = None,
        group_of_image: Any = None,
        image_features: Any = None,
        compute: Compute | None = None,
        on_step: OnStep = ignore,
        checkpoint: Checkpoint | None = None,
    ) -> Self:
        """Fit the model as SCM does. `image_features` (I, D1) is the required descriptor of each whole image."""
        self._refuse_target(y, "fit")
        return self._fitted(
            X, image_of_segment, group_of_image, _required_image_features(image_features), compute, on_step, checkpoint
        )

    def explain(
        self,
        X: Any,
        image_of_segment: Any = None,
        group_of_image: Any = None,
        *,
        image_features: Any,
        compute: Compute | None = None,
    ) -> Explained:
        """Predict the clusters of new images and segments, with all clusters fixed."""
        return self._explained(X, image_of_segment, group_of_image, _required_image_features(image_features), compute)

    def predict(
        self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, image_features: Any
    ) -> np.ndarray:
        """Return the most likely cluster of each segment (S,)."""
        return self.explain(X, image_of_segment, group_of_image, image_features=image_features).labels

    def predict_images(
        self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, image_features: Any
    ) -> np.ndarray:
        """Return the most likely image cluster of each image (I,)."""
        return self.explain(X, image_of_segment, group_of_image, image_features=image_features).image_labels

    def _check_parameters(self) -> None:
        checking.positive("image_width", self.image_width)
        super()._check_parameters()


def _required_image_features(image_features: Any) -> Any:
    if image_features is None:
        raise fail("image_features", "are missing", "give one descriptor per image, or use SCM, which needs none")
    return image_features
