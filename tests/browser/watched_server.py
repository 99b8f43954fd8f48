"""A server that tells how many documents are alive in it and how much memory it has, and has a page that is slow."""

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path

import psutil
import uvicorn
from bokeh.document import Document

from app import panel_pages
from app.pages.registry import PAGES, Page
from app.ports import listening
from app.server import ServerSettings, create_app, warm_up
from app.serving import address_of
from engine.workspace import Workspace


def main(workspace: Path) -> None:
    panel_pages.PAGES = (*PAGES, Page("slow", "Slow", "hourglass_empty", "tests.browser.slow_page:view"))
    settings = ServerSettings(linger=6, run_jobs=False)
    with Workspace.open(workspace) as opened:
        api = create_app(opened, settings)

        @api.get("/documents")
        def documents() -> dict[str, float]:
            gc.collect()
            _give_back()
            alive = sum(isinstance(found, Document) for found in gc.get_objects())
            return {"documents": alive, "megabytes": psutil.Process(os.getpid()).memory_info().rss / 2**20}

        warm_up(api.state.app)
        held = listening(settings.host)
        print(address_of(held, settings), flush=True)
        uvicorn.Server(uvicorn.Config(api, log_level="warning", access_log=False)).run(sockets=[held])


def _give_back() -> None:
    """Memory that was freed goes back to the system, where the C library knows how."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
