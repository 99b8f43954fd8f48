"""Routes of labels: history, vocabularies, terms, cover, exports and uploads of label files."""

import re
import secrets
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from benthoscope.app.api.common import Integer, State, not_found
from benthoscope.app.data.labels import describe_events, look_up, term_values
from benthoscope.app.pages.labels.cover import table
from benthoscope.app.pages.labels.export_form import exports, incoming_folder
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import LABELS
from benthoscope.engine.exchange.parsing.tables import MAX_BYTES
from benthoscope.engine.labelling.terms import MAX_LENGTH, find_or_create_term
from benthoscope.engine.labelling.vocabulary_file import add_catami, write_vocabulary
from benthoscope.engine.problems import fail

router = APIRouter(tags=["labels"])
LONGEST_NAME, LONGEST_SUFFIX = 200, 10  # bytes and letters of a file name; file systems take 255 bytes
UNSAFE = re.compile(r"[^\w.\- ]+")  # characters replaced in file names, for file systems and headers


@router.get("/images/{image_id}/history")
def history(image_id: Integer, app: State) -> list[dict[str, Any]]:
    """All label events of an image and of its parts, oldest first, including undone ones."""
    return describe_events(app, app.workspace.labels.history(image_id), image_id)


@router.get("/vocabularies")
def vocabularies(app: State) -> list[dict[str, Any]]:
    """The vocabularies with their numbers of terms."""
    store = app.workspace.vocabularies
    return [{**vars(words), "terms": len(store.terms(words.id))} for words in store.all()]


@router.get("/vocabularies/{vocabulary_id}.csv", response_class=Response)
def vocabulary(vocabulary_id: Integer, app: State) -> Response:
    """The terms of a vocabulary as a table that can be imported again."""
    name = {words.id: words.name for words in app.workspace.vocabularies.all()}.get(vocabulary_id)
    if name is None:
        raise not_found("vocabularies", f"there is no vocabulary {vocabulary_id}")
    text = write_vocabulary(app.workspace.vocabularies.terms(vocabulary_id))
    return Response(text, media_type="text/csv; charset=utf-8", headers=_download(f"{name}.csv"))


@router.get("/cover.csv", response_class=Response)
def cover_table(app: State, level: Integer | None = None, together: bool = False) -> Response:
    """The share of every term in every dive with its interval, method and counts. If no images were drawn at random,
    the share is empty and low and high are bounds. With `together` all intervals are simultaneous at 95 %."""
    return Response(table(app, level, together), media_type="text/csv; charset=utf-8", headers=_download("cover.csv"))


@router.get("/exports")
def listed(app: State) -> list[dict[str, Any]]:
    """Exports available for download, newest first."""
    return exports(app)


@router.get("/exports/{job_id}/file", response_class=Response)
async def exported(job_id: Integer, app: State) -> Response:
    """The file of an export, or a ZIP archive of its files."""
    path = await run_in_threadpool(_export_file, app, job_id)
    return FileResponse(path, headers=_download(path.name))


@router.put("/label-files/{name}", status_code=201)
async def incoming(name: str, request: Request, app: State) -> dict[str, str]:
    """Upload a file with labels. Pass the `token` in the response to an import of labels."""
    token = f"{secrets.token_hex(8)}/{_safe(name)}"
    path = incoming_folder(app) / token
    path.parent.mkdir(parents=True)
    size = 0
    with path.open("wb") as out:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BYTES:
                break
            out.write(chunk)
    if size > MAX_BYTES:
        path.unlink()
        raise fail(name, f"has more than {MAX_BYTES >> 20} MB", "split it, or use `benthoscope import-labels`")
    return {"token": token}


def _export_file(app: AppState, job_id: int) -> Path:
    export = next((entry for entry in exports(app) if entry["id"] == job_id), None)
    if export is None:
        raise not_found("exports", f"there is no export {job_id}", "export in Labels")
    folder = Path(export["folder"])
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        raise not_found("exports", f"the files of export {job_id} were deleted", "export again")
    labels = [path for path in files if path.name in export["files"]]
    return labels[0] if len(labels) == len(export["files"]) == 1 else _zipped(folder, files)


def _zipped(folder: Path, files: list[Path]) -> Path:
    """The ZIP archive of an export, made once and moved into place when complete."""
    archive = folder.with_name(f"{folder.name}.zip")
    if not archive.exists():
        half = archive.with_suffix(f".{secrets.token_hex(4)}")
        with zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED) as out:
            for path in files:
                out.write(path, path.relative_to(folder).as_posix())
        half.replace(archive)
    return archive


def _safe(name: str) -> str:
    """The name without characters that file systems or headers reject, shortened; its ending is kept."""
    safe = UNSAFE.sub("_", Path(name).name).strip(". ") or "labels"
    stem, suffix = Path(safe).stem, Path(safe).suffix[:LONGEST_SUFFIX]
    while len(f"{stem}{suffix}".encode()) > LONGEST_NAME:
        stem = stem[:-1]
    return f"{stem}{suffix}"


def _download(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{_safe(name)}"'}


MAX_LEVELS = 20


class TermText(BaseModel):
    """A name, or a path with its levels separated by " > "."""

    name: str = Field(min_length=1, max_length=MAX_LENGTH * MAX_LEVELS)


@router.get("/terms")
def terms(app: State, request: Request, q: str = Query("", max_length=MAX_LENGTH)) -> dict[str, Any]:
    """The terms that match `q`, best first. `exact`: the first term equals the text; `alike`: no term begins with the
    text, and these are only similar; `total`: number of terms in all vocabularies."""
    return look_up(app, q, unquote(request.cookies.get("bentho-person", "")))


@router.post("/terms", status_code=201)
def create(new: TermText, app: State) -> dict[str, Any]:
    """The term of this name or path. It is created in the vocabulary "Labels" if it does not exist."""
    term = find_or_create_term(app.workspace.vocabularies, new.name)
    app.changed(LABELS)
    return term_values(app, term)


@router.post("/vocabularies/catami", status_code=201)
def catami(app: State) -> dict[str, Any]:
    """Add CATAMI 1.4, the standard vocabulary for images of the sea floor. Existing terms stay."""
    added = add_catami(app.workspace)
    app.changed(LABELS)
    return {**vars(added), "terms": _count(app, added.id)}


def _count(app: AppState, vocabulary_id: int) -> int:
    return len(app.workspace.vocabularies.terms(vocabulary_id))
