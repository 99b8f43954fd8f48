"""Errors as answers: what a person did wrong is told in one line, our own mistakes keep their traceback in the log."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import JSONResponse

from engine.problems import BenthoscopeError, Problem


class Missing(BenthoscopeError):
    """Something that is not there, as against a question that makes no sense."""


def missing(where: str, what: str, remedy: str = "") -> Missing:
    return Missing(Problem(where, what, remedy))


def add_failures(api: FastAPI) -> None:
    api.add_exception_handler(BenthoscopeError, _ours)
    api.add_exception_handler(RequestValidationError, _invalid)


async def _ours(_: Request, error: BenthoscopeError) -> JSONResponse:
    return JSONResponse({"error": vars(error.problem)}, 404 if isinstance(error, Missing) else 422)


async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return JSONResponse({"error": vars(Problem(place, first["msg"], "see /api/v1/openapi.json"))}, 422)
