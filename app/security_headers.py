"""Headers that keep pages from being used by, or calling out to, anything but this server."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Components load as modules from blobs and talk through a websocket. Nothing is evaluated from text.
POLICY = ("default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline' blob:; "
          "connect-src 'self' ws: wss: blob:; img-src 'self' data: blob:; font-src 'self' data:; "
          "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}


class SecurityHeaders:
    """Adds the headers to every answer; `images_from` is the host a person allowed for map tiles."""

    def __init__(self, app: ASGIApp, images_from: str = ""):
        self.app = app
        self._headers = [(name.encode(), value.encode()) for name, value in with_images(HEADERS, images_from).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                new = [pair for pair in self._headers if pair[0] not in known]
                message = {**message, "headers": [*message["headers"], *new]}
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def with_images(headers: Mapping[str, str], host: str) -> dict[str, str]:
    if not host:
        return dict(headers)
    policy = headers["content-security-policy"].replace("img-src 'self'", f"img-src 'self' {host}")
    return {**headers, "content-security-policy": policy}


def origin(address: str) -> str:
    """Scheme and host of an address, as a policy names them; empty for an empty one."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
