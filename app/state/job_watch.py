"""What the jobs of the workspace do, looked at by one thread for all tabs of the process."""

import contextlib
import threading
from collections.abc import Callable

from engine.jobs import Job, JobQueue
from engine.problems import BenthoscopeError

LOOK = 0.5     # seconds between looks while something runs
SHOWN = 30     # of the newest jobs


class JobWatch:
    """`jobs` is the newest list; `ended` is called once for each job that came to an end since the watch began."""

    def __init__(self, queue: JobQueue, ended: Callable[[Job], None]):
        self._queue, self._ended = queue, ended
        self._jobs: tuple[Job, ...] = ()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="job-watch", daemon=True)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The newest first."""
        return self._jobs

    def start(self) -> None:
        self.look()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident:
            self._thread.join()

    def look(self) -> None:
        """Reads the list now, for whoever has just added or cancelled a job."""
        before = {job.id: job for job in self._jobs}
        known = max(before, default=None)
        self._jobs = tuple(self._queue.all(SHOWN))
        for job in self._jobs:
            new = job.id not in before and (known is None or job.id < known)  # was there before the watch
            if job.finished and not new and not (job.id in before and before[job.id].finished):
                self._ended(job)

    def _run(self) -> None:
        while not self._stop.wait(LOOK):
            with contextlib.suppress(BenthoscopeError):  # a busy or lost database: look again in a moment
                self.look()
