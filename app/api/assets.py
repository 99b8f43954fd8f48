"""Our own scripts, styles, icons and pictures, from the installed package alone."""

import mimetypes
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from app.api.failures import missing
from app.api.needs import FOR_EVER

router = APIRouter(include_in_schema=False)
ROOT = Path(str(files("assets"))).resolve()
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2",
         ".md": "text/markdown; charset=utf-8", ".png": "image/png", ".json": "application/json"}


@router.get("/assets/{digest}/{path:path}")
async def asset(digest: str, path: str, request: Request) -> Response:
    """`digest` only makes the address change with the content."""
    place = (ROOT / path).resolve()
    if not place.is_relative_to(ROOT) or not place.is_file() or place.suffix == ".py":
        raise missing(f"assets/{path}", "no such file")
    kind = KINDS.get(place.suffix) or mimetypes.guess_type(place.name)[0]
    return FileResponse(place, media_type=kind, headers={"cache-control": FOR_EVER})
