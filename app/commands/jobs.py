"""`benthoscope jobs`: the queue of a workspace."""

from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show

commands = typer.Typer(invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")
JobNumber = Annotated[int, typer.Argument(help="Number of the job.", metavar="JOB")]


@commands.callback()
def jobs(context: typer.Context, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List jobs, the newest first; cancel, retry or run one, read its log.

    Examples:

        benthoscope jobs

        benthoscope jobs cancel 12
    """
    if context.invoked_subcommand:
        return
    from engine.jobs import JobQueue

    with opened(workspace) as found:
        listed = [vars(job) | {"seconds_left": job.seconds_left} for job in JobQueue(found).all()]
    show(listed, as_json, _table)


@commands.command()
def cancel(job: JobNumber, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Cancel a job; what it has done so far is kept."""
    from engine.jobs import JobQueue

    with opened(workspace) as found:
        state = JobQueue(found).cancel(job).state
    words = {"running": "will stop within a second", "cancelled": "is cancelled"}
    told = words.get(state, f"had ended already ({state})")
    show({"id": job, "state": state}, as_json, lambda _: f"Job {job} {told}")


@commands.command()
def retry(job: JobNumber, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Run a failed, cancelled or interrupted job again, from its last checkpoint."""
    from engine.jobs import JobQueue

    with opened(workspace) as found:
        queue = JobQueue(found)
        kind = (queue.retry(job) if queue.get(job).finished else queue.get(job)).kind
        result = run_job(found, kind, {}, as_json=as_json, resume=job)
    show({"id": job, "result": result}, as_json, lambda _: f"Job {job} is done")


@commands.command()
def log(job: JobNumber, workspace: WorkspaceOption = None) -> None:
    """Print the log of a job and, if it failed, the traceback."""
    from engine.jobs import JobQueue

    with opened(workspace) as found:
        queue = JobQueue(found)
        typer.echo(queue.log(queue.get(job).id), nl=False)


@commands.command()
def work(workspace: WorkspaceOption = None) -> None:
    """Run all waiting jobs, one after the other, then end: for a machine without the app open."""
    from engine.jobs import JobQueue

    with opened(workspace) as found:
        queue = JobQueue(found)
        queue.requeue_orphans()
        for waiting in [job for job in queue.unfinished() if job.state == "queued"]:
            run_job(found, waiting.kind, {}, as_json=False, resume=waiting.id)
            typer.echo(f"Job {waiting.id} {waiting.title} is done")


def _table(listed: list[dict[str, Any]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    from engine.jobs.pace import told

    if not listed:
        return "No jobs yet."
    table = Table("Job", "What", "State", "Done", "Left", "", box=None, header_style="bold")
    for job in listed:
        share = f"{100 * job['done'] / job['total']:.0f} %" if job["total"] else f"{job['done']:g}"
        remark = job["error"] or (job["message"] if job["state"] == "running" else "")
        table.add_row(str(job["id"]), job["title"], job["state"], share, told(job["seconds_left"]), escape(remark))
    return table
