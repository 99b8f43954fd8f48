"""A thread pool that runs the callbacks of one session sequentially and different sessions in parallel."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import panel as pn
from bokeh.document import Document

from benthoscope.app.server.compat import use_thread_pool


def keep_order(threads: int) -> None:
    """Install the executor in Panel. By default Panel gives each message to any free thread, so that the second of two
    key presses may run first or at the same time."""
    # pn.serve's num_threads is ignored; without threads a slow command blocks everybody
    config: Any = pn.config  # Panel sets it although the class has a property without a setter
    config.nthreads = threads
    use_thread_pool(Lanes(threads))


class Lanes(ThreadPoolExecutor):
    """Callbacks of one document run one after the other; callbacks without a document run on any thread."""

    def __init__(self, threads: int):
        super().__init__(threads, thread_name_prefix="page")
        self._lanes: dict[int, deque[tuple[Future, Callable[[], Any]]]] = {}
        self._guard = threading.Lock()

    def submit(self, callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        document = _document_of(callback, args)
        if document is None:
            return super().submit(callback, *args, **kwargs)
        future: Future = Future()
        key, waiting = (
            id(document),
            (future, partial(callback, *args, **kwargs)),
        )  # keeps the document alive, and so its id unique
        with self._guard:
            is_free = key not in self._lanes
            self._lanes.setdefault(key, deque()).append(waiting)
        if is_free:
            super().submit(self._advance, key)
        return future

    def _advance(self, key: int) -> None:
        """Run the first callback of a document, then queue the next one behind those of other documents."""
        future, callback = self._lanes[key][0]
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(callback())
            except BaseException as error:
                future.set_exception(error)
        with self._guard:
            lane = self._lanes[key]
            lane.popleft()
            if not lane:
                del self._lanes[key]
                return
        super().submit(self._advance, key)


def _document_of(callback: Callable[..., Any], args: tuple[Any, ...]) -> Document | None:
    bound = callback.args if isinstance(callback, partial) else ()
    return next((value for value in (*bound, *args) if isinstance(value, Document)), None)
