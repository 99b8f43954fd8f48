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

from benthoscope.app.pages.registry import PAGES, PageEntry
from benthoscope.app.server import panel_mount as panel_pages
from benthoscope.app.server.application import ServerSettings, create_app, warm_up
from benthoscope.app.server.run import address_of, listening
from benthoscope.engine.workspace import Workspace


def main(workspace: Path) -> None:
    panel_pages.PAGES = (*PAGES, PageEntry("slow", "Slow", "hourglass_empty", "tests.browser.slow_page:view"))
    settings = ServerSettings(linger=6, run_jobs=False)
    with Workspace.open(workspace) as opened:
        api = create_app(opened, settings)

        @api.get("/documents")
        def documents() -> dict[str, float]:
            gc.collect()
            _give_back()
            alive = sum(isinstance(live_object, Document) for live_object in gc.get_objects())
            return {"documents": alive, "megabytes": psutil.Process(os.getpid()).memory_info().rss / 2**20}

        api.state.app.page_drawn.set()  # the warm-up does not wait for a page
        warm_up(api.state.app)
        port_socket = listening(settings.host)
        print(address_of(port_socket, settings), flush=True)
        uvicorn.Server(uvicorn.Config(api, log_level="warning", access_log=False)).run(sockets=[port_socket])


def _give_back() -> None:
    """Memory that was freed goes back to the system, where the C library knows how."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
