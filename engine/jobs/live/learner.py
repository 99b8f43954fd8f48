"""The learner of a live dive: rounds on a thread of its own, and an immutable predictor for all other threads.

live/3/learner.npz   the memory after the last round
live/3/axes.npz      the axes of largest variance, fixed before the first round, and which images they come from
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benthoscope.engine.features.compression import LinearProjection, PrincipalAxes
from benthoscope.engine.jobs.live.novelty import NoveltyScale, RecentImages
from benthoscope.engine.jobs.live.settings import LiveSettings
from benthoscope.engine.problems import BadInput, fail
from benthoscope.engine.progress import OnStep, ignore
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedVDP
from benthoscope.engine.streaming.state_file import read_state, write_state
from benthoscope.engine.workspace.live_dives import LiveRound
from benthoscope.engine.workspace.records import current_time
from benthoscope.engine.workspace.storage.files import sync_folder

LEARNER, AXES = "learner.npz", "axes.npz"


@dataclass(frozen=True, eq=False)
class Scores:
    """The clusters and the novelty of some images, (n,) each. `clusters` are lasting numbers. `percentile` is NaN while
    there are too few recent images to compare with."""

    clusters: np.ndarray
    probability: np.ndarray
    percentile: np.ndarray
    new_cluster: np.ndarray
    is_novel: np.ndarray


@dataclass(frozen=True, eq=False)
class Predictor:
    """The clusters after a round. It never changes, so every thread may use it while the next round runs."""

    model: MemoryBoundedVDP
    projection: LinearProjection
    scale: NoveltyScale | None = None

    @property
    def number(self) -> int:
        """Return the number of the round."""
        return self.model.snapshot_.number

    def score(self, vectors: np.ndarray, outside: np.ndarray, level: float) -> Scores:
        """Return the clusters of images with these features (n, D), and how unusual they are. `outside` (n,) is the
        squared distance of each description from its features."""
        rows = self.projection(vectors).astype(np.float64)
        labels, probability = self.model.assign(rows)
        novelty = self.model.novelty(rows)
        percentile = np.full(len(rows), np.nan)
        if self.scale is not None:
            squares = self.projection.squared_distances(vectors) + outside
            percentile = self.scale.percentiles(novelty.log_density, squares)
        return Scores(self.model.cluster_ids_[labels], probability, percentile, novelty.new_cluster, percentile < level)

    def compared_with(self, images: RecentImages) -> "Predictor":
        """Return the same clusters with other images to compare new ones with."""
        return replace(self, scale=NoveltyScale.of(self.model, self.projection, images))


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of a dive, and whether they come from its first round."""

    projection: LinearProjection
    is_of_dive: bool


