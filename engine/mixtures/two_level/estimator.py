"""Common base class of the two-level estimators: parameters, fitting and results."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np

from benthoscope.engine.compute import Compute, LocalThreads, blas_threads
from benthoscope.engine.distributions import Dirichlet, GeneralisedDirichlet, WeightsPrior
from benthoscope.engine.mixtures import validation as checking
from benthoscope.engine.mixtures.bayesian import SEARCHES, of_same_fit
from benthoscope.engine.mixtures.data import Frame, Observations, summarised
from benthoscope.engine.mixtures.estimator import changed_parameters
from benthoscope.engine.mixtures.fit_monitor import Checkpoint, Course, NoCheckpoint
from benthoscope.engine.mixtures.inference import Fit, StoppingRule
from benthoscope.engine.mixtures.observation_models import family_named
from benthoscope.engine.mixtures.search.greedy import Task
from benthoscope.engine.mixtures.search.levels import in_levels
from benthoscope.engine.mixtures.two_level.fitted import FittedScenes, orders, shares_of
from benthoscope.engine.mixtures.two_level.image_clusters import first_images, scene_model, settled_images
from benthoscope.engine.mixtures.two_level.inputs import SceneInput, one_dive, scene_input
from benthoscope.engine.mixtures.two_level.model import Images, Looks, SceneModel
from benthoscope.engine.mixtures.two_level.prediction import FittedTwoLevel
from benthoscope.engine.problems import unknown
from benthoscope.engine.progress import Cancelled, OnStep


def _even_sticks(diversity: float) -> GeneralisedDirichlet:
    return GeneralisedDirichlet(diversity, 1.0)


# of image clusters, and of segment clusters with their diversity
PRIORS: dict[str, tuple[Callable[[], WeightsPrior], Callable[[float], WeightsPrior]]] = {
    "dd": (Dirichlet, Dirichlet),
    "gd": (GeneralisedDirichlet, Dirichlet),
    "gg": (GeneralisedDirichlet, _even_sticks),
}
STARTS = ("hard", "soft")


class TwoLevelMixture(FittedTwoLevel):
    """Base class of SCM and MCM.

    Parameters
    ----------
    width : float
        Expected variance of a segment cluster, as a fraction of the largest principal variance of all segments.
        Usually, a larger width gives fewer clusters. With `scaled_prior=False` the width is in squared units of the
        rows; for whitened columns this is the same.
    priors : {"gd", "dd", "gg"}
        Priors of the image clusters in a dive and of the segment clusters in an image cluster: generalised Dirichlet
        and Dirichlet ("gd"), or the same prior for both ("dd", "gg").
    diversity : float
        Pseudo-count of each segment cluster in each image cluster. A larger value expects more kinds of segments in an
        image cluster and gives fewer image clusters.
    by_dive : bool
        Whether each dive has its own proportions of the image clusters.
    max_image_clusters : int
        Number of image clusters at the start. Those without images are removed. If the fit ends with this number,
        `limits_reached_` contains the name of this parameter.
    restarts : int
        Number of random starts of the image clusters for each complete fit. The highest bound is kept.
    image_start : {"soft", "hard"}
        Whether images start with random probabilities or in one random image cluster each.
    frozen_start : bool
        Whether the image clusters stay fixed until the first split of a segment cluster.
    observation, search, search_rows, max_clusters, tol, max_iter
        As for `BayesianMixture`.

    Attributes
    ----------
    labels_ : ndarray (S,)
        Segment cluster of each segment.
    image_labels_ : ndarray (I,)
        Image cluster of each image.
    n_clusters_, n_image_clusters_ : int
        Numbers K of segment clusters and T of image clusters.
    proportions_ : ndarray (T, K)
        Proportions of the segment clusters in each image cluster.
    weights_ : ndarray (J, T)
        Proportions of the image clusters in each dive.
    image_weights_ : ndarray (I, K)
        Proportions of the segment clusters in each image.
    image_owners_ : ndarray (I, T)
        Probabilities of the image clusters for each image.
    groups_ : ndarray (J,)
        Names of the dives.
    clusters_, prior_, image_clusters_
        Posterior and prior of the segment clusters, and the image clusters if images have descriptors, in units of the
        rows.
    lower_bound_, lower_bound_history_, n_iter_, passes_, converged_
        As for `BayesianMixture`.
    """

    def _fitted(
        self,
        X: Any,
        image_of_segment: Any,
        group_of_image: Any,
        image_features: Any,
        compute: Compute | None,
        on_step: OnStep,
        checkpoint: Checkpoint | None,
    ) -> Self:
        self._check_parameters()
        scene_data = scene_input(
            X, image_of_segment, group_of_image if self.by_dive else one_dive(group_of_image), image_features
        )
        course = Course(len(scene_data.images), on_step, checkpoint or NoCheckpoint())
        with blas_threads(1):
            task, frames = self._prepared(scene_data, compute or LocalThreads(), course)
            self._clear_fit()
            self._record_columns(X)
            self.n_features_in_, self.groups_ = len(frames[0].origin), scene_data.names
            self._learned(task, scene_data, frames)
        return self

    def _check_parameters(self) -> None:
        for name in ("width", "tol", "diversity"):
            checking.positive(name, getattr(self, name))
        for name in ("max_iter", "max_clusters", "search_rows", "max_image_clusters", "restarts"):
            if getattr(self, name) is not None or name not in ("max_clusters", "search_rows"):
                checking.positive(name, getattr(self, name), integer=True)
        for name, known in (("search", SEARCHES), ("priors", PRIORS), ("image_start", STARTS)):
            if getattr(self, name) not in known:
                raise unknown(name, str(getattr(self, name)), known)
        family_named(self.observation)

    def _shares_prior(self) -> WeightsPrior:
        return PRIORS[self.priors][0]()

    def _proportions_prior(self) -> WeightsPrior:
        return PRIORS[self.priors][1](self.diversity)

    def _prepared(
        self, scene_data: SceneInput, machine: Compute, course: Course
    ) -> tuple[Task, tuple[Frame, Frame | None]]:
        family = family_named(self.observation)
        summary = summarised(scene_data.source, machine, course.pulse)
        frame = family.frame(summary)
        image_features, image_frame = self._image_features(scene_data, machine, course)
        course.bound_offset -= summary.count * len(frame.origin) * float(np.log(frame.scale))
        model = SceneModel(
            self._proportions_prior(),
            family.prior(frame, self.width, self.scaled_prior),
            images=Images(scene_data.dives, len(scene_data.names), image_features),
            shares=self._shares_prior(),
            surplus=self.max_image_clusters,
            hard=self.image_start == "hard",
            frozen=self.frozen_start,
        )
        data = Observations(
            scene_data.source, scene_data.images, len(scene_data.dives), frame, machine, course.pulse, whole_groups=True
        )
        rng = np.random.default_rng(self.random_state)
        return Task(model, data, StoppingRule(self.tol, self.max_iter), course, rng, self.max_clusters), (
            frame,
            image_frame,
        )

    def _image_features(
        self, scene_data: SceneInput, machine: Compute, course: Course
    ) -> tuple[Looks | None, Frame | None]:
        if scene_data.image_features is None:
            return None, None
        family = family_named(self.observation)
        frame = family.frame(summarised(scene_data.image_features, machine, course.pulse, name="image_features"))
        course.bound_offset -= len(scene_data.image_features) * len(frame.origin) * float(np.log(frame.scale))
        rows = (np.asarray(scene_data.image_features, float) - frame.origin) / frame.scale
        return Looks(rows, family.prior(frame, self.image_width, True)), frame

    def _learned(self, task: Task, scene_data: SceneInput, frames: tuple[Frame, Frame | None]) -> None:
        course = task.course
        identity = {
            "model": changed_parameters(self),
            "shape": [len(task.data), self.n_features_in_],
            "groups": task.data.n_groups,
        }
        course.mark(**identity)
        state = of_same_fit(course.resume(), identity)
        begin, finish = (partial(level, restarts=self.restarts) for level in (first_images, settled_images))
        try:
            fit = in_levels(SEARCHES[self.search], task, self.search_rows, state, begin=begin, finish=finish)
        except Cancelled:
            if course.latest is not None:
                self._keep(course.result, task, frames)
            raise
        self._keep(fit, task, frames)
        self._label(fit, task, scene_data)

    def _keep(self, fit: Fit, task: Task, frames: tuple[Frame, Frame | None]) -> None:
        course = task.course
        bound = fit.bound + course.bound_offset * fit.statistics.sizes.sum() / len(task.data)
        self._show(FittedScenes.of(fit, scene_model(task), frames, bound), self.groups_)
        self.lower_bound_history_ = list(course.history)
        self.n_iter_, self.passes_ = max(course.iterations, 1), course.passes
        self.converged_ = fit.converged
        self.limits_reached_ = checking.limits_reached(
            ("max_clusters", self.max_clusters, self.n_clusters_),
            ("max_image_clusters", min(self.max_image_clusters, task.data.n_groups - 1), self.n_image_clusters_),
        )

    def _label(self, fit: Fit, task: Task, scene_data: SceneInput) -> None:
        """Set the labels of segments and images from the last iteration, in the final order of the clusters."""
        labels, probability = task.data.nearest(fit.scorer)
        of_segments, of_images = orders(fit)
        self.labels_ = scene_data.as_given(np.argsort(of_segments)[labels].astype(np.int32))
        self.probability_ = scene_data.as_given(probability)
        self.image_owners_ = fit.statistics.image_owners[:, of_images]
        self.image_labels_ = self.image_owners_.argmax(1).astype(np.int32)
        self.image_weights_ = shares_of(fit.statistics.counts[:, of_segments])
