"""Compute the finer and the coarser level of a clustering and store them as runs that belong to it.

The coarser level joins clusters of the run whose images are neighbours. Runs of earlier versions keep the levels that
were stored with them, until the levels are computed again.

A level has image_ids, labels, group_ids and weights like other runs, and segment arrays if the run has them. It has no
probabilities, because it has no fitted model. Its array `parents` links it to the run itself, the usual level:

    finer:    (K_finer,) int32, the usual cluster of each finer cluster
    coarser:  (K_usual,) int32, the coarser cluster of each usual cluster; -1 for clusters without images
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benthoscope.engine.jobs.cluster.inputs import chosen_rows, groups_of_images, narrowed
from benthoscope.engine.jobs.cluster.model_catalog import TOPIC_MODELS
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import Cancelled, OnStep, Progress
from benthoscope.engine.workspace import NewCluster, NewRun, Run, Workspace
from benthoscope.engine.workspace.runs import counted_clusters, counted_shares

if TYPE_CHECKING:
    from benthoscope.engine.mixtures import ClusterHierarchy

# their clusters consist of segments, so there are no image clusters to split
WITHOUT_LEVELS = frozenset({"gmc-segments", *TOPIC_MODELS})
SEGMENT_PARTS = ("segment_labels", "segment_probability", "image_weights")


def levels(job: JobContext, workspace: Workspace, *, run: int | None = None) -> dict[str, Any]:
    """Compute and store the levels of a run, by default of the current one. Existing levels are replaced."""
    job.progress(0, None, "reading the run and its features")
    usual = usual_run(workspace, run)
    ids, values = _rows_of_run(workspace, usual)
    hierarchy = hierarchy_of(
        values,
        _labels_of(usual, ids),
        usual.parameters,
        int(usual.summary["clusters"]),
        job.on_step,
        unclustered=usual.unclustered > 0,
    )
    return {"run": usual.id, "name": usual.name, "levels": store_levels(workspace, usual, ids, hierarchy)}


def usual_run(workspace: Workspace, run: int | None = None) -> Run:
    """Return the run for which levels are computed: the one with this id, or the run that it is a level of; by default
    the current one."""
    member = workspace.runs.current() if run is None else workspace.runs.get(run)
    if member is None:
        raise fail("levels", "there is no run", "cluster the images first")
    usual = workspace.runs.get(member.clustering)
    refuse_without_levels(usual)
    return usual


class PlannedLevels:
    """The levels of a run that is not stored yet. They are computed before the run is stored, so that an interrupted
    job stores nothing twice. If the job is cancelled, it stores the run without levels."""

    def __init__(self, job: JobContext, values: np.ndarray | None, labels: np.ndarray, requested: bool):
        self._job, self._values, self._labels, self._requested = job, values, labels, requested
        self._hierarchy: ClusterHierarchy | None = None
        self._cancelled = False

    def compute(self, parameters: Mapping[str, Any], clusters: int, unclustered: int = 0) -> None:
        if not self._requested or self._values is None:
            return
        try:
            self._hierarchy = hierarchy_of(
                self._values, self._labels, parameters, clusters, self._on_step, unclustered=unclustered > 0
            )
        except Cancelled:
            if self._job.interrupted:
                raise
            self._cancelled = True

    def store(self, workspace: Workspace, run: Run, image_ids: np.ndarray) -> dict[str, Any]:
        """Return the result of `store_levels`; empty if no levels were computed."""
        if self._cancelled:
            self._job.log(f"cancelled; run {run.id} is stored without finer and coarser clusters")
            raise Cancelled
        return store_levels(workspace, run, image_ids, self._hierarchy) if self._hierarchy else {}

    def _on_step(self, step: Progress) -> None:
        self._job.progress(step.done, step.total, f"finer and coarser clusters: {step.message}")


def refuse_without_levels(run: Run) -> None:
    """Raise if a run has no image clusters that could be split or merged."""
    if run.model in WITHOUT_LEVELS:
        raise fail(
            f"run {run.name}", "has clusters of objects or topics, not of images", "choose a run of images or scenes"
        )
    if "campaign" in run.summary:
        raise fail(f"run {run.name}", "comes from answers of a crowd", "choose a run that a model made")
    if run.summary.get("partial"):
        raise fail(f"run {run.name}", "was stopped early", "cluster again and let it finish")


def can_have_levels(run: Run) -> bool:
    return run.model not in WITHOUT_LEVELS and "campaign" not in run.summary and not run.summary.get("partial")


def splits(workspace: Workspace, member: Run) -> dict[str, dict[int, list[int]]]:
    """Return the parts of each cluster by level: {"coarser": {cluster: usual ones}, "usual": {cluster: finer ones}},
    without levels that the run does not have."""
    levels = workspace.runs.levels(member)
    return {
        above: _children(np.asarray(levels[level].array("parents")))
        for above, level in (("coarser", "coarser"), ("usual", "finer"))
        if level in levels
    }


def _children(parents: np.ndarray) -> dict[int, list[int]]:
    return {int(parent): np.flatnonzero(parents == parent).tolist() for parent in np.unique(parents[parents >= 0])}


def hierarchy_of(
    values: np.ndarray,
    labels: np.ndarray,
    parameters: Mapping[str, Any],
    clusters: int,
    on_step: OnStep,
    *,
    unclustered: bool = False,
) -> "ClusterHierarchy":
    """Return the levels around these labels; `parameters` are those of the run. With `unclustered`, the images without
    a cluster are the last cluster of the run and of each level."""
    from benthoscope.engine.mixtures import cluster_hierarchy  # slow to import

    width = float(parameters.get("image_width") or parameters.get("width") or 0.05)
    if not unclustered:
        return cluster_hierarchy(values, labels, width=width, n_clusters=clusters, on_step=on_step, random_state=0)
    has_cluster = labels < clusters - 1
    inner = hierarchy_of(values[has_cluster], labels[has_cluster], parameters, clusters - 1, on_step)
    coarse_count, _, fine_count = inner.n_clusters

    def completed(levels: np.ndarray, last: int) -> np.ndarray:
        every = np.full(len(labels), last, np.int32)
        every[has_cluster] = levels
        return every

    return replace(
        inner,
        coarse=completed(inner.coarse, coarse_count),
        middle=completed(inner.middle, clusters - 1),
        fine=completed(inner.fine, fine_count),
        coarse_parent=np.append(inner.coarse_parent, np.int32(coarse_count)),
        middle_parent=np.append(inner.middle_parent, np.int32(clusters - 1)),
    )


def store_levels(
    workspace: Workspace, usual: Run, image_ids: np.ndarray, hierarchy: "ClusterHierarchy"
) -> dict[str, Any]:
    """Store both levels of a run. Returns {level: {"run": id, "clusters": number}}."""
    coarse, _, fine = hierarchy.n_clusters
    nested = {
        "coarser": (hierarchy.coarse, coarse, hierarchy.coarse_parent, hierarchy.widths[0]),
        "finer": (hierarchy.fine, fine, hierarchy.middle_parent, hierarchy.widths[2]),
    }
    return {
        level: {
            "run": _stored_level(workspace, usual, level, image_ids, *values).id,
            "clusters": values[1] - bool(usual.unclustered),
        }
        for level, values in nested.items()
    }


def _stored_level(
    workspace: Workspace,
    usual: Run,
    level: str,
    image_ids: np.ndarray,
    labels: np.ndarray,
    clusters: int,
    parents: np.ndarray,
    width: float,
) -> Run:
    ids, labels, groups = _known_images(workspace, image_ids, labels)
    group_ids, weights = counted_shares(labels, groups, clusters)
    segment_parts, segment_clusters = _segments(workspace, usual, ids, labels, clusters)
    arrays = {
        "image_ids": ids,
        "labels": labels.astype(np.int32),
        "group_ids": group_ids,
        "weights": weights,
        "parents": parents.astype(np.int32),
        **segment_parts,
    }
    widths = {"image_width": width} if "image_width" in usual.parameters else {"width": width}
    summary = {
        **usual.summary_without_level,
        "clusters": clusters,
        "images": len(ids),
        "derived": True,
        "lower_bound": None,
        "held_out": None,
    }
    unclustered = int((labels == clusters - 1).sum()) if usual.unclustered else 0
    if unclustered:
        summary["unclustered"] = unclustered
    new = NewRun(
        f"{usual.name} ({level})",
        usual.model,
        usual.features,
        {**usual.parameters, **widths},
        {**usual.provenance, "level_of": usual.id, "bounds": [], "trace": []},
        summary,
    )
    image_clusters = counted_clusters(labels, clusters, unclustered=unclustered)
    return workspace.runs.add_level(usual, level, new, arrays, image_clusters + segment_clusters)


def _known_images(
    workspace: Workspace,
    ids: np.ndarray,
    labels: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ids, labels and groups of the images in the catalogue."""
    group_of = groups_of_images(workspace, None)
    known = np.isin(ids, np.fromiter(group_of, np.int64, len(group_of)))
    ids = np.asarray(ids)[known]
    return ids, labels[known], np.array([group_of[number] for number in ids.tolist()], np.int64)