class LiveLearner:
    """Learns one round at a time from the features of images, and stores its memory after each."""

    def __init__(self, folder: Path, settings: LiveSettings):
        self.folder, self.settings = folder, settings
        self._model: MemoryBoundedVDP | None = None  # the one that learned the last round
        try:
            self._axes = _stored_axes(folder)
        except BadInput:  # damaged; without axes, all rounds are learned again
            self._axes = None
        self.predictor: Predictor | None = None

    @property
    def path(self) -> Path:
        return self.folder / LEARNER

    @property
    def rounds(self) -> int:
        """Return the number of finished rounds."""
        return 0 if self.predictor is None else self.predictor.number

    @property
    def rounds_of_axes(self) -> int:
        """Return the number of rounds whose images the axes come from: 1, or 0 if they come from other images."""
        return int(self._axes is None or self._axes.is_of_dive)

    def resume(self) -> bool:
        """Continue from the stored memory. Returns False if there is none, or if it cannot be read."""
        if self._axes is None:
            return False
        try:
            self._model = MemoryBoundedVDP.load(self.path)
        except BadInput:
            return False
        self.predictor = Predictor(self._model.predictor(), self._axes.projection)
        return True

    def begin(self, first: np.ndarray, sample: Callable[[], np.ndarray | None] = lambda: None) -> None:
        """Fix the axes of largest variance of a larger `sample` of features (n, D) or, without one, of the first images
        of the dive. The axes never change during a dive, so only the first round computes the sample."""
        if self._axes is None:
            rows = sample()
            projection = _computed_axes(first if rows is None else rows, self.settings.dimensions)
            self._axes = Axes(projection, is_of_dive=rows is None)
            write_state(self.folder / AXES, projection.arrays(), {"is_of_dive": self._axes.is_of_dive})

    def compare_with(self, images: RecentImages) -> None:
        """Compare new images with these from now on."""
        if self.predictor is not None:
            self.predictor = self.predictor.compared_with(images)

    def learn(self, vectors: np.ndarray, on_step: OnStep = ignore, recent: RecentImages | None = None) -> LiveRound:
        """Learn a round from features (n, D), store the memory, then publish the new predictor, which compares new
        images with the `recent` ones. An error or a cancellation leaves the last round as it was."""
        began = time.monotonic()
        assert self._axes is not None  # `begin` was called
        rows = self._axes.projection(vectors).astype(np.float64)
        model, self._model = self._prepared(len(rows)), None  # an interrupted round starts again from the stored memory
        score = None if self.predictor is None else float(self.predictor.model.score_samples(rows).mean())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BudgetWarning)  # stored with the round and shown on the page
            model.partial_fit(rows, on_step=on_step)
        model.save(self.path)
        sync_folder(self.folder)
        predictor = Predictor(model.predictor(), self._axes.projection)
        self._model, self.predictor = model, predictor if recent is None else predictor.compared_with(recent)
        return round_of(model, score, time.monotonic() - began)

    def result(self) -> LiveRound:
        """Return the result of the last round, whose score and duration are not stored."""
        assert self.predictor is not None  # there was a round
        return round_of(self.predictor.model, None, 0.0)

    def forget(self) -> None:
        """Delete the memory, to learn all images again."""
        self.path.unlink(missing_ok=True)
        self._model = self.predictor = None

    def _prepared(self, count: int) -> MemoryBoundedVDP:
        """Return the model for a round of `count` rows, with the present settings."""
        model = self._model
        if model is None:
            model = self.settings.model() if self.predictor is None else MemoryBoundedVDP.load(self.path)
        settings = self.settings
        model.set_params(memory=settings.memory, epoch=max(settings.epoch, count), horizon=settings.horizon)
        return model


def projected(folder: Path, vectors: np.ndarray) -> np.ndarray:
    """Return features (n, D) along the axes of the learner in this folder."""
    axes = _stored_axes(folder)
    if axes is None:
        raise fail("live dive", "has not learned anything yet", "wait for its first round")
    return axes.projection(vectors).astype(np.float64)


def _stored_axes(folder: Path) -> Axes | None:
    if not (folder / AXES).is_file():
        return None
    arrays, plain = read_state(folder / AXES)
    return Axes(LinearProjection(**arrays), bool(plain.get("is_of_dive", True)))


def _computed_axes(sample: np.ndarray, dimensions: int) -> LinearProjection:
    rows = np.asarray(sample, np.float32)
    return PrincipalAxes(min(dimensions, rows.shape[1])).fit(lambda: iter([rows]), rng=np.random.default_rng(0))


def round_of(model: MemoryBoundedVDP, score: float | None, seconds: float) -> LiveRound:
    """Return the result of the last round of a model."""
    snapshot = model.snapshot_
    return LiveRound(
        snapshot.number,
        snapshot.rows,
        dict(zip(snapshot.cluster_ids.tolist(), np.round(snapshot.sizes, 2).tolist(), strict=True)),
        tuple((event.kind, event.cluster, event.other) for event in snapshot.events),
        dict(snapshot.memory),
        bool(snapshot.budget_binds),
        score,
        seconds,
        current_time(),
    )
