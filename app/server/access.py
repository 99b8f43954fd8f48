"""Access control: a secret token as in notebook servers, requests from pages of this server only, security headers.

The token is sent once in the address (`?token=...`), then stored as a cookie and removed from the address. It is stored
in the workspace, so that links, cookies and open pages stay valid after a restart of the server. The headers keep pages
from contacting other servers and from being embedded by them.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from http.cookies import CookieError, Morsel, SimpleCookie
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benthoscope.engine.problems import Problem
from benthoscope.engine.workspace.storage.files import replacing

# Components are loaded as modules from blobs and use a websocket. No text is evaluated as code.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline' blob:; "
    "connect-src 'self' ws: wss: blob:; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
FOREIGN, STRANGER = 4403, 4401  # close codes of websockets: wrong origin, no token
REFUSAL = b"Not allowed.\n"  # body of the answer to a rejected websocket


class SecurityHeaders:
    """The outermost layer: adds the headers to every response, including errors. `images_from` is the host allowed for
    map tiles."""

    def __init__(self, app: ASGIApp, images_from: str = ""):
        self.app = app
        self._headers = as_bytes(with_images(HEADERS, images_from))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self.app(scope, receive, self._on_answers(send))
        elif scope["type"] == "websocket" and "websocket.http.response" in scope.get("extensions", {}):
            await self.app(scope, receive, self._on_refusals(send))
        else:
            await self.app(scope, receive, send)

    def _on_answers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                new = [pair for pair in self._headers if pair[0] not in known]
                message = {**message, "headers": [*message["headers"], *new]}
            await send(message)

        return send_with_headers

    def _on_refusals(self, send: Send) -> Send:
        """Answer with plain HTTP if a websocket is closed before it was accepted."""
        accepted = False

        async def send_with_headers(message: Message) -> None:
            nonlocal accepted
            accepted = accepted or message["type"] == "websocket.accept"
            if accepted or message["type"] != "websocket.close":
                await send(message)
                return
            plain = [(b"content-type", b"text/plain"), (b"content-length", str(len(REFUSAL)).encode())]
            status = 401 if message.get("code") == STRANGER else 403
            await send({"type": "websocket.http.response.start", "status": status, "headers": [*plain, *self._headers]})
            await send({"type": "websocket.http.response.body", "body": REFUSAL})

        return send_with_headers


def as_bytes(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def with_images(headers: Mapping[str, str], host: str) -> dict[str, str]:
    if not host:
        return dict(headers)
    policy = headers["content-security-policy"].replace("img-src 'self'", f"img-src 'self' {host}")
    return {**headers, "content-security-policy": policy}


def origin(address: str) -> str:
    """Scheme and host of an address for a policy; empty for an empty address."""
    address_parts = urlsplit(address)
    return f"{address_parts.scheme}://{address_parts.netloc}" if address_parts.netloc else ""


log = logging.getLogger(__name__)
TOKEN_FILE = "server-token"  # in the workspace's folder, readable by its owner only
TOKEN = re.compile(r"[!-~]{8,200}")  # a valid token: printable characters without blanks

OPEN = ("/health", "/assets/", "/crowd/", "/api/v1/crowd/work/")  # crowd links carry secrets of their own
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
NO_TOKEN = Problem(
    "address",
    "has no valid token",
    "open the link that `benthoscope serve` printed, or ask the person who started the server for it",
)


COOKIE_NAME = re.compile(rb"[\w!#$%&'*+.^`|~:-]+", re.ASCII)
RESERVED = frozenset(name.encode() for name in Morsel())  # attributes of cookies, such as "path"


def new_token() -> str:
    return secrets.token_urlsafe(24)


def workspace_token(folder: Path, *, new: bool = False) -> str:
    """The token of a workspace, created at the first start or if `new` is set. If the folder cannot be written to, the
    token is valid for this start only."""
    path = folder / TOKEN_FILE
    try:
        stored = "" if new else _stored_token(path)
        if stored:
            path.chmod(0o600)
            return stored
        made = new_token()
        with replacing(path) as file:  # creates the file readable by its owner only
            file.write(f"{made}\n".encode())
        return made
    except OSError as error:
        log.warning("%s cannot be used (%s); using a token for this start only", path, error.strerror)
        return new_token()


def _stored_token(path: Path) -> str:
    """The token in the file; empty if there is no file or no valid token in it."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return text if TOKEN.fullmatch(text) else ""


