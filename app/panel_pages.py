"""Mounts the pages in the FastAPI application: one Panel application a page, sessions that end with their tabs."""

from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh_fastapi.handler import WSHandler
from fastapi import FastAPI
from panel.io.fastapi import add_applications

from app.components.shell import framed
from app.lanes import keep_order
from app.pages.registry import PAGES, Page
from app.state.app_state import AppState

CHECKS = 3  # looks for sessions that have ended, in the time they live on


def mount_pages(api: FastAPI, app: AppState, *, threads: int, secret: bytes, linger: float) -> None:
    """Sessions without a connection live on for `linger` seconds: a reload or a short loss of the network finds its
    page again."""
    _let_go_of_closed_tabs()
    keep_order(threads)
    pn.extension(notifications=False)  # Panel's notifications keep the document of every session for ever
    pages = {f"/{page.slug}": _opener(page, app) for page in PAGES}
    titles = {f"/{page.slug}": f"{page.title} · {app.workspace.name}" for page in PAGES}
    add_applications(pages, app=api, title=titles, secret_key=secret, sign_sessions=True,
                     check_unused_sessions_milliseconds=round(1000 * linger / CHECKS),
                     unused_session_lifetime_milliseconds=round(1000 * linger))


def _opener(page: Page, app: AppState) -> Callable[[], Any]:
    def opened():  # a functools.partial would be shown as text
        return framed(page, app)

    return opened


def _let_go_of_closed_tabs() -> None:
    """bokeh-fastapi 0.1.8 never tells Bokeh that a websocket closed, so that no session would ever end."""
    if getattr(WSHandler.ws_connect, "lets_go", False):
        return
    original = WSHandler.ws_connect

    async def ws_connect(self: WSHandler, websocket: Any) -> None:
        try:
            await original(self, websocket)
        finally:
            connection = self.connection
            if connection is not None and connection in self.application._clients:
                self.application.client_lost(connection)

    ws_connect.lets_go = True
    WSHandler.ws_connect = ws_connect
