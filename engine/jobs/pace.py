"""How fast work goes and when it will be done."""

import time
from collections import deque
from collections.abc import Callable

WINDOW = 20.0  # seconds looked back: long enough to be calm, short enough to notice a change


class Pace:
    """Steps per second over the last seconds; not disturbed by work that was done before it began to look."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def note(self, done: float) -> None:
        moment = self._clock()
        if self._seen and done < self._seen[-1][1]:  # a new stage counts from nothing again
            self._seen.clear()
        self._seen.append((moment, done))
        while len(self._seen) > 2 and moment - self._seen[0][0] > WINDOW:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Steps per second; None until two moments are known."""
        if len(self._seen) < 2:
            return None
        (began, before), (ended, done) = self._seen[0], self._seen[-1]
        return (done - before) / (ended - began) if ended > began else None


def seconds_left(done: float, total: float | None, rate: float | None) -> float | None:
    if total is None or not rate:
        return None
    return max(total - done, 0) / rate


def told(seconds: float | None) -> str:
    """A time in the words of a person who plans his next hour."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
