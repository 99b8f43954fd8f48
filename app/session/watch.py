"""Watches the workspace on one thread for all tabs of the process: its jobs, and what other processes change in it."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from benthoscope.engine.jobs import Job, JobQueue
from benthoscope.engine.jobs.changes import JobChanges
from benthoscope.engine.workspace.change_marks import STATEMENTS, Mark, read_marks
from benthoscope.engine.workspace.database.catalogue import Catalogue

log = logging.getLogger(__name__)
POLL_INTERVAL = 0.5  # seconds between two reads of the list of jobs
POLLS_PER_COMPARISON = 4  # the marks of the workspace are compared every two seconds
SHOWN = 30  # number of newest jobs in the list


class Watcher:
    """A thread that calls `poll` twice a second with the number of the call, from 1, and `refresh` after each change of
    a job by this process."""

    def __init__(self, poll: Callable[[int], None], refresh: Callable[[], None], changes: JobChanges):
        self._poll, self._refresh, self._changes = poll, refresh, changes
        self._stop, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="workspace-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._woken.set()
        if self._thread.ident:
            self._thread.join()

    def _run(self) -> None:
        number, due = 0, time.monotonic() + POLL_INTERVAL
        with self._changes.wake(self._woken):
            while not self._stop.is_set():
                self._woken.wait(max(due - time.monotonic(), 0))
                self._woken.clear()
                if self._stop.is_set():
                    return
                try:
                    if time.monotonic() < due:
                        self._refresh()
                    else:
                        number, due = number + 1, time.monotonic() + POLL_INTERVAL
                        self._poll(number)
                except Exception:  # for example a lost database connection: try again
                    log.warning("could not read the state of the workspace", exc_info=True)


class Listeners:
    """Functions to call after each change of one kind."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def add(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call this after every change, on the thread that made it. Returns the function that ends it."""
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._remove(listener)

    def notify(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def _remove(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


class JobWatch:
    """`jobs` is the newest list. `ended` is called once for each job that ends after the first `refresh`, and for each
    finished step of a running chain; `changed` after every refresh that found another list."""

    def __init__(self, queue: JobQueue, ended: Callable[[Job], None], changed: Callable[[], None] = lambda: None):
        self._queue, self._ended, self._changed = queue, ended, changed
        self._steps_done: dict[int, int] = {}  # of running chains, at the last read
        self._jobs: tuple[Job, ...] = ()
        self._over: set[int] | None = None  # those that had ended at the last read; None before the first
        self._lock = threading.Lock()

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Jobs, newest first."""
        return self._jobs

    def refresh(self) -> None:
        """Read the list now, after a job was added or cancelled."""
        with self._lock:
            earlier, self._jobs = self._jobs, tuple(self._queue.all(SHOWN))
            over = {job.id: job for job in self._jobs if job.finished}
            ended = [] if self._over is None else [job for number, job in over.items() if number not in self._over]
            self._over = set(over)
            advanced = self._advanced_chains()
            is_changed = self._jobs != earlier
        for job in ended + advanced:
            self._ended(job)
        if is_changed:
            self._changed()

    def _advanced_chains(self) -> list[Job]:
        """Running chains that finished a step since the last read."""
        earlier, self._steps_done = self._steps_done, {job.id: job.steps_done for job in self._jobs if job.step_kind}
        return [job for job in self._jobs if job.steps_done > earlier.get(job.id, job.steps_done)]


class ChangeWatch:
    """Compares marks of the workspace with those of the last comparison. `announce` gets the aspects that changed.
    Changes of this process are announced where they are made: `note` takes over their marks."""

    def __init__(self, catalogue: Catalogue, announce: Callable[[Sequence[str]], None]):
        self._catalogue, self._announce = catalogue, announce
        self._marks: dict[str, Mark] = {}  # empty before the first comparison
        self._lock = threading.Lock()

    def compare(self) -> None:
        with self._lock:
            earlier, self._marks = self._marks, read_marks(self._catalogue)
            changed = [aspect for aspect, mark in self._marks.items() if earlier and mark != earlier[aspect]]
        if changed:
            self._announce(changed)

    def note(self, aspects: Collection[str]) -> None:
        """Call before a change of this process is announced. The announcement covers changes that another process made
        until now."""
        with self._lock:
            if self._marks:
                self._marks.update(read_marks(self._catalogue, [aspect for aspect in aspects if aspect in STATEMENTS]))
