"""The queue of the workspace."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from app.api.needs import State
from engine.jobs import Job

router = APIRouter(tags=["jobs"])


class NewJob(BaseModel):
    kind: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    title: str | None = None


@router.get("/jobs")
async def jobs(app: State) -> dict[str, Any]:
    """The newest jobs, and the version of the workspace, which grows when one of them changed it."""
    return {"version": app.version, "jobs": [in_short(job) for job in app.jobs.jobs]}


@router.post("/jobs", status_code=201)
def add(new: NewJob, app: State) -> dict[str, Any]:
    """Queues a job."""
    job = app.queue.add(new.kind, new.parameters, title=new.title)
    app.jobs.look()
    return in_short(job)


@router.get("/jobs/{job_id}")
def job(job_id: int, app: State) -> dict[str, Any]:
    """One job with its figures, its result and its log."""
    found = app.queue.get(job_id)
    return {**in_short(found), "parameters": dict(found.parameters), "figures": dict(found.figures),
            "result": found.result, "traceback": found.traceback, "log": app.queue.log(job_id)}


@router.post("/jobs/{job_id}/cancel")
async def cancel(job_id: int, app: State) -> dict[str, Any]:
    """A waiting job is cancelled at once, a running one within a second; what was done is kept."""
    return await run_in_threadpool(_and_look, app, app.queue.cancel, job_id)


@router.post("/jobs/{job_id}/retry")
async def retry(job_id: int, app: State) -> dict[str, Any]:
    """Queues a failed or cancelled job again; it goes on from its last checkpoint."""
    return await run_in_threadpool(_and_look, app, app.queue.retry, job_id)


def _and_look(app: State, act: Any, job_id: int) -> dict[str, Any]:
    changed = act(job_id)
    app.jobs.look()
    return in_short(changed)


def in_short(job: Job) -> dict[str, Any]:
    """What a list of jobs shows."""
    shown = ("id", "kind", "title", "state", "heavy", "cancel_requested", "done", "total", "rate", "message", "error",
             "created_at", "started_at", "finished_at")
    return {**{name: getattr(job, name) for name in shown}, "seconds_left": job.seconds_left}
