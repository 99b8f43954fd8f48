"""Splits one cluster of a run by the model: narrower clusters are looked for among its members alone."""

from typing import Any

import numpy as np

from engine.jobs.context import JobContext
from engine.labelling.arrangement import Arrangement, arrangement, split_in
from engine.mixtures import VDP
from engine.problems import fail
from engine.progress import Progress
from engine.workspace import Run, Workspace
from engine.workspace.events import standing

HALVINGS = 6  # of the width: below a sixtieth of it clusters are single images


def split_cluster(job: JobContext, workspace: Workspace, *, run: int, cluster: int, person: str, seed: int = 0
                  ) -> dict[str, Any]:
    """Parts the members of a cluster at the first width, halved each time, at which the model sees more than one; each
    new cluster is an act of this person, taken back like any other."""
    job.progress(0, HALVINGS, "reads the members")
    chosen = workspace.runs.get(run)
    members = _arranged(workspace, chosen).members(cluster)
    if len(members) < 4:
        raise fail(f"cluster {cluster}", f"has {len(members)} images", "choose one with four or more")
    parts, width = _parts(job, _rows(workspace, chosen, members), float(chosen.parameters.get("width", 0.05)), seed)
    if parts is None:
        raise fail(f"cluster {cluster}", "looks like one to the model at any width", "split it by hand or in two")
    who, now = workspace.people.named(person).id, _arranged(workspace, chosen)
    if not np.array_equal(now.members(cluster), members):
        raise fail(f"cluster {cluster}", "was changed meanwhile", "split it again")
    made = split_in(workspace.labels, who, now, cluster, parts, f"model, width {width:g}")
    return {"run": run, "cluster": cluster, "clusters": [cluster, *made], "width": width}


def _parts(job: JobContext, rows: np.ndarray, width: float, seed: int) -> tuple[np.ndarray | None, float]:
    """(part of every row, the largest first; the width); None where no width parts them."""
    for halving in range(HALVINGS):
        width /= 2

        def told(step: Progress, halving: int = halving, width: float = width) -> None:
            job.progress(halving, HALVINGS, f"width {width:.2g}: {step.message}")

        labels = VDP(width=width, random_state=seed).fit(rows, on_step=told).labels_
        sizes = np.bincount(labels)
        if (sizes > 0).sum() > 1:
            rank = np.empty(len(sizes), np.int64)
            rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
            return rank[labels], width
    return None, width


def _arranged(workspace: Workspace, run: Run) -> Arrangement:
    return arrangement(run.id, np.asarray(run.array("image_ids")), np.asarray(run.array("labels")),
                       standing(workspace.labels.events()))


def _rows(workspace: Workspace, run: Run, members: np.ndarray) -> np.ndarray:
    found = workspace.features.open(run.features)
    order = np.argsort(found.image_ids)
    place = order[np.searchsorted(found.image_ids, members, sorter=order)]
    return np.asarray(found.X[np.sort(place)], np.float64)[np.argsort(np.argsort(place))]
