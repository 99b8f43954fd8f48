"""The job that clusters the images of a workspace and stores the result as a run.

A run has arrays in a common row order: image_ids, labels, probability (of the label). For the groups it has group_ids
and weights (groups x clusters). It also has the arrays of the model, which allow to predict new images.

Images that a model leaves without a cluster form one more cluster, the last one, with the name "Without cluster". So
every page shows them, and a comparison or a measure of purity cannot overlook them.
"""

import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from benthoscope.engine.compute import Compute, computing_on
from benthoscope.engine.jobs.cluster.cluster_segments import SegmentClusterRequest, cluster_segments, refuse_unsuited
from benthoscope.engine.jobs.cluster.exemplars import exemplars_unless_cancelled, write_exemplars
from benthoscope.engine.jobs.cluster.fit_request import FitRequest, Trace, estimator_for, fit_summary, provenance
from benthoscope.engine.jobs.cluster.inputs import Rows, chosen_rows, errors_name_images, narrowed
from benthoscope.engine.jobs.cluster.levels import PlannedLevels
from benthoscope.engine.jobs.cluster.model_catalog import (
    compares_pairs,
    learns_from_stream,
    looks_at_segments,
    with_width,
)
from benthoscope.engine.jobs.cluster.streamed_rows import refuse_for_stream, streamed_rows, values_for_levels
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.durations import pair_work, record, row_work
from benthoscope.engine.mixtures import BayesianMixture
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import Cancelled
from benthoscope.engine.streaming import BudgetWarning, round_work
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares

if TYPE_CHECKING:
    from benthoscope.engine.jobs.cluster.constrained import Steering


def cluster(
    job: JobContext,
    workspace: Workspace,
    *,
    model: str = "gmc",
    features: str = "deep",
    width: float = 0.05,
    collection: str | None = None,
    name: str | None = None,
    hold_out: float = 0.0,
    seed: int = 0,
    dimensions: int | None = None,
    scheduler: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    crowd: str | None = None,
    segments: str | None = None,
    segment_width: float | None = None,
    levels: bool = True,
) -> dict[str, Any]:
    """Fit the model and store a run. If the job is cancelled, the clusters found so far are stored as a partial run.

    Models of segments also use the feature set `segments`; see engine.jobs.cluster.cluster_segments for their runs.
    `dimensions` is the number of dimensions with the largest variance; by default as many as the number of images
    supports. With `crowd`, the run of a crowd's answers, the fit uses the axes that separate what people keep apart.
    With `levels`, finer and coarser levels are stored with the run.
    """
    began, resumed = time.monotonic(), job.load_checkpoint() is not None
    job.progress(0, None, "reading the features")
    if looks_at_segments(model):
        segment_request = SegmentClusterRequest(
            model,
            features,
            segments,
            width,
            segment_width,
            collection,
            name,
            seed,
            dimensions,
            dict(parameters or {}),
            levels,
        )
        refuse_unsuited(model, hold_out, crowd)
        with computing_on(scheduler) as compute:
            result = cluster_segments(job, workspace, segment_request, compute)
        if not resumed:
            described = workspace.features.open(workspace.runs.get(result["run"]).features).sidecar
            record("cluster", model, row_work(result["segments"], described.width), time.monotonic() - began)
        return result
    if learns_from_stream(model):
        refuse_for_stream(model, hold_out, crowd)
        rows, steering = streamed_rows(workspace, features, collection, dimensions), None
    else:
        rows, steering = _steered(workspace, chosen_rows(workspace, features, collection), crowd, dimensions)
    chosen = with_width(model, width, dict(parameters or {}))
    title = f"{model} {features} {width:g}" if "width" in chosen else f"{model} {features}"
    title = f"{title}, {chosen['n_clusters']} clusters" if model == "kmeans" and "n_clusters" in chosen else title
    title = f"{title}, steered by {steering.run.name}" if steering else title
    request = FitRequest(model, chosen, name or title, share(hold_out), seed, steering)
    with computing_on(scheduler) as compute:
        run, added = _fitted_run(job, workspace, rows, request, compute, levels)
    if not resumed and not hold_out and not scheduler:
        _record_time(request, rows, time.monotonic() - began)
    return {"run": run.id, "name": run.name, **run.summary, "levels": added}


def _record_time(request: FitRequest, rows: Rows, seconds: float) -> None:
    count, width = rows.values.shape
    if compares_pairs(request.model):
        record("cluster pairs", request.model, pair_work(count, width), seconds)
    elif learns_from_stream(request.model):
        record("cluster in rounds", request.model, round_work(estimator_for(request), width, count), seconds)
    else:
        record("cluster", request.model, row_work(count, width), seconds)


def _steered(
    workspace: Workspace, rows: Rows, crowd: str | None, dimensions: int | None
) -> tuple[Rows, "Steering | None"]:
    if not crowd:
        return narrowed(rows, dimensions), None
    from benthoscope.engine.jobs.cluster.constrained import steering_by, turned

    steering = steering_by(workspace, crowd, rows)
    return turned(rows, steering, dimensions), steering


