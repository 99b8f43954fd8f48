"""Store the clusters of a live dive as an ordinary run, with the merges and splits of people as cluster edits."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benthoscope.engine.compute import InOrder
from benthoscope.engine.features.compression import LinearProjection
from benthoscope.engine.jobs.cluster.cluster_images import results
from benthoscope.engine.jobs.cluster.exemplars import exemplars_unless_cancelled, read_exemplars, write_exemplars
from benthoscope.engine.jobs.cluster.fit_request import FitRequest, Trace, fit_summary, provenance
from benthoscope.engine.jobs.cluster.inputs import Rows
from benthoscope.engine.jobs.cluster.streamed_rows import FileRows
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.live.clusters import EditedClusters, LearnedClusters, edited_clusters, effective_edits
from benthoscope.engine.jobs.live.learner import LiveLearner
from benthoscope.engine.labelling.cluster_edits import Arrangement, current_arrangement, merge, split
from benthoscope.engine.workspace import Run, Workspace
from benthoscope.engine.workspace.live_dives import LiveDive
from benthoscope.engine.workspace.runs import LONGEST_NAME, NewCluster, counted_clusters

MODEL = "mbvdp"


def store_run(job: JobContext, workspace: Workspace, dive: LiveDive, learner: LiveLearner) -> Run:
    """Store the clusters after the last round as a run. All images of the dive are assigned under the final model.

    If an earlier process stored the run and ended before it could finish the dive, that run is completed.
    """
    began = time.time()
    assert learner.predictor is not None  # there was a round
    estimator, clusters = learner.predictor.model, int(learner.predictor.model.n_clusters_)
    rows = _rows_of(workspace, dive, learner.predictor.projection)
    arrays = results(estimator, rows, InOrder())
    summary = {
        "clusters": clusters,
        "images": len(rows.image_ids),
        "held_out": None,
        "live_dive": dive.id,
        **fit_summary(estimator, partial=False),
    }
    request = _request_of(dive)
    origin = provenance(request, estimator, began, _trace(job, workspace, dive), features=rows.provenance)
    run = _run_of_earlier_finish(workspace, dive, arrays)
    exemplars = None
    if run is None or read_exemplars(run) is None:
        exemplars = exemplars_unless_cancelled(job, rows.features, rows.image_ids, arrays["labels"], clusters)
    lasting = estimator.cluster_ids_.tolist()
    counted = [
        NewCluster(each.number, each.size, each.level, {"live_cluster": lasting[each.number]})
        for each in counted_clusters(arrays["labels"], clusters)
    ]
    if run is None:
        run = workspace.runs.add(request.new_run(rows.features.name, origin, summary), arrays, counted)
    if exemplars is not None:
        write_exemplars(run, exemplars)
    learned = LearnedClusters(np.asarray(run.array("image_ids")), np.asarray(lasting)[np.asarray(run.array("labels"))])
    edited = edited_clusters(workspace, dive, learned)
    number_of = {str(number): at for at, number in enumerate(lasting)}
    _apply_names(workspace, run, edited, number_of)
    _apply_edits(workspace, dive, run, learned, edited, number_of)
    return run


def _run_of_earlier_finish(workspace: Workspace, dive: LiveDive, arrays: Mapping[str, Any]) -> Run | None:
    """Return the run of this dive with the same images and clusters. Others, from before more images arrived, are
    deleted."""
    for run in workspace.runs.all():
        if run.summary.get("live_dive") != dive.id:
            continue
        if all(np.array_equal(run.array(name), arrays[name]) for name in ("image_ids", "labels")):
            return run
        workspace.runs.delete(run.id)
    return None


def _rows_of(workspace: Workspace, dive: LiveDive, projection: LinearProjection) -> Rows:
    """Return the features of the images of a dive along the axes of its learner."""
    features = workspace.features.open(dive.descriptor["features"])
    in_dive = np.isin(features.image_ids, list(workspace.live.image_ids(dive.id)))
    ids = np.asarray(features.image_ids)[in_dive]
    source = FileRows(features, np.flatnonzero(in_dive), projection)
    return Rows(features, source, ids, np.full(len(ids), dive.group_id), projection)


def _request_of(dive: LiveDive) -> FitRequest:
    """Return the settings of a dive as the request of a fit."""
    parameters = {name: dive.settings.get(name) for name in ("memory", "epoch", "width", "horizon")}
    seed = int(dive.settings.get("seed", 0))
    return FitRequest(MODEL, {**parameters, "observation": "diagonal"}, f"{dive.name} (live)", 0.0, seed)


def _trace(job: JobContext, workspace: Workspace, dive: LiveDive) -> Trace:
    """Return the course of a dive: the score of each round that had one, and the number of clusters after it."""
    trace = Trace(job.on_step)
    trace.points = [
        [result.number, result.score, len(result.clusters)]
        for result in workspace.live.rounds(dive.id)
        if result.score is not None  # the first round has none
    ]
    return trace


def _apply_names(workspace: Workspace, run: Run, edited: EditedClusters, number_of: Mapping[str, int]) -> None:
    """Give the clusters of the run the names that people gave them. `number_of` has their numbers in the run. The
    halves of a split get theirs when they are split off."""
    for key, name in edited.names.items():
        if key in number_of:
            workspace.runs.rename_cluster(run.id, number_of[key], name[:LONGEST_NAME])


def _apply_edits(
    workspace: Workspace,
    dive: LiveDive,
    run: Run,
    learned: LearnedClusters,
    edited: EditedClusters,
    number_of: Mapping[str, int],
) -> None:
    """Repeat the merges and splits of people in the run, under the name of the person who made the last one. Those that
    were repeated already are left out."""
    edits = [edit for edit in effective_edits(workspace.live.edits(dive.id)) if edit.kind != "name"]
    if not edits:
        return
    person = edits[-1].person_id
    for key in edited.keys:
        members = np.sort(edited.members(key))
        arranged = current_arrangement(workspace, run)
        if key not in number_of:  # a half of a split
            number = _number_of_part(arranged, members, list(number_of.values()))
            if number is None:
                number = split(workspace.labels, person, arranged, members)
            if key in edited.names:
                name = edited.names[key][:LONGEST_NAME]
                workspace.runs.name_split_cluster(run.id, number, len(members), name)
            continue
        for other in np.unique(learned.clusters[np.isin(learned.image_ids, members)]):
            joined = number_of[str(int(other))]
            images = arranged.members(joined)
            if joined != number_of[key] and len(images) and np.isin(images, members).all():
                merge(workspace.labels, person, arranged, joined, number_of[key])
                arranged = current_arrangement(workspace, run)


def _number_of_part(arranged: Arrangement, images: np.ndarray, clusters: Sequence[int]) -> int | None:
    """Return the number of the cluster that has exactly these images and is none of these `clusters`; None if there is
    no such cluster."""
    numbers = np.unique(arranged.clusters[np.isin(arranged.images, images)])
    if len(numbers) != 1 or numbers[0] in clusters or not np.array_equal(arranged.members(numbers[0]), images):
        return None
    return int(numbers[0])
