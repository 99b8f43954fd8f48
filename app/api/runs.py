"""Routes of runs: parameters, clusters, levels and arrays."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from benthoscope.app.api.common import Integer, State, not_found
from benthoscope.app.session.cache import FEATURES, IMAGES, LABELS, RUNS
from benthoscope.engine.jobs.cluster.discovered_objects import discovered_objects, recognition_text
from benthoscope.engine.jobs.cluster.exemplars import read_exemplars
from benthoscope.engine.jobs.cluster.levels import splits
from benthoscope.engine.jobs.cluster.run_purity import run_purity, run_separation
from benthoscope.engine.workspace import Run
from benthoscope.engine.workspace.runs import proper_clusters

router = APIRouter(tags=["runs"])
ARRAYS = {"image_ids": "<i8", "labels": "<i4", "probability": "<f4"}


@router.get("/runs")
def runs(app: State) -> list[dict[str, Any]]:
    """All runs, oldest first."""
    return [_listed(run) for run in app.workspace.runs.all()]


@router.get("/runs/{run_id}")
def run(run_id: Integer, app: State) -> dict[str, Any]:
    """One run with its parameters and its provenance."""
    stored = app.workspace.runs.get(run_id)
    return {**_listed(stored), "parameters": dict(stored.parameters), "provenance": dict(stored.provenance)}


@router.get("/runs/{run_id}/clusters")
def clusters(run_id: Integer, app: State) -> list[dict[str, Any]]:
    """The clusters of a run with their sizes."""
    app.workspace.runs.get(run_id)
    return [
        {"number": cluster.number, "size": cluster.size, "level": cluster.level, "summary": dict(cluster.summary or {})}
        for cluster in app.workspace.runs.clusters(run_id)
    ]


@router.get("/runs/{run_id}/levels")
def levels(run_id: Integer, app: State) -> dict[str, Any]:
    """The finer and coarser levels of a run, the coarsest first, and which clusters each cluster splits into."""
    family = app.workspace.runs.levels(app.workspace.runs.get(run_id))
    return {
        "levels": {
            level: {"run": run.id, "clusters": proper_clusters(run.summary), "current": run.current}
            for level, run in family.items()
        },
        "splits": splits(app.workspace, app.workspace.runs.get(run_id)),
    }


@router.get("/runs/{run_id}/exemplars")
def exemplars(run_id: Integer, app: State) -> list[dict[str, Any]]:
    """The ids of the images that stand for each cluster, the most representative first.

    A job of the kind `exemplars` chooses them: POST /jobs with {"kind": "exemplars", "parameters": {"run": run_id}}.
    """
    table = read_exemplars(app.workspace.runs.get(run_id))
    if table is None:
        raise not_found(f"run {run_id}", "has no exemplars yet", "queue a job of the kind 'exemplars'")
    return [{"cluster": number, "images": row[row >= 0].tolist()} for number, row in enumerate(table)]


@router.get("/runs/{run_id}/recognition")
def recognition(run_id: Integer, app: State) -> dict[str, Any]:
    """The clusters of a run of whole images, the largest first, with the names that labels give them.

    A cluster is named after its five most probable labelled images. `accuracy` is the share of the `tested` other
    labelled images whose cluster has their name; it is null without any. `text` says so in a sentence.
    """
    stored = app.workspace.runs.get(run_id)
    objects, result = app.cached(
        ("recognition", run_id), lambda: discovered_objects(app.workspace, stored), (IMAGES, LABELS, RUNS)
    )
    facts = {"tested": result.tested, "accuracy": result.accuracy}
    return {"objects": [vars(each) for each in objects], **facts, "text": recognition_text(facts)}


@router.get("/runs/{run_id}/purity")
def purity(run_id: Integer, app: State) -> dict[str, Any]:
    """How similar the images of one cluster are: by labels that people gave by looking, by probability, and by the
    mean silhouette of a sample. `text` says so in sentences; what is not known is null."""
    stored = app.workspace.runs.get(run_id)
    distances = app.cached(
        ("separation", run_id), lambda: run_separation(app.workspace, stored), (IMAGES, RUNS, FEATURES)
    )
    return app.cached(
        ("purity", run_id),
        lambda: run_purity(app.workspace, stored, distances).to_dict(),
        (IMAGES, LABELS, RUNS, FEATURES),
    )


@router.get("/runs/{run_id}/arrays/{name}", response_class=Response)
def array(run_id: Integer, name: str, app: State) -> Response:
    """One value for each image as little-endian numbers: `image_ids` int64, `labels` int32, `probability` float32."""
    if name not in ARRAYS:
        raise not_found(f"run {run_id}", f"has no array '{name}'", f"choose one of {', '.join(ARRAYS)}")
    values = app.workspace.runs.get(run_id).array(name)
    return Response(
        values.astype(ARRAYS[name]).tobytes(), media_type="application/octet-stream", headers={"x-dtype": ARRAYS[name]}
    )


def _listed(run: Run) -> dict[str, Any]:
    return {**run.facts(), "summary": dict(run.summary)}
