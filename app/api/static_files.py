"""Static files of the installed package, and /health, which needs no token and reveals nothing about the data."""

import mimetypes
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from benthoscope.app.api.common import FOR_EVER, not_found

router = APIRouter(include_in_schema=False)
ROOT = Path(str(files("benthoscope.assets"))).resolve()
KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".json": "application/json",
}


@router.get("/assets/{digest}/{path:path}")
async def asset(digest: str, path: str, request: Request) -> Response:
    """A static file. `digest` only makes the address change with the content."""
    file = _file(path)
    if file is None:
        raise not_found(f"assets/{path[:100]}", "there is no such file")
    kind = KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0]
    return FileResponse(file, media_type=kind, headers={"cache-control": FOR_EVER})


def _file(path: str) -> Path | None:
    """The file at this path; None for paths outside the folder and invalid names."""
    try:
        file = (ROOT / path).resolve()
        return file if file.is_relative_to(ROOT) and file.is_file() and file.suffix != ".py" else None
    except (OSError, ValueError):
        return None


health_router = APIRouter(tags=["server"])


@health_router.get("/health")
async def health() -> dict[str, str]:
    """Whether the server is running, and its version."""
    return {"status": "ok", "version": version("benthoscope")}
