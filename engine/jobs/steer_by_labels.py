"""Clusters again, steered by labels: what has different names is kept apart, and the model goes on from there."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.jobs.context import JobContext
from engine.jobs.rows import Rows, chosen_rows, narrowed
from engine.labelling.steering import NO_TERM, joined_by_term, kept_apart, mixed
from engine.mixtures import GMC, MODELS, BayesianMixture
from engine.problems import fail
from engine.workspace import NewRun, Run, Workspace
from engine.workspace.counting import counted_clusters, counted_shares


@dataclass(frozen=True)
class Material:
    """The rows of a run's images, the cluster it gave each, and the term each has now (0 for none)."""

    run: Run
    rows: Rows
    clusters: np.ndarray
    terms: np.ndarray


def steer(job: JobContext, workspace: Workspace, *, run: int | None = None, name: str | None = None, seed: int = 0
          ) -> dict[str, Any]:
    """Stores a run of the same model that begins with the clusters of a run (the current one), parted where they hold
    images of different terms, and is searched on from there. What the fit mixes up again is parted again, so that no
    cluster of the new run holds two terms."""
    job.progress(0, None, "reads the run and the labels")
    found = _material(workspace, run)
    before = len(mixed(found.clusters, found.terms))
    start = kept_apart(found.rows.values, found.clusters, found.terms)
    estimator = _estimator(found.run, seed)
    estimator.fit(found.rows.values, found.rows.groups, start=start, on_step=job.on_step)
    fitted, probability = estimator.assign(found.rows.values, found.rows.groups)
    labels = kept_apart(found.rows.values, fitted, found.terms)
    parted = labels != np.unique(fitted, return_inverse=True)[1]
    named = joined_by_term(labels, found.terms)
    made = _stored(workspace, found, labels, np.where(parted, 1.0, probability), name, {
        "mixed_before": before, "parted_after": int(labels.max() - fitted.max()), "named": len(named), "seed": seed})
    return {"run": made.id, "name": made.name, **made.summary, "mixed_before": before, "named": len(named)}


def _estimator(run: Run, seed: int) -> BayesianMixture:
    """Of the run's own kind where that can begin with given clusters; else a grouped mixture."""
    if run.model in MODELS:
        return MODELS[run.model](**{**run.parameters, "random_state": seed})
    return GMC(random_state=seed)


def _material(workspace: Workspace, run: int | None) -> Material:
    chosen = workspace.runs.current() if run is None else workspace.runs.get(run)
    if chosen is None:
        raise fail("steer", "there is no run to begin with", "cluster the images first")
    rows = narrowed(chosen_rows(workspace, chosen.features))
    clusters = _by_id(rows.image_ids, np.asarray(chosen.array("image_ids")), np.asarray(chosen.array("labels")), -1)
    terms = _by_id(rows.image_ids, *workspace.labels.current_terms(), NO_TERM)
    if len(np.unique(terms[terms != NO_TERM])) < 2:
        raise fail("steer", "there are no labels of two terms", "label some images of two terms first")
    clusters[clusters < 0] = 0  # images added since: the fit finds their place
    return Material(chosen, rows, np.unique(clusters, return_inverse=True)[1], terms)


def _by_id(wanted: np.ndarray, ids: np.ndarray, values: np.ndarray, otherwise: int) -> np.ndarray:
    """The value of each wanted id."""
    found = np.full(len(wanted), otherwise, np.int64)
    order = np.argsort(ids)
    place = np.minimum(np.searchsorted(ids, wanted, sorter=order), max(len(ids) - 1, 0))
    if len(ids):
        known = ids[order[place]] == wanted
        found[known] = values[order[place[known]]]
    return found


def _stored(workspace: Workspace, found: Material, labels: np.ndarray, probability: np.ndarray, name: str | None,
            steering: dict[str, Any]) -> Run:
    """Its mixtures are counted: clusters parted after the fit are in no model."""
    count = int(labels.max()) + 1
    groups, shares = counted_shares(labels, found.rows.groups, count)
    parts = {"image_ids": found.rows.image_ids, "labels": labels.astype(np.int32),
             "probability": probability.astype(np.float32), "group_ids": groups,
             "weights": shares}
    new = NewRun(name or f"{found.run.name}, steered by labels", found.run.model, found.run.features,
                 dict(found.run.parameters), {**found.run.provenance, "steered_from": found.run.id, "labels": steering},
                 {**found.run.summary, "clusters": count, "images": len(labels), "derived": True})
    return workspace.runs.add(new, parts, counted_clusters(labels, count))
