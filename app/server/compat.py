"""All use of private API of Panel, Bokeh, bokeh-fastapi and param, with the versions it was checked with.

Each part says which gap it closes. tests/unit/server/test_compat.py fails when upstream closes the gap itself, or when
the installed versions are not the checked ones.
"""

import logging
import re
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import bokeh.io.doc
import panel as pn
import panel.io.document
import panel.io.fastapi
import panel.io.location
import panel_material_ui as pmui
from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent, DocumentPatchedEvent, MessageSentEvent
from bokeh.document.locking import UnlockedDocumentProxy
from bokeh_fastapi.handler import WSHandler
from cachetools import LRUCache
from panel.io.resources import Resources
from panel.io.server import ComponentResourceHandler
from panel.util import edit_readonly, parse_query
from starlette.websockets import WebSocketState
from tornado.web import HTTPError

from benthoscope.app.components.base import module_url

UNUSED_FILES = frozenset(
    {
        "material-icons.css",
        "luxon.min.js",  # dates in tables
        "bokeh-gl.min.js",  # plots by WebGL
        "es-module-shims.min.js",  # assets/js/core/panel_gaps.js imports modules without it
        "tabulator.min.js",  # assets/js/shared/table.js loads it when a table comes into view
        "tabulator_materialize.min.css",
    }
)
HOST_AND_PORT = re.compile(r"(?P<hostname>.*?)(:(?P<port>\d+))?", re.DOTALL)
REMEMBERED_FILES = 32  # lists: one for each type of file and number of loaded modules
log = logging.getLogger(__name__)

CHECKED = {
    "bokeh": "3.9.2",
    "bokeh-fastapi": "0.1.8",
    "panel": "1.9.4",
    "panel-material-ui": "0.16.6",
    "param": "2.4.2",
}


def use_thread_pool(pool: ThreadPoolExecutor) -> None:
    """Have Panel run callbacks on this pool. Panel has no setting for the pool, and its own runs the callbacks of one
    session in any order."""
    state: Any = pn.state  # the attribute is private and has no type
    state._thread_pool.shutdown(wait=False)
    state._thread_pool = pool


def release_busy(frame: pmui.Page) -> None:
    """Stop the page from watching `pn.state.busy`: it would keep every page in memory, and it reports the work of all
    sessions."""
    with edit_readonly(frame):
        frame.busy = False
    # Setting a plain value ends the reference but not its watcher.
    for _, watcher in frame._param__private.ref_watchers:
        pn.state.param.unwatch(watcher)


def serve_loaded_resources_only() -> None:
    module: Any = panel.io.fastapi  # a class of another module is replaced
    module.ComponentResourceHandler = LoadedResources


def read_any_query() -> None:
    """Read every query of an address. Panel 1.9.4 raises for digits such as "²" and for very long numbers, and the page
    then never answers."""
    module: Any = panel.io.location  # a function that it imported is replaced
    module.parse_query = query_values


def query_values(query: str) -> dict[str, Any]:
    """Return the values of a query as Panel reads them, or all as text if Panel cannot read one of them."""
    try:
        return parse_query(query)
    except ValueError:
        return dict(parse_qsl(query[1:]))


def read_any_address() -> None:
    """Open pages at every address. Panel 1.9.4 raises for a host such as "[::1]:5006" and for a second "?" in a query.
    The first request then fails, and later ones with the same session id are never answered."""
    module: Any = panel.io.location
    module._get_location_params = address_values


_panel_address_values = panel.io.location._get_location_params


def address_values(protocol: str | None, host: str | None, uri: str | None) -> dict[str, str]:
    """Return the parts of an address as Panel reads them, or as RFC 3986 says if Panel cannot read them."""
    try:
        return _panel_address_values(protocol, host, uri)
    except ValueError:
        parts = SplitResult(protocol or "http", host or "", *urlsplit(uri or "")[2:])
        place = HOST_AND_PORT.fullmatch(parts.netloc)
        assert place is not None  # it matches every text
        values = {
            "protocol": f"{parts.scheme}:",
            **place.groupdict(""),
            "pathname": parts.path,
            "search": f"?{parts.query}" if parts.query else "",
            "hash": f"#{parts.fragment}" if parts.fragment else "",
            "href": parts.geturl(),
        }
        return {name: value for name, value in values.items() if value}


