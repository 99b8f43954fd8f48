"""Work of a page that takes longer than a glance: done on a thread, shown when ready, never twice at once."""

import threading
from collections.abc import Callable
from typing import Any

import panel as pn
from bokeh.document import Document

from app.state.exemplar_book import book_of
from app.state.explore import Explore

PAUSE = 0.7  # seconds between redrawings while exemplars come in


class Background:
    """Results of an older request are dropped when a newer one of the same name was made."""

    def __init__(self, document: Document | None):
        self._document = document
        self._latest: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._lets_go: list[Callable[[], None]] = []
        if document is not None:
            pn.state.on_session_destroyed(lambda context, over=self._over, lets_go=self._lets_go: _end(over, lets_go))

    def soon(self, name: str, work: Callable[[], Any], show: Callable[[Any], None]) -> None:
        """Does the work on a thread and shows its result in the page; at once where there is no page (in tests)."""
        if self._document is None:
            show(work())
            return
        with self._lock:
            number = self._latest[name] = self._latest.get(name, 0) + 1
        threading.Thread(target=self._do, args=(name, number, work, show), name=f"page-{name}", daemon=True).start()

    def follow_exemplars(self, explore: Explore, redraw: Callable[[], None]) -> None:
        """Has the exemplars of the run chosen, and the page redrawn while they come in."""
        explore.param.watch(lambda event: self._follow(explore, redraw), "run")
        self._follow(explore, redraw)

    def _follow(self, explore: Explore, redraw: Callable[[], None]) -> None:
        book = book_of(explore.app, explore.atlas)
        if book is None or book.complete:
            return
        waiting = threading.Event()

        def chosen(cluster: int) -> None:
            if not waiting.is_set():
                waiting.set()
                threading.Timer(PAUSE, lambda: (waiting.clear(), self._show(redraw))).start()

        book.listeners.append(chosen)  # the book outlives the page, and must not keep it
        self._lets_go.append(lambda: book.listeners.remove(chosen))
        book.start()

    def _do(self, name: str, number: int, work: Callable[[], Any], show: Callable[[Any], None]) -> None:
        result = work()
        if self._latest[name] == number:
            self._show(lambda: show(result) if self._latest[name] == number else None)

    def _show(self, act: Callable[[], None]) -> None:
        if self._document is None:
            act()
        elif not self._over.is_set():
            self._document.add_next_tick_callback(act)


def _end(over: threading.Event, lets_go: list[Callable[[], None]]) -> None:
    over.set()
    while lets_go:
        lets_go.pop()()
