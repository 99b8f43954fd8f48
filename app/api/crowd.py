"""Routes for people with a crowd link: read the instructions, join, get a task and its images, submit an answer.

A link gives no access to anything else in the workspace. A person is identified by a secret stored in their browser, an
image by the key of the one task it was shown in. Invalid requests are rejected with one line and logged for the owner
of the campaign.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response

from benthoscope.app.api.common import FOR_EVER, Integer, Permits, Rate, State, Text
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import Memory
from benthoscope.engine.imaging import BadImage
from benthoscope.engine.workspace.crowd.records import MOST_GROUPS, MOST_SHOWN, Assignment, Campaign, Worker
from benthoscope.engine.workspace.crowd.store import Refused

router = APIRouter(prefix="/crowd/work", tags=["crowd"])
pages = APIRouter(include_in_schema=False)

BODY_AT_MOST = 16_384  # bytes; an answer on 60 images has about 300
SIZES = (320, 1024)  # of images: in the task, and enlarged
JOINING = Rate(burst=300, per_second=5)  # per address: a whole class may share one
GUESSING = Rate(burst=20, per_second=0.2)  # per address: invalid links and secrets
WORKING = Rate(burst=60, per_second=2)  # per person
LOOKING = Rate(burst=600, per_second=20)  # images, per task
LINKS, PEOPLE, PICTURES = 0.5, 60.0, 600.0  # seconds in the cache: short for links, because campaigns are paused
PRIVATE = {"cache-control": "no-store"}
FILES = {
    "crowd.js": "text/javascript",
    "sorting.js": "text/javascript",
    "outbox.js": "text/javascript",
    "crowd.css": "text/css",
    "icon.svg": "image/svg+xml",
}
Body = TypeVar("Body", bound=BaseModel)


class Joining(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    consent: bool
    nickname: Text = Field("", max_length=200)


class Submission(BaseModel):
    """`submission` is the browser's id of this answer; it stays the same when the answer is sent again."""

    model_config = ConfigDict(extra="forbid", strict=True)
    task: Integer
    submission: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    groups: list[Integer | None] = Field(max_length=MOST_SHOWN)


@router.get("/{link}")
async def about(link: Text, request: Request, app: State) -> Response:
    """Title, instructions and terms of the campaign."""
    return await _answered(request, app, link, _campaign_facts)


@router.post("/{link}/join")
async def join(link: Text, request: Request, app: State) -> Response:
    """Agree to the terms. The response contains the secret to send as `Authorization: Bearer` from now on."""

    async def handler(campaign: Campaign) -> dict[str, Any]:
        _hurry(request, ("join", _address(request)), JOINING)
        wish = await _read(request, Joining)
        if not wish.consent:
            raise Refused("needs your consent", "read the terms and tick the box", 422, "joining")
        worker, secret = await run_in_threadpool(app.workspace.crowd.join, campaign, wish.nickname)
        return {"secret": secret, "number": worker.number}

    return await _answered(request, app, link, handler)


@router.post("/{link}/tasks")
async def next_task(link: Text, request: Request, app: State) -> Response:
    """The current task or the next one; `task` is null if there are no more tasks."""

    def handler(campaign: Campaign, worker: Worker) -> dict[str, Any]:
        assignment = app.workspace.crowd.next_task(campaign, worker)
        return {"task": None} if assignment is None else {"task": _task(link, assignment)}

    return await _answered(request, app, link, _by_worker(request, app, handler))


@router.post("/{link}/answers")
async def answer(link: Text, request: Request, app: State) -> Response:
    """Store an answer. The response is sent once it is on disk."""
    sent = await _read_or_refusal(request, Submission)

    def handler(campaign: Campaign, worker: Worker) -> dict[str, Any]:
        if isinstance(sent, Refused):
            raise sent
        receipt = app.workspace.crowd.submit(campaign, worker, sent.task, sent.submission, sent.groups)
        return vars(receipt)

    return await _answered(request, app, link, _by_worker(request, app, handler))


@router.get("/{link}/images/{key}/{place}/{size}.jpg", response_class=Response)
async def image(link: Text, key: Text, place: Integer, size: Integer, request: Request, app: State) -> Response:
    """An image of a task, by its place in the task and the task's key."""

    async def handler(campaign: Campaign) -> Response:
        _hurry(request, ("images", key), LOOKING)
        if size not in SIZES:
            raise Refused(f"has no size {size}", "ask for 320 or 1024", 404, "image")
        known = ("picture", campaign.id, key, place)
        sha256 = _memory(request).get(known) or await run_in_threadpool(
            _memory(request).obtain, known, lambda: _content(app, campaign, key, place), PICTURES
        )
        # Reading a few kilobytes, usually from the page cache, is faster than switching threads.
        jpeg = app.workspace.thumbnails.get(sha256, size) or await run_in_threadpool(_made, app, sha256, size)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": FOR_EVER})

    return await _answered(request, app, link, handler)


@pages.get("/crowd/files/{digest}/{name}")
async def page_file(digest: str, name: str) -> Response:
    """Scripts and styles of the page. The address changes with the content."""
    if name not in FILES:
        return HTMLResponse("No such file.\n", 404)
    return Response(_file(name), media_type=FILES[name], headers={"cache-control": FOR_EVER})


