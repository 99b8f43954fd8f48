"""A port to listen on that browsers accept."""

import socket
from collections.abc import Iterable

from engine.problems import fail

# Chromium and Firefox refuse to open these, because other protocols live there.
UNSAFE = frozenset({1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669,
                    6679, 6697, 10080})
USUAL = range(8642, 8652)  # tried first, so that a bookmark mostly works; none of them belongs to a common service


def listening(host: str, port: int = 0, preferred: Iterable[int] = USUAL) -> socket.socket:
    """A socket bound to the port, or where it is 0 to the first free one of the preferred, or to any free one."""
    if port:
        if port in UNSAFE:
            raise fail("--port", f"browsers refuse to open port {port}", f"take another, such as {USUAL.start}")
        return _bound(host, port, strict=True)
    for wanted in (*preferred, *[0] * 20):
        found = _bound(host, wanted)
        if found is not None and found.getsockname()[1] not in UNSAFE:
            return found
    raise fail("port", "none is free", "say which with --port")


def _bound(host: str, port: int, *, strict: bool = False) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small answers at once only where it sees TCP; else each waits 40 ms
    # for the other side to acknowledge its first packet.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        if strict:
            raise fail("--port", f"{host}:{port} cannot be used ({error.strerror or error})",
                       "another program may listen there; take another, or leave --port out") from error
        return None
    return made
