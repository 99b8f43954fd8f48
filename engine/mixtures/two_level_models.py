"""The estimators of two levels: which objects there are, and which scenes they make up.

    model = MCM(random_state=0).fit(segments, image_of_segment, dives, image_features=descriptors)
    model.image_labels_, model.labels_, model.proportions_
"""

from typing import Any, Self

import numpy as np

from engine.compute import Compute
from engine.mixtures import checking
from engine.mixtures.course import Checkpoint
from engine.mixtures.fitted_scenes import Explained
from engine.mixtures.two_level import TwoLevelMixture
from engine.problems import fail
from engine.progress import OnStep, ignore


class SCM(TwoLevelMixture):
    """Simultaneous clustering model: an image is told by the segments it shows, a segment by its image as well."""

    def __init__(self, *, width=0.05, scaled_prior=True, observation="full", priors="gd", diversity=1.0, by_dive=False,
                 max_image_clusters=100, restarts=10, image_start="soft", frozen_start=False, search="greedy",
                 search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000, random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.priors, self.diversity, self.by_dive = priors, diversity, by_dive
        self.max_image_clusters, self.restarts = max_image_clusters, restarts
        self.image_start, self.frozen_start = image_start, frozen_start
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    def fit(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, compute: Compute | None = None,
            on_step: OnStep = ignore, checkpoint: Checkpoint | None = None) -> Self:
        """Learns clusters of segments X (S, D), an array, memmap or .npy file, and of the images they are of.

        `image_of_segment` (S,) numbers the image of every segment from 0 (None: all are of one), `group_of_image` (I,)
        names the dive or album of every image. `on_step` hears of every iteration and may raise Cancelled: what was
        found so far stays usable, and labels are missing. With a checkpoint, a killed fit goes on where it last saved.
        """
        return self._fitted(X, image_of_segment, group_of_image, None, compute, on_step, checkpoint)

    def fit_predict(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, **rest: Any) -> np.ndarray:
        """The cluster of every segment after fitting to them."""
        return self.fit(X, image_of_segment, group_of_image, **rest).labels_

    def explain(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *,
                compute: Compute | None = None) -> Explained:
        """Labels and owners of new images and their segments, the clusters kept."""
        return self._explained(X, image_of_segment, group_of_image, None, compute)

    def predict(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None) -> np.ndarray:
        """The likeliest cluster of every segment (S,)."""
        return self.explain(X, image_of_segment, group_of_image).labels

    def predict_images(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None) -> np.ndarray:
        """The likeliest image cluster of every image (I,)."""
        return self.explain(X, image_of_segment, group_of_image).image_labels


class MCM(TwoLevelMixture):
    """Multiple-source clustering model: an image is told by its segments and by a descriptor of the whole.

    image_width   variance an image cluster is expected to have, over the largest principal variance of descriptors.
    """

    def __init__(self, *, width=0.05, scaled_prior=True, image_width=0.05, observation="full", priors="gd",
                 diversity=1.0, by_dive=True, max_image_clusters=30, restarts=10, image_start="soft",
                 frozen_start=False, search="greedy", search_rows=10_000, max_clusters=None, tol=1e-5, max_iter=1000,
                 random_state=None):
        self.width, self.scaled_prior, self.observation = width, scaled_prior, observation
        self.image_width = image_width
        self.priors, self.diversity, self.by_dive = priors, diversity, by_dive
        self.max_image_clusters, self.restarts = max_image_clusters, restarts
        self.image_start, self.frozen_start = image_start, frozen_start
        self.search, self.search_rows, self.max_clusters = search, search_rows, max_clusters
        self.tol, self.max_iter, self.random_state = tol, max_iter, random_state

    def fit(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, image_features: Any,
            compute: Compute | None = None, on_step: OnStep = ignore, checkpoint: Checkpoint | None = None) -> Self:
        """As for SCM; `image_features` (I, D1) describe every image as a whole."""
        return self._fitted(X, image_of_segment, group_of_image, _given(image_features), compute, on_step, checkpoint)

    def fit_predict(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, image_features: Any,
                    **rest: Any) -> np.ndarray:
        """The cluster of every segment after fitting to them."""
        return self.fit(X, image_of_segment, group_of_image, image_features=image_features, **rest).labels_

    def explain(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *, image_features: Any,
                compute: Compute | None = None) -> Explained:
        """Labels and owners of new images and their segments, the clusters kept."""
        return self._explained(X, image_of_segment, group_of_image, _given(image_features), compute)

    def predict(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *,
                image_features: Any) -> np.ndarray:
        """The likeliest cluster of every segment (S,)."""
        return self.explain(X, image_of_segment, group_of_image, image_features=image_features).labels

    def predict_images(self, X: Any, image_of_segment: Any = None, group_of_image: Any = None, *,
                       image_features: Any) -> np.ndarray:
        """The likeliest image cluster of every image (I,)."""
        return self.explain(X, image_of_segment, group_of_image, image_features=image_features).image_labels

    def _check_parameters(self) -> None:
        checking.positive("image_width", self.image_width)
        super()._check_parameters()


def _given(image_features: Any) -> Any:
    if image_features is None:
        raise fail("image_features", "are missing", "give a descriptor of every image; SCM does without")
    return image_features
