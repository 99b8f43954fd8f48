"""The REST API, version 1, described at /api/v1/openapi.json, and the files that pages load.

Pages load files and thumbnails. The other routes are loaded with the first request for one of them or after the first
page, because they need a fifth of the CPU time of the start.
"""

from importlib import import_module
from threading import Lock

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from benthoscope.app.api.common import Permits
from benthoscope.app.session.cache import Memory

DESCRIPTION = """Access for scripts to images, dives, runs, clusters, labels and jobs.

Send the token of the server as `Authorization: Bearer TOKEN`. Errors are `{"error": {"where", "what", "remedy"}}`.
"""
PREFIX = "/api/v1"
# Routers as "module:name" in the order of the description
OF_EVERY_PAGE = (
    "static_files:health_router",
    "thumbnails:router",
    "static_files:router",
)
UNDER_PREFIX = (
    "library:router",
    "images:router",
    "runs:router",
    "predictions:router",
    "plots:router",
    "jobs:router",
    "live:router",
    "library:people_router",
    "explore:search_router",
    "explore:router",
    "images:segments_router",
    "labels:router",
    "label_edits:router",
    "memories:router",
    "catalog:router",
    "crowd:router",
    "images:water_router",
)
AT_THE_ROOT = (
    "images:pictures",
    "crowd:pages",
)
AFTERWARDS = ("/api/", "/crowd/", "/thumbnails/segment/")  # how the addresses of the last two lists begin
_including = Lock()


def include(api: FastAPI) -> None:
    """Add the routes of every page; the others are added when they are needed."""
    api.state.crowd_permits, api.state.crowd_memory = Permits(), Memory()
    api.state.has_all_routes = False
    for name in OF_EVERY_PAGE:
        api.include_router(_router(name))


def include_others(api: FastAPI) -> None:
    """Add the routes that `include` left out, once."""
    with _including:
        if api.state.has_all_routes:
            return
        for name in UNDER_PREFIX:
            api.include_router(_router(name), prefix=PREFIX)
        for name in AT_THE_ROOT:
            api.include_router(_router(name))
        api.state.has_all_routes = True


def import_others() -> None:
    """Import the modules of the other routes, which takes most of the time of adding them."""
    for name in (*UNDER_PREFIX, *AT_THE_ROOT):
        _router(name)


def _router(name: str) -> APIRouter:
    module, _, variable = name.partition(":")
    return getattr(import_module(f"benthoscope.app.api.{module}"), variable)


class RoutesWhenNeeded:
    """A layer that adds the other routes on a thread before the first request for one of them."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(AFTERWARDS):
            api: FastAPI = scope["app"]
            if not api.state.has_all_routes:
                await run_sync(include_others, api)
        await self.app(scope, receive, send)
