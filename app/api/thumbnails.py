"""Thumbnails: one read of a packed file each, kept by browsers for ever because the address names the content."""

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.failures import missing
from app.api.needs import FOR_EVER, State, has_already
from app.state.app_state import AppState
from engine.imaging import BadImage
from engine.problems import fail
from engine.workspace.thumbnails import SIZES

router = APIRouter(tags=["images"])
JPEG = {200: {"content": {"image/jpeg": {}}}}


@router.get("/thumbnails/{sha256}/{size}.jpg", responses=JPEG, response_class=Response)
async def thumbnail(sha256: str, size: int, request: Request, app: State) -> Response:
    """The thumbnail of an image by the SHA-256 of its content; sizes 128, 320 and 1024 (longest edge)."""
    tag = f'"{sha256}-{size}"'
    if has_already(request, tag):
        return Response(status_code=304, headers={"etag": tag, "cache-control": FOR_EVER})
    # A read of a few kilobytes that are nearly always in the page cache: quicker than changing threads.
    jpeg = app.workspace.thumbnails.get(sha256, size) or await run_in_threadpool(_made, app, sha256, size)
    return Response(jpeg, media_type="image/jpeg", headers={"etag": tag, "cache-control": FOR_EVER})


@router.get("/thumbnails/image/{image_id}/{size}.jpg", responses=JPEG, response_class=Response)
async def thumbnail_by_id(image_id: int, size: int, request: Request, app: State) -> Response:
    """The same by the image's number: asked for again each time, because the image may be replaced by an import."""
    columns = app.columns if app.holds("columns") else await run_in_threadpool(lambda: app.columns)
    sha256 = columns.hash_of(image_id)
    if sha256 is None:
        raise missing("thumbnail", f"no image {image_id}")
    answer = await thumbnail(sha256, size, request, app)
    if "v" not in request.query_params:  # with the catalogue's version in the address it cannot change
        answer.headers["cache-control"] = "private, no-cache"
    return answer


def _made(app: AppState, sha256: str, size: int) -> bytes:
    """Made from the original, where an image of this content is in the catalogue and its file in place."""
    if size not in SIZES:
        raise fail("thumbnail size", f"no '{size}'", f"choose one of {', '.join(map(str, SIZES))}")
    found = app.workspace.library.with_content(sha256)
    if not found:
        raise missing("thumbnail", f"no image with content {sha256[:12]}")
    try:
        return app.workspace.thumbnails.obtain(sha256, size, app.workspace.library.locate([found[0].id])[found[0].id])
    except BadImage as error:
        raise missing(error.problem.where, error.problem.what, error.problem.remedy) from error
