"""How long work tells of itself and is told to stop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Progress:
    """`done` of `total` steps (`total` None while unknown), one line for a person, figures for a plot."""

    done: float
    total: float | None = None
    message: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


class Cancelled(Exception):
    """Raised by `on_step` inside the work; the work lets it pass and leaves nothing half-written."""


OnStep = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """The listener of those who do not listen."""
