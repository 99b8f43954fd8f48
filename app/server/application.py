"""The web application: REST, thumbnails and images, scripts and styles, and the Panel pages in one process."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from benthoscope.app import api as rest
from benthoscope.app.api.common import add_failures
from benthoscope.app.pages.registry import PAGES
from benthoscope.app.server.access import LOOPBACK, Door, Guard, SecurityHeaders, cookie_name, new_token, origin
from benthoscope.app.server.compression import CompressedFiles
from benthoscope.app.server.panel_mount import mount_pages
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.jobs import JobRunner
from benthoscope.engine.labelling.audits.viewing import MIN_SECONDS
from benthoscope.engine.workspace import Workspace

log = logging.getLogger(__name__)

# Pages and requests import them when they need them; a test keeps them out of the modules that are loaded at the start.
SLOW_LIBRARIES = (
    "holoviews.plotting.bokeh",
    "pandas",
    "scipy.cluster.hierarchy",
    "scipy.special",
    "scipy.stats",
    "sklearn.cluster",
    "skimage.measure",
    "numba",
)
LONGEST_WAIT = 10  # seconds from the start to the warm-up if nobody opens a page


@dataclass(frozen=True)
class ServerSettings:
    host: str = "127.0.0.1"
    port: int = 0  # 0: a free one that browsers accept
    token: str = field(default_factory=new_token)  # empty: everybody who reaches the port has access
    threads: int = 4  # for commands of sessions, so that they do not wait for each other
    run_jobs: bool = True
    linger: float = 30  # seconds a session lives without a connection
    tiles: str = ""  # address of allowed map tiles, with {z}, {x} and {y}
    audit_seconds: float = MIN_SECONDS  # time in view after which an audited image counts as seen

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK


class Application(FastAPI):
    """FastAPI with security headers on all responses; a usual middleware would miss errors raised outside of it."""

    def openapi(self) -> dict[str, Any]:
        rest.include_others(self)
        return super().openapi()

    def build_middleware_stack(self) -> ASGIApp:
        return SecurityHeaders(super().build_middleware_stack(), images_from=origin(self.state.settings.tiles))


def create_app(workspace: Workspace, settings: ServerSettings | None = None) -> FastAPI:
    """Build the application. Its lifespan runs the jobs of the workspace. The caller closes the workspace."""
    settings = settings or ServerSettings()
    # Browsers store thumbnails under their address, which has a version. If versions began at one with every start, a
    # person would see images of the workspace that was served at this address before.
    started = time.time_ns() // 1_000_000
    state = AppState(workspace, settings.tiles, settings.audit_seconds, first_version=started)

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        runner = JobRunner(workspace).start() if settings.run_jobs and not workspace.read_only else None
        state.watch()
        try:
            yield
        finally:
            state.close()
            if runner:
                runner.stop()

    api = Application(
        title="Benthoscope",
        version=version("benthoscope"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        description=rest.DESCRIPTION,
    )
    api.state.app = state
    api.state.settings = settings
    add_failures(api)
    rest.include(api)
    mount_pages(api, state, threads=settings.threads, secret=new_token().encode(), linger=settings.linger)
    api.add_middleware(rest.RoutesWhenNeeded)
    api.add_middleware(CompressedFiles)
    api.add_middleware(Guard, door=door(settings), cookie=cookie_name(workspace.identity.id))
    return api


def warm_up(state: AppState) -> None:
    """Load what the next pages would otherwise wait for: slow libraries, columns, the modules of all pages, arrays of
    Explore. Starts when the first page is drawn, because it would make that page wait."""
    state.page_drawn.wait(LONGEST_WAIT)
    try:
        _ = state.columns
        for library in SLOW_LIBRARIES:
            import_module(library)
        rest.import_others()
        for page in PAGES:
            page.view()
        from benthoscope.app.pages.explore.page import warm

        warm(state)
    except Exception:
        log.exception("preloading failed; pages load the data when they need it")


def door(settings: ServerSettings) -> Door:
    return Door(settings.token, LOOPBACK if settings.is_local else None)
