"""Routes of thumbnails, which every page loads."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from benthoscope.app.api.common import FOR_EVER, Integer, State, has_already, not_found
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.imaging import BadImage
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace.storage.thumbnails import SIZES

JPEG: dict[int | str, dict[str, Any]] = {200: {"content": {"image/jpeg": {}}}}
router = APIRouter(tags=["images"])


@router.get("/thumbnails/{sha256}/{size}.jpg", responses=JPEG, response_class=Response)
async def thumbnail(sha256: str, size: Integer, request: Request, app: State) -> Response:
    """The thumbnail of an image by the SHA-256 of its content; sizes 128, 320 and 1024 (longest edge)."""
    tag = f'"{sha256}-{size}"'
    if has_already(request, tag):
        return Response(status_code=304, headers={"etag": tag, "cache-control": FOR_EVER})
    # Reading a few kilobytes, usually from the page cache, is faster than switching threads.
    jpeg = app.workspace.thumbnails.get(sha256, size) or await run_in_threadpool(_made, app, sha256, size)
    return Response(jpeg, media_type="image/jpeg", headers={"etag": tag, "cache-control": FOR_EVER})


@router.get("/thumbnails/image/{image_id}/{size}.jpg", responses=JPEG, response_class=Response)
async def thumbnail_by_id(image_id: Integer, size: Integer, request: Request, app: State) -> Response:
    """The thumbnail by image id. It is not cached without a version, because an import may replace the image."""
    columns = app.columns if app.cache.has("columns") else await run_in_threadpool(lambda: app.columns)
    sha256 = columns.hash_of(image_id)
    if sha256 is None:
        raise not_found("thumbnail", f"there is no image {image_id}")
    answer = await thumbnail(sha256, size, request, app)
    if "v" not in request.query_params:  # with the version in the address it cannot change
        answer.headers["cache-control"] = "private, no-cache"
    return answer


def _made(app: AppState, sha256: str, size: int) -> bytes:
    """Compute a thumbnail from the original of an image with this content."""
    if size not in SIZES:
        raise fail("thumbnail size", f"there is no size '{size}'", f"choose one of {', '.join(map(str, SIZES))}")
    images = app.workspace.library.with_content(sha256)
    if not images:
        raise not_found("thumbnail", f"there is no image with content {sha256[:12]}")
    try:
        return app.workspace.thumbnails.obtain(sha256, size, app.workspace.library.locate([images[0].id])[images[0].id])
    except BadImage as error:
        raise not_found(error.problem.where, error.problem.what, error.problem.remedy) from error
