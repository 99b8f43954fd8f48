"""Images: what the catalogue knows of them, and the originals."""

import mimetypes
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response

from app.api.failures import missing
from app.api.needs import State, has_already
from app.state.app_state import AppState
from engine.imaging import readable
from engine.workspace import Image

router = APIRouter(tags=["images"])
AT_MOST = 10_000  # images in one answer
SHOWN = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".gif"})  # what every browser can show itself


@router.get("/images")
def images(app: State, group: int | None = None, collection: int | None = None, after: int = 0,
           limit: int = Query(1000, ge=1, le=AT_MOST)) -> dict[str, Any]:
    """Images by ascending number; `after` the last number of the previous answer gives the next ones."""
    ids = app.workspace.library.columns("id", group_id=group, collection_id=collection)["id"]
    wanted = ids[ids.searchsorted(after, side="right"):][:limit]
    found = [described(image) for image in app.workspace.library.images(wanted.tolist())]
    more = bool(len(wanted)) and int(wanted[-1]) != int(ids[-1])
    return {"images": found, "total": len(ids), "next": int(wanted[-1]) if more else None}


@router.get("/images/{image_id}")
def image(image_id: int, app: State) -> dict[str, Any]:
    """What the catalogue knows of one image."""
    return described(_known(app, image_id))


@router.get("/images/{image_id}/file", response_class=Response)
def file(image_id: int, request: Request, app: State) -> Response:
    """The original as it lies on disk; parts of it by Range. Formats browsers cannot show come as a large thumbnail
    when `shown` is asked for."""
    known = _known(app, image_id)
    tag = f'"{known.sha256}"'
    if has_already(request, tag):
        return Response(status_code=304, headers={"etag": tag})
    place = app.workspace.library.locate([image_id])[image_id]
    if "shown" in request.query_params and place.suffix.lower() not in SHOWN:
        jpeg = app.workspace.thumbnails.obtain(known.sha256, 1024, place)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": "private, no-cache"})
    return _sent(place, tag)


def _sent(place: Path, tag: str) -> Response:
    if not place.is_file():
        raise missing(readable(place), "is not there now", "connect its disk, or find the images again with "
                                                           "`benthoscope relink`")
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    return FileResponse(place, media_type=kind, headers={"etag": tag, "cache-control": "private, no-cache"})


def _known(app: AppState, image_id: int) -> Image:
    found = app.workspace.library.images([image_id])
    if not found:
        raise missing("images", f"no image {image_id}")
    return found[0]


def described(image: Image) -> dict[str, Any]:
    """An image as JSON."""
    return {**vars(image), "details": dict(image.details), "mtime_ns": str(image.mtime_ns)}
