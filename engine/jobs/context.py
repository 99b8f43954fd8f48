"""What a job's function is given: a voice, an ear for cancellation, and a place for its checkpoint."""

import shutil
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.jobs.pace import Pace
from engine.jobs.queue import Job
from engine.progress import Cancelled, Progress
from engine.workspace.arrays import load_parts, save_parts
from engine.workspace.files import read_json, write_json


class JobContext:
    """Safe to use from several threads of the job. Telling progress costs next to nothing: a watcher writes it down."""

    def __init__(self, job: Job, folder: Path):
        self.job, self.folder = job, folder
        self._cancel = threading.Event()
        self.interrupted = False  # the process is closing: the job will go on later, nobody gave it up
        self._progress = Progress(job.done, job.total, job.message)
        self._pace = Pace()
        self._lock = threading.Lock()
        self._told = 0

    # --- progress

    def progress(self, done: float, total: float | None = None, message: str = "", **figures: Any) -> None:
        """Tells how far the job is; raises Cancelled once somebody has asked for that."""
        self.on_step(Progress(done, total, message, figures))

    def on_step(self, progress: Progress) -> None:
        """The same for models, which tell of themselves by records."""
        with self._lock:
            self._progress = progress
            self._pace.note(progress.done)
            self._told += 1
        self.check()

    def check(self) -> None:
        """Raises Cancelled once somebody has asked for that."""
        if self._cancel.is_set():
            raise Cancelled

    def cancel(self) -> None:
        self._cancel.set()

    def interrupt(self) -> None:
        """Like `cancel`, but the job goes back into the queue."""
        self.interrupted = True
        self._cancel.set()

    def snapshot(self) -> tuple[int, dict[str, Any]]:
        """(how often progress was told, the columns to be written down)."""
        with self._lock:
            now = self._progress
            values = {"done": float(now.done), "total": None if now.total is None else float(now.total),
                      "rate": self._pace.rate, "message": now.message, "figures": dict(now.figures)}
            return self._told, values

    def log(self, line: str) -> None:
        stamp = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        with self._lock, (self.folder / "log.txt").open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{stamp}  {line}\n")

    # --- checkpoint

    def save_checkpoint(self, parts: Mapping[str, Any]) -> None:
        """Arrays and plain values; the last whole checkpoint is found again whatever happens meanwhile."""
        old, name = self._checkpoint_name(), f"checkpoint.{time.monotonic_ns()}"
        save_parts(self.folder / name, parts)
        write_json(self.folder / "checkpoint.json", name)
        if old:
            shutil.rmtree(self.folder / old, ignore_errors=True)

    def load_checkpoint(self) -> dict[str, Any] | None:
        """What was saved last, by this process or by one that died; None where nothing was."""
        name = self._checkpoint_name()
        return load_parts(self.folder / name) if name else None

    def save(self, state: Mapping[str, Any]) -> None:
        """The name models know: a context is a checkpoint to them."""
        self.save_checkpoint(state)

    def load(self) -> dict[str, Any] | None:
        return self.load_checkpoint()

    def clear(self) -> None:
        """Drops the checkpoint and everything else but the log: the job has ended well."""
        for path in self.folder.iterdir():
            if path.name in ("log.txt", "lock"):
                continue
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _checkpoint_name(self) -> str | None:
        path = self.folder / "checkpoint.json"
        name = read_json(path) if path.exists() else None
        return name if name and (self.folder / name / "parts.json").exists() else None
