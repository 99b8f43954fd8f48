"""Boards that are worked by the keyboard: what is typed fast is done in the order it was typed, one act at a time."""

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import param

from app.components.telling import Telling, Told

GAP = 3.0  # seconds after which a message that never came, lost with its connection, is waited for no longer


class Line:
    """Messages carry numbers 1, 2, 3, ...; threads bring them in any order, they leave it in theirs.

    Whoever finds somebody at work leaves the message to them, so that no thread of the server ever waits."""

    def __init__(self):
        self._lock = threading.Lock()
        self._waiting: dict[int, Told] = {}
        self._last = 0
        self._at_work = False
        self._moved = time.monotonic()

    def joined(self, number: int, told: Told) -> Iterator[tuple[int, Told]]:
        """Puts a message in line and takes over all whose turn it is, unless somebody is at it already."""
        with self._lock:
            self._waiting[number] = told
        while (found := self._next()) is not None:
            try:
                yield found
            finally:
                with self._lock:
                    self._at_work = False

    def _next(self) -> tuple[int, Told] | None:
        with self._lock:
            if self._at_work or not self._waiting:
                return None
            number = min(self._waiting)
            if number > self._last + 1 and time.monotonic() - self._moved < GAP:
                return None
            self._at_work, self._last, self._moved = True, max(self._last, number), time.monotonic()
            return number, self._waiting.pop(number)


class TellingInOrder(Telling):
    """`on_told` gives the parameters to be shown after a message. `heard`, the number of the last message done,
    whether it could be done or not, comes to the browser with them: until then the script knows that what it shows is
    about to change."""

    __abstract = True

    heard = param.Integer(default=0, doc="Number of the last message that was done.")

    def __init__(self, **values: Any):
        super().__init__(**values)
        self._line = Line()

    def _handle_msg(self, told: dict[str, Any]) -> None:
        rest = dict(told)
        for number, act in self._line.joined(int(rest.pop("nth")), rest):
            shown: Mapping[str, Any] = {}
            try:
                shown = self.on_told(act) or {}
            finally:
                self.param.update(**shown, heard=max(self.heard, number))
