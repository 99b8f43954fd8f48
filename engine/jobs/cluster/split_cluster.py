"""Split one cluster of a run automatically: cluster its members with smaller widths."""

from typing import Any

import numpy as np

from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.labelling.cluster_edits import current_arrangement, features_of_images, split_in
from benthoscope.engine.mixtures import VDP
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import Progress
from benthoscope.engine.workspace import Run, Workspace

HALVINGS = 6  # number of times the width is halved; below a sixtieth of it, clusters consist of single images


def split_cluster(
    job: JobContext, workspace: Workspace, *, run: int, cluster: int, person: str, seed: int = 0
) -> dict[str, Any]:
    """Split the members of a cluster at the first width, halved each time, at which the model finds more than one
    cluster. Each new cluster is an event of this person and can be undone."""
    job.progress(0, HALVINGS, "reading the members")
    chosen = workspace.runs.get(run)
    members = members_to_split(workspace, chosen, cluster)
    labels, width = _split_labels(
        job,
        features_of_images(workspace, chosen, members).astype(np.float64),
        float(chosen.parameters.get("width", 0.05)),
        seed,
    )
    if labels is None:
        raise fail(f"cluster {cluster}", "is a single cluster for the model at any width", "split it by hand or in two")
    person_id, arranged = workspace.people.named(person).id, current_arrangement(workspace, chosen)
    if not np.array_equal(arranged.members(cluster), members):
        raise fail(f"cluster {cluster}", "has changed in the meantime", "split it again")
    made = split_in(workspace.labels, person_id, arranged, cluster, labels, f"model, width {width:g}")
    return {"run": run, "cluster": cluster, "clusters": [cluster, *made], "width": width}


def members_to_split(workspace: Workspace, run: Run, cluster: int) -> np.ndarray:
    """Return the images of the cluster; BadInput if there are too few to split."""
    members = current_arrangement(workspace, run).members(cluster)
    if len(members) < 4:
        raise fail(f"cluster {cluster}", f"has only {len(members)} images", "choose a cluster with four or more")
    return members


def _split_labels(job: JobContext, rows: np.ndarray, width: float, seed: int) -> tuple[np.ndarray | None, float]:
    """Return (part of each row, largest first; the width); None if no width splits them."""
    for halving in range(HALVINGS):
        width /= 2

        def report(step: Progress, halving: int = halving, width: float = width) -> None:
            job.progress(halving, HALVINGS, f"width {width:.2g}: {step.message}")

        labels = VDP(width=width, random_state=seed).fit(rows, on_step=report).labels_
        sizes = np.bincount(labels)
        if (sizes > 0).sum() > 1:
            rank = np.empty(len(sizes), np.int64)
            rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
            return rank[labels], width
    return None, width
