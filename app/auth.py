"""Who may come in: an unguessable token, as notebook servers have, and only pages of this server.

The token comes once in the address (`?token=...`), is turned into a cookie and taken out of the address.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.problems import Problem

OPEN = ("/health", "/assets/", "/crowd/", "/api/v1/crowd/work/")  # crowd links carry secrets of their own
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
FOREIGN, STRANGER = 4403, 4401  # close codes of websockets: another page's, without token
NO_TOKEN = Problem("address", "has no valid token",
                   "open the link that `benthoscope serve` printed, or ask who started the server for it")


def new_token() -> str:
    return secrets.token_urlsafe(24)


def cookie_name(workspace: str) -> str:
    """One for each workspace: cookies know no ports, and servers on one host would take each other's away."""
    return f"benthoscope-{hashlib.sha256(workspace.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Door:
    """`token` empty lets everybody in; `hosts` None takes any name of the server (it is bound to the network)."""

    token: str
    hosts: frozenset[str] | None = LOOPBACK
    open_paths: tuple[str, ...] = OPEN

    def knows(self, offered: Iterable[str]) -> bool:
        return not self.token or any(hmac.compare_digest(self.token.encode(), word.encode()) for word in offered)

    def is_open(self, path: str) -> bool:
        return any(path == known or (known.endswith("/") and path.startswith(known)) for known in self.open_paths)

    def is_ours(self, headers: dict[str, str]) -> bool:
        """Whether the request names this server and comes from a page of it: keeps out pages of other sites, whose
        scripts could otherwise talk to a server on this machine (also through a name that leads here)."""
        host = headers.get("host", "")
        if self.hosts is not None and hostname(host) not in self.hosts:
            return False
        origin = headers.get("origin")
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()


class Guard:
    """The outermost layer of the application: HTTP and websockets alike."""

    def __init__(self, app: ASGIApp, door: Door, cookie: str):
        self.app, self.door, self.cookie = app, door, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refusal(scope, headers)
        if answer is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            code = STRANGER if self.door.is_ours(headers) else FOREIGN
            await send({"type": "websocket.close", "code": code, "reason": "not allowed"})
        else:
            await answer(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> ASGIApp | None:
        """The answer to whom the door does not let in; None for who may pass."""
        if not self.door.is_ours(headers):
            return PlainTextResponse("Not a page of this server.\n", 403)
        if scope["type"] == "http" and self.door.is_open(scope["path"]):  # pages' sockets lie beside what is open
            return None
        in_address = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if in_address is not None and self.door.token and self.door.knows([in_address]):
            return self._welcome(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        return None if self.door.knows(self._offered(headers)) else _unknown(scope, headers)

    def _offered(self, headers: dict[str, str]) -> list[str]:
        scheme, _, word = headers.get("authorization", "").partition(" ")
        offered = [word] if scheme.lower() == "bearer" else []
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        return [*offered, morsel.value] if morsel else offered

    def _welcome(self, scope: Scope) -> ASGIApp:
        """Turns the token in the address into a cookie: an address is easily seen, logged and passed on."""
        rest = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"]
        # A path that began with two slashes would lead to another host.
        place = "/" + scope["path"].lstrip("/") + (f"?{urlencode(rest)}" if rest else "")
        answer = RedirectResponse(place, 303)
        answer.set_cookie(self.cookie, self.door.token, httponly=True, samesite="lax", max_age=30 * 86_400)
        return answer


def hostname(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _unknown(scope: Scope, headers: dict[str, str]) -> Any:
    if scope["path"].startswith("/api/") or "text/html" not in headers.get("accept", ""):
        return JSONResponse({"error": vars(NO_TOKEN)}, 401)
    return PlainTextResponse(f"{NO_TOKEN}\n", 401)
