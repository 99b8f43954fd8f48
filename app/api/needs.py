"""What routes ask for: the state of the process, and cautious answers to browsers that have something already."""

from typing import Annotated

from fastapi import Depends, Request

from app.state.app_state import AppState


def _state(request: Request) -> AppState:
    return request.app.state.app


State = Annotated[AppState, Depends(_state)]
FOR_EVER = "private, max-age=31536000, immutable"  # the address changes with the content


def has_already(request: Request, tag: str) -> bool:
    """Whether the browser holds this version (If-None-Match)."""
    held = request.headers.get("if-none-match", "")
    return held == "*" or tag in (word.strip().removeprefix("W/") for word in held.split(","))
