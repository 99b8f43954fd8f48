"""Compressed scripts and style sheets: a page needs 5 MB of them, and a third of that with gzip.

Answers that change with every request are left alone: the size of a compressed page would reveal parts of its token.
"""

import gzip
from typing import cast

from anyio.to_thread import run_sync
from cachetools import LRUCache
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FOLDERS = ("/static/", "/assets/")
ENDINGS = (".js", ".css", ".json", ".svg", ".md")
LEVEL = 6
SMALLEST = 1000  # bytes; a smaller file fits into one packet anyway
REMEMBERED = 16_000_000  # bytes of compressed files


class CompressedFiles:
    """A layer that compresses static text files for browsers that accept gzip, each file once."""

    def __init__(self, app: ASGIApp):
        self.app = app
        self._files: LRUCache[tuple[str, str], bytes] = LRUCache(REMEMBERED, getsizeof=len)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_text_file(scope) or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self.app(scope, receive, send)
            return
        start: Message = {}
        parts: list[bytes] = []

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                start, body = await self._compressed(scope["path"], start, b"".join(parts))
                await send(start)
                await send({"type": "http.response.body", "body": body})

        await self.app(scope, receive, send_compressed)

    async def _compressed(self, path: str, start: Message, body: bytes) -> tuple[Message, bytes]:
        headers = MutableHeaders(raw=list(start["headers"]))
        headers.add_vary_header("accept-encoding")
        tag = headers.get("etag")
        if start["status"] != 200 or tag is None or len(body) < SMALLEST or "content-encoding" in headers:
            return {**start, "headers": headers.raw}, body
        packed = self._files.get((path, tag))
        if packed is None:
            packed = cast(bytes, await run_sync(lambda: gzip.compress(body, LEVEL, mtime=0)))
            if len(packed) <= REMEMBERED:
                self._files[path, tag] = packed
        headers["content-encoding"] = "gzip"
        headers["content-length"] = str(len(packed))
        return {**start, "headers": headers.raw}, packed


def _is_text_file(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    path: str = scope["path"]
    return path.startswith(FOLDERS) and path.endswith(ENDINGS)
