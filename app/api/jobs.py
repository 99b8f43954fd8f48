"""Routes of jobs: list, add, cancel, retry."""

from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from benthoscope.app.api.common import Details, Integer, RequestBody, State, Text
from benthoscope.app.data.jobs import job_content, job_list
from benthoscope.engine.workspace.database.plain_values import storable

router = APIRouter(tags=["jobs"])


class NewJob(RequestBody):
    kind: Text
    parameters: Details = Field(default_factory=dict)
    title: Text | None = None


@router.get("/jobs")
async def jobs(app: State) -> dict[str, Any]:
    """The newest jobs, and the version of the workspace, which grows with every change."""
    return {"version": app.version, "jobs": job_list(app)}


@router.post("/jobs", status_code=201)
def add(new: NewJob, app: State) -> dict[str, Any]:
    """Queue a job."""
    job = app.queue.add(new.kind, new.parameters, title=new.title)
    app.jobs.refresh()
    return job_content(app, job)


@router.get("/jobs/{job_id}")
def job(job_id: Integer, app: State) -> dict[str, Any]:
    """One job with its progress, result and log."""
    stored = app.queue.get(job_id)
    return storable(
        {
            **job_content(app, stored),
            "parameters": stored.parameters,
            "figures": stored.figures,
            "result": stored.result,
            "traceback": stored.traceback,
            "log": app.queue.log(job_id),
        }
    )


@router.post("/jobs/{job_id}/cancel")
async def cancel(job_id: Integer, app: State) -> dict[str, Any]:
    """Cancel a job: immediately if it is queued, within a second if it is running. Finished work is kept."""
    return await run_in_threadpool(_and_look, app, app.queue.cancel, job_id)


@router.post("/jobs/{job_id}/retry")
async def retry(job_id: Integer, app: State) -> dict[str, Any]:
    """Queue a failed or cancelled job again. It resumes at its last checkpoint."""
    return await run_in_threadpool(_and_look, app, app.queue.retry, job_id)


def _and_look(app: State, action: Any, job_id: int) -> dict[str, Any]:
    changed = action(job_id)
    app.jobs.refresh()
    return job_content(app, changed)
