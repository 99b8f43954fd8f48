"""What all commands share: which workspace is meant, how results and errors are shown, how a job is watched."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.problems import BenthoscopeError, Problem, fail

if TYPE_CHECKING:
    from engine.jobs import Job
    from engine.workspace import Workspace

VARIABLE = "BENTHOSCOPE_WORKSPACE"
ERROR, STOPPED = 2, 130  # exit codes: something in the input, Ctrl-C

WorkspaceOption = Annotated[Path | None, typer.Option(
    "--workspace", "-w", envvar=VARIABLE, show_envvar=True, metavar="FOLDER",
    help="The workspace; by default the only NAME.benthos in this folder.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts instead of text.")]


def workspace_folder(given: Path | None) -> Path:
    """The workspace meant, said or guessed."""
    if given is not None:
        return given
    here = sorted(Path.cwd().glob("*.benthos"))
    if len(here) == 1:
        return here[0]
    if not here:
        raise fail(str(Path.cwd()), "there is no workspace here",
                   "make one with `benthoscope init NAME`, or say which with --workspace")
    names = ", ".join(path.name for path in here)
    raise fail(str(Path.cwd()), f"there are several workspaces: {names}", "say which with --workspace")


@contextmanager
def opened(given: Path | None):
    """The workspace meant, open for the block."""
    from engine.workspace import Workspace

    with Workspace.open(workspace_folder(given)) as workspace:
        yield workspace


def show(result: Any, as_json: bool, text: Callable[[Any], Any]) -> None:
    """Prints a result as JSON, or as the text made of it (a string or anything Rich can draw)."""
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False, default=str))
    else:
        console().print(text(result), highlight=False)


def console():
    from rich.console import Console

    return Console(soft_wrap=not sys.stdout.isatty())


def told(problem: Problem, as_json: bool) -> None:
    """The one line of an error, where scripts or people look for it."""
    if as_json:
        typer.echo(json.dumps({"error": vars(problem)}, ensure_ascii=False))
    else:
        typer.secho(f"Error: {problem}".encode("utf-8", "backslashreplace").decode(), fg="red", err=True)


def run_job(workspace: "Workspace", kind: str, parameters: Mapping[str, Any], *, as_json: bool,
            title: str | None = None, resume: int | None = None) -> Mapping[str, Any]:
    """Runs a job with a bar and returns its result. Ctrl-C cancels it; the same command goes on from there."""
    from engine.jobs import run_now

    with _bar(quiet=as_json) as watch:
        try:
            job = run_now(workspace, kind, parameters, title=title, watch=watch, resume=resume)
        except KeyboardInterrupt:
            typer.secho("Stopped; what was done is kept.", fg="yellow", err=True)
            raise typer.Exit(STOPPED) from None
    if job.state == "failed":
        raise BenthoscopeError(_as_problem(job))
    if job.state == "cancelled":
        typer.secho("Cancelled; what was done is kept.", fg="yellow", err=True)
        raise typer.Exit(STOPPED)
    return job.result or {}


@contextmanager
def _bar(quiet: bool):
    """A function that draws a job as a bar on the terminal; where nobody watches it draws nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda job: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"),
               TimeElapsedColumn(), TextColumn("[dim]{task.fields[message]}")]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("…", total=None, pace="", message="")

        def draw(job: "Job") -> None:
            bar.update(task, description=job.title, completed=round(job.done), pace=_pace(job), message=job.message,
                       total=None if job.total is None else round(job.total))

        yield draw


def _pace(job: "Job") -> str:
    from engine.jobs.pace import told as time_told

    left = time_told(job.seconds_left)
    speed = f"{job.rate:.1f}/s" if job.rate else ""
    return f"{speed}  {left} left" if left else speed


def _as_problem(job: "Job") -> Problem:
    where, _, rest = (job.error or job.title).partition(": ")
    what, _, remedy = rest.partition("; ")
    return Problem(where, what or "failed", remedy)


def size_told(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def wants_json() -> bool:
    """For errors that come up before the option was read."""
    return "--json" in sys.argv


def in_debug() -> bool:
    """BENTHOSCOPE_DEBUG=1 keeps the traceback of errors that are otherwise one line."""
    return bool(os.environ.get("BENTHOSCOPE_DEBUG"))
