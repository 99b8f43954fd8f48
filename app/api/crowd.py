"""What people who were sent a crowd link may do: read what is asked, join, get a task and its images, answer.

Nothing else of the workspace is reachable with a link. A person is known by a secret their browser keeps, an image by
the key of the one task it was shown in. What cannot be is refused in one line and noted for the one who asks.
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

from app.api.memory import Memory
from app.api.needs import FOR_EVER, State
from app.api.rates import Permits, Rate
from app.state.app_state import AppState
from engine.imaging import BadImage
from engine.workspace.crowd import Refused
from engine.workspace.crowd_records import MOST_GROUPS, MOST_SHOWN, Assignment, Campaign, Worker

router = APIRouter(prefix="/crowd/work", tags=["crowd"])
pages = APIRouter(include_in_schema=False)

BODY_AT_MOST = 16_384             # bytes: an answer on 60 images takes about 300
SIZES = (320, 1024)               # of images: in the task, and looked at closely
JOINING = Rate(burst=300, per_second=5)      # per address: a whole class may sit behind one
GUESSING = Rate(burst=20, per_second=0.2)    # per address: links and secrets that are none
WORKING = Rate(burst=60, per_second=2)       # per person
LOOKING = Rate(burst=600, per_second=20)     # images, per task
LINKS, PEOPLE, PICTURES = 0.5, 60.0, 600.0   # seconds: a pause is felt at once, the others do not change
PRIVATE = {"cache-control": "no-store"}
FILES = {"crowd.js": "text/javascript", "sorting.js": "text/javascript", "outbox.js": "text/javascript",
         "crowd.css": "text/css", "icon.svg": "image/svg+xml"}
Body = TypeVar("Body", bound=BaseModel)


class Joining(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    consent: bool
    nickname: str = Field("", max_length=200)


class Submission(BaseModel):
    """`submission` is the browser's own word for this answer; sent again after a lost connection it is the same."""

    model_config = ConfigDict(extra="forbid", strict=True)
    task: int
    submission: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    groups: list[int | None] = Field(max_length=MOST_SHOWN)


@router.get("/{link}")
async def about(link: str, request: Request, app: State) -> Response:
    """What is asked, in the words of the one who asks."""
    return await _answered(request, app, link, _told)


@router.post("/{link}/join")
async def join(link: str, request: Request, app: State) -> Response:
    """Agrees to the terms; the answer holds the secret to be sent as `Authorization: Bearer` from now on."""
    async def work(campaign: Campaign) -> dict[str, Any]:
        _hurry(request, ("join", _address(request)), JOINING)
        wish = await _read(request, Joining)
        if not wish.consent:
            raise Refused("needs your consent", "read the terms and tick the box", 422, "joining")
        worker, secret = await run_in_threadpool(app.workspace.crowd.join, campaign, wish.nickname)
        return {"secret": secret, "number": worker.number}

    return await _answered(request, app, link, work)


@router.post("/{link}/tasks")
async def next_task(link: str, request: Request, app: State) -> Response:
    """The task in hand or the next one; `task` is null when there is nothing left to do."""
    def work(campaign: Campaign, worker: Worker) -> dict[str, Any]:
        found = app.workspace.crowd.next_task(campaign, worker)
        return {"task": None} if found is None else {"task": _task(link, found)}

    return await _answered(request, app, link, _by_worker(request, app, work))


@router.post("/{link}/answers")
async def answer(link: str, request: Request, app: State) -> Response:
    """Stores an answer; acknowledged only once it is on disk."""
    sent = await _read_or_refusal(request, Submission)

    def work(campaign: Campaign, worker: Worker) -> dict[str, Any]:
        if isinstance(sent, Refused):
            raise sent
        receipt = app.workspace.crowd.submit(campaign, worker, sent.task, sent.submission, sent.groups)
        return vars(receipt)

    return await _answered(request, app, link, _by_worker(request, app, work))


@router.get("/{link}/images/{key}/{place}/{size}.jpg", response_class=Response)
async def image(link: str, key: str, place: int, size: int, request: Request, app: State) -> Response:
    """An image of a task, by its place in it and the key of the task."""
    async def work(campaign: Campaign) -> Response:
        _hurry(request, ("images", key), LOOKING)
        if size not in SIZES:
            raise Refused(f"has no size {size}", "ask for 320 or 1024", 404, "image")
        known = ("picture", campaign.id, key, place)
        sha256 = _memory(request).get(known) or await run_in_threadpool(
            _memory(request).obtain, known, lambda: _content(app, campaign, key, place), PICTURES)
        # A read of a few kilobytes that are nearly always in the page cache: quicker than changing threads.
        jpeg = app.workspace.thumbnails.get(sha256, size) or await run_in_threadpool(_made, app, sha256, size)
        return Response(jpeg, media_type="image/jpeg", headers={"cache-control": FOR_EVER})

    return await _answered(request, app, link, work)


