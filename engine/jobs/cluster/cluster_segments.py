"""The job that clusters the segments of images, and the images by their segments, and stores the result as a run.

The run's `features` are the set of segments. For I images in J dives and T image clusters, it has the arrays of every
run: image_ids, labels, probability (I,), group_ids (J,), weights (J, T). For K segment clusters it also has:

    segment_labels       (rows of the feature set,) int32; -1 if the segment's image was not clustered
    segment_probability  (rows of the feature set,) float32, of that label
    image_weights        (I, K) float32, proportions of the segment clusters in each image; rows sum to 1
    proportions          (T, K) proportions of the segment clusters in each image cluster; rows sum to 1

The model gmc-segments has no image clusters: T = K, and the label of an image is its most frequent segment cluster.
Topic models (iwtm, lda, mbtm-segments) are stored in the same way: K topics, `image_weights` are the topic weights of
the images, the label of an image is its largest topic, and the label of a segment its most probable topic.
`runs.clusters(run.id, "segment")` returns the sizes of the segment clusters; the summary has their number as
`segment_clusters`. A run of mbtm-segments also has the memory of its stream: `memory` and the arrays
`memory_...`. provenance["features"] describes the segments, provenance["image_features"] the descriptors of whole
images. If those were shortened before the fit, `image_axes` and `image_axes_centre` define the projection.
"""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benthoscope.engine.compute import Compute
from benthoscope.engine.jobs.cluster.fit_request import FitRequest, Trace, estimator_for, fit_summary, provenance
from benthoscope.engine.jobs.cluster.inputs import PATCHES, SEGMENTS, SegmentRows, segment_rows, segment_set
from benthoscope.engine.jobs.cluster.levels import WITHOUT_LEVELS, PlannedLevels
from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION, TOPIC_MODELS, with_widths
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.mixtures import GMC, MCM, SCM, Checkpoint
from benthoscope.engine.problems import BadInput, fail
from benthoscope.engine.progress import Cancelled, OnStep, ignore
from benthoscope.engine.streaming import BudgetWarning, MemoryBoundedTopicModel, SegmentedDocuments
from benthoscope.engine.topics import InfiniteWordTopicModel, VisualLDA
from benthoscope.engine.value_checks import UnusableInput
from benthoscope.engine.workspace import NewCluster, Run, Workspace
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares


@dataclass(frozen=True)
class Outcome:
    """The results of all segment models in one form, for I images in J dives, S segments, T image clusters and K
    segment clusters."""

    labels: np.ndarray  # (I,)
    probability: np.ndarray  # (I,)
    segment_labels: np.ndarray  # (S,)
    segment_probability: np.ndarray  # (S,)
    image_weights: np.ndarray  # (I, K) proportions of the segment clusters in each image
    proportions: np.ndarray  # (T, K) proportions of the segment clusters in each image cluster
    group_ids: np.ndarray  # (J,)
    weights: np.ndarray  # (J, T) proportions of the image clusters in each dive


class SegmentModel(Protocol):
    """Fits one kind of segment model."""

    @property
    def learned(self) -> str:
        """Return the attribute that an estimator has once it has found anything."""

    @property
    def wants_images(self) -> bool:
        """Return whether the model needs descriptors of whole images."""

    @property
    def usual_set(self) -> str:
        """Return the name of the default feature set of segments."""

    def fit(
        self, estimator: Any, rows: SegmentRows, compute: Compute, on_step: OnStep, checkpoint: Checkpoint
    ) -> None: ...

    def outcome(self, estimator: Any, rows: SegmentRows, compute: Compute) -> Outcome: ...


