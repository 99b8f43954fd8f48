"""`benthoscope jobs`: the job queue of a workspace."""

from typing import Annotated, Any

import typer

from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    command_group,
    open_workspace,
    pass_on,
    run_job,
    show,
    text_table,
)

commands = command_group()
JobNumber = Annotated[int, typer.Argument(help="Number of the job.", metavar="JOB")]


@commands.callback()
def jobs(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List jobs, the newest first; cancel or retry a job, run queued jobs, read a log.

    Examples:

        benthoscope jobs

        benthoscope jobs cancel 12
    """
    if context.invoked_subcommand:
        pass_on(context, workspace, as_json)
        return
    from benthoscope.engine.jobs import JobQueue

    with open_workspace(workspace) as opened_workspace:
        listed = [vars(job) | {"seconds_left": job.seconds_left} for job in JobQueue(opened_workspace).all()]
    show(listed, as_json, _table)


@commands.command()
def cancel(job: JobNumber, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Cancel a job. Finished work is kept."""
    from benthoscope.engine.jobs import JobQueue

    with open_workspace(workspace) as opened_workspace:
        state = JobQueue(opened_workspace).cancel(job).state
    words = {"running": "will stop within a second", "cancelled": "is cancelled"}
    outcome = words.get(state, f"has already ended ({state})")
    show({"id": job, "state": state}, as_json, lambda _: f"Job {job} {outcome}")


@commands.command()
def retry(job: JobNumber, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Resume a failed, cancelled or interrupted job from its last checkpoint."""
    from benthoscope.engine.jobs import JobQueue

    with open_workspace(workspace) as opened_workspace:
        queue = JobQueue(opened_workspace)
        kind = (queue.retry(job) if queue.get(job).finished else queue.get(job)).kind
        result = run_job(opened_workspace, kind, {}, as_json=as_json, resume=job)
    show({"id": job, "result": result}, as_json, lambda _: f"Job {job} is done")


@commands.command()
def log(job: JobNumber, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Print the log of a job and, if it failed, the traceback."""
    from benthoscope.engine.jobs import JobQueue

    with open_workspace(workspace) as opened_workspace:
        queue = JobQueue(opened_workspace)
        stored = queue.get(job)
        text = queue.log(stored.id)
    if as_json:
        show({"id": job, "state": stored.state, "log": text, "traceback": stored.traceback}, True, str)
    else:
        typer.echo(text, nl=False)


@commands.command()
def work(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Run all queued jobs, one after the other, then exit. For machines on which the app is not open."""
    from benthoscope.engine.jobs import JobQueue

    with open_workspace(workspace) as opened_workspace:
        queue = JobQueue(opened_workspace)
        queue.requeue_orphans()
        finished = []
        for queued in [job for job in queue.unfinished() if job.state == "queued"]:
            result = run_job(opened_workspace, queued.kind, {}, as_json=as_json, resume=queued.id)
            finished.append({"id": queued.id, "title": queued.title, "result": result})
            if not as_json:
                typer.echo(f"Job {queued.id} {queued.title} is done")
    if as_json:
        show(finished, True, str)


def _table(listed: list[dict[str, Any]]) -> Any:
    from benthoscope.engine.progress import format_duration

    if not listed:
        return "No jobs yet."
    rows = [
        (
            str(job["id"]),
            job["title"],
            job["state"],
            _share(job),
            format_duration(job["seconds_left"]),
            job["error"] or (job["message"] if job["state"] == "running" else ""),
        )
        for job in listed
    ]
    return text_table(("Job", "Title", "State", "Done", "Time left", "Message"), rows)


def _share(job: dict[str, Any]) -> str:
    """Progress in per cent; if the total is unknown, the number of finished steps."""
    if job["state"] == "done":
        return "100 %"
    return f"{100 * job['done'] / job['total']:.0f} %" if job["total"] else f"{job['done']:g}"
