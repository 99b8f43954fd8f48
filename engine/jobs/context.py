"""The context passed to a job's function: progress reports, cancellation, log and checkpoint."""

import contextlib
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from benthoscope.engine.jobs.queue import Job
from benthoscope.engine.progress import Cancelled, Progress, StepRate
from benthoscope.engine.workspace.storage.files import load_parts, read_json, save_parts, write_json


class ProgressReporter(Protocol):
    """The part of a job's context that a dry run needs as well."""

    def progress(self, done: float, total: float | None = None, message: str = "", **figures: Any) -> None: ...

    def on_step(self, progress: Progress) -> None: ...


class JobContext:
    """The context of one job, for any of its threads. Reporting progress is cheap, because a watcher thread
    stores it."""

    def __init__(self, job: Job, folder: Path):
        self.job, self.folder = job, folder
        self._cancel = threading.Event()
        self.interruption = threading.Event()  # set when the process closes; the job will resume later
        self.steady = True  # False for jobs whose parts differ in speed: no rate and no remaining time are shown
        self._progress = Progress(job.done, job.total, job.message)
        self._figures: Mapping[str, Any] = {}  # the last ones that were reported
        self._pace = StepRate()
        self._lock = threading.Lock()
        self._report_count = 0

    # --- progress

    def progress(self, done: float, total: float | None = None, message: str = "", **figures: Any) -> None:
        """Report progress. Raises Cancelled if cancellation was requested."""
        self.on_step(Progress(done, total, message, figures))

    def on_step(self, progress: Progress) -> None:
        """Report progress as models do, with a Progress record."""
        progress = self._with_figures(progress)
        with self._lock:
            self._progress = progress
            self._pace.note(progress.done)
            self._report_count += 1
        self.check()

    def _with_figures(self, progress: Progress) -> Progress:
        """Add the last figures to a report without any, so that the plots of a fit stay while its result is stored."""
        if progress.figures:
            self._figures = progress.figures
        return replace(progress, figures=self._figures)

    def check(self) -> None:
        """Raise Cancelled if cancellation was requested."""
        if self._cancel.is_set():
            raise Cancelled

    def cancel(self) -> None:
        self._cancel.set()

    def interrupt(self) -> None:
        """Stop like `cancel`, but put the job back into the queue."""
        self.interruption.set()
        self._cancel.set()

    @property
    def interrupted(self) -> bool:
        """Return whether the process is closing."""
        return self.interruption.is_set()

    def snapshot(self) -> tuple[int, dict[str, Any]]:
        """Return (number of progress reports, the columns to store)."""
        with self._lock:
            progress = self._progress
            rate = self._pace.rate if self.steady else None
            values = {
                "done": float(progress.done),
                "total": None if progress.total is None else float(progress.total),
                "rate": rate,
                "message": progress.message,
                "figures": dict(progress.figures),
            }
            return self._report_count, values

    def log(self, line: str) -> None:
        """Add a line to the job's log. If the disk is full, lines may be lost, but the job continues."""
        stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        text = f"{stamp}  {line}\n".encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError), self._lock, (self.folder / "log.txt").open("ab") as file:
            file.write(text)

    # --- checkpoint

    def save_checkpoint(self, arrays: Mapping[str, Any]) -> None:
        """Save arrays and plain values. After an interruption, the last complete checkpoint is loaded."""
        old, name = self._checkpoint_name(), f"checkpoint.{time.monotonic_ns()}"
        save_parts(self.folder / name, arrays)
        write_json(self.folder / "checkpoint.json", name)
        if old:
            shutil.rmtree(self.folder / old, ignore_errors=True)

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Return the last saved state, possibly of an earlier process; None if there is none."""
        name = self._checkpoint_name()
        return load_parts(self.folder / name) if name else None

    def save(self, state: Mapping[str, Any]) -> None:
        """Save the state. Models use the context as their checkpoint under this name."""
        self.save_checkpoint(state)

    def load(self) -> dict[str, Any] | None:
        return self.load_checkpoint()

    def clear(self) -> None:
        """Delete the checkpoint and everything but the log, after the job has finished."""
        for path in self.folder.iterdir():
            if path.name in ("log.txt", "lock"):
                continue
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _checkpoint_name(self) -> str | None:
        path = self.folder / "checkpoint.json"
        name = read_json(path) if path.exists() else None
        return name if name and (self.folder / name / "parts.json").exists() else None