def _fitted_run(
    job: JobContext, workspace: Workspace, rows: Rows, request: FitRequest, compute: Compute, levels: bool
) -> tuple[Run, dict[str, Any]]:
    began, trace = time.time(), Trace(job.on_step)
    estimator = estimator_for(request)
    refuse_for_distances(estimator, request.model, request.hold_out, request.steering is not None)
    held_out = _held_out_score(rows, request, compute, trace) if request.hold_out else None
    partial = _stopped_early(job, estimator, rows, compute, trace)
    arrays = results(estimator, rows, compute, request.steering)
    unclustered = int((arrays["labels"] == estimator.n_clusters_).sum())
    summary: dict[str, Any] = {
        "clusters": int(estimator.n_clusters_) + bool(unclustered),
        "images": len(rows.image_ids),
        "held_out": held_out,
        **fit_summary(estimator, partial),
        **({"unclustered": unclustered} if unclustered else {}),
    }
    if request.steering:
        summary["crowd"] = request.steering.to_dict(arrays["labels"])
    origin = provenance(request, estimator, began, trace, features=rows.provenance)
    new = request.new_run(rows.features.name, origin, summary)
    clusters = summary["clusters"]
    exemplars = exemplars_unless_cancelled(job, rows.features, rows.image_ids, arrays["labels"], clusters)
    values = values_for_levels(rows)
    if levels and values is None:
        job.log("no finer and coarser clusters: they need all rows in memory, and there are too many")
    planned = PlannedLevels(job, values, arrays["labels"], levels and not partial and values is not None)
    planned.compute(request.parameters, clusters, unclustered)
    run = workspace.runs.add(new, arrays, counted_clusters(arrays["labels"], clusters, unclustered=unclustered))
    if exemplars is not None:
        write_exemplars(run, exemplars)
    if partial:
        job.log(f"stopped early; the clusters found so far are stored as run {run.id}")
        raise Cancelled
    return run, planned.store(workspace, run, rows.image_ids)


def _stopped_early(job: JobContext, estimator: BayesianMixture, rows: Rows, compute: Compute, trace: Trace) -> bool:
    """Fit the model. Returns True if the job was cancelled after the first clusters were found."""
    try:
        with errors_name_images(rows.features, rows.image_ids), warnings.catch_warnings():
            warnings.simplefilter("ignore", BudgetWarning)  # the result of the job says which limits were reached
            estimator.fit(rows.source, groups=rows.groups, compute=compute, on_step=trace.on_step, checkpoint=job)
    except Cancelled:
        if job.interrupted or not hasattr(estimator, "mixture_"):
            raise
        return True
    return False


def results(
    estimator: BayesianMixture,
    rows: Rows,
    compute: Compute,
    steering: "Steering | None" = None,
) -> dict[str, Any]:
    """Return the arrays of a run from a fitted estimator. Images without a cluster get the number after the last
    cluster. Images with crowd answers get the cluster that the answers support."""
    labels, probability = estimator.assign(rows.source, rows.groups, compute=compute)
    clusters = int(estimator.n_clusters_)
    if not clusters:
        raise fail(
            "clusters",
            f"the model leaves all {len(labels):,} images without a cluster",
            "use a smaller min_cluster_size or min_samples, or another model",
        )
    labels = np.where(labels < 0, clusters, labels)
    if steering:
        labels, probability = labels.copy(), probability.copy()
        labels[steering.row_numbers], probability[steering.row_numbers] = steering.members(
            memberships(estimator, rows.values[steering.row_numbers], rows.groups[steering.row_numbers])
        )
    group_ids = np.asarray(estimator.groups_) if estimator._sees_groups else np.unique(rows.groups)
    arrays, metadata = estimator.to_arrays()
    return {
        "image_ids": rows.image_ids,
        "labels": labels.astype(np.int32),
        "probability": probability.astype(np.float32),
        "group_ids": group_ids,
        "weights": shares(labels, rows.groups, estimator),
        "model": metadata,
        **{f"model_{name}": array for name, array in arrays.items()},
        **rows.axes,
    }


def memberships(estimator: BayesianMixture, values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the cluster probabilities (n, K) of some rows, for any model."""
    return estimator.predict_proba(values, groups) if estimator._sees_groups else estimator.predict_proba(values)


def shares(labels: np.ndarray, groups: np.ndarray, estimator: BayesianMixture) -> np.ndarray:
    """Return the proportions of each dive (groups, clusters), from the model or, if it ignores dives, by counting."""
    if estimator._sees_groups:
        return np.asarray(estimator.weights_)
    return counted_shares(labels, groups, max(estimator.n_clusters_, int(labels.max()) + 1))[1]


def _held_out_score(rows: Rows, request: FitRequest, compute: Compute, trace: Trace) -> float:
    """Return the mean log density of held-out images under a model of the others. Comparable between widths and
    models."""
    X = rows.values
    aside = np.random.default_rng(request.seed).random(len(X)) < request.hold_out
    if aside.all() or not aside.any():
        raise fail(
            "hold-out",
            f"a share of {request.hold_out:g} of {len(X)} images leaves no images on one side",
            "use a share of about 0.1",
        )
    estimator = estimator_for(request)
    trace.stage = "without the held-out images: "
    with errors_name_images(rows.features, rows.image_ids[~aside]):
        estimator.fit(X[~aside], groups=rows.groups[~aside], compute=compute, on_step=trace.on_step)
    trace.stage = ""
    with errors_name_images(rows.features, rows.image_ids[aside]):
        return float(estimator.score(X[aside], groups=rows.groups[aside]))


def refuse_for_distances(estimator: Any, model: str, hold_out: float, steered: bool) -> None:
    """Raise for options that need densities or probabilities of a model without them."""
    if hold_out and not hasattr(estimator, "score"):
        raise fail("hold-out", f"{model} has no density for scoring", "do not use hold-out")
    if steered and not hasattr(estimator, "predict_proba"):
        raise fail("crowd", f"{model} cannot be steered by the answers of a crowd", "use another model, such as gmc")


def share(value: float) -> float:
    """Return the hold-out share; BadInput if it is invalid."""
    if not 0 <= value < 1:
        raise fail("hold-out", f"must be at least 0 and below 1 (got {value:g})")
    return value