@pages.get("/crowd/files/{digest}/{name}")
async def page_file(digest: str, name: str) -> Response:
    """Scripts and styles of the page; the address changes with the content."""
    if name not in FILES:
        return HTMLResponse("No such file.\n", 404)
    return Response(_file(name), media_type=FILES[name], headers={"cache-control": FOR_EVER})


@pages.get("/crowd/{link}")
async def page(link: str) -> HTMLResponse:
    """The page people work on: the same for every link; it asks for everything else by itself."""
    return HTMLResponse(_page(), headers={**PRIVATE, "content-security-policy": CONTENT_POLICY})


CONTENT_POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


# --- how every request is answered


async def _answered(request: Request, app: AppState, link: str, work: Callable[..., Any]) -> Response:
    """Runs the work for the campaign of the link; refusals are told, noted and have no other effect."""
    campaign = None
    try:
        campaign = _memory(request).get(("link", link)) or await run_in_threadpool(
            _memory(request).obtain, ("link", link), lambda: app.workspace.crowd.by_link(link), LINKS)
        found = await (work(campaign) if iscoroutinefunction(work) else run_in_threadpool(work, campaign))
    except Refused as refused:
        return _refusal(request, app, campaign, refused)
    return found if isinstance(found, Response) else JSONResponse(found, headers=PRIVATE)


def _refusal(request: Request, app: AppState, campaign: Campaign | None, refused: Refused) -> Response:
    worker = getattr(request.state, "worker", None)
    if refused.status in (401, 404) and _permits(request).wait(("guess", _address(request)), GUESSING):
        refused = Refused("are too many", "wait a minute", 429, "wrong links")
    if refused.status != 429:  # whoever hammers shall not write to the disk as well
        app.workspace.crowd.refuse(campaign.id if campaign else None, worker, str(refused))
    return JSONResponse({"error": vars(refused.problem)}, refused.status, headers=PRIVATE)


def _by_worker(request: Request, app: AppState, work: Callable[[Campaign, Worker], Any]) -> Callable[[Campaign], Any]:
    def for_campaign(campaign: Campaign) -> Any:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise Refused("is not known here", "reload the page and join again", 401, "worker")
        worker = _memory(request).obtain(("worker", campaign.id, secret),
                                         lambda: app.workspace.crowd.worker(campaign, secret), PEOPLE)
        request.state.worker = worker.number
        _hurry(request, ("work", worker.id), WORKING)
        return work(campaign, worker)

    return for_campaign


def _hurry(request: Request, caller: tuple, rate: Rate) -> None:
    if _permits(request).wait(caller, rate):
        raise Refused("come too fast", "wait a moment and try again", 429, "requests")


async def _read(request: Request, kind: type[Body]) -> Body:
    """The body, if it is of this kind and no longer than allowed; never more than that is held in memory."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > BODY_AT_MOST:
            raise Refused(f"is longer than {BODY_AT_MOST:,} bytes", "send the groups and nothing else", 413)
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "body"
        raise Refused(f"cannot be read: {place}: {first['msg']}", "reload the page", 422) from None


async def _read_or_refusal(request: Request, kind: type[Body]) -> Body | Refused:
    """What is wrong with a body is told only to whom the link and the secret let in."""
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


# --- what is told


def _told(campaign: Campaign) -> dict[str, Any]:
    chosen = campaign.settings
    return {"title": chosen.title or campaign.name, "instructions": chosen.instructions, "consent": chosen.consent,
            "state": campaign.state, "images": chosen.size, "groups": MOST_GROUPS}


def _task(link: str, found: Assignment) -> dict[str, Any]:
    base = f"/api/v1/crowd/work/{link}/images/{found.key}"
    return {"task": found.task, "practice": found.kind == "practice", "due_at": found.due_at, "images": [
        {"small": f"{base}/{place}/{SIZES[0]}.jpg", "large": f"{base}/{place}/{SIZES[1]}.jpg"}
        for place in range(len(found.shown))]}


def _content(app: AppState, campaign: Campaign, key: str, place: int) -> str:
    """The SHA-256 of the image the key opens at this place."""
    found = app.workspace.library.images([app.workspace.crowd.shown_image(campaign, key, place)])
    if not found:
        raise Refused("is not in the workspace any more", "go on with the others", 404, "image")
    return found[0].sha256


def _made(app: AppState, sha256: str, size: int) -> bytes:
    image = app.workspace.library.with_content(sha256)[0]
    try:
        return app.workspace.thumbnails.obtain(sha256, size, app.workspace.library.locate([image.id])[image.id])
    except (BadImage, OSError) as error:
        raise Refused("cannot be read now", "go on with the others", 404, "image") from error


@lru_cache
def _file(name: str) -> bytes:
    return (files("assets") / "crowd" / name).read_bytes()


@lru_cache
def _page() -> str:
    """The page with the addresses of its files. Modules name each other, so all share the digest of all."""
    digest = hashlib.sha256(b"".join(_file(name) for name in sorted(FILES))).hexdigest()[:16]
    return _file("crowd.html").decode("utf-8").replace("{{files}}", f"/crowd/files/{digest}")
