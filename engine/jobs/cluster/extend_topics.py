"""The job that adds images to the topics of a run without fitting them from the beginning.

The result is a new run; the old one stays as it is. Topics keep their numbers and names. The summary of the new run has
`additions`, one entry for each time that images were added:

    run             id of the run that was extended
    images, patches number of added images and of their patches or segments
    groups          {name of dive or album: number of its added images}
    seconds         how long it took

Entries of infinite-word topic models also have:

    clusters_before clusters of patches in use before
    clusters_joined clusters in use directly after the clusters of the new images were joined
    clusters        clusters in use at the end
    match           mean correlation of the matched topics; topics of the new images were matched with the old ones
    matched         whether that correlation was high enough to be used

Entries of joint segmentations also have:

    topics_before   number of topics before
    topics          number of topics now; new kinds of regions become new topics
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benthoscope.engine.compute import Compute, computing_on
from benthoscope.engine.jobs.cluster.cluster_segments import (
    JointSegmentation,
    Outcome,
    TopicsOfSegments,
    naming_segments,
    run_arrays,
    run_clusters,
    run_summary,
)
from benthoscope.engine.jobs.cluster.fit_request import FitRequest, Trace, provenance
from benthoscope.engine.jobs.cluster.inputs import SegmentRows, has_same_rows, segment_rows
from benthoscope.engine.jobs.cluster.model_catalog import EXTENDABLE_MODELS, JOINT_SEGMENTATION
from benthoscope.engine.jobs.cluster.topic_summary import run_of_topics
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.durations import record, row_work
from benthoscope.engine.mixtures import Checkpoint
from benthoscope.engine.problems import fail
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedTopicModel
from benthoscope.engine.topics import InfiniteWordTopicModel
from benthoscope.engine.value_checks import UnusableInput
from benthoscope.engine.workspace import NewRun, Run, Workspace


@dataclass(frozen=True)
class AddedImages:
    """The patches of the images of a run, and of the described images that are not in it. `rows` has both."""

    rows: SegmentRows
    is_new: np.ndarray  # (I,) for each image of `rows`

    @property
    def count(self) -> int:
        return int(self.is_new.sum())

    @property
    def row_is_new(self) -> np.ndarray:
        return self.is_new[self.rows.image_of_segment]

    def documents(self, new: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return (patches, number of the image of each, from 0) of the new images or of the others."""
        rows, images = self.row_is_new == new, self.is_new == new
        numbers = np.cumsum(images) - 1
        return self.rows.values[rows], numbers[self.rows.image_of_segment[rows]]

    def in_order(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return the values of all images in the order of `rows`."""
        values = np.empty((len(self.is_new), *old.shape[1:]), old.dtype)
        values[~self.is_new], values[self.is_new] = old, new
        return values


def extend_topics(
    job: JobContext,
    workspace: Workspace,
    *,
    run: int | None = None,
    collection: str | None = None,
    name: str | None = None,
    scheduler: str | None = None,
) -> dict[str, Any]:
    """Add all described images that are not in a run of topics yet, and store the extended topics as a new run. If the
    job is cancelled, nothing is stored."""
    began = time.time()
    job.progress(0, None, "reading the patches")
    extended = extendable_run(workspace, run)
    added = added_images(workspace, extended, collection)
    extension = EXTENSIONS[extended.model]
    estimator = extension.estimator(extended)
    trace = Trace(job.on_step)
    with computing_on(scheduler) as compute:
        try:
            outcome = extension.extended(estimator, added, compute, trace, job)
        except UnusableInput as error:
            raise naming_segments(error, added.rows) from error
    origin = extended.provenance.get("extends") or {"name": extended.name}
    seed = int(extended.provenance.get("seed", 0))
    request = FitRequest(extended.model, extended.parameters, name or "", 0.0, seed)
    facts = provenance(request, estimator, began, trace, **added.rows.provenance)
    addition = _addition(workspace, extended, added, facts["seconds"])
    addition = {**addition, **extension.facts(extended, estimator)}
    new = NewRun(
        name or f"{origin['name']}, {len(added.is_new):,} images",
        extended.model,
        extended.features,
        dict(extended.parameters),
        {**facts, "extends": {"run": extended.id, "name": origin["name"]}},
        {
            **run_summary(estimator, outcome, added.rows, partial=False),
            "additions": [*extended.summary.get("additions", []), addition],
        },
    )
    names = extension.names(workspace.runs.cluster_names(extended.id, "segment"), extended, estimator)
    made = workspace.runs.add(new, run_arrays(estimator, outcome, added.rows), run_clusters(outcome))
    for topic, title in names.items():
        workspace.runs.rename_cluster(made.id, topic, title, "segment")
    record("extend topics", "", row_work(addition["patches"], added.rows.values.shape[1]), facts["seconds"])
    return {"run": made.id, "name": made.name, **made.summary, "added": addition}


class Extension(Protocol):
    """Adds images to one kind of topics."""

    def estimator(self, run: Run) -> Any:
        """Return the model of a run."""

    def extended(
        self, estimator: Any, added: AddedImages, compute: Compute, trace: Trace, checkpoint: Checkpoint
    ) -> Outcome:
        """Add the new images to the model. Returns the topics of all images in the order of the rows."""

    def facts(self, run: Run, estimator: Any) -> dict[str, Any]:
        """Return what the summary says about the addition."""

    def names(self, names: Mapping[int, str], run: Run, estimator: Any) -> Mapping[int, str]:
        """Return the names of the present topics, from those of the topics before."""


class InfiniteWords:
    """A model of the new images alone is fitted first; its topics are matched with the old ones, and both are trained
    together for a few iterations."""

    def estimator(self, run: Run) -> InfiniteWordTopicModel:
        arrays = run.arrays()
        return InfiniteWordTopicModel.from_arrays(_of_section(arrays, "model"), arrays["model"])

    def extended(
        self,
        estimator: InfiniteWordTopicModel,
        added: AddedImages,
        compute: Compute,
        trace: Trace,
        checkpoint: Checkpoint,
    ) -> Outcome:
        estimator.partial_fit(
            *added.documents(new=True),
            n_images=added.count,
            earlier=added.documents(new=False),
            compute=compute,
            on_step=trace.on_step,
            checkpoint=checkpoint,
        )
        n_old = len(added.is_new) - added.count
        estimator.topic_weights_ = added.in_order(estimator.topic_weights_[:n_old], estimator.topic_weights_[n_old:])
        estimator.labels_ = estimator.topic_weights_.argmax(1)
        return TopicsOfSegments().outcome(estimator, added.rows, compute)

    def facts(self, run: Run, estimator: InfiniteWordTopicModel) -> dict[str, Any]:
        increment = estimator.increment_
        return {
            "clusters_before": increment.clusters_before,
            "clusters_joined": increment.clusters_joined,
            "clusters": int(estimator.n_clusters_),
            "match": None if increment.match is None else round(increment.match.correlation, 4),
            "matched": increment.match is not None and increment.match.used,
        }

    def names(self, names: Mapping[int, str], run: Run, estimator: InfiniteWordTopicModel) -> Mapping[int, str]:
        return names


class SegmentationStream:
    """The memory of the run learns the new images as further rounds of its stream. Then all images are segmented with
    the final topics. A topic keeps its name, but its number can change if an earlier topic disappears."""

    def estimator(self, run: Run) -> MemoryBoundedTopicModel:
        arrays = run.arrays()
        return MemoryBoundedTopicModel.from_memory(_of_section(arrays, "memory"), arrays["memory"])

    def extended(
        self,
        estimator: MemoryBoundedTopicModel,
        added: AddedImages,
        compute: Compute,
        trace: Trace,
        checkpoint: Checkpoint,
    ) -> Outcome:
        segments, images = added.documents(new=True)
        first = int(np.asarray(estimator.groups_).max()) + 1  # the number of the first new document
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BudgetWarning)  # the summary says which limits were reached
            estimator.partial_fit(segments, groups=first + images, on_step=trace.on_step)
        return JointSegmentation().outcome(estimator, added.rows, compute)

    def facts(self, run: Run, estimator: MemoryBoundedTopicModel) -> dict[str, Any]:
        return {"topics_before": int(run.summary["segment_clusters"]), "topics": int(estimator.n_clusters_)}

    def names(self, names: Mapping[int, str], run: Run, estimator: MemoryBoundedTopicModel) -> Mapping[int, str]:
        before = np.asarray(run.array("memory_numbers")).tolist()
        number_now = {lasting: topic for topic, lasting in enumerate(estimator.cluster_ids_.tolist())}
        return {number_now[before[topic]]: name for topic, name in names.items() if before[topic] in number_now}


EXTENSIONS: Mapping[str, Extension] = dict(zip(EXTENDABLE_MODELS, (InfiniteWords(), SegmentationStream()), strict=True))


def extendable_run(workspace: Workspace, run: int | None) -> Run:
    """Return the run of topics with this id, or the newest one. Raises if images cannot be added to it."""
    chosen = run_of_topics(workspace, None if run is None else str(run))
    if chosen.model not in EXTENDABLE_MODELS:
        raise fail(f"run {chosen.name}", "has a fixed vocabulary", "fit the topics again with the model iwtm")
    if chosen.model == JOINT_SEGMENTATION and "memory" not in chosen.arrays():
        raise fail(
            f"run {chosen.name}",
            "was stored by an earlier version, without the memory of its topics",
            "segment the images again with `benthoscope segment`",
        )
    if chosen.provenance.get("parameters", {}).get("inference") == "gibbs":
        raise fail(f"run {chosen.name}", "was fitted by Gibbs sampling", "fit the topics again with another inference")
    return chosen


def added_images(workspace: Workspace, run: Run, collection: str | None = None) -> AddedImages:
    """Return the described images that the run does not have, of one collection or all, with the images of the run.
    Raises if there are none, or if the patches of the run were computed again."""
    features = workspace.features.open(run.features)
    if not has_same_rows(run, features):
        raise fail(
            f"features {features.name}",
            "were computed again after the topics were fitted",
            f"fit the topics again with `benthoscope cluster --model {run.model}`",
        )
    rows = segment_rows(workspace, features, None, None, None)
    old_ids = np.asarray(run.array("image_ids"))
    is_new = ~np.isin(rows.image_ids, old_ids)
    if collection:
        ids = workspace.library.columns("id", collection_id=workspace.library.collection_named(collection).id)["id"]
        is_used = ~is_new | np.isin(rows.image_ids, ids)
        rows, is_new = _subset(rows, is_used), is_new[is_used]
    if not is_new.any():
        raise fail(
            f"run {run.name}",
            "has all described images already",
            f"import images and describe them with `benthoscope features --descriptor {run.features}` first",
        )
    if is_new.all():
        raise fail(f"run {run.name}", "has no images left in the workspace", "fit the topics again")
    return AddedImages(rows, is_new)


def undescribed_images(workspace: Workspace, run: Run, collection: str | None = None) -> int:
    """Return the number of images of a collection, or of all, that the feature set of a run lacks."""
    within = workspace.library.collection_named(collection).id if collection else None
    ids = workspace.library.columns("id", collection_id=within)["id"]
    return int((~np.isin(ids, np.asarray(workspace.features.open(run.features).image_ids))).sum())


def _subset(rows: SegmentRows, images: np.ndarray) -> SegmentRows:
    """Return the rows of some images (I,) bool."""
    chosen = images[rows.image_of_segment]
    numbers = np.flatnonzero(chosen) if rows.row_numbers is None else rows.row_numbers[chosen]
    new_number = np.cumsum(images) - 1
    return SegmentRows(
        rows.features,
        rows.values[chosen],
        numbers,
        new_number[rows.image_of_segment[chosen]].astype(np.int32),
        rows.image_ids[images],
        rows.groups[images],
    )


def _of_section(arrays: Mapping[str, Any], section: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with that of a section, without it."""
    start = f"{section}_"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _addition(workspace: Workspace, run: Run, added: AddedImages, seconds: float) -> dict[str, Any]:
    names = {group.id: group.name for group in workspace.library.groups()}
    groups, counts = np.unique(added.rows.groups[added.is_new], return_counts=True)
    return {
        "run": run.id,
        "images": added.count,
        "patches": int(added.row_is_new.sum()),
        "groups": {names[number]: count for number, count in zip(groups.tolist(), counts.tolist(), strict=True)},
        "seconds": round(seconds, 1),
    }
