"""Clustering runs, their clusters and how two of them agree."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from app.api.failures import missing
from app.api.needs import State
from engine.workspace import Run

router = APIRouter(tags=["runs"])
ARRAYS = {"image_ids": "<i8", "labels": "<i4", "probability": "<f4"}


@router.get("/runs")
def runs(app: State) -> list[dict[str, Any]]:
    """All runs, oldest first."""
    return [in_short(run) for run in app.workspace.runs.all()]


@router.get("/runs/{run_id}")
def run(run_id: int, app: State) -> dict[str, Any]:
    """One run with its parameters and its provenance."""
    found = app.workspace.runs.get(run_id)
    return {**in_short(found), "parameters": dict(found.parameters), "provenance": dict(found.provenance)}


@router.get("/runs/{run_id}/clusters")
def clusters(run_id: int, app: State) -> list[dict[str, Any]]:
    """The clusters of a run with their sizes."""
    app.workspace.runs.get(run_id)
    return [{"number": found.number, "size": found.size, "level": found.level, "summary": dict(found.summary or {})}
            for found in app.workspace.runs.clusters(run_id)]


@router.get("/runs/{run_id}/arrays/{name}", response_class=Response)
def array(run_id: int, name: str, app: State) -> Response:
    """One value an image as little-endian numbers: `image_ids` int64, `labels` int32, `probability` float32."""
    if name not in ARRAYS:
        raise missing(f"run {run_id}", f"no array '{name}'", f"choose one of {', '.join(ARRAYS)}")
    found = app.workspace.runs.get(run_id).array(name)
    return Response(found.astype(ARRAYS[name]).tobytes(), media_type="application/octet-stream",
                    headers={"x-dtype": ARRAYS[name]})


def in_short(run: Run) -> dict[str, Any]:
    return {"id": run.id, "name": run.name, "model": run.model, "features": run.features, "current": run.current,
            "created_at": run.created_at, "summary": dict(run.summary)}
