"""The job that clusters a crowd's answers and stores a run: clusters of the judged images, and the criteria of each
worker.

Besides the arrays of every run (image_ids, labels, probability, group_ids, weights), it has positions (images x
dimensions), quality and school of each worker, and confusion (workers x clusters x clusters).
"""

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from benthoscope.engine.crowd import (
    BayesianCrowdClustering,
    FactorizationCrowdClustering,
    Judgements,
    informative_tasks,
)
from benthoscope.engine.exchange.crowd_answers import Numbered, numbered
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace import NewRun, Workspace
from benthoscope.engine.workspace.crowd.campaigns import further
from benthoscope.engine.workspace.crowd.records import Campaign
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares

Fitted = Mapping[str, np.ndarray]


def crowd(
    job: JobContext,
    workspace: Workspace,
    *,
    campaign: str,
    method: str = "bayes",
    clusters: int | None = None,
    name: str | None = None,
    seed: int = 0,
    more: int = 0,
) -> dict[str, Any]:
    """Cluster the answers of a campaign by "bayes" or "nmf". With `more`, adds this many tasks, chosen to be most
    informative, and excludes careless workers from further tasks."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    began, asked = time.time(), workspace.crowd.named(str(campaign))
    collection = collected(workspace, asked)
    for problem in collection.problems:
        job.log(str(problem))
    fitted, facts, model = METHODS[method](collection.judgements, clusters, seed, job)
    run = _store_run(
        workspace,
        asked,
        collection.judgements,
        name or f"crowd {asked.name}",
        method,
        fitted,
        facts,
        {"seed": seed, "began_at": began, "seconds": time.time() - began},
    )
    if more:
        _ask_further(workspace, asked, model, more, seed)
    return {"run": run.id, "name": run.name, "problems": len(collection.problems), **run.summary}


def collected(workspace: Workspace, asked: Campaign) -> Numbered:
    """Return all answers so far as judgements."""
    workers = len(workspace.crowd.workers(asked.id))
    encoded = numbered(workspace.crowd.answers(asked.id), len(asked.images), workers)
    if not len(encoded.judgements):
        raise fail(f"crowd campaign {asked.name}", "has no answers yet", "wait for answers")
    return encoded


def by_bayes(judgements: Judgements, clusters: int | None, seed: int, job: JobContext) -> tuple[Fitted, dict, Any]:
    model = BayesianCrowdClustering(n_clusters=clusters, random_state=seed).fit(judgements, on_step=job.on_step)
    sure = model.probabilities_.max(1) if model.n_clusters_ else np.zeros(len(model.labels_))
    arrays = {
        "labels": model.labels_,
        "probability": sure,
        "positions": model.positions_,
        "quality": model.worker_quality_,
        "looking": model.looking_,
        "schools": model.schools(),
        "confusion": model.confusion().normalised,
    }
    facts = {
        "lower_bound": float(model.lower_bound_),
        "gain": float(model.gain_),
        "dimensions": model.n_dimensions_,
        "evidence": {str(D): bound for D, bound in model.evidence_.items()},
    }
    return arrays, facts, model


def by_factors(judgements: Judgements, clusters: int | None, seed: int, job: JobContext) -> tuple[Fitted, dict, Any]:
    if clusters is None:
        raise fail("method nmf", "cannot estimate the number of clusters", "give it with --clusters, or use bayes")
    model = FactorizationCrowdClustering(clusters, random_state=seed).fit(judgements, on_step=job.on_step)
    share = model.items_ / np.maximum(model.items_.sum(1, keepdims=True), 1e-12)
    arrays = {
        "labels": model.labels_,
        "probability": share.max(1),
        "positions": model.items_,
        "confusion": np.clip(model.workers_, 0, 1),
    }
    return arrays, {"error": float(model.error_)}, model


METHODS: dict[str, Callable[..., tuple[Fitted, dict, Any]]] = {"bayes": by_bayes, "nmf": by_factors}


def _store_run(
    workspace: Workspace,
    asked: Campaign,
    judgements: Judgements,
    name: str,
    method: str,
    fitted: Fitted,
    facts: Mapping[str, Any],
    provenance: Mapping[str, Any],
):
    """Store the run of the judged images, in ascending order of their ids, as in all runs."""
    judged = np.flatnonzero(fitted["labels"] >= 0)
    judged = judged[np.argsort(asked.images[judged], kind="stable")]
    used, labels = np.unique(fitted["labels"][judged], return_inverse=True)
    ids, K = asked.images[judged], len(used)
    group_ids, weights = _of_groups(workspace, ids, labels, K)
    arrays = {
        "image_ids": ids,
        "labels": labels.astype(np.int32),
        "group_ids": group_ids,
        "weights": weights,
        "probability": fitted["probability"][judged].astype(np.float32),
        "positions": fitted["positions"][judged],
        "confusion": fitted["confusion"][:, used][:, :, used],
        **{key: fitted[key] for key in ("quality", "looking", "schools") if key in fitted},
    }
    summary = {
        "clusters": K,
        "images": len(ids),
        "judgements": len(judgements),
        "workers": judgements.n_workers,
        "campaign": asked.id,
        "partial": False,
        "converged": True,
        **facts,
    }
    new = NewRun(
        name,
        f"crowd-{method}",
        f"crowd campaign {asked.name}",
        {"method": method},
        {**provenance, "versions": {"benthoscope": version("benthoscope")}, "campaign": asked.name},
        summary,
    )
    return workspace.runs.add(new, arrays, counted_clusters(labels, K))


def _of_groups(workspace: Workspace, ids: np.ndarray, labels: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the dives of the images, and the proportions of each cluster in each dive."""
    dive = {image.id: image.group_id for image in workspace.library.images(ids.tolist())}
    return counted_shares(labels, np.array([dive[int(number)] for number in ids]), K)


def _ask_further(workspace: Workspace, asked: Campaign, model: Any, count: int, seed: int) -> None:
    if not isinstance(model, BayesianCrowdClustering):
        raise fail("further tasks", "need the method bayes", "remove --method nmf")
    tasks = informative_tasks(model, asked.settings.size, count, np.random.default_rng(seed))
    # excluded, because their answers carry no information
    workspace.crowd.stop(asked.id, np.flatnonzero(~model.looking_).tolist())
    further(workspace.crowd, asked, tasks)
