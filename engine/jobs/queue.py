"""The queue: jobs as the catalogue keeps them, for every process that has the workspace open."""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from engine.jobs.kinds import kind_named
from engine.jobs.pace import seconds_left
from engine.problems import fail
from engine.workspace import Workspace
from engine.workspace.files import Claim
from engine.workspace.records import now
from engine.workspace.schema import job

UNFINISHED = ("queued", "running")
DEATHS = 10  # a job whose process dies this often, without a checkpoint in between, is what kills it


@dataclass(frozen=True)
class Job:
    id: int
    kind: str
    title: str
    parameters: Mapping[str, Any]
    state: str  # queued, running, done, failed, cancelled
    priority: int
    heavy: bool
    attempts: int
    cancel_requested: bool
    owner: str | None
    done: float
    total: float | None
    rate: float | None
    message: str
    figures: Mapping[str, Any]
    result: Mapping[str, Any] | None
    error: str | None
    traceback: str | None
    created_at: float
    started_at: float | None
    updated_at: float | None
    finished_at: float | None

    @property
    def finished(self) -> bool:
        return self.state not in UNFINISHED

    @property
    def seconds_left(self) -> float | None:
        return seconds_left(self.done, self.total, self.rate) if self.state == "running" else None


class JobQueue:
    def __init__(self, workspace: Workspace):
        self._catalogue = workspace.catalogue
        self._folder = workspace.folder / "jobs"
        self._folder.mkdir(exist_ok=True)

    def add(self, kind: str, parameters: Mapping[str, Any] | None = None, *, title: str | None = None,
            priority: int = 0) -> Job:
        """Puts a job at the end of the queue; of those waiting, the highest priority goes first."""
        known = kind_named(kind)
        values = {"kind": kind, "title": title or known.title, "parameters": dict(parameters or {}), "state": "queued",
                  "priority": priority, "heavy": known.heavy, "created_at": now()}
        return self.get(self._catalogue.write(
            lambda connection: connection.execute(insert(job).values(**values)).inserted_primary_key[0]))

    def get(self, job_id: int) -> Job:
        row = self._catalogue.first(select(job).where(job.c.id == job_id))
        if row is None:
            raise fail("jobs", f"no job {job_id}", "list them with `benthoscope jobs`")
        return _job(row)

    def all(self, limit: int = 100) -> list[Job]:
        """The newest first."""
        return [_job(row) for row in self._catalogue.all(select(job).order_by(job.c.id.desc()).limit(limit))]

    def unfinished(self) -> list[Job]:
        """What runs or waits, in the order in which it will be taken up."""
        wanted = select(job).where(job.c.state.in_(UNFINISHED)).order_by(job.c.priority.desc(), job.c.id)
        return [_job(row) for row in self._catalogue.all(wanted)]

    def cancel(self, job_id: int) -> Job:
        """A waiting job is cancelled at once, a running one as soon as it looks up, within a second."""
        self.get(job_id)

        def ask(connection: Connection) -> None:
            waiting = (job.c.id == job_id) & (job.c.state == "queued")
            connection.execute(update(job).where(waiting).values(state="cancelled", finished_at=now()))
            running = (job.c.id == job_id) & (job.c.state == "running")
            connection.execute(update(job).where(running).values(cancel_requested=True))

        self._catalogue.write(ask)
        return self.get(job_id)

    def retry(self, job_id: int) -> Job:
        """Queues a failed or cancelled job again; it goes on from its last checkpoint."""
        if not self.get(job_id).finished:
            raise fail(f"job {job_id}", "is not finished", "cancel it first")
        values = {"state": "queued", "error": None, "traceback": None, "cancel_requested": False, "finished_at": None,
                  "attempts": 0}
        self._catalogue.execute(update(job).where(job.c.id == job_id).values(**values))
        return self.get(job_id)

    def folder(self, job_id: int) -> Path:
        """Where the job keeps its log, its checkpoint and its scratch files."""
        place = self._folder / str(job_id)
        place.mkdir(exist_ok=True)
        return place

    def log(self, job_id: int) -> str:
        path = self.folder(job_id) / "log.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    # --- for runners

    @property
    def heavy_lock(self) -> Path:
        """Held by the process whose job is the one heavy job of the workspace."""
        return self._folder / "heavy.lock"

    def claim(self, job_id: int) -> Claim | None:
        """Makes this process the one that runs the job; None where it no longer waits, or another was faster."""
        claim = Claim.taken(self.folder(job_id) / "lock")
        if claim is None:
            return None
        values = {"state": "running", "owner": f"{platform.node()} process {os.getpid()}", "started_at": now(),
                  "updated_at": now(), "attempts": job.c.attempts + 1, "finished_at": None}
        waiting = (job.c.id == job_id) & (job.c.state == "queued")
        if self._catalogue.execute(update(job).where(waiting).values(**values)):
            return claim
        claim.release()
        return None

    def requeue_orphans(self) -> list[int]:
        """Puts jobs whose process died back into the queue, and gives up those that die again and again."""
        orphans = [found for found in self.unfinished() if found.state == "running" and self._orphaned(found)]
        for found in orphans:
            if found.attempts >= DEATHS and not self._got_further(found):
                error = f"{found.title}: its process died {found.attempts} times; see the log, then retry the job"
                self.finish(found.id, "failed", error=error)
            elif found.cancel_requested:
                self.finish(found.id, "cancelled")
            else:
                self.put_back(found.id, attempts=0 if self._got_further(found) else found.attempts)
        return [found.id for found in orphans]

    def put_back(self, job_id: int, attempts: int = 0) -> None:
        """Into the queue, to go on from its checkpoint."""
        self.note(job_id, state="queued", owner=None, attempts=attempts)

    def note(self, job_id: int, **values: Any) -> None:
        """Progress and the like: may be lost in a power cut, for the checkpoint is what counts."""
        self._catalogue.execute(update(job).where(job.c.id == job_id).values(**values, updated_at=now()), durable=False)

    def finish(self, job_id: int, state: str, **values: Any) -> None:
        moment = now()
        ended = update(job).where(job.c.id == job_id)
        self._catalogue.execute(ended.values(state=state, finished_at=moment, updated_at=moment, owner=None, **values))

    def cancel_requests(self) -> set[int]:
        wanted = select(job.c.id).where(job.c.cancel_requested, job.c.state == "running")
        return {row.id for row in self._catalogue.all(wanted)}

    def _got_further(self, found: Job) -> bool:
        """Whether its last attempt left a checkpoint."""
        checkpoint = self.folder(found.id) / "checkpoint.json"
        return checkpoint.exists() and checkpoint.stat().st_mtime >= (found.started_at or 0)

    def _orphaned(self, found: Job) -> bool:
        claim = Claim.taken(self.folder(found.id) / "lock")
        if claim:
            claim.release()
        return claim is not None


def _job(row: Row) -> Job:
    return Job(**row._mapping)
