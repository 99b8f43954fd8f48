"""Clusters the images of a workspace and keeps the result as a run.

A run keeps, row by row of the same order: image_ids, labels, probability (of that label); and for the groups
group_ids and weights (groups x clusters); and the model's own arrays, by which new images can be told apart.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.compute import Compute, compute_on
from engine.jobs.cluster_segments import Wish, cluster_segments, refuse_unsuited
from engine.jobs.context import JobContext
from engine.jobs.fit_request import Request, estimator_for, provenance
from engine.jobs.models import looks_at_segments, with_width
from engine.jobs.rows import Rows, chosen_rows, narrowed
from engine.jobs.trace import Trace
from engine.mixtures import BayesianMixture
from engine.problems import fail
from engine.progress import Cancelled
from engine.workspace import NewRun, Run, Workspace
from engine.workspace.counting import counted_clusters, counted_shares

if TYPE_CHECKING:
    from engine.jobs.steering import Steering


def cluster(
    job: JobContext, workspace: Workspace, *, model: str = "gmc", features: str = "deep", width: float = 0.05,
    collection: str | None = None, name: str | None = None, hold_out: float = 0.0, seed: int = 0,
    dimensions: int | None = None, scheduler: str | None = None, parameters: Mapping[str, Any] | None = None,
    crowd: str | None = None, segments: str | None = None, segment_width: float | None = None,
) -> dict[str, Any]:
    """Fits the model and stores a run. Who cancels keeps the clusters found so far, as a run marked partial.

    Models of segments look at the set `segments` as well; engine.jobs.cluster_segments says what their runs keep.
    `dimensions` of largest variance are looked at; by default as many as the number of images can support. With
    `crowd`, the run of a crowd's answers, those along which images differ that people keep apart.
    """
    job.progress(0, None, "reads the features")
    if looks_at_segments(model):
        wish = Wish(model, features, segments, width, segment_width, collection, name, seed, dimensions,
                    dict(parameters or {}))
        refuse_unsuited(model, hold_out, crowd)
        return cluster_segments(job, workspace, wish, compute_on(scheduler))
    rows, steering = _steered(workspace, chosen_rows(workspace, features, collection), crowd, dimensions)
    chosen = with_width(model, width, dict(parameters or {}))
    told = f"{model} {features} {width:g}" if "width" in chosen else f"{model} {features}"
    told = f"{told}, steered by {steering.run.name}" if steering else told
    request = Request(model, chosen, name or told, _share(hold_out), seed, steering)
    run = _fitted_run(job, workspace, rows, request, compute_on(scheduler))
    return {"run": run.id, "name": run.name, **run.summary}


def _steered(workspace: Workspace, rows: Rows, crowd: str | None,
             dimensions: int | None) -> tuple[Rows, "Steering | None"]:
    if not crowd:
        return narrowed(rows, dimensions), None
    from engine.jobs.steering import steering_by, turned  # brings scikit-learn, which nobody else here pays for

    steering = steering_by(workspace, crowd, rows)
    return turned(rows, steering, dimensions), steering


def _fitted_run(job: JobContext, workspace: Workspace, rows: Rows, request: Request, compute: Compute) -> Run:
    began, trace = time.time(), Trace(job.on_step)
    held_out = _held_out_score(rows, request, compute, trace) if request.hold_out else None
    estimator = estimator_for(request)
    partial = _stopped_early(job, estimator, rows, compute, trace)
    parts = results(estimator, rows, compute, request.steering)
    summary = {"clusters": int(estimator.n_clusters_), "images": len(rows.image_ids), "partial": partial,
               "lower_bound": float(estimator.lower_bound_), "held_out": held_out,
               "converged": bool(estimator.converged_) and not partial}
    if request.steering:
        summary["crowd"] = request.steering.told(parts["labels"])
    name = f"{request.name} (stopped early)" if partial else request.name
    new = NewRun(name, request.model, rows.features.name, dict(request.parameters),
                 provenance(request, estimator, began, trace, features=rows.told), summary)
    run = workspace.runs.add(new, parts, counted_clusters(parts["labels"], summary["clusters"]))
    if partial:
        job.log(f"stopped early; the clusters found so far are run {run.id}")
        raise Cancelled
    return run


def _stopped_early(job: JobContext, estimator: BayesianMixture, rows: Rows, compute: Compute, trace: Trace) -> bool:
    """Fits; True where somebody cancelled after the first clusters were found."""
    try:
        estimator.fit(rows.source, rows.groups, compute=compute, on_step=trace.on_step, checkpoint=job)
    except Cancelled:
        if job.interrupted or not hasattr(estimator, "mixture_"):
            raise
        return True
    return False


def results(estimator: BayesianMixture, rows: Rows, compute: Compute, steering: "Steering | None" = None,
            ) -> dict[str, Any]:
    """What a run keeps of a fitted estimator; images a crowd was asked about are where it says, of those clusters."""
    labels, probability = estimator.assign(rows.source, rows.groups, compute=compute)
    if steering:
        labels, probability = labels.copy(), probability.copy()
        labels[steering.places], probability[steering.places] = steering.members(
            memberships(estimator, rows.values[steering.places], rows.groups[steering.places]))
    group_ids = np.asarray(estimator.groups_) if estimator._sees_groups else np.unique(rows.groups)
    arrays, told = estimator.to_arrays()
    return {"image_ids": rows.image_ids, "labels": labels.astype(np.int32),
            "probability": probability.astype(np.float32), "group_ids": group_ids,
            "weights": shares(labels, rows.groups, estimator), "model": told,
            **{f"model_{name}": array for name, array in arrays.items()}, **rows.axes}


def memberships(estimator: BayesianMixture, values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(n, K) of some rows, whatever the model."""
    return estimator.predict_proba(values, groups) if estimator._sees_groups else estimator.predict_proba(values)


def shares(labels: np.ndarray, groups: np.ndarray, estimator: BayesianMixture) -> np.ndarray:
    """(groups, clusters): the mixture of each dive, by the model or, where it sees no dives, by counting."""
    if estimator._sees_groups:
        return np.asarray(estimator.weights_)
    return counted_shares(labels, groups, estimator.n_clusters_)[1]


def _held_out_score(rows: Rows, request: Request, compute: Compute, trace: Trace) -> float:
    """Mean log density of images kept aside, under a model of the others: comparable between widths and models."""
    X = rows.values
    aside = np.random.default_rng(request.seed).random(len(X)) < request.hold_out
    if aside.all() or not aside.any():
        raise fail("hold-out", f"{request.hold_out:g} of {len(X)} images leaves none on one side", "choose 0.1 or so")
    estimator = estimator_for(request)
    if not hasattr(estimator, "score"):
        raise fail("hold-out", f"{request.model} gives no density to score by", "leave hold-out away")
    trace.stage = "without the images held out: "
    estimator.fit(X[~aside], rows.groups[~aside], compute=compute, on_step=trace.on_step)
    trace.stage = ""
    return float(estimator.score(X[aside], rows.groups[aside]))


def _share(value: float) -> float:
    if not 0 <= value < 1:
        raise fail("hold-out", f"{value:g} is no share", "give a number from 0 up to, not including, 1")
    return value


