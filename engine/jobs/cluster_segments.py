"""Clusters the segments of images, and by them the images, and keeps the result as a run.

The run's `features` are the set of segments. It keeps what every run keeps of I images, of which T clusters were found
in J dives: image_ids, labels, probability (I,), group_ids (J,), weights (J, T). And of K segment clusters:

    segment_labels       (rows of the feature set,) int32; -1 where a segment's image was not clustered
    segment_probability  (rows of the feature set,) float32, of that label
    image_weights        (I, K) float32, shares of the segment clusters in each image, each row summing to 1
    proportions          (T, K) shares of the segment clusters in each image cluster, each row summing to 1

For gmc-segments, which finds no image clusters, T = K and an image has the label of the segment cluster that fills most
of it. `runs.clusters(run.id, "segment")` gives the sizes of the segment clusters, the summary their number as
`segment_clusters`. provenance["features"] tells of the segments, ["image_features"] of the descriptors of whole images;
if those were shortened before the fit, `image_axes` and `image_axes_centre` tell how.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.compute import Compute
from engine.jobs.context import JobContext
from engine.jobs.fit_request import Request, estimator_for, provenance
from engine.jobs.models import with_widths
from engine.jobs.segment_models import FITTING, Outcome, SegmentModel
from engine.jobs.segment_rows import SegmentRows, segment_rows, segment_set
from engine.jobs.trace import Trace
from engine.problems import fail
from engine.progress import Cancelled
from engine.workspace import NewCluster, NewRun, Run, Workspace
from engine.workspace.counting import counted_clusters

IMAGE_FEATURES = "deep"  # what describes whole images where nobody says


@dataclass(frozen=True)
class Wish:
    """What was asked for. `width` is that of image clusters, `features` the descriptors of whole images; a set of
    segments given in their place is taken for `segments`."""

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


def refuse_unsuited(model: str, hold_out: float, crowd: str | None) -> None:
    """What can be asked of models of whole images only."""
    if hold_out:
        raise fail("hold-out", f"{model} gives no density to score by", "leave hold-out away")
    if crowd:
        raise fail("crowd", f"{model} cannot be steered by what a crowd said of whole images", "choose gmc or vdp")


def cluster_segments(job: JobContext, workspace: Workspace, wish: Wish, compute: Compute) -> dict[str, Any]:
    """Fits the model and stores a run. Who cancels keeps the clusters found so far, as a run marked partial."""
    fitting = FITTING[wish.model]
    parameters = with_widths(wish.model, wish.width, wish.segment_width, wish.parameters)
    rows = _rows(workspace, wish, fitting)
    used = f"{rows.features.name} {rows.images.features.name}" if rows.images else rows.features.name
    name = wish.name or f"{wish.model} {used} {parameters['width']:g}"
    request = Request(wish.model, parameters, name, 0.0, wish.seed)
    run = _fitted_run(job, workspace, rows, request, fitting, compute)
    return {"run": run.id, "name": run.name, **run.summary}


def _rows(workspace: Workspace, wish: Wish, fitting: SegmentModel) -> SegmentRows:
    features, segments = wish.features, wish.segments
    if features in workspace.features and workspace.features.open(features).level == "segment":
        features, segments = IMAGE_FEATURES, segments or features
    wanted = features if fitting.wants_images else None
    return segment_rows(workspace, segment_set(workspace, segments), wanted, wish.collection, wish.dimensions)


def _fitted_run(job: JobContext, workspace: Workspace, rows: SegmentRows, request: Request, fitting: SegmentModel,
                compute: Compute) -> Run:
    began, trace, estimator = time.time(), Trace(job.on_step), estimator_for(request)
    partial = _stopped_early(job, estimator, rows, fitting, compute, trace)
    found = fitting.outcome(estimator, rows, compute)
    name = f"{request.name} (stopped early)" if partial else request.name
    new = NewRun(name, request.model, rows.features.name, dict(request.parameters),
                 provenance(request, estimator, began, trace, **rows.told), _summary(estimator, found, rows, partial))
    run = workspace.runs.add(new, _parts(estimator, found, rows), _clusters(found))
    if partial:
        job.log(f"stopped early; the clusters found so far are run {run.id}")
        raise Cancelled
    return run


def _stopped_early(job: JobContext, estimator: Any, rows: SegmentRows, fitting: SegmentModel, compute: Compute,
                   trace: Trace) -> bool:
    """Fits; True where somebody cancelled after the first clusters were found."""
    try:
        fitting.fit(estimator, rows, compute, trace.on_step, job)
    except Cancelled:
        if job.interrupted or not hasattr(estimator, fitting.learned):
            raise
        return True
    return False


def _summary(estimator: Any, found: Outcome, rows: SegmentRows, partial: bool) -> dict[str, Any]:
    return {"clusters": len(found.proportions), "segment_clusters": found.proportions.shape[1],
            "images": len(rows.image_ids), "segments": len(found.segment_labels), "partial": partial,
            "lower_bound": float(estimator.lower_bound_), "held_out": None,
            "converged": bool(estimator.converged_) and not partial}


def _parts(estimator: Any, found: Outcome, rows: SegmentRows) -> dict[str, Any]:
    arrays, told = estimator.to_arrays()
    axes = {f"image_{name}": array for name, array in rows.images.axes.items()} if rows.images else {}
    return {"image_ids": rows.image_ids, "labels": found.labels.astype(np.int32),
            "probability": found.probability.astype(np.float32), "group_ids": found.group_ids,
            "weights": found.weights, "proportions": found.proportions,
            "segment_labels": rows.aligned(found.segment_labels.astype(np.int32), -1),
            "segment_probability": rows.aligned(found.segment_probability.astype(np.float32), 0),
            "image_weights": found.image_weights.astype(np.float32), "model": told,
            **{f"model_{name}": array for name, array in arrays.items()}, **axes}


def _clusters(found: Outcome) -> list[NewCluster]:
    T, K = found.proportions.shape
    return counted_clusters(found.labels, T) + counted_clusters(found.segment_labels, K, "segment")
