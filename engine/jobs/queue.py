"""The job queue in the catalogue, shared by all processes that have the workspace open."""

import json
import os
import platform
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from benthoscope.engine.jobs.changes import changes_in
from benthoscope.engine.jobs.kinds import JobKind, kind_named
from benthoscope.engine.jobs.parameter_types import check_parameters
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import seconds_left
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.database.plain_values import storable
from benthoscope.engine.workspace.database.schema import job
from benthoscope.engine.workspace.records import current_time, inserted_id
from benthoscope.engine.workspace.storage.files import Claim

UNFINISHED = ("queued", "running")
LARGEST_ID = 2**63 - 1  # largest value of databases
DEATHS = 10  # a job whose process dies this often without a checkpoint in between is the cause


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
    def step_kind(self) -> str | None:
        """Return the kind of the current step of a running chain; None for other jobs."""
        return self.figures.get("step_kind") if self.state == "running" else None

    @property
    def steps_done(self) -> int:
        """Return the number of finished steps of a running chain."""
        return int(self.figures.get("steps_done") or 0) if self.state == "running" else 0

    @property
    def seconds_left(self) -> float | None:
        return seconds_left(self.done, self.total, self.rate) if self.state == "running" else None


class JobQueue:
    def __init__(self, workspace: Workspace):
        self._workspace = workspace
        self._catalogue = workspace.catalogue
        self._folder = workspace.folder / "jobs"
        if not workspace.read_only:
            self._folder.mkdir(exist_ok=True)
        self.changes = changes_in(self._folder)

    def add(
        self,
        kind: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        title: str | None = None,
        priority: int = 0,
        checked: bool = False,
    ) -> Job:
        """Add a job to the queue. Waiting jobs with the highest priority start first.

        Raises BadInput and stores nothing if the parameters can only fail, unless the caller has `checked` them.
        """
        known = kind_named(kind) if checked else self.check(kind, parameters or {})
        asked = json.loads(json.dumps(dict(parameters or {})))
        if storable(asked) != asked:
            raise fail(
                f"parameters of {kind}",
                "contain text or numbers that cannot be stored",
                "use plain text and finite numbers",
            )
        values = {
            "kind": kind,
            "title": storable(title or known.title),
            "parameters": asked,
            "state": "queued",
            "priority": priority,
            "heavy": known.heavy,
            "created_at": current_time(),
        }
        number = self._catalogue.write(lambda connection: inserted_id(connection.execute(insert(job).values(**values))))
        self.changes.announce()
        return self.get(number)

    def check(self, kind: str, parameters: Mapping[str, Any], *, after: Collection[str] = ()) -> JobKind:
        """Return the kind of a job that could be added with these parameters; BadInput if it could only fail.

        `after` are kinds of jobs that will be added before it.
        """
        known = kind_named(kind)
        pending = {waiting.kind for waiting in self.unfinished()} | set(after)
        check_parameters(self._workspace, known, parameters, pending)
        return known

    def get(self, job_id: int) -> Job:
        try:
            row = self._catalogue.first(select(job).where(job.c.id == job_id)) if 0 < job_id <= LARGEST_ID else None
        except ValueError as error:  # its JSON columns cannot be decoded
            raise fail(f"job {job_id}", "its record is damaged", "queue the job again") from error
        if row is None:
            raise fail("jobs", f"there is no job {job_id}", "list them with `benthoscope jobs`")
        return _job(row)

    def all(self, limit: int = 100) -> list[Job]:
        """Return the jobs, newest first."""
        return [_job(row) for row in self._catalogue.all(select(job).order_by(job.c.id.desc()).limit(limit))]

    def unfinished(self) -> list[Job]:
        """Return the running and waiting jobs, in the order of their start."""
        query = select(job).where(job.c.state.in_(UNFINISHED)).order_by(job.c.priority.desc(), job.c.id)
        return [_job(row) for row in self._catalogue.all(query)]

    def cancel(self, job_id: int) -> Job:
        """Cancel a job. A waiting job, or one without a process, is cancelled at once, a running one within a
        second."""
        self.get(job_id)

        def ask(connection: Connection) -> None:
            waiting = (job.c.id == job_id) & (job.c.state == "queued")
            connection.execute(update(job).where(waiting).values(state="cancelled", finished_at=current_time()))
            running = (job.c.id == job_id) & (job.c.state == "running")
            connection.execute(update(job).where(running).values(cancel_requested=True))

        self._catalogue.write(ask)
        self.changes.announce()
        if self._is_abandoned(self.get(job_id)):
            self.finish(job_id, "cancelled")
        return self.get(job_id)

    def retry(self, job_id: int) -> Job:
        """Queue a job again that failed, was cancelled or lost its process. It resumes from its last checkpoint."""
        old_job = self.get(job_id)
        if not old_job.finished and not self._is_abandoned(old_job):
            raise fail(f"job {job_id}", "is not finished", "cancel it first")
        values = {
            "state": "queued",
            "error": None,
            "traceback": None,
            "cancel_requested": False,
            "finished_at": None,
            "attempts": 0,
            "owner": None,
        }
        self._catalogue.execute(update(job).where(job.c.id == job_id).values(**values))
        self.changes.announce()
        return self.get(job_id)

    def requeue_stopped(self, kind: str, parameters: Mapping[str, Any]) -> Job | None:
        """Queue the newest job of a kind again if it has these parameters, and was cancelled or lost its process after
        a checkpoint. None if there is no such job."""
        self.requeue_orphans()
        query = select(job).where(job.c.kind == kind).order_by(job.c.id.desc()).limit(1)
        newest = [_job(row) for row in self._catalogue.all(query)]
        if not newest or dict(newest[0].parameters) != json.loads(json.dumps(dict(parameters))):
            return None
        if newest[0].state not in ("queued", "cancelled") or not self._checkpoint(newest[0].id).exists():
            return None
        return self.retry(newest[0].id) if newest[0].finished else newest[0]

    def folder(self, job_id: int) -> Path:
        """Return the folder of the job's log, checkpoint and scratch files."""
        path = self._folder / str(job_id)
        path.mkdir(exist_ok=True)
        return path

    def log(self, job_id: int) -> str:
        path = self._folder / str(job_id) / "log.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    # --- for runners

    @property
    def heavy_lock(self) -> Path:
        """Return the lock of the process that runs the only heavy job of the workspace."""
        return self._folder / "heavy.lock"

    def claim(self, job_id: int) -> Claim | None:
        """Claim the job for this process; None if it no longer waits, or another process was faster."""
        claim = Claim.acquire(self.folder(job_id) / "lock")
        if claim is None:
            return None
        values = {
            "state": "running",
            "owner": f"{platform.node()} process {os.getpid()}",
            "started_at": current_time(),
            "updated_at": current_time(),
            "attempts": job.c.attempts + 1,
            "finished_at": None,
        }
        waiting = (job.c.id == job_id) & (job.c.state == "queued")
        if self._catalogue.execute(update(job).where(waiting).values(**values)):
            return claim
        claim.release()
        return None

    def requeue_orphans(self) -> list[int]:
        """Queue jobs again whose process died. Jobs that die repeatedly are marked as failed."""
        orphans = [job for job in self.unfinished() if self._is_abandoned(job)]
        for orphan in orphans:
            if orphan.attempts >= DEATHS and not self._got_further(orphan):
                error = f"{orphan.title}: its process died {orphan.attempts} times; see the log, then retry the job"
                self.finish(orphan.id, "failed", error=error)
            elif orphan.cancel_requested:
                self.finish(orphan.id, "cancelled")
            else:
                self.put_back(orphan.id, attempts=0 if self._got_further(orphan) else orphan.attempts)
        return [job.id for job in orphans]

    def put_back(self, job_id: int, attempts: int = 0) -> None:
        """Put the job back into the queue, to resume from its checkpoint."""
        self.note(job_id, state="queued", owner=None, attempts=attempts)
        self.changes.announce()

    def note(self, job_id: int, **values: Any) -> None:
        """Store progress. It may be lost in a power cut, because the checkpoint is what counts."""
        changed = update(job).where(job.c.id == job_id).values(**_columns(values), updated_at=current_time())
        self._catalogue.execute(changed, durable=False)

    def finish(self, job_id: int, state: str, **values: Any) -> None:
        moment = current_time()
        ended = update(job).where(job.c.id == job_id)
        columns = {"state": state, "finished_at": moment, "updated_at": moment, "owner": None, **_columns(values)}
        self._catalogue.execute(ended.values(**columns))
        self.changes.announce()

    def cancel_requests(self) -> set[int]:
        query = select(job.c.id).where(job.c.cancel_requested, job.c.state == "running")
        return {row.id for row in self._catalogue.all(query)}

    def _checkpoint(self, job_id: int) -> Path:
        return self.folder(job_id) / "checkpoint.json"

    def _got_further(self, orphan: Job) -> bool:
        """Return whether its last attempt saved a checkpoint."""
        checkpoint = self._checkpoint(orphan.id)
        return checkpoint.exists() and checkpoint.stat().st_mtime >= (orphan.started_at or 0)

    def _is_abandoned(self, job: Job) -> bool:
        """Return whether a running job is not claimed by any living process."""
        if job.state != "running":
            return False
        claim = Claim.acquire(self.folder(job.id) / "lock")
        if claim is None:
            return False
        try:
            return self.get(job.id).state == "running"  # it may have ended since it was read
        finally:
            claim.release()


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as both databases store them. `done` is never empty."""
    columns = storable(values)
    return columns | {"done": 0.0} if columns.get("done", 0.0) is None else columns


def _job(row: Row) -> Job:
    """Return the stored job. A finished job is complete, whatever its last progress report was."""
    record = Job(**row._mapping)
    return replace(record, done=record.total) if record.state == "done" and record.total else record
