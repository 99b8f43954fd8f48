"""Threads on which what one tab did is done in its order, one act at a time, while tabs do not wait for each other."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import panel as pn
from bokeh.document import Document


def keep_order(threads: int) -> None:
    """Has Panel do what people did on such threads. By itself it gives each message to any free thread: of two keys
    pressed quickly the second may be done first, and both may change the same thing at once."""
    pn.config.nthreads = threads  # pn.serve's num_threads is ignored; without threads one slow act stops everybody
    pn.state._thread_pool.shutdown(wait=False)
    pn.state._thread_pool = Lanes(threads)


class Lanes(ThreadPoolExecutor):
    """Work for the same document waits in its lane; whatever is for no document goes to any thread."""

    def __init__(self, threads: int):
        super().__init__(threads, thread_name_prefix="page")
        self._lanes: dict[int, deque[tuple[Future, Callable[[], Any]]]] = {}
        self._guard = threading.Lock()

    def submit(self, act: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        document = _document_of(act, args)
        if document is None:
            return super().submit(act, *args, **kwargs)
        future: Future = Future()
        key, waiting = id(document), (future, partial(act, *args, **kwargs))  # which keeps the document, and so its id
        with self._guard:
            is_free = key not in self._lanes
            self._lanes.setdefault(key, deque()).append(waiting)
        if is_free:
            super().submit(self._advance, key)
        return future

    def _advance(self, key: int) -> None:
        """Does the first act of a lane, and goes to the end of the queue of lanes for the next."""
        future, act = self._lanes[key][0]
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(act())
            except BaseException as error:
                future.set_exception(error)
        with self._guard:
            lane = self._lanes[key]
            lane.popleft()
            if not lane:
                del self._lanes[key]
                return
        super().submit(self._advance, key)


def _document_of(act: Callable[..., Any], args: tuple[Any, ...]) -> Document | None:
    bound = act.args if isinstance(act, partial) else ()
    return next((value for value in (*bound, *args) if isinstance(value, Document)), None)
