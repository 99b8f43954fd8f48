"""Shared parts of the routes: dependencies, validated types, caching, error responses and rate limits.

An error in a request is explained in one line of the response. An error in our code has its traceback in the log.
"""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge, Le
from bokeh.protocol.exceptions import ProtocolError
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response
from tornado.httputil import HTTPInputError
from tornado.web import HTTPError

from benthoscope.app.session.app_state import AppState
from benthoscope.engine.problems import BenthoscopeError, Problem

LARGEST = 2**63 - 1  # the largest number that databases and arrays hold
DEEPEST = 50  # allowed levels of nested values
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # NUL and lone surrogates


def _state(request: Request) -> AppState:
    return request.app.state.app


def storable(value: Any) -> Any:
    """Return the value. Raises ValueError if a database or JSON cannot store a text or number in it."""
    level = [value]
    for _ in range(DEEPEST):
        for node in level:
            _check_storable(node)
        level = [inner for node in level for inner in _inner(node)]
        if not level:
            return value
    raise ValueError(f"values must be nested at most {DEEPEST} levels deep")


def _check_storable(node: Any) -> None:
    if isinstance(node, str) and UNSTORABLE.search(node):
        raise ValueError("text must be valid Unicode without NUL characters")
    if isinstance(node, float) and not math.isfinite(node):
        raise ValueError("numbers must be finite")
    if isinstance(node, int) and abs(node) > LARGEST:
        raise ValueError("numbers must fit into 64 bits")


def _inner(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return (*node, *node.values())
    return node if isinstance(node, list) else ()


State = Annotated[AppState, Depends(_state)]
Integer = Annotated[int, Ge(-LARGEST - 1), Le(LARGEST)]
Text = Annotated[str, AfterValidator(storable)]
Details = Annotated[dict[str, Any], AfterValidator(storable)]
FOR_EVER = "private, max-age=31536000, immutable"  # for addresses that change with the content


class RequestBody(BaseModel):
    """The body of a request. A misspelled name is an error, so that nothing a program asks for is silently left out."""

    model_config = ConfigDict(extra="forbid")


def has_already(request: Request, tag: str) -> bool:
    """Whether the browser has this version (If-None-Match)."""
    etags = request.headers.get("if-none-match", "")
    return etags == "*" or tag in (word.strip().removeprefix("W/") for word in etags.split(","))


class NotFound(BenthoscopeError):
    """A requested object does not exist (status 404), as opposed to an invalid request (422)."""


def not_found(where: str, text: str, remedy: str = "") -> NotFound:
    return NotFound(Problem(where, text, remedy))


def add_failures(api: FastAPI) -> None:
    api.exception_handler(BenthoscopeError)(_benthoscope_error)
    api.exception_handler(RequestValidationError)(_invalid)
    api.exception_handler(HTTPException)(_refused)
    api.exception_handler(ProtocolError)(_bad_session)
    api.exception_handler(HTTPError)(_refused_by_panel)
    api.exception_handler(HTTPInputError)(_malformed)
    api.exception_handler(Exception)(_failed)


def problem_answer(problem: Problem, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as a JSON response; characters that cannot be encoded, as in file names, are escaped."""
    text = json.dumps({"error": vars(problem)}, ensure_ascii=False)
    return Response(text.encode("utf-8", "backslashreplace"), status, headers, "application/json")


async def _benthoscope_error(_: Request, error: BenthoscopeError) -> Response:
    return problem_answer(error.problem, 404 if isinstance(error, NotFound) else 422)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    location = ".".join(str(step) for step in first["loc"])
    text = "is not the name of a value here" if first["type"] == "extra_forbidden" else first["msg"]
    return problem_answer(Problem(location, text, "see /api/v1/openapi.json"), 422)


async def _refused(request: Request, error: HTTPException) -> Response:
    """An unknown address or a method that is not allowed."""
    if error.status_code in (204, 304):
        return Response(status_code=error.status_code, headers=error.headers)
    problem = Problem(request.url.path, str(error.detail), "see /api/v1/openapi.json")
    return problem_answer(problem, error.status_code, error.headers)


async def _bad_session(_: Request, error: ProtocolError) -> Response:
    """A page of Panel with an invalid session id in the address."""
    return problem_answer(Problem("bokeh_session_id", str(error), "open the page without it"), 422)


async def _refused_by_panel(request: Request, error: HTTPError) -> Response:
    """Routes of Panel raise errors of Tornado, which FastAPI does not handle."""
    reason = error.log_message or error.reason or "cannot be answered"
    return problem_answer(Problem(request.url.path, reason, ""), error.status_code)


async def _malformed(request: Request, error: HTTPInputError) -> Response:
    """Tornado refuses headers that Starlette accepts, such as `Host: a@b`."""
    return problem_answer(Problem(request.url.path, str(error), "correct the request"), 400)


async def _failed(_: Request, __: Exception) -> Response:
    return problem_answer(Problem("server", "an internal error occurred", "report it with the server's log"), 500)


KEPT = 20_000  # callers stored; if there are more, the half that was inactive longest is dropped


@dataclass(frozen=True)
class Rate:
    burst: float
    per_second: float


@dataclass
class Permits:
    """Thread-safe rate limiter: one token bucket for each caller, refilled at a constant rate."""

    clock: Callable[[], float] = time.monotonic
    _buckets: dict[Hashable, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, caller: Hashable, rate: Rate) -> float:
        """Take a token and return 0, or return the seconds until one is available."""
        with self._lock:
            moment = self.clock()
            tokens, at = self._buckets.get(caller, (rate.burst, moment))
            tokens = min(rate.burst, tokens + (moment - at) * rate.per_second)
            if tokens < 1:
                return (1 - tokens) / rate.per_second
            self._buckets[caller] = (tokens - 1, moment)
            if len(self._buckets) > KEPT:
                self._forget()
            return 0.0

    def _forget(self) -> None:
        oldest = sorted(self._buckets, key=lambda caller: self._buckets[caller][1])[: KEPT // 2]
        for caller in oldest:
            del self._buckets[caller]
