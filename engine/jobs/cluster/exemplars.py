"""The job that chooses the exemplars of a run: a few images that represent each cluster, stored beside the run.

`exemplars.npy` is a (clusters, 9) int64 table of image ids, most representative first, -1 for missing ones.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benthoscope.engine.analysis import cluster_exemplars
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import Cancelled, OnStep, Progress, ignore
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.features import FeatureSet
from benthoscope.engine.workspace.storage.files import replacing


def exemplars(job: JobContext, workspace: Workspace, *, run: int | None = None) -> dict[str, Any]:
    """Choose and store the exemplars of a run, the current one by default. Stored ones are replaced."""
    chosen = run_of_exemplars(workspace, run)
    table = store_exemplars(workspace, chosen, job.on_step)
    return {"run": chosen.id, "name": chosen.name, "clusters": len(table), "images": int((table >= 0).sum())}


def run_of_exemplars(workspace: Workspace, run: int | None) -> Run:
    """Return the run with this id, or the current one; BadInput if it has no clusters of images or no features."""
    chosen = workspace.runs.current() if run is None else workspace.runs.get(run)
    if chosen is None:
        raise fail("exemplars", "there is no run", "cluster the images first")
    if image_features_of(workspace, chosen) is None:
        raise fail("exemplars", "no feature set of whole images is stored", "run `benthoscope features` first")
    return chosen


def store_exemplars(workspace: Workspace, run: Run, on_step: OnStep = ignore) -> np.ndarray:
    """Choose the exemplars of a run and store them beside it. Returns the table of image ids."""
    ids, labels = np.asarray(run.array("image_ids")), np.array(run.array("labels"))
    labels[_changed_since(workspace, run, ids)] = -1
    clusters = int(run.summary.get("clusters", labels.max(initial=-1) + 1))
    features = image_features_of(workspace, run)
    assert features is not None  # `run_of_exemplars` refuses a run without features
    table = exemplar_ids(features, ids, labels, clusters, on_step)
    write_exemplars(run, table)
    return table


def exemplar_ids(
    features: FeatureSet, image_ids: np.ndarray, labels: np.ndarray, clusters: int, on_step: OnStep = ignore
) -> np.ndarray:
    """Return the ids (clusters, 9) of the images that represent each cluster. `labels` are those of `image_ids`; -1
    means no cluster."""
    row_ids = np.asarray(features.image_ids)
    order = np.argsort(image_ids)
    position = np.searchsorted(image_ids, row_ids, sorter=order)
    known = position < len(image_ids)
    known[known] = image_ids[order[position[known]]] == row_ids[known]
    row_labels = np.full(len(row_ids), -1, np.int64)
    row_labels[known] = labels[order[position[known]]]
    rows = cluster_exemplars(features.X, row_labels, clusters, on_step=on_step)
    return np.where(rows >= 0, row_ids[rows], -1)


def exemplars_unless_cancelled(
    job: JobContext, features: FeatureSet, image_ids: np.ndarray, labels: np.ndarray, clusters: int
) -> np.ndarray | None:
    """Choose exemplars before a clustering job stores its run. If the job is cancelled now, the run is stored without
    them."""

    def on_step(step: Progress) -> None:
        job.progress(step.done, step.total, f"exemplars: {step.message}")

    try:
        return exemplar_ids(features, image_ids, labels, clusters, on_step)
    except Cancelled:
        if job.interrupted:
            raise
        return None


def write_exemplars(run: Run, table: np.ndarray) -> None:
    with replacing(_path(run)) as file:
        np.save(file, table.astype(np.int64), allow_pickle=False)


def read_exemplars(run: Run) -> np.ndarray | None:
    """Return the stored table of image ids; None if no exemplars were chosen yet, or the file is damaged."""
    try:
        return np.load(_path(run), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None


def has_exemplars(run: Run) -> bool:
    return read_exemplars(run) is not None


def image_features_of(workspace: Workspace, run: Run) -> FeatureSet | None:
    """Return the whole-image features of the run; if it has none or they are missing, any existing ones."""
    names = [name for name in (run.features, *workspace.features.names()) if name in workspace.features]
    return next((each for each in map(workspace.features.open, names) if each.level == "image"), None)


def _changed_since(workspace: Workspace, run: Run, image_ids: np.ndarray) -> np.ndarray:
    """Return which images' files were replaced after the run read its features (n,) bool."""
    replaced = workspace.library.replaced_images()
    ids = [number for number, (_, changed_at) in replaced.items() if changed_at > run.began_at]
    return np.isin(image_ids, np.array(ids, np.int64))


def _path(run: Run) -> Path:
    return run.folder / "exemplars.npy"
