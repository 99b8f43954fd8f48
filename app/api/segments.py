"""Segments of images: which object each is, where it lies, and a small picture of it."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.failures import missing
from app.api.needs import FOR_EVER, State, has_already
from app.state.app_state import AppState
from app.state.atlas import Atlas, atlas_of
from app.state.crops import crop
from app.state.image_objects import objects_in
from app.state.segments import has_segments, overlay, packed_mask, segment_features
from app.state.terms import all_terms
from engine.imaging import BadImage
from engine.workspace.features import FeatureSet

router = APIRouter(tags=["segments"])
pictures = APIRouter(tags=["segments"])
REMEDY = "describe it with `benthoscope features --kind segments`"


@router.get("/images/{image_id}/segments.png", responses={200: {"content": {"image/png": {}}}}, response_class=Response)
def segments(image_id: int, app: State, run: int | None = None) -> Response:
    """The borders of an image's segments, and where the run clustered them their colours, on transparent ground."""
    return Response(overlay(app, _atlas(app, run, image_id), image_id), media_type="image/png",
                    headers={"cache-control": "private, no-cache"})


@router.get("/images/{image_id}/objects")
def objects(image_id: int, app: State, run: int | None = None) -> dict[str, Any]:
    """The object every segment of an image belongs to in a run, and the terms segments were given."""
    return objects_in(app, _atlas(app, run, image_id), image_id)


@router.get("/images/{image_id}/segments.u2", response_class=Response)
def mask(image_id: int, app: State, run: int | None = None) -> Response:
    """Height, width, then the segment of every pixel row by row, as little-endian uint16."""
    features = segment_features(app, _atlas(app, run, image_id))
    return Response(packed_mask(app, features, image_id), media_type="application/octet-stream",
                    headers={"content-encoding": "deflate", "cache-control": "private, no-cache"})


@router.get("/segment-terms")
def terms(app: State) -> list[str]:
    """The terms that segments can be named with, each by its path."""
    return sorted({" > ".join(term.path) for term in all_terms(app).values()})


@pictures.get("/thumbnails/segment/{cut}/{image_id}/{number}/{size}.jpg", response_class=Response,
              responses={200: {"content": {"image/jpeg": {}}}})
def segment_crop(cut: str, image_id: int, number: int, size: int, request: Request, app: State) -> Response:
    """A square picture of one segment with its outline, 96 or 192 pixels wide. `cut` names the cutting into segments:
    the `set` of an image's objects."""
    features = _cut(app, cut)
    tag = f'"{app.columns.hash_of(image_id)}-{cut}-{number}-{size}"'
    headers = {"etag": tag, "cache-control": FOR_EVER if "v" in request.query_params else "private, no-cache"}
    if has_already(request, tag):
        return Response(status_code=304, headers=headers)
    try:
        return Response(crop(app, features, image_id, number, size), media_type="image/jpeg", headers=headers)
    except BadImage as error:
        raise missing(error.problem.where, error.problem.what, error.problem.remedy) from error


def _atlas(app: AppState, run: int | None, image_id: int) -> Atlas:
    atlas = atlas_of(app, run)
    if not has_segments(app, atlas, image_id):
        raise missing(f"image {image_id}", "has no segments", REMEDY)
    return atlas


def _cut(app: AppState, folder: str) -> FeatureSet:
    names = app.kept("sets of segments", lambda: {found.folder.name: found for name in app.workspace.features.names()
                                                  if (found := app.features(name)).level == "segment"})
    if folder not in names:
        raise missing("segments", f"no set '{folder}'", "reload the page: the images were cut anew")
    return names[folder]