def cookie_name(workspace: str) -> str:
    """One cookie name for each workspace: cookies ignore ports, so servers on one host would overwrite each other's."""
    return f"benthoscope-{hashlib.sha256(workspace.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Door:
    """Rules of access. An empty `token` admits everybody; `hosts` None allows any host name (a server on a network)."""

    token: str
    hosts: frozenset[str] | None = LOOPBACK
    open_paths: tuple[str, ...] = OPEN

    def knows(self, offered: Iterable[str]) -> bool:
        return not self.token or any(hmac.compare_digest(self.token.encode(), word.encode()) for word in offered)

    def is_open(self, path: str) -> bool:
        return any(path == known or (known.endswith("/") and path.startswith(known)) for known in self.open_paths)

    def is_ours(self, headers: dict[str, str]) -> bool:
        """Whether the request names this server and comes from one of its pages. Otherwise scripts of other sites could
        contact a server on this computer, also by DNS rebinding."""
        host = headers.get("host", "")
        if self.hosts is not None and hostname(host) not in self.hosts:
            return False
        origin = headers.get("origin")
        return origin is None or network_location(origin) == host.lower()


class Guard:
    """Middleware that applies the access rules to HTTP and websockets."""

    def __init__(self, app: ASGIApp, door: Door, cookie: str):
        self.app, self.door, self.cookie = app, door, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refusal(scope, headers)
        if answer is None:
            await self.app(with_usable_cookies(scope), receive, send)
        elif scope["type"] == "websocket":
            await receive()
            code = STRANGER if self.door.is_ours(headers) else FOREIGN
            await send({"type": "websocket.close", "code": code, "reason": "not allowed"})
        else:
            await answer(scope, receive, send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> ASGIApp | None:
        """The response to a request that is not allowed; None if it is allowed."""
        if not self.door.is_ours(headers):
            return PlainTextResponse("Not a page of this server.\n", 403)
        if scope["type"] == "http" and self.door.is_open(scope["path"]):  # open paths have no websockets
            return None
        in_address = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
        if in_address is not None and self.door.token and self.door.knows([pasted_token(in_address)]):
            return self._welcome(scope) if scope["type"] == "http" and scope["method"] == "GET" else None
        if self.door.knows(self._offered(headers)):
            return None
        return _unknown(scope, headers, wrong=in_address is not None)

    def _offered(self, headers: dict[str, str]) -> list[str]:
        scheme, _, word = headers.get("authorization", "").partition(" ")
        offered = [word] if scheme.lower() == "bearer" else []
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            morsel = None
        return [*offered, morsel.value] if morsel else offered

    def _welcome(self, scope: Scope) -> ASGIApp:
        """Store the token as a cookie and redirect to the address without it, because addresses are seen and logged."""
        query = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"]
        # a path that begins with two slashes would redirect to another host
        target = "/" + scope["path"].lstrip("/") + (f"?{urlencode(query)}" if query else "")
        answer = RedirectResponse(target, 303)
        answer.set_cookie(self.cookie, self.door.token, httponly=True, samesite="lax", max_age=30 * 86_400)
        return answer


def network_location(address: str) -> str | None:
    """Host and port of an address in lower case; None if it is not an address."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return None


def with_usable_cookies(scope: Scope) -> Scope:
    """The scope without cookies with an invalid name, on which Panel fails."""
    headers = [(name, _usable_cookies(text) if name == b"cookie" else text) for name, text in scope["headers"]]
    return {**scope, "headers": headers}


def _usable_cookies(header: bytes) -> bytes:
    pairs = [pair.strip() for pair in header.split(b";")]
    names = [pair.partition(b"=")[0].strip() for pair in pairs]
    return b"; ".join(
        pair
        for pair, name in zip(pairs, names, strict=True)
        if b"=" in pair and COOKIE_NAME.fullmatch(name) and name.lower() not in RESERVED
    )


def hostname(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def pasted_token(text: str) -> str:
    """The token from pasted text: a token or a whole link."""
    return text.rpartition("token=")[2].partition("&")[0].strip()


def _unknown(scope: Scope, headers: dict[str, str], *, wrong: bool) -> Any:
    if scope["path"].startswith("/api/") or "text/html" not in headers.get("accept", ""):
        return JSONResponse({"error": vars(NO_TOKEN)}, 401)
    return HTMLResponse(token_page(scope, wrong=wrong), 401, {"cache-control": "no-store"})


def token_page(scope: Scope, *, wrong: bool) -> str:
    """A self-contained page with a field for the token that then opens the requested address."""
    other_fields = [pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"]
    fields = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(text)}">' for name, text in other_fields
    )
    warning = '<p class="wrong" role="alert">This token is not valid. Copy the whole link again.</p>' if wrong else ""
    action = quote("/" + scope["path"].lstrip("/"))
    return _template().replace("{{wrong}}", warning).replace("{{action}}", escape(action)).replace("{{fields}}", fields)


@cache
def _template() -> str:
    return (files("benthoscope.assets") / "token.html").read_text(encoding="utf-8")