def _segments(
    workspace: Workspace,
    usual: Run,
    ids: np.ndarray,
    labels: np.ndarray,
    clusters: int,
) -> tuple[dict[str, np.ndarray], list[NewCluster]]:
    """Return the segment arrays that a level shares with its run, and its segment clusters; empty without segments."""
    if "segment_clusters" not in usual.summary:
        return {}, []
    arrays = {name: np.asarray(usual.array(name)) for name in SEGMENT_PARTS}
    weights = _rows_by_id(np.asarray(usual.array("image_ids")), ids, arrays["image_weights"])
    sums = np.zeros((clusters, weights.shape[1]))
    np.add.at(sums, labels, weights)
    proportions = sums / np.maximum(np.bincount(labels, minlength=clusters), 1)[:, None]
    return (
        {**arrays, "image_weights": weights, "proportions": proportions},
        workspace.runs.clusters(usual.id, "segment"),
    )


def _rows_of_run(workspace: Workspace, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return (image ids, rows) of the run's images, along as many axes of largest variance as the run used. For runs of
    segments alone, the rows are the proportions of the segment clusters in each image."""
    feature_facts = run.provenance.get("image_features") or (
        {} if "segment_clusters" in run.summary else run.provenance.get("features") or {"name": run.features}
    )
    ids = np.asarray(run.array("image_ids"))
    if not feature_facts:
        return ids, np.asarray(run.array("image_weights"), np.float64)
    rows = narrowed(chosen_rows(workspace, feature_facts["name"]), feature_facts.get("dimensions"))
    both = np.isin(rows.image_ids, ids)
    if not both.any():
        raise fail(
            f"run {run.name}",
            f"its images are not in the features {feature_facts['name']}",
            f"run `benthoscope features --descriptor {feature_facts['name']}` first",
        )
    return rows.image_ids[both], rows.values[both]


def _labels_of(run: Run, ids: np.ndarray) -> np.ndarray:
    return _rows_by_id(np.asarray(run.array("image_ids")), ids, np.asarray(run.array("labels")))


def _rows_by_id(known: np.ndarray, ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of these ids; all ids must be known."""
    order = np.argsort(known, kind="stable")
    return values[order[np.searchsorted(known, ids, sorter=order)]]