class LoadedResources(ComponentResourceHandler):
    """Serves files of components from loaded modules only. Panel 1.9.4 imports any module named in the address, which
    runs its code, and fails on invalid names."""

    def parse_url_path(self, path: str) -> str:
        try:
            file = ComponentResourceHandler.parse_url_path(self, path) if path.partition("/")[0] in sys.modules else ""
            if Path(file).is_file():
                return file
        except HTTPError:
            raise
        except Exception as error:
            log.info("no component resource: %s", error)
        raise HTTPError(404, "No such resource")


def remember_component_files() -> None:
    """Remember which style sheets and scripts the loaded components need. Panel 1.9.4 asks all component classes five
    times for each page, which is half of the CPU time of a page. The answer can change when modules are imported."""
    owner: Any = Resources  # a method of it is replaced
    original = owner.extra_resources
    if hasattr(original, "__wrapped__"):
        return
    files: LRUCache[tuple[Any, ...], list[str]] = LRUCache(REMEMBERED_FILES)

    @wraps(original)
    def extra_resources(self: Resources, resources: list[str], resource_type: str) -> None:
        key = resource_type, self.mode, pn.state.rel_path, len(sys.modules)
        if key not in files:
            own: list[str] = []
            original(self, own, resource_type)
            files[key] = own
        resources.extend(file for file in files[key] if file not in resources)

    owner.extra_resources = extra_resources


def send_changes_while_a_page_opens() -> None:
    """Send changes that are made after the browser received a page and before it reports that the page is ready. Panel
    1.9.4 drops them, because it takes the page for unsent, and the page then shows old content until it is reloaded."""
    module: Any = panel.io.document  # a private function of another module is replaced
    original = module._drain_unconnected_events
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def drain(doc: Document, lock: threading.Lock) -> list[DocumentChangedEvent]:
        with lock:
            changes = [event for event in doc.callbacks._held_events or () if _is_dropped(event)]
        immediate: list[DocumentChangedEvent] = original(doc, lock)
        if changes and _is_received(doc):
            # the session accepts changes only from callbacks of its own
            doc.add_next_tick_callback(partial(module.retrigger_events, doc, changes))
        return immediate

    module._drain_unconnected_events = drain


def _is_dropped(event: DocumentChangedEvent) -> bool:
    return isinstance(event, DocumentPatchedEvent) and not isinstance(event, MessageSentEvent)


def _is_received(doc: Document) -> bool:
    session = getattr(doc.session_context, "session", None)
    return bool(session is not None and session._subscribed_connections)


def forget_documents_after_errors() -> None:
    """After an error in a callback, Bokeh takes the document of the callback for the current one from then on, in all
    threads that have none of their own."""
    bokeh.io.doc.patch_curdoc = _patched_document


@contextmanager
def _patched_document(doc: Document | UnlockedDocumentProxy) -> Iterator[None]:
    patched, reference = bokeh.io.doc._PATCHED_CURDOCS, weakref.ref(doc)
    patched.append(reference)
    del doc
    try:
        yield
    finally:
        patched.remove(reference)


def leave_out_unused_files() -> None:
    """Leave out files that the page does not use, or not yet. `material-icons.css` makes the text wait for its font: it
    lists the fonts of other alphabets without their letters, so that the browser loads them all, one after another.
    Another style sheet has the fonts and icons of pages."""
    owner: Any = Resources  # a method of it is replaced
    original = owner.adjust_paths
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def adjust_paths(self: Resources, resources: Iterable[Any]) -> list[str]:
        used = [file for file in resources if PurePosixPath(urlsplit(str(file)).path).name not in UNUSED_FILES]
        paths: list[str] = original(self, used)
        return paths

    owner.adjust_paths = adjust_paths


def close_gaps_in_browser() -> None:
    """Load a module into every page before its components are made. It says which gaps of Panel it closes."""
    pn.config.js_modules = {**pn.config.js_modules, "panel_gaps": module_url("core/panel_gaps")}


def follow_websockets() -> None:
    """Patch two defects of bokeh-fastapi 0.1.8. It does not report closed websockets to Bokeh, so sessions would never
    end. And a websocket without a session (of a page opened before a restart, or forged) raises instead of being
    rejected."""
    original = WSHandler.ws_connect
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    async def ws_connect(self: WSHandler, websocket: Any) -> None:
        try:
            await original(self, websocket)
        except Exception as error:
            if websocket.application_state is WebSocketState.CONNECTED:
                raise
            log.info("websocket refused: %s", error)
            if websocket.application_state is WebSocketState.CONNECTING:
                await websocket.close()
        finally:
            connection = self.connection
            if connection is not None and connection in self.application._clients:
                self.application.client_lost(connection)

    WSHandler.ws_connect = ws_connect