@dataclass(frozen=True)
class TwoLevels:
    """Fits SCM, or MCM with descriptors of whole images."""

    wants_images: bool
    learned: str = "scenes_"
    usual_set: str = SEGMENTS

    def fit(
        self, estimator: SCM | MCM, rows: SegmentRows, compute: Compute, on_step: OnStep, checkpoint: Checkpoint
    ) -> None:
        estimator.fit(
            rows.source,
            image_of_segment=rows.image_of_segment,
            group_of_image=rows.groups,
            **self._image_features(rows),
            compute=compute,
            on_step=on_step,
            checkpoint=checkpoint,
        )

    def outcome(self, estimator: SCM | MCM, rows: SegmentRows, compute: Compute) -> Outcome:
        """Return the result of the last iteration. For an interrupted fit, the images are predicted as if they were
        new."""
        if hasattr(estimator, "labels_"):
            labels, probability = estimator.labels_, estimator.probability_
            owners, image_weights = estimator.image_owners_, estimator.image_weights_
        else:
            prediction = estimator.explain(
                rows.source, rows.image_of_segment, rows.groups, **self._image_features(rows), compute=compute
            )
            labels, probability, owners = prediction.labels, prediction.probability, prediction.owners
            image_weights = prediction.image_weights
        of_images = owners.argmax(1)
        group_ids, counted = counted_shares(of_images, rows.groups, owners.shape[1])
        weights = estimator.weights_ if estimator.by_dive else counted
        return Outcome(
            of_images, owners.max(1), labels, probability, image_weights, estimator.proportions_, group_ids, weights
        )

    def _image_features(self, rows: SegmentRows) -> dict[str, Any]:
        if not self.wants_images:
            return {}
        assert rows.images is not None  # they were read because the model wants them
        return {"image_features": rows.images.values}


@dataclass(frozen=True)
class ImagesAsGroups:
    """Fits mixtures of segments in which each image has its own proportions. The label of an image is its most frequent
    cluster."""

    wants_images: bool = False
    usual_set: str = SEGMENTS
    learned: str = "mixture_"

    def fit(self, estimator: GMC, rows: SegmentRows, compute: Compute, on_step: OnStep, checkpoint: Checkpoint) -> None:
        estimator.fit(
            rows.source, groups=rows.image_of_segment, compute=compute, on_step=on_step, checkpoint=checkpoint
        )

    def outcome(self, estimator: GMC, rows: SegmentRows, compute: Compute) -> Outcome:
        labels, probability = estimator.assign(rows.source, rows.image_of_segment, compute=compute)
        shares = np.asarray(estimator.weights_)
        of_images, clusters = shares.argmax(1), shares.shape[1]
        return Outcome(
            of_images,
            shares.max(1),
            labels,
            probability,
            shares,
            _means(shares, of_images),
            *counted_shares(of_images, rows.groups, clusters),
        )


@dataclass(frozen=True)
class TopicsOfSegments:
    """Fits topics of segments or patches. The label of an image is the topic with the largest weight, the label of a
    segment its most probable topic."""

    wants_images: bool = False
    usual_set: str = PATCHES
    learned: str = "labels_"

    def fit(
        self,
        estimator: InfiniteWordTopicModel | VisualLDA,
        rows: SegmentRows,
        compute: Compute,
        on_step: OnStep,
        checkpoint: Checkpoint,
    ) -> None:
        estimator.fit(
            rows.source,
            rows.image_of_segment,
            n_images=len(rows.image_ids),
            compute=compute,
            on_step=on_step,
            checkpoint=checkpoint,
        )

    def outcome(self, estimator: InfiniteWordTopicModel | VisualLDA, rows: SegmentRows, compute: Compute) -> Outcome:
        of_segments = estimator.patch_topic_probabilities(rows.source, rows.image_of_segment)
        weights, of_images = estimator.topic_weights_, estimator.labels_
        return Outcome(
            of_images,
            weights.max(1),
            of_segments.argmax(1),
            of_segments.max(1),
            weights,
            _means(weights, of_images),
            *counted_shares(of_images, rows.groups, weights.shape[1]),
        )


IMAGES_A_ROUND = 10  # images of a round, as in the source


