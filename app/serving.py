"""Runs the server in this process until it is told to stop: socket, browser, warm caches, a clean end."""

import contextlib
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from app.ports import listening
from app.server import ServerSettings, create_app, warm_up
from app.state.app_state import AppState
from engine.workspace import Workspace

GRACE = 3  # seconds open tabs get to hear that the server stops
log = logging.getLogger(__name__)


def serve(workspace: Workspace, settings: ServerSettings, *, browser: bool = True,
          announce: Callable[[str], None] = print) -> None:
    """Serves until Ctrl-C or SIGTERM; `announce` gets the address to open once the server answers."""
    held = listening(settings.host, settings.port)
    address = address_of(held, settings)
    api = create_app(workspace, settings)
    server = _Server(uvicorn.Config(
        api, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, ws_ping_interval=20,
        ws_max_size=64 << 20, server_header=False), lambda: _ready(api.state.app, address, browser, announce))
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again after it has stopped in good order
        server.run(sockets=[held])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]):
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def address_of(held: socket.socket, settings: ServerSettings) -> str:
    """The link that lets in whoever opens it."""
    host, port = settings.host, held.getsockname()[1]
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"?token={settings.token}" if settings.token else "")


def _ready(app: AppState, address: str, browser: bool, announce: Callable[[str], None]) -> None:
    announce(address)
    threading.Thread(target=warm_up, args=(app,), name="warm-up", daemon=True).start()
    if browser:  # on a thread of its own: some systems wait until the browser is closed
        threading.Thread(target=webbrowser.open, args=(address,), name="browser", daemon=True).start()
