"""Fitting two levels of clusters: of segments over all images, and of images by the segments they show."""

from functools import partial
from typing import Any, Self

import numpy as np

from engine.compute import Compute, LocalThreads, blas_threads
from engine.distributions import Dirichlet, GeneralisedDirichlet, WeightsPrior
from engine.mixtures import checking
from engine.mixtures.bayesian import SEARCHES, of_same_fit
from engine.mixtures.course import Checkpoint, Course, Forgetful
from engine.mixtures.families import family_named
from engine.mixtures.fitted_scenes import FittedScenes, orders, shares_of
from engine.mixtures.image_clusters import settled_images
from engine.mixtures.levels import in_levels
from engine.mixtures.observations import Frame, Observations
from engine.mixtures.scene_input import SceneInput, one_dive, scene_input
from engine.mixtures.scenes import Images, Looks, SceneModel
from engine.mixtures.search import Task
from engine.mixtures.summary import summarised
from engine.mixtures.two_level_use import FittedTwoLevel
from engine.mixtures.variational import Fit, Rule
from engine.problems import unknown
from engine.progress import Cancelled, OnStep

PRIORS: dict[str, tuple[type[WeightsPrior], type[WeightsPrior]]] = {  # of image clusters, of segment clusters
    "dd": (Dirichlet, Dirichlet), "gd": (GeneralisedDirichlet, Dirichlet),
    "gg": (GeneralisedDirichlet, GeneralisedDirichlet),
}
STARTS = ("hard", "soft")


class TwoLevelMixture(FittedTwoLevel):
    """What SCM and MCM share:

    width               variance a segment cluster is expected to have, over the largest principal variance of all
                        segments: within reason, the larger the fewer clusters. scaled_prior=False: in squared units of
                        the rows, which for whitened columns is the same.
    priors              of image clusters in a dive and of segment clusters in an image cluster: "gd", generalised
                        Dirichlet and Dirichlet; "dd" and "gg" both of one kind.
    diversity           pseudo-segments of every segment cluster in every image cluster: the larger, the more kinds of
                        segments an image cluster is expected to show, and the fewer image clusters there are.
    by_dive             every dive has shares of its own of the image clusters; otherwise all images are alike.
    max_image_clusters  image clusters a fit begins with; those without an image die out.
    restarts            random starts of the image clusters, of which the one that bounds highest is kept.
    image_start         "soft" or "hard" random owners of images; frozen_start leaves them until a first split.
    observation, search, search_rows, max_clusters, tol, max_iter   as for mixtures of images.

    After fit: labels_ (S,) of segments and image_labels_ (I,); n_clusters_ K and n_image_clusters_ T; proportions_
    (T, K) of segment clusters in each image cluster; weights_ (J, T) shares of every dive; image_weights_ (I, K) shares
    of segment clusters in each image; image_owners_ (I, T); groups_ (J,); clusters_, prior_ and, with descriptors of
    images, image_clusters_ in units of the rows; lower_bound_, lower_bound_history_, n_iter_, passes_, converged_.
    """

    def _fitted(self, X: Any, image_of_segment: Any, group_of_image: Any, image_features: Any,
                compute: Compute | None, on_step: OnStep, checkpoint: Checkpoint | None) -> Self:
        self._check_parameters()
        given = scene_input(X, image_of_segment, group_of_image if self.by_dive else one_dive(group_of_image),
                            image_features)
        course = Course(len(given.images), on_step, checkpoint or Forgetful())
        with blas_threads(1):
            task, frames = self._prepared(given, compute or LocalThreads(), course)
            self._forget()
            self.n_features_in_, self.groups_ = len(frames[0].origin), given.names
            self._learned(task, given, frames)
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
        kind = PRIORS[self.priors][1]
        return kind(self.diversity) if kind is Dirichlet else kind(self.diversity, 1.0)

    def _prepared(self, given: SceneInput, machine: Compute, course: Course) -> tuple[Task, tuple[Frame, Frame | None]]:
        family = family_named(self.observation)
        summary = summarised(given.source, machine, course.pulse)
        frame = family.frame(summary)
        looks, seen = self._looks(given, machine, course)
        course.bound_offset -= summary.count * len(frame.origin) * float(np.log(frame.scale))
        model = SceneModel(
            self._proportions_prior(), family.prior(frame, self.width, self.scaled_prior),
            images=Images(given.dives, len(given.names), looks), shares=self._shares_prior(),
            surplus=self.max_image_clusters, hard=self.image_start == "hard", frozen=self.frozen_start)
        data = Observations(given.source, given.images, len(given.dives), frame, machine, course.pulse,
                            whole_groups=True)
        rng = np.random.default_rng(self.random_state)
        return Task(model, data, Rule(self.tol, self.max_iter), course, rng, self.max_clusters), (frame, seen)

    def _looks(self, given: SceneInput, machine: Compute, course: Course) -> tuple[Looks | None, Frame | None]:
        if given.looks is None:
            return None, None
        family = family_named(self.observation)
        frame = family.frame(summarised(given.looks, machine, course.pulse, name="image_features"))
        course.bound_offset -= len(given.looks) * len(frame.origin) * float(np.log(frame.scale))
        rows = (np.asarray(given.looks, float) - frame.origin) / frame.scale
        return Looks(rows, family.prior(frame, self.image_width, True)), frame

    def _learned(self, task: Task, given: SceneInput, frames: tuple[Frame, Frame | None]) -> None:
        course = task.course
        identity = {"model": repr(self), "shape": [len(task.data), self.n_features_in_], "groups": task.data.n_groups}
        course.mark(**identity)
        state = of_same_fit(course.resume(), identity)
        finish = partial(settled_images, restarts=self.restarts)
        try:
            fit = in_levels(SEARCHES[self.search], task, self.search_rows, state, finish=finish)
        except Cancelled:
            if course.latest is not None:
                self._keep(course.latest, task, frames)
            raise
        self._keep(fit, task, frames)
        self._label(fit, task, given)

    def _keep(self, fit: Fit, task: Task, frames: tuple[Frame, Frame | None]) -> None:
        course = task.course
        bound = fit.bound + course.bound_offset * fit.statistics.sizes.sum() / len(task.data)
        self._show(FittedScenes.of(fit, task.model, frames, bound), self.groups_)
        self.lower_bound_history_ = list(course.history)
        self.n_iter_, self.passes_ = max(course.iterations, 1), course.passes
        self.converged_ = fit.converged

    def _label(self, fit: Fit, task: Task, given: SceneInput) -> None:
        """What the last iteration says of every segment and image, in the order of the clusters shown."""
        labels, probability = task.data.nearest(fit.scorer)
        of_segments, of_images = orders(fit)
        self.labels_ = given.as_given(np.argsort(of_segments)[labels].astype(np.int32))
        self.probability_ = given.as_given(probability)
        self.image_owners_ = fit.statistics.owners[:, of_images]
        self.image_labels_ = self.image_owners_.argmax(1).astype(np.int32)
        self.image_weights_ = shares_of(fit.statistics.counts[:, of_segments])

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
