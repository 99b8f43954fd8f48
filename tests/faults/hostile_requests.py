"""Requests that no browser sends: random requests from the OpenAPI document, with invalid ids, texts, headers and
bodies.

`send` calls the application as uvicorn does, without a socket, so that it receives bytes that an HTTP client rejects.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from hypothesis import strategies as st

LIMIT = 2**63
IDS = (
    "1",
    "1",
    "2",
    "3",
    "4",
    "0",
    "-1",
    "999",
    str(2**31),
    str(LIMIT - 1),
    str(LIMIT),
    f"-{LIMIT + 1}",
    "9" * 400,
    "9" * 5000,
    "1e3",
    "1.0",
    "0x1",
    " 1",
    "+1",
    "1_0",
    "true",
    "nan",
    "null",
    "",
    "\0",
    "١",
    "Ⅳ",
    "seven",
)
TEXTS = (
    "a",
    "",
    " ",
    ".",
    "..",
    "../../../../etc/passwd",
    "%",
    "%s",
    "{x}",
    "[",
    "]",
    "//evil.org",
    "a\\b",
    "a/b",
    "\0",
    "a\0b",
    "\ud800",
    "\udcff",
    "a\r\nb: c",
    "\x1b[31m",
    "a" * 300,
    "a" * 5000,
    "é" * 200,
    "😀" * 120,
    "=1+1",
    "null",
    "'; drop table image; --",
    "CON",
    "nul.csv",
    ".csv",
    "\u202e",
    "ß",
    "NaN",
    "~",
    "0" * 64,
)
JSON_VALUES = (
    None,
    True,
    0,
    1,
    -1,
    0.5,
    10**9,
    LIMIT,
    -LIMIT - 1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    [],
    {},
    [None],
    [0, 10**9, None, 1],
    [0, 2**70, 1, 1],
    {"a": {"b": [1]}},
    {"\ud800": "\0"},
    ["\ud800"],
    *TEXTS,
)
BODIES = (
    b"",
    b"{",
    b"null",
    b"[]",
    b'"a"',
    b"\xff\xfe",
    b"[" * 50_000,
    b'{"a":' * 2_000,
    b"1" * 5_000,
    b'{"kind": NaN}',
    b'{"name": "\\ud800"}',
    b"a=b&c=d",
    b"\0" * 20,
    b"\xe9",
    b"x" * 20_000,
    b'{"kind": "count", "parameters": {"a": ' + b"[" * 300 + b"]" * 300 + b"}}",
)
HEADERS: Mapping[str, Sequence[str]] = {
    "origin": (
        "http://localhost",
        "http://[",
        "http://[::1",
        "http://evil.org",
        "null",
        "",
        "a://b@c:99999",
        "http://a:b",
        "\xff",
        "http://\xc4\xb0",
    ),
    "host": ("localhost", "localhost:8642", "[::1]:1", "", "[", "[::1", "localhost:99999999", "a@localhost", "\xff"),
    "cookie": (
        "",
        ";",
        "=",
        "a",
        "a=b; =; ;;",
        'a="',
        'a="\\',
        "benthoscope-x",
        "bad name=1",
        "a=\x01",
        "a=\xff",
        "bentho-person=%ff%00%",
        "bentho-theme=x; bentho-person=%ED%A0%80",
        "[]={}",
        "a=" + "b" * 4000,
        "__Host-=1",
        "$Version=1; a=b",
        "bentho-person=" + "a" * 4000,
        "bokeh-session-id=1",
        'a="\\777"',
        "expires=x; path",
    ),
    "authorization": ("", "Bearer", "Bearer ", "Bearer \xff", "Basic YTpi", "bearer wrong", "Bearer " + "a" * 4000),
    "range": (
        "bytes=0-1",
        "bytes=",
        "bytes=-",
        "bytes=9-1",
        "bytes=a-b",
        "bytes=0-99999999999999999999",
        "lines=1",
        "bytes=-1,-2,-3",
        "bytes=" + ",".join(["0-1"] * 100),
        "\xff",
    ),
    "if-none-match": ("*", '""', "W/", ",,,", "\xff", "a" * 4000),
    "if-range": ("x", "\xff", "Wed, 99 Foo"),
    "content-type": (
        "application/json",
        "text/plain",
        "",
        "application/json; charset=latin-1",
        "multipart/form-data",
        "\xff/",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ),
    "accept": ("text/html", "*/*", "\xff"),
    "content-length": ("0", "5"),
    "x-forwarded-for": ("1.2.3.4",),
}
QUERIES = ("token=", "token=%00", "token=%ff&token", "&&=&", "%", "shown", "v", "a[]=1")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "X-Y")


@dataclass(frozen=True)
class Request:
    """`path` and `query` are percent-encoded, as on the wire."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    status: int  # 0 for none
    headers: Mapping[str, str]
    body: bytes
    error: BaseException | None = field(default=None, compare=False)  # what the application raised


