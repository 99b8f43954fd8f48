"""What the views of images fetch: arrays, one image among its neighbours, selections as tables."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.responses import Response, StreamingResponse

from app.api.failures import missing
from app.api.images import described
from app.api.needs import FOR_EVER, State
from app.state.app_state import AppState
from app.state.atlas import Atlas, atlas_of
from app.state.segments import has_segments
from app.state.suggested import suggestion_of
from app.state.terms import labelled

router = APIRouter(tags=["explore"])
NEIGHBOURS = 4  # on either side
AT_ONCE = 2_000
HEAD = ("image_id", "group", "path", "taken_at", "latitude", "longitude", "depth", "altitude", "cluster",
        "probability", "label")


@router.get("/arrays/{key}", response_class=Response)
async def array(key: str, app: State) -> Response:
    """An array a page was told the address of; the address names the content."""
    content = app.shelf.get(key)
    if content is None:
        raise missing("arrays", f"no array {key}", "reload the page")
    return Response(content, media_type="application/octet-stream", headers={"cache-control": FOR_EVER})


@router.get("/images/{image_id}/around")
def around(image_id: int, app: State, run: int | None = None) -> dict[str, Any]:
    """One image with its dive, cluster, label and the images before and after it along the track."""
    atlas = atlas_of(app, run)
    positions = atlas.columns.positions(np.array([image_id]))
    if not len(positions):
        raise missing("images", f"no image {image_id}")
    at, [image] = int(positions[0]), app.workspace.library.images([image_id])
    told, label = labelled(app), labelled(app).term[at]
    probability = float(atlas.probability[at])
    return {"image": described(image), "group": atlas.groups[atlas.group[at]].group.name, "kind": _kind(app, atlas, at),
            "cluster": int(atlas.labels[at]) if atlas.labels[at] >= 0 else None,
            "probability": probability if np.isfinite(probability) else None,
            "label": " › ".join(told.terms[label].path) if label >= 0 else None, "track": _neighbours(atlas, at),
            "segments": has_segments(app, atlas, image_id), "suggestion": suggestion_of(app, image_id)}


@router.get("/selections")
def selections(app: State) -> list[dict[str, Any]]:
    """The saved selections with their numbers of images."""
    return [{"id": number, "name": name, "images": images} for number, name, images in app.workspace.selections.list()]


@router.get("/selections/{selection_id}")
def selection(selection_id: int, app: State) -> dict[str, Any]:
    """One saved selection with the ids of its images."""
    found = app.workspace.selections.get(selection_id)
    return {"id": found.id, "name": found.name, "at": found.at, "origin": dict(found.origin),
            "images": found.images.tolist()}


@router.get("/arrays/{key}/images.csv", response_class=StreamingResponse)
def table(key: str, app: State, run: int | None = None) -> StreamingResponse:
    """The images whose ids (int64) an array holds, as a table with cluster and label."""
    content = app.shelf.get(key)
    if content is None:
        raise missing("arrays", f"no array {key}", "select again")
    lines = _lines(app, atlas_of(app, run), np.frombuffer(content, "<i8"))
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8",
                             headers={"content-disposition": 'attachment; filename="selection.csv"'})


def _kind(app: AppState, atlas: Atlas, at: int) -> str:
    wanted = atlas.groups[atlas.group[at]].group.collection_id
    kinds = {found.id: found.kind for found in app.kept("collections", app.workspace.library.collections)}
    return "Album" if kinds.get(wanted) == "albums" else "Dive"


def _neighbours(atlas: Atlas, at: int) -> list[int]:
    track = atlas.track(int(atlas.group[at]))
    here = int(np.flatnonzero(track == at)[0])
    near = track[max(here - NEIGHBOURS, 0) : here + NEIGHBOURS + 1]
    return atlas.columns.ids[near].tolist()


def _lines(app: AppState, atlas: Atlas, ids: np.ndarray) -> Iterator[str]:
    told = labelled(app)
    yield _row(HEAD)
    for start in range(0, len(ids), AT_ONCE):
        for image in app.workspace.library.images(ids[start : start + AT_ONCE]):
            at = int(atlas.columns.positions(np.array([image.id]))[0])
            cluster, term = int(atlas.labels[at]), int(told.term[at])
            taken = None if image.taken_at is None else datetime.fromtimestamp(image.taken_at, UTC).isoformat()
            yield _row((image.id, atlas.groups[atlas.group[at]].group.name, image.path, taken, image.latitude,
                        image.longitude, image.depth, image.altitude, cluster if cluster >= 0 else None,
                        f"{atlas.probability[at]:.6g}" if cluster >= 0 else None,
                        " > ".join(told.terms[term].path) if term >= 0 else None))


def _row(values: tuple) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(["" if value is None else value for value in values])
    return line.getvalue()
