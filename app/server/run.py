"""Runs the server in this process until it is stopped: choice of the port, browser, preloading, clean shutdown."""

import contextlib
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterable

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from benthoscope.app.server.access import HEADERS, as_bytes
from benthoscope.app.server.application import ServerSettings, create_app, warm_up
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.problems import fail
from benthoscope.engine.workspace import Workspace

# Chromium and Firefox refuse to open these ports, because other protocols use them.
UNSAFE = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)
USUAL = range(8642, 8652)  # tried first, so that a bookmark usually works; no common service uses them


def listening(host: str, port: int = 0, preferred: Iterable[int] = USUAL) -> socket.socket:
    """A socket bound to the port. For port 0, the first free preferred port or else any free port."""
    if port:
        if port in UNSAFE:
            raise fail("--port", f"browsers refuse to open port {port}", f"choose another, such as {USUAL.start}")
        try:
            return _bound(host, port)
        except OSError as error:
            raise fail(
                "--port",
                f"{host}:{port} cannot be used ({error.strerror or error})",
                "another program may use it; choose another port or omit --port",
            ) from error
    for candidate in (*preferred, *[0] * 20):
        try:
            bound = _bound(host, candidate)
        except OSError:
            continue
        if bound.getsockname()[1] not in UNSAFE:
            return bound
    raise fail("port", "no usual port is free", "choose one with --port")


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With TCP named explicitly, asyncio disables Nagle's algorithm; otherwise small responses are delayed by 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError:
        made.close()
        raise
    return made


GRACE = 3  # seconds for open tabs to learn that the server stops
log = logging.getLogger(__name__)


def serve(
    workspace: Workspace, settings: ServerSettings, *, browser: bool = True, announce: Callable[[str], None] = print
) -> None:
    """Serve until Ctrl-C or SIGTERM. `announce` is called with the address once the server answers."""
    listener = listening(settings.host, settings.port)
    address = address_of(listener, settings)
    api = create_app(workspace, settings)
    server = _Server(
        uvicorn.Config(
            api,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=GRACE,
            ws_ping_interval=20,
            ws_max_size=64 << 20,
            server_header=False,
            http=Protocol,
        ),
        lambda: _ready(api.state.app, address, browser, announce),
    )
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again after a clean shutdown
        server.run(sockets=[listener])


class Protocol(H11Protocol):
    """Adds the security headers to the response to invalid requests, which never reach the application."""

    def send_400_response(self, msg: str) -> None:
        body = f"{msg}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
            *as_bytes(HEADERS),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        self.transport.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]):
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def address_of(listener: socket.socket, settings: ServerSettings) -> str:
    """The link with the token."""
    host, port = settings.host, listener.getsockname()[1]
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"?token={settings.token}" if settings.token else "")


def _ready(app: AppState, address: str, browser: bool, announce: Callable[[str], None]) -> None:
    announce(address)
    threading.Thread(target=warm_up, args=(app,), name="warm-up", daemon=True).start()
    if browser:  # on a thread: some systems block until the browser is closed
        threading.Thread(target=webbrowser.open, args=(address,), name="browser", daemon=True).start()