@dataclass(frozen=True)
class JointSegmentation:
    """Fits topics of segments that are read once, in rounds of ten images. Then each image is segmented with the final
    topics."""

    wants_images: bool = False
    usual_set: str = SEGMENTS
    learned: str = "mixture_"

    def fit(
        self,
        estimator: MemoryBoundedTopicModel,
        rows: SegmentRows,
        compute: Compute,
        on_step: OnStep,
        checkpoint: Checkpoint,
    ) -> None:
        if estimator.epoch == type(estimator)().epoch:
            images = min(IMAGES_A_ROUND, len(rows.image_ids))
            estimator.set_params(epoch=max(images * len(rows.image_of_segment) // len(rows.image_ids), 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BudgetWarning)  # the result of the job says which limits were reached
            estimator.fit(
                rows.source, groups=rows.image_of_segment, compute=compute, on_step=on_step, checkpoint=checkpoint
            )
        estimator.segmented_ = self._segmented(estimator, rows, compute, on_step)

    def outcome(self, estimator: MemoryBoundedTopicModel, rows: SegmentRows, compute: Compute) -> Outcome:
        """Return the segmentation of all images. For an interrupted fit, with the topics of the last round."""
        result = getattr(estimator, "segmented_", None) or self._segmented(estimator, rows, compute, ignore)
        estimator.labels_ = result.labels
        shares = result.proportions
        of_images = shares.argmax(1)
        return Outcome(
            of_images,
            shares.max(1),
            result.labels,
            result.probability,
            shares,
            _means(shares, of_images),
            *counted_shares(of_images, rows.groups, shares.shape[1]),
        )

    @staticmethod
    def _segmented(
        estimator: MemoryBoundedTopicModel, rows: SegmentRows, compute: Compute, on_step: OnStep
    ) -> SegmentedDocuments:
        return estimator.segment_documents(rows.source, rows.image_of_segment, compute=compute, on_step=on_step)


FITTING: dict[str, SegmentModel] = {
    **dict.fromkeys(TOPIC_MODELS, TopicsOfSegments()),
    "gmc-segments": ImagesAsGroups(),
    JOINT_SEGMENTATION: JointSegmentation(),
    "mcm": TwoLevels(True),
    "scm": TwoLevels(False),
}


def _means(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the mean proportions of the images of each label (K, K). A label without images has only itself."""
    means = np.eye(shares.shape[1])
    for label in np.unique(labels):
        means[label] = shares[labels == label].mean(0)
    return means


TOPICS = 10  # default number of topics
IMAGE_FEATURES = "deep"  # default descriptors of whole images


@dataclass(frozen=True)
class SegmentClusterRequest:
    """The requested fit. `width` is that of image clusters, `features` the descriptors of whole images. If `features`
    is a set of segments, it is used as `segments`."""

    model: str
    features: str
    segments: str | None
    width: float
    segment_width: float | None
    collection: str | None
    name: str | None
    seed: int
    dimensions: int | None
    parameters: dict[str, Any] = field(default_factory=dict)
    levels: bool = True


def refuse_unsuited(model: str, hold_out: float, crowd: str | None) -> None:
    """Raise for options that only models of whole images have."""
    if hold_out:
        raise fail("hold-out", f"{model} has no density for scoring", "do not use hold-out")
    if crowd:
        raise fail("crowd", f"{model} cannot use a crowd's answers about whole images", "choose gmc or vdp")


def cluster_segments(
    job: JobContext, workspace: Workspace, segment_request: SegmentClusterRequest, compute: Compute
) -> dict[str, Any]:
    """Fit the model and store a run. If the job is cancelled, the clusters found so far are stored as a partial run."""
    fitting = FITTING[segment_request.model]
    parameters = with_widths(
        segment_request.model, segment_request.width, segment_request.segment_width, segment_request.parameters
    )
    rows = _rows(workspace, segment_request, fitting)
    used = f"{rows.features.name} {rows.images.features.name}" if rows.images else rows.features.name
    size = f"{parameters['width']:g}" if "width" in parameters else f"{parameters.get('n_topics', TOPICS)} topics"
    name = segment_request.name or f"{segment_request.model} {used} {size}"
    request = FitRequest(segment_request.model, parameters, name, 0.0, segment_request.seed)
    run, added = _fitted_run(job, workspace, rows, request, fitting, compute, segment_request.levels)
    return {"run": run.id, "name": run.name, **run.summary, "levels": added}


def _rows(workspace: Workspace, segment_request: SegmentClusterRequest, fitting: SegmentModel) -> SegmentRows:
    features, segments = segment_request.features, segment_request.segments
    if features in workspace.features and workspace.features.open(features).level == "segment":
        features, segments = IMAGE_FEATURES, segments or features
    image_features = features if fitting.wants_images else None
    return segment_rows(
        workspace,
        segment_set(workspace, segments, fitting.usual_set),
        image_features,
        segment_request.collection,
        segment_request.dimensions,
    )


def _fitted_run(
    job: JobContext,
    workspace: Workspace,
    rows: SegmentRows,
    request: FitRequest,
    fitting: SegmentModel,
    compute: Compute,
    levels: bool,
) -> tuple[Run, dict[str, Any]]:
    began, trace, estimator = time.time(), Trace(job.on_step), estimator_for(request)
    partial = _stopped_early(job, estimator, rows, fitting, compute, trace)
    outcome = fitting.outcome(estimator, rows, compute)
    origin = provenance(request, estimator, began, trace, **rows.provenance)
    new = request.new_run(rows.features.name, origin, run_summary(estimator, outcome, rows, partial))
    values = rows.images.values if rows.images else outcome.image_weights
    planned = PlannedLevels(job, values, outcome.labels, levels and not partial and request.model not in WITHOUT_LEVELS)
    planned.compute(request.parameters, len(outcome.proportions))
    run = workspace.runs.add(new, run_arrays(estimator, outcome, rows), run_clusters(outcome))
    if partial:
        job.log(f"stopped early; the clusters found so far are stored as run {run.id}")
        raise Cancelled
    return run, planned.store(workspace, run, rows.image_ids)


def _stopped_early(
    job: JobContext, estimator: Any, rows: SegmentRows, fitting: SegmentModel, compute: Compute, trace: Trace
) -> bool:
    """Fit the model. Returns True if the job was cancelled after the first clusters were found."""
    try:
        fitting.fit(estimator, rows, compute, trace.on_step, job)
    except UnusableInput as error:
        raise naming_segments(error, rows) from error
    except Cancelled:
        if job.interrupted or not hasattr(estimator, fitting.learned):
            raise
        return True
    return False


def naming_segments(error: UnusableInput, rows: SegmentRows) -> BadInput:
    """Return the error with the feature set, its row and the image instead of the name and row of an array."""
    row = error.values.row
    if error.name == "image_features" and rows.images is not None:
        name, image_id = f"features {rows.images.features.name}", rows.images.image_ids[row]
    else:
        name, image_id = f"features {rows.features.name}", rows.image_ids[rows.image_of_segment[row]]
        row = row if rows.row_numbers is None else int(rows.row_numbers[row])
    return fail(
        f"{name} row {row} (image {image_id})",
        error.values.problem,
        "compute the features of this image again, or remove the image",
    )


def run_summary(estimator: Any, outcome: Outcome, rows: SegmentRows, partial: bool) -> dict[str, Any]:
    """Return the summary of a run of segments."""
    return {
        "clusters": len(outcome.proportions),
        "segment_clusters": outcome.proportions.shape[1],
        "images": len(rows.image_ids),
        "segments": len(outcome.segment_labels),
        "held_out": None,
        **fit_summary(estimator, partial),
    }


def run_arrays(estimator: Any, outcome: Outcome, rows: SegmentRows) -> dict[str, Any]:
    """Return the arrays that the module docstring lists."""
    arrays, metadata = estimator.to_arrays()
    axes = {f"image_{name}": array for name, array in rows.images.axes.items()} if rows.images else {}
    return {
        "image_ids": rows.image_ids,
        "labels": outcome.labels.astype(np.int32),
        "probability": outcome.probability.astype(np.float32),
        "group_ids": outcome.group_ids,
        "weights": outcome.weights,
        "proportions": outcome.proportions,
        "segment_labels": rows.aligned(outcome.segment_labels.astype(np.int32), -1),
        "segment_probability": rows.aligned(outcome.segment_probability.astype(np.float32), 0),
        "image_weights": outcome.image_weights.astype(np.float32),
        "model": metadata,
        **{f"model_{name}": array for name, array in arrays.items()},
        **memory_arrays(estimator),
        **axes,
    }


def memory_arrays(estimator: Any) -> dict[str, Any]:
    """Return the memory of a stream, with which it can learn more images. Other models have none."""
    if not isinstance(estimator, MemoryBoundedTopicModel):
        return {}
    arrays, plain = estimator.memory_to_arrays()
    return {"memory": plain, **{f"memory_{name}": array for name, array in arrays.items()}}


def run_clusters(outcome: Outcome) -> list[NewCluster]:
    """Return the image clusters, then the segment clusters, with their sizes."""
    T, K = outcome.proportions.shape
    return counted_clusters(outcome.labels, T) + counted_clusters(outcome.segment_labels, K, "segment")
