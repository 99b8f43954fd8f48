"""Wakes the threads of this process that wait for a change of a job; changes of other processes are noticed later."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

_by_folder: "WeakValueDictionary[Path, JobChanges]" = WeakValueDictionary()
_lock = threading.Lock()


class JobChanges:
    """Changes of the jobs in one folder: a job was added, cancelled, put back or has ended."""

    def __init__(self) -> None:
        self._waiting: list[threading.Event] = []
        self._lock = threading.Lock()

    @contextmanager
    def wake(self, event: threading.Event) -> Iterator[None]:
        """Set the event after each change."""
        with self._lock:
            self._waiting.append(event)
        try:
            yield
        finally:
            with self._lock:
                self._waiting.remove(event)

    def announce(self) -> None:
        with self._lock:
            for event in self._waiting:
                event.set()


def changes_in(folder: Path) -> JobChanges:
    """Return the changes of the jobs in this folder, the same for all queues of this process."""
    with _lock:
        return _by_folder.setdefault(folder.resolve(), JobChanges())
