"""One process, one port: REST, thumbnails and images, our own scripts and styles, and the Panel pages."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version

from fastapi import FastAPI

from app import api as rest
from app.api.failures import add_failures
from app.auth import LOOPBACK, Door, Guard, cookie_name, new_token
from app.pages.registry import PAGES
from app.panel_pages import mount_pages
from app.security_headers import SecurityHeaders, origin
from app.state.app_state import AppState
from engine.jobs import JobRunner
from engine.workspace import Workspace

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerSettings:
    host: str = "127.0.0.1"
    port: int = 0                                   # 0: a free one that browsers accept
    token: str = field(default_factory=new_token)   # empty: everybody who reaches the port may come in
    threads: int = 4                                # for what sessions do, so that they do not wait for each other
    run_jobs: bool = True
    linger: float = 30                              # seconds a session outlives its connection, or waits for its first
    tiles: str = ""                                 # address of map tiles a person allowed, with {z}, {x} and {y}

    @property
    def is_local(self) -> bool:
        return self.host in LOOPBACK


def create_app(workspace: Workspace, settings: ServerSettings | None = None) -> FastAPI:
    """The whole application; its lifespan runs the jobs of the workspace. The workspace stays its owner's to close."""
    settings = settings or ServerSettings()
    state = AppState(workspace, settings.tiles)

    @asynccontextmanager
    async def lifespan(api: FastAPI) -> AsyncIterator[None]:
        runner = JobRunner(workspace).start() if settings.run_jobs else None
        state.watch_jobs()
        try:
            yield
        finally:
            state.close()
            if runner:
                runner.stop()

    api = FastAPI(title="Benthoscope", version=version("benthoscope"), lifespan=lifespan, docs_url=None,
                  redoc_url=None, openapi_url="/api/v1/openapi.json", description=rest.DESCRIPTION)
    api.state.app = state
    api.state.settings = settings
    add_failures(api)
    rest.include(api)
    mount_pages(api, state, threads=settings.threads, secret=new_token().encode(),
                linger=settings.linger)
    api.add_middleware(SecurityHeaders, images_from=origin(settings.tiles))
    api.add_middleware(Guard, door=door(settings), cookie=cookie_name(workspace.identity.id))
    return api


def warm_up(state: AppState) -> None:
    """What the first person would otherwise wait for: columns, the modules of all pages, planes."""
    try:
        _ = state.columns
        for page in PAGES:
            page.view()
        from app.state.explore_warm import warm  # late: the server answers before numba and scikit-learn are loaded

        warm(state)
    except Exception:
        log.exception("warming up failed; pages will tell")


def door(settings: ServerSettings) -> Door:
    return Door(settings.token, LOOPBACK if settings.is_local else None)
