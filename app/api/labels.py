"""What was said of images, vocabularies as tables, and the files labels leave and come in."""

import re
import secrets
import zipfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from app.api.failures import missing
from app.api.needs import State
from app.state.app_state import AppState
from app.state.cover import table
from app.state.event_words import told
from app.state.exporting import exports, incoming_folder
from engine.exchange.tables import MAX_BYTES
from engine.labelling.vocabulary_file import write_vocabulary
from engine.problems import fail

router = APIRouter(tags=["labels"])
UNSAFE = re.compile(r"[^\w.\- ]+")  # what no file system and no header has trouble with stays


@router.get("/images/{image_id}/history")
def history(image_id: int, app: State) -> list[dict[str, Any]]:
    """Everything that was ever said of an image and of parts of it, oldest first, with what was taken back."""
    return told(app, app.workspace.labels.history(image_id), image_id)


@router.get("/vocabularies")
def vocabularies(app: State) -> list[dict[str, Any]]:
    """The vocabularies with their numbers of terms."""
    found = app.workspace.vocabularies
    return [{**vars(words), "terms": len(found.terms(words.id))} for words in found.all()]


@router.get("/vocabularies/{vocabulary_id}.csv", response_class=Response)
def vocabulary(vocabulary_id: int, app: State) -> Response:
    """The terms of a vocabulary as a table that can be read in again."""
    name = {words.id: words.name for words in app.workspace.vocabularies.all()}.get(vocabulary_id)
    if name is None:
        raise missing("vocabularies", f"no vocabulary {vocabulary_id}")
    text = write_vocabulary(app.workspace.vocabularies.terms(vocabulary_id))
    return Response(text, media_type="text/csv; charset=utf-8", headers=_download(f"{name}.csv"))


@router.get("/cover.csv", response_class=Response)
def cover_table(app: State, level: int | None = None) -> Response:
    """The share of every term in every dive with its interval, method and counts."""
    return Response(table(app, level), media_type="text/csv; charset=utf-8", headers=_download("cover.csv"))


@router.get("/exports")
def listed(app: State) -> list[dict[str, Any]]:
    """The exports made for download, the newest first."""
    return exports(app)


@router.get("/exports/{job_id}/file", response_class=Response)
async def exported(job_id: int, app: State) -> Response:
    """The files of an export: the one there is, or all in a ZIP archive."""
    path = await run_in_threadpool(_whole, app, job_id)
    return FileResponse(path, headers=_download(path.name))


@router.put("/label-files/{name}", status_code=201)
async def incoming(name: str, request: Request, app: State) -> dict[str, str]:
    """Takes in a file with labels; its `token` is what an import of labels is told to read."""
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


def _whole(app: AppState, job_id: int) -> Path:
    found = next((one for one in exports(app) if one["id"] == job_id), None)
    if found is None:
        raise missing("exports", f"no export {job_id}", "make one in Labels")
    folder = Path(found["folder"])
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        raise missing("exports", f"the files of export {job_id} are gone", "export again")
    labels = [path for path in files if path.name in found["files"]]
    return labels[0] if len(labels) == len(found["files"]) == 1 else _zipped(folder, files)


def _zipped(folder: Path, files: list[Path]) -> Path:
    """Made once; put in place whole."""
    archive = folder.with_name(f"{folder.name}.zip")
    if not archive.exists():
        half = archive.with_suffix(f".{secrets.token_hex(4)}")
        with zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED) as out:
            for path in files:
                out.write(path, path.relative_to(folder).as_posix())
        half.replace(archive)
    return archive


def _safe(name: str) -> str:
    return UNSAFE.sub("_", Path(name).name).strip(". ") or "labels"


def _download(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{_safe(name)}"'}
