"""What a crowd said becomes a run: clusters of the images asked about, and what each worker goes by.

Beside what every run keeps (image_ids, labels, probability, group_ids, weights), a crowd's run keeps positions
(images x dimensions), quality and school of each worker, and confusion (workers x clusters x clusters).
"""

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from engine.crowd import BayesianCrowdClustering, FactorizationCrowdClustering, Judgements, informative_tasks
from engine.exchange.judgements import Numbered, numbered
from engine.jobs.context import JobContext
from engine.problems import fail, unknown
from engine.workspace import NewRun, Workspace
from engine.workspace.counting import counted_clusters, counted_shares
from engine.workspace.crowd_asking import further
from engine.workspace.crowd_records import Campaign

Fitted = Mapping[str, np.ndarray]


def crowd(job: JobContext, workspace: Workspace, *, campaign: str, method: str = "bayes", clusters: int | None = None,
          name: str | None = None, seed: int = 0, more: int = 0) -> dict[str, Any]:
    """Clusters what a campaign's people said, by "bayes" or "nmf". With `more`, asks for so many further tasks, chosen
    by what is least sure, and those who do not look no further."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    began, asked = time.time(), workspace.crowd.named(str(campaign))
    told = collected(workspace, asked)
    for problem in told.problems:
        job.log(str(problem))
    found, facts, model = METHODS[method](told.judgements, clusters, seed, job)
    run = _kept(workspace, asked, told.judgements, name or f"crowd {asked.name}", method, found, facts,
                {"seed": seed, "began_at": began, "seconds": time.time() - began})
    if more:
        _ask_further(workspace, asked, model, more, seed)
    return {"run": run.id, "name": run.name, "problems": len(told.problems), **run.summary}


def collected(workspace: Workspace, asked: Campaign) -> Numbered:
    """What everybody said so far, as judgements."""
    workers = len(workspace.crowd.workers(asked.id))
    told = numbered(workspace.crowd.answers(asked.id), len(asked.images), workers)
    if not len(told.judgements):
        raise fail(f"crowd campaign {asked.name}", "has no answers yet", "wait for some")
    return told


def by_bayes(judgements: Judgements, clusters: int | None, seed: int, job: JobContext) -> tuple[Fitted, dict, Any]:
    model = BayesianCrowdClustering(n_clusters=clusters, random_state=seed).fit(judgements, on_step=job.on_step)
    sure = model.probabilities_.max(1) if model.n_clusters_ else np.zeros(len(model.labels_))
    found = {"labels": model.labels_, "probability": sure, "positions": model.positions_,
             "quality": model.worker_quality_, "looking": model.looking_, "schools": model.schools(),
             "confusion": model.confusion().normalised}
    facts = {"lower_bound": float(model.lower_bound_), "gain": float(model.gain_), "dimensions": model.n_dimensions_,
             "evidence": {str(D): bound for D, bound in model.evidence_.items()}}
    return found, facts, model


def by_factors(judgements: Judgements, clusters: int | None, seed: int, job: JobContext) -> tuple[Fitted, dict, Any]:
    if clusters is None:
        raise fail("method nmf", "does not find the number of clusters", "say how many with --clusters, or use bayes")
    model = FactorizationCrowdClustering(clusters, random_state=seed).fit(judgements, on_step=job.on_step)
    share = model.items_ / np.maximum(model.items_.sum(1, keepdims=True), 1e-12)
    found = {"labels": model.labels_, "probability": share.max(1), "positions": model.items_,
             "confusion": np.clip(model.workers_, 0, 1)}
    return found, {"error": float(model.error_)}, model


METHODS: dict[str, Callable[..., tuple[Fitted, dict, Any]]] = {"bayes": by_bayes, "nmf": by_factors}


def _kept(workspace: Workspace, asked: Campaign, judgements: Judgements, name: str, method: str, found: Fitted,
          facts: Mapping[str, Any], provenance: Mapping[str, Any]):
    """The run of the images somebody judged, in ascending order of their ids as runs have it."""
    judged = np.flatnonzero(found["labels"] >= 0)
    judged = judged[np.argsort(asked.images[judged], kind="stable")]
    used, labels = np.unique(found["labels"][judged], return_inverse=True)
    ids, K = asked.images[judged], len(used)
    group_ids, weights = _of_groups(workspace, ids, labels, K)
    parts = {"image_ids": ids, "labels": labels.astype(np.int32), "group_ids": group_ids, "weights": weights,
             "probability": found["probability"][judged].astype(np.float32), "positions": found["positions"][judged],
             "confusion": found["confusion"][:, used][:, :, used],
             **{key: found[key] for key in ("quality", "looking", "schools") if key in found}}
    summary = {"clusters": K, "images": len(ids), "judgements": len(judgements), "workers": judgements.n_workers,
               "campaign": asked.id, "partial": False, "converged": True, **facts}
    before = workspace.runs.current()
    new = NewRun(name, f"crowd-{method}", f"crowd campaign {asked.name}", {"method": method}, {
        **provenance, "versions": {"benthoscope": version("benthoscope")}, "campaign": asked.name}, summary)
    kept = workspace.runs.add(new, parts, counted_clusters(labels, K))
    if before is not None and before.summary.get("campaign") is None:
        workspace.runs.choose(before.id)  # a clustering of all images gives way only when somebody says so
    return kept


def _of_groups(workspace: Workspace, ids: np.ndarray, labels: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray]:
    """The dives the images are of, and the share of each cluster in each."""
    dive = {image.id: image.group_id for image in workspace.library.images(ids.tolist())}
    return counted_shares(labels, np.array([dive[int(number)] for number in ids]), K)


def _ask_further(workspace: Workspace, asked: Campaign, model: Any, more: int, seed: int) -> None:
    if not isinstance(model, BayesianCrowdClustering):
        raise fail("further tasks", "are chosen by the method bayes only", "leave out --method nmf")
    tasks = informative_tasks(model, asked.settings.size, more, np.random.default_rng(seed))
    workspace.crowd.stop(asked.id, np.flatnonzero(~model.looking_))  # what they would say is known: nothing
    further(workspace.crowd, asked, tasks)
