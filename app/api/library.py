"""Collections, their dives or albums, and what an import could not use."""

from typing import Any

from fastapi import APIRouter

from app.api.needs import State

router = APIRouter(tags=["library"])


@router.get("/workspace")
def workspace(app: State) -> dict[str, Any]:
    """Name, numbers and what stands in it."""
    held = app.workspace
    return {"name": held.name, "images": held.library.count_images(), "version": app.version,
            "features": held.features.names(), "runs": len(held.runs.all())}


@router.get("/collections")
def collections(app: State) -> list[dict[str, Any]]:
    """Every collection with its dives or albums: counts, times, depths in m, bounds (south, west, north, east)."""
    library = app.workspace.library
    summaries = library.summaries()
    return [{"id": found.id, "name": found.name, "kind": found.kind, "details": dict(found.details), "groups": [
        {"id": told.group.id, "name": told.group.name, "images": told.images, "first_taken": told.first_taken,
         "last_taken": told.last_taken, "depth": told.depth, "bounds": told.bounds}
        for told in summaries if told.group.collection_id == found.id]} for found in library.collections()]


@router.get("/problems")
def problems(app: State) -> list[dict[str, str]]:
    """Files and rows that could not be used: where, what, and what to do."""
    return [vars(found) for found in app.workspace.library.problems()]
