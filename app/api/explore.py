"""Routes of the image views: arrays, one image with its neighbours, selections as tables, and the search by name."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from benthoscope.app.api.common import FOR_EVER, Integer, RequestBody, State, Text, not_found
from benthoscope.app.api.images import described
from benthoscope.app.api.search import search
from benthoscope.app.data.clusters.clustered_images import Atlas, atlas_of, cluster_name, cluster_word
from benthoscope.app.data.labels import labelled
from benthoscope.app.data.segments import segments_of
from benthoscope.app.data.suggestions import suggestion_of
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES
from benthoscope.app.session.sent_selections import explore_address
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks
from benthoscope.engine.term_path import joined

router = APIRouter(tags=["explore"])
NEIGHBOURS = 4  # on either side
AT_ONCE = 2_000
MOST_SENT = 2_000_000  # images of a selection that a page sends
HEAD = (
    "image_id",
    "group",
    "path",
    "taken_at",
    "latitude",
    "longitude",
    "depth",
    "altitude",
    "cluster",
    "probability",
    "label",
)


@router.get("/arrays/{key}", response_class=Response)
async def array(key: str, app: State) -> Response:
    """An array that a page uses; its address is derived from its content."""
    content = app.arrays.get(key)
    if content is None:
        raise not_found("arrays", f"there is no array {key}", "reload the page")
    return Response(content, media_type="application/octet-stream", headers={"cache-control": FOR_EVER})


@router.get("/images/{image_id}/around")
def around(image_id: Integer, app: State, run: Integer | None = None) -> dict[str, Any]:
    """One image with its dive, cluster and label, and the images before and after it."""
    atlas = atlas_of(app, run)
    positions = atlas.columns.positions(np.array([image_id]))
    if not len(positions):
        raise not_found("images", f"there is no image {image_id}")
    at, [image] = int(positions[0]), app.workspace.library.images([image_id])
    labels, label = labelled(app), labelled(app).term[at]
    probability = float(atlas.probability[at])
    return {
        "image": described(image),
        "group": atlas.groups[atlas.group[at]].group.name,
        "kind": _kind(app, atlas, at),
        "cluster": int(atlas.labels[at]) if atlas.labels[at] >= 0 else None,
        "cluster_name": cluster_name(app, atlas.run, int(atlas.labels[at])) if atlas.labels[at] >= 0 else None,
        "cluster_kind": cluster_word(atlas.run),
        "probability": probability if np.isfinite(probability) else None,
        "label": " › ".join(labels.terms[label].path) if label >= 0 else None,
        "track": _neighbours(atlas, at),
        "segments": segments_of(app, atlas, image_id) is not None,
        "suggestion": suggestion_of(app, image_id),
    }


@router.get("/selections")
def selections(app: State) -> list[dict[str, Any]]:
    """The saved selections with their numbers of images."""
    return [{"id": number, "name": name, "images": images} for number, name, images in app.workspace.selections.list()]


@router.get("/selections/{selection_id}")
def selection(selection_id: Integer, app: State) -> dict[str, Any]:
    """One saved selection with the ids of its images."""
    stored = app.workspace.selections.get(selection_id)
    return {
        "id": stored.id,
        "name": stored.name,
        "at": stored.at,
        "origin": dict(stored.origin),
        "images": stored.images.tolist(),
    }


class NewSelection(RequestBody):
    images: list[Integer] = Field(min_length=1, max_length=MOST_SENT, description="Ids of the images, in any order.")
    text: Text = Field(max_length=200, description="What they have in common, in a few words.")
    back: Text = Field("", max_length=2000, description="Address on this server to return to.")
    run: Integer | None = Field(None, description="Id of the run to show.")


@router.post("/explore/selections", status_code=201)
def send_selection(new: NewSelection, app: State) -> dict[str, Any]:
    """The address (`href`) that opens Explore with these images selected."""
    return {"href": explore_address(app, new.images, new.text, back=new.back, run=new.run)}


@router.get("/views")
def views(app: State) -> list[dict[str, Any]]:
    """The saved views of Explore: name, address, person and time of each."""
    return [
        {"name": view.name, "href": f"/explore?{urlencode(view.query)}", "person": view.person, "at": view.at}
        for view in app.workspace.views.of_page("explore")
    ]


@router.get("/arrays/{key}/images.csv", response_class=StreamingResponse)
def table(key: str, app: State, run: Integer | None = None) -> StreamingResponse:
    """The images whose ids (int64) are in an array, as a table with cluster and label."""
    content = app.arrays.get(key)
    if content is None:
        raise not_found("arrays", f"there is no array {key}", "select the images again")
    rows = _rows(app, atlas_of(app, run), np.frombuffer(content, "<i8"))
    return StreamingResponse(
        csv_chunks(HEAD, rows),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": 'attachment; filename="selection.csv"'},
    )


def _kind(app: AppState, atlas: Atlas, at: int) -> str:
    collection_id = atlas.groups[atlas.group[at]].group.collection_id
    collections = app.cached("collections", app.workspace.library.collections, IMAGES)
    kinds = {collection.id: collection.kind for collection in collections}
    return "Album" if kinds.get(collection_id) == "albums" else "Dive"


def _neighbours(atlas: Atlas, at: int) -> list[int]:
    track = atlas.track(int(atlas.group[at]))
    position = int(np.flatnonzero(track == at)[0])
    near = track[max(position - NEIGHBOURS, 0) : position + NEIGHBOURS + 1]
    return atlas.columns.ids[near].tolist()


def _rows(app: AppState, atlas: Atlas, ids: np.ndarray) -> Iterator[tuple[Any, ...]]:
    labels = labelled(app)
    for start in range(0, len(ids), AT_ONCE):
        for image in app.workspace.library.images(ids[start : start + AT_ONCE]):
            at = int(atlas.columns.positions(np.array([image.id]))[0])
            cluster, term = int(atlas.labels[at]), int(labels.term[at])
            timestamp = None if image.taken_at is None else datetime.fromtimestamp(image.taken_at, UTC).isoformat()
            yield (
                image.id,
                atlas.groups[atlas.group[at]].group.name,
                image.path,
                timestamp,
                image.latitude,
                image.longitude,
                image.depth,
                image.altitude,
                cluster if cluster >= 0 else None,
                f"{atlas.probability[at]:.6g}" if cluster >= 0 else None,
                joined(labels.terms[term].path) if term >= 0 else None,
            )


search_router = APIRouter(tags=["search"])


@search_router.get("/search")
def find(app: State, q: str = Query(max_length=200), limit: int = Query(6, ge=1, le=50)) -> list[dict[str, Any]]:
    """Matches by name, best first within each kind: kind, name, one line about it, and address (`href`)."""
    return [vars(match) for match in search(app, q, limit)]
