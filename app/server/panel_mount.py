"""Mounts the pages in the FastAPI application: one Panel application per page; sessions end with their tabs."""

from collections.abc import Callable
from typing import Any

import panel as pn
from fastapi import FastAPI
from panel.io.fastapi import add_applications

from benthoscope.app.pages.registry import PAGES, PageEntry
from benthoscope.app.pages.shell import framed
from benthoscope.app.server import compat
from benthoscope.app.server.session_executor import keep_order
from benthoscope.app.session.app_state import AppState

CHECKS = 3  # checks for ended sessions within their lifetime without a connection


def mount_pages(api: FastAPI, app: AppState, *, threads: int, secret: bytes, linger: float) -> None:
    """Mount all pages. Sessions without a connection live for `linger` seconds, so that a page survives a short loss of
    the network."""
    compat.follow_websockets()
    compat.forget_documents_after_errors()
    compat.read_any_query()
    compat.read_any_address()
    compat.send_changes_while_a_page_opens()
    compat.remember_component_files()
    compat.serve_loaded_resources_only()
    keep_order(threads)
    # Panel's notifications would keep every session in memory. Signatures of its classes are for editors and notebooks.
    pn.extension(notifications=False, apply_signatures=False)
    compat.close_gaps_in_browser()
    compat.leave_out_unused_files()
    pages: dict[str, Any] = {f"/{page.slug}": _opener(page, app) for page in PAGES}
    titles = {f"/{page.slug}": f"{page.title} · {app.workspace.name}" for page in PAGES}
    add_applications(
        pages,
        app=api,
        title=titles,
        secret_key=secret,
        sign_sessions=True,
        check_unused_sessions_milliseconds=round(1000 * linger / CHECKS),
        unused_session_lifetime_milliseconds=round(1000 * linger),
    )


def _opener(page: PageEntry, app: AppState) -> Callable[[], Any]:
    def opened():  # a functools.partial would be shown as text
        frame = framed(page, app)
        compat.release_busy(frame)
        if not app.page_drawn.is_set():
            pn.state.onload(app.page_drawn.set)
        return frame

    return opened