@pages.get("/crowd/{link}")
async def page(link: str) -> HTMLResponse:
    """The page for sorting images. It is the same for every link and requests everything else itself."""
    return HTMLResponse(_page(), headers={**PRIVATE, "content-security-policy": CONTENT_POLICY})


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


# --- how every request is answered


async def _answered(request: Request, app: AppState, link: str, handler: Callable[..., Any]) -> Response:
    """Run the handler for the campaign of the link. Rejections are answered, logged and have no other effect."""
    campaign = None
    try:
        campaign = _memory(request).get(("link", link)) or await run_in_threadpool(
            _memory(request).obtain, ("link", link), lambda: app.workspace.crowd.by_link(link), LINKS
        )
        result = await (handler(campaign) if iscoroutinefunction(handler) else run_in_threadpool(handler, campaign))
    except Refused as refused:
        return _refusal(request, app, campaign, refused)
    return result if isinstance(result, Response) else JSONResponse(result, headers=PRIVATE)


def _refusal(request: Request, app: AppState, campaign: Campaign | None, refused: Refused) -> Response:
    worker = getattr(request.state, "worker", None)
    if refused.status in (401, 404) and _permits(request).wait(("guess", _address(request)), GUESSING):
        refused = Refused("are too many", "wait a minute", 429, "wrong links")
    if refused.status != 429:  # requests over the rate limit are not logged, to save disk writes
        app.workspace.crowd.refuse(campaign.id if campaign else None, worker, str(refused))
    return JSONResponse({"error": vars(refused.problem)}, refused.status, headers=PRIVATE)


def _by_worker(
    request: Request, app: AppState, handler: Callable[[Campaign, Worker], Any]
) -> Callable[[Campaign], Any]:
    def for_campaign(campaign: Campaign) -> Any:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Refused("is not known", "reload the page and join again", 401, "worker")
        worker = _memory(request).obtain(
            ("worker", campaign.id, secret), lambda: app.workspace.crowd.worker(campaign, secret), PEOPLE
        )
        request.state.worker = worker.number
        _hurry(request, ("work", worker.id), WORKING)
        return handler(campaign, worker)

    return for_campaign


def _hurry(request: Request, caller: tuple, rate: Rate) -> None:
    if _permits(request).wait(caller, rate):
        raise Refused("come too fast", "wait a moment and try again", 429, "requests")


async def _read(request: Request, kind: type[Body]) -> Body:
    """Read and validate the body. Raises if it is too long, without reading more of it into memory."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_AT_MOST:
            raise Refused(f"is longer than {BODY_AT_MOST:,} bytes", "send the groups and nothing else", 413)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(step) for step in first["loc"]) or "body"
        raise Refused(f"cannot be read: {location}: {first['msg']}", "reload the page", 422) from None


async def _read_or_refusal(request: Request, kind: type[Body]) -> Body | Refused:
    """The body, or its rejection, which is sent only to people with a valid link and secret."""
    try:
        return await _read(request, kind)
    except Refused as refused:
        return refused


def _permits(request: Request) -> Permits:
    return request.app.state.crowd_permits


def _memory(request: Request) -> Memory:
    return request.app.state.crowd_memory


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


# --- content of responses


def _campaign_facts(campaign: Campaign) -> dict[str, Any]:
    chosen = campaign.settings
    return {
        "title": chosen.title or campaign.name,
        "instructions": chosen.instructions,
        "consent": chosen.consent,
        "state": campaign.state,
        "images": chosen.size,
        "groups": MOST_GROUPS,
    }


def _task(link: Text, assignment: Assignment) -> dict[str, Any]:
    base = f"/api/v1/crowd/work/{link}/images/{assignment.key}"
    return {
        "task": assignment.task,
        "practice": assignment.kind == "practice",
        "due_at": assignment.due_at,
        "images": [
            {"small": f"{base}/{position}/{SIZES[0]}.jpg", "large": f"{base}/{position}/{SIZES[1]}.jpg"}
            for position in range(len(assignment.shown))
        ],
    }


def _content(app: AppState, campaign: Campaign, key: str, position: int) -> str:
    """SHA-256 of the image at this place in the task of the key."""
    images = app.workspace.library.images([app.workspace.crowd.shown_image(campaign, key, position)])
    if not images:
        raise Refused("is not in the workspace any more", "continue with the others", 404, "image")
    return images[0].sha256


def _made(app: AppState, sha256: str, size: int) -> bytes:
    image = app.workspace.library.with_content(sha256)[0]
    try:
        return app.workspace.thumbnails.obtain(sha256, size, app.workspace.library.locate([image.id])[image.id])
    except (BadImage, OSError) as error:
        raise Refused("cannot be read now", "continue with the others", 404, "image") from error


@lru_cache
def _file(name: str) -> bytes:
    return (files("benthoscope.assets") / "crowd" / name).read_bytes()


@lru_cache
def _page() -> str:
    """The page with the addresses of its files. Modules import each other, so one digest covers all files."""
    digest = hashlib.sha256(b"".join(_file(name) for name in sorted(FILES))).hexdigest()[:16]
    return _file("crowd.html").decode("utf-8").replace("{{files}}", f"/crowd/files/{digest}")
