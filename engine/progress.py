"""Progress reports and cancellation of long work."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Progress:
    """`done` of `total` steps (`total` is None if unknown), a message for the user, and figures for plots."""

    done: float
    total: float | None = None
    message: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)


class Cancelled(Exception):
    """Raised by `on_step` to stop the work. The work does not catch it and leaves no incomplete result."""


OnStep = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """Ignore the progress; the default for `on_step`."""


WINDOW = 20.0  # seconds; long enough to be stable, short enough to follow changes


class StepRate:
    """Steps per second over the last seconds. Work done before the first report does not count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._history: deque[tuple[float, float]] = deque()

    def note(self, done: float) -> None:
        moment = self._clock()
        if self._history and done < self._history[-1][1]:  # a new stage counts from zero again
            self._history.clear()
        self._history.append((moment, done))
        while len(self._history) > 2 and moment - self._history[0][0] > WINDOW:
            self._history.popleft()

    @property
    def rate(self) -> float | None:
        """Return steps per second; None before the second report."""
        if len(self._history) < 2:
            return None
        (began, before), (ended, done) = self._history[0], self._history[-1]
        return (done - before) / (ended - began) if ended > began else None


def seconds_left(done: float, total: float | None, rate: float | None) -> float | None:
    if total is None or not rate:
        return None
    return max(total - done, 0) / rate


def format_duration(seconds: float | None) -> str:
    """Return a duration in words, rounded for planning."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
