"""Routes of images: metadata and originals, thumbnails, segments, and a preview of water correction."""

import io
import mimetypes
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response

from benthoscope.app.api.common import FOR_EVER, Integer, State, Text, has_already, not_found
from benthoscope.app.data.clusters.clustered_images import Atlas, atlas_of
from benthoscope.app.data.labels import all_terms
from benthoscope.app.data.objects import objects_in
from benthoscope.app.data.segments import COVER, crop, overlay, packed_mask, segments_of
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES
from benthoscope.engine.imaging import BadImage, readable
from benthoscope.engine.jobs.describe.water_models import compared
from benthoscope.engine.term_path import joined
from benthoscope.engine.workspace import Image
from benthoscope.engine.workspace.features import FeatureSet

router = APIRouter(tags=["images"])
AT_MOST = 10_000  # images in one response
SHOWN = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif"})  # formats that every browser can show


@router.get("/images")
def images(
    app: State,
    group: Integer | None = None,
    collection: Integer | None = None,
    after: Integer = 0,
    limit: int = Query(1000, ge=1, le=AT_MOST),
) -> dict[str, Any]:
    """Images by ascending id. For the next page, set `after` to the `next` of the previous response."""
    ids = app.workspace.library.columns("id", group_id=group, collection_id=collection)["id"]
    page_ids = ids[ids.searchsorted(after, side="right") :][:limit]
    descriptions = [described(image) for image in app.workspace.library.images(page_ids.tolist())]
    has_next = bool(len(page_ids)) and int(page_ids[-1]) != int(ids[-1])
    return {"images": descriptions, "total": len(ids), "next": int(page_ids[-1]) if has_next else None}


@router.get("/images/{image_id}")
def image(image_id: Integer, app: State) -> dict[str, Any]:
    """Metadata of one image."""
    return described(_known(app, image_id))


@router.get("/images/{image_id}/file", response_class=Response)
def file(image_id: Integer, request: Request, app: State) -> Response:
    """The original file; supports Range. With `shown`, formats that browsers cannot show are sent as a large
    thumbnail."""
    known = _known(app, image_id)
    tag = f'"{known.sha256}"'
    if has_already(request, tag):
        return Response(status_code=304, headers={"etag": tag})
    path = app.workspace.library.locate([image_id])[image_id]
    if "shown" in request.query_params and path.suffix.lower() not in SHOWN:
        jpeg = app.workspace.thumbnails.obtain(known.sha256, 1024, path)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, no-cache"})
    return _sent(path, tag)


def _sent(path: Path, tag: str) -> Response:
    if not path.is_file():
        raise not_found(
            readable(path), "is missing", "connect its disk, or find the images again with `benthoscope relink`"
        )
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return FileResponse(path, media_type=kind, headers={"etag": tag, "cache-control": "private, no-cache"})


def _known(app: AppState, image_id: int) -> Image:
    images_found = app.workspace.library.images([image_id])
    if not images_found:
        raise not_found("images", f"there is no image {image_id}")
    return images_found[0]


def described(image: Image) -> dict[str, Any]:
    """An image as JSON."""
    return {**vars(image), "details": dict(image.details), "mtime_ns": str(image.mtime_ns)}


segments_router = APIRouter(tags=["segments"])
pictures = APIRouter(tags=["segments"])
REMEDY = "describe it with `benthoscope features --descriptor segments`"


@segments_router.get(
    "/images/{image_id}/segments.png", responses={200: {"content": {"image/png": {}}}}, response_class=Response
)
def segments(
    image_id: Integer, app: State, run: Integer | None = None, cover: int = Query(COVER, ge=0, le=255)
) -> Response:
    """The borders of an image's segments as a transparent image, coloured by the clusters of the run. `cover` is the
    opacity of the colours."""
    return Response(
        overlay(app, *_atlas(app, run, image_id), image_id, cover),
        media_type="image/png",
        headers={"cache-control": "private, no-cache"},
    )


@segments_router.get("/images/{image_id}/objects")
def objects(image_id: Integer, app: State, run: Integer | None = None) -> dict[str, Any]:
    """The object of every segment of an image in a run, and the labels of segments."""
    return objects_in(app, *_atlas(app, run, image_id), image_id)


@segments_router.get("/images/{image_id}/segments.u2", response_class=Response)
def mask(image_id: Integer, app: State, run: Integer | None = None) -> Response:
    """Height, width, then the segment of every pixel row by row, as little-endian uint16."""
    _, features = _atlas(app, run, image_id)
    return Response(
        packed_mask(app, features, image_id),
        media_type="application/octet-stream",
        headers={"content-encoding": "deflate", "cache-control": "private, no-cache"},
    )


@segments_router.get("/segment-terms")
def terms(app: State) -> list[str]:
    """The terms that can label segments, each by its path."""
    return sorted({joined(term.path) for term in all_terms(app).values()})


@pictures.get(
    "/thumbnails/segment/{cut}/{image_id}/{number}/{size}.jpg",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}},
)
def segment_crop(cut: str, image_id: Integer, number: Integer, size: Integer, request: Request, app: State) -> Response:
    """A square image of one segment with its outline, 96 or 192 pixels wide. `cut` is the `set` in the response of
    `/objects`."""
    features = _cut(app, cut)
    tag = f'"{app.columns.hash_of(image_id)}-{cut}-{number}-{size}"'
    headers = {"etag": tag, "cache-control": FOR_EVER if "v" in request.query_params else "private, no-cache"}
    if has_already(request, tag):
        return Response(status_code=304, headers=headers)
    try:
        return Response(crop(app, features, image_id, number, size), media_type="image/jpeg", headers=headers)
    except BadImage as error:
        raise not_found(error.problem.where, error.problem.what, error.problem.remedy) from error


def _atlas(app: AppState, run: int | None, image_id: int) -> tuple[Atlas, FeatureSet]:
    """The images of the run, and the segment features that the image has."""
    atlas = atlas_of(app, run)
    features = segments_of(app, atlas, image_id)
    if features is None:
        raise not_found(f"image {image_id}", "has no segments", REMEDY)
    return atlas, features


def _cut(app: AppState, folder: str) -> FeatureSet:
    names = app.cached(
        "sets of segments",
        lambda: {
            feature_set.folder.name: feature_set
            for name in app.workspace.features.names()
            if (feature_set := app.features(name)).level == "segment"
        },
        (IMAGES, FEATURES),
    )
    if folder not in names:
        raise not_found("segments", f"there is no set '{folder}'", "reload the page: the segments were computed again")
    return names[folder]


water_router = APIRouter(tags=["library"])


@water_router.get("/water.jpg", responses={200: {"content": {"image/jpeg": {}}}}, response_class=Response)
def water(app: State, collection: Text = "") -> Response:
    """Images of different dives of a `collection`, or of all, before and after water correction."""
    buffer = io.BytesIO()
    compared(app.workspace, collection or None)[0].save(buffer, "JPEG")
    return Response(buffer.getvalue(), media_type="image/jpeg", headers={"cache-control": "private, no-cache"})
