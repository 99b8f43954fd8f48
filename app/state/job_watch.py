"""What the jobs of the workspace do, looked at by one thread for all tabs of the process."""

import logging
import threading
from collections.abc import Callable

from engine.jobs import Job, JobQueue

log = logging.getLogger(__name__)
LOOK = 0.5     # seconds between looks while something runs
SHOWN = 30     # of the newest jobs


class JobWatch:
    """`jobs` is the newest list; `ended` is called once for each job that came to an end since the watch began."""

    def __init__(self, queue: JobQueue, ended: Callable[[Job], None]):
        self._queue, self._ended = queue, ended
        self._jobs: tuple[Job, ...] = ()
        self._over: set[int] | None = None  # those that had ended at the last look; None before the first
        self._looking = threading.Lock()
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
        with self._looking:
            self._jobs = tuple(self._queue.all(SHOWN))
            over = {job.id: job for job in self._jobs if job.finished}
            ended = [] if self._over is None else [job for number, job in over.items() if number not in self._over]
            self._over = set(over)
        for job in ended:
            self._ended(job)

    def _run(self) -> None:
        while not self._stop.wait(LOOK):
            try:
                self.look()
            except Exception:  # a lost database above all: the watch outlives it and looks again in a moment
                log.warning("the jobs could not be looked at", exc_info=True)