@dataclass(frozen=True)
class Operation:
    """One method of one path of the OpenAPI document; `properties` of its body, empty where none are described."""

    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]
    properties: tuple[str, ...] = ()


def described(document: Mapping[str, Any]) -> list[Operation]:
    """Return all operations of an OpenAPI document."""
    operations = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            schema = document.get("components", {}).get("schemas", {}).get(name, {})
            operations.append(
                Operation(
                    method.upper(), path, tuple(operation.get("parameters", ())), tuple(schema.get("properties", ()))
                )
            )
    return operations


def hidden(path: str, *names: str) -> Operation:
    """Return a route with these text parameters that the document does not contain."""
    return Operation("GET", path, tuple({"name": name, "in": "path", "schema": {"type": "string"}} for name in names))


def requests(
    operations: Sequence[Operation],
    known: Mapping[str, Sequence[Any]],
    token: str,
    bodies: Mapping[str, Sequence[Any]] | None = None,
) -> st.SearchStrategy[Request]:
    """Draw requests. `known` has valid values of parameters and properties by name; `bodies` has complete bodies by the
    path of the operation."""
    ids, texts, arbitrary = st.sampled_from(IDS), st.sampled_from(TEXTS), st.text(max_size=20)
    values, names, tenth = st.sampled_from(JSON_VALUES), st.sampled_from(sorted(HEADERS)), st.integers(0, 9)

    @st.composite
    def request(draw: Any) -> Request:
        operation = draw(st.sampled_from(operations))

        def text_of(parameter: Mapping[str, Any]) -> str:
            if parameter["name"] in known and draw(tenth) < 6:
                return str(draw(st.sampled_from(known[parameter["name"]])))
            kinds = {parameter["schema"].get("type"), *(each["type"] for each in parameter["schema"].get("anyOf", ()))}
            if "integer" in kinds and draw(tenth) < 9:
                return draw(ids)
            return draw(texts) if draw(tenth) < 7 else draw(arbitrary)

        def property_of(name: str) -> Any:
            return draw(st.sampled_from(known[name])) if name in known and draw(tenth) < 6 else draw(values)

        path, query = operation.path, []
        for parameter in operation.parameters:
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", encoded(text_of(parameter)))
            elif draw(tenth) < 7:
                query.append(f"{parameter['name']}={encoded(text_of(parameter))}")
        if not draw(tenth):
            query.append(draw(st.sampled_from(QUERIES)))
        headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {token}"}
        if "/crowd/work/" in path:
            headers["authorization"] = f"Bearer {known['secret'][0]}"
        if draw(tenth) < 3:
            name = draw(names)
            headers[name] = draw(st.sampled_from(HEADERS[name]))
        body = b""
        if operation.method in ("POST", "PUT"):
            chosen = {name: property_of(name) for name in operation.properties if draw(tenth) < 9}
            body = json.dumps(chosen).encode() if chosen and draw(tenth) < 7 else draw(st.sampled_from(BODIES))
            if operation.path in (bodies or {}) and draw(tenth) < 5:
                body = json.dumps(draw(st.sampled_from(bodies[operation.path]))).encode()
        method = operation.method if draw(tenth) else draw(st.sampled_from(METHODS))
        return Request(method, path, "&".join(query), tuple(headers.items()), body)

    return request()


def encoded(text: str) -> str:
    """Return the text as part of an address. A lone surrogate becomes bytes that are invalid in UTF-8."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def send(app: Any, request: Request, loop: asyncio.AbstractEventLoop) -> Answer:
    """Return the answer of the application and the exceptions it raised."""
    sent: list[dict[str, Any]] = []
    incoming = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def collect(message: dict[str, Any]) -> None:
        sent.append(message)

    error = None
    try:
        loop.run_until_complete(asyncio.wait_for(app(_scope(request), receive, collect), 120))
    except Exception as raised:
        error = raised
    starts = [message for message in sent if message["type"] == "http.response.start"]
    pairs = starts[0]["headers"] if starts else ()
    return Answer(
        starts[0]["status"] if len(starts) == 1 else 0,
        {name.decode("latin-1").lower(): text.decode("latin-1") for name, text in pairs},
        b"".join(message.get("body", b"") for message in sent),
        error,
    )


def _scope(request: Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "http",
        "method": request.method,
        "path": unquote(request.path),
        "state": {},
        "root_path": "",
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), text.encode("latin-1")) for name, text in request.headers],
        "server": ("127.0.0.1", 80),
    }
