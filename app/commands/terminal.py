"""Shared by all commands: the workspace option, the output of results and errors, and running a job."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.engine.problems import BenthoscopeError, Problem, fail

if TYPE_CHECKING:
    from benthoscope.engine.jobs import Job
    from benthoscope.engine.workspace import Workspace

VARIABLE = "BENTHOSCOPE_WORKSPACE"
ERROR, STOPPED = 2, 130  # exit codes: something in the input, Ctrl-C

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        envvar=VARIABLE,
        show_envvar=True,
        metavar="FOLDER",
        help="Workspace folder (default: the only NAME.benthos in this folder).",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option("--seed", help="Seed of the random numbers: the same seed gives the same result on the same machine."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts instead of text.")]


def command_group() -> typer.Typer:
    """A group of commands that also does something without a subcommand, such as `benthoscope runs`."""
    return typer.Typer(invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")


def workspace_folder(path: Path | None) -> Path:
    """The folder named by the option, or the only workspace in the current folder."""
    if path is not None:
        return path
    nearby = sorted(Path.cwd().glob("*.benthos"))
    if len(nearby) == 1:
        return nearby[0]
    if not nearby:
        raise fail(
            str(Path.cwd()),
            "contains no workspace",
            "create one with `benthoscope init NAME`, or name one with --workspace",
        )
    names = ", ".join(path.name for path in nearby)
    raise fail(str(Path.cwd()), f"contains several workspaces: {names}", "name one with --workspace")


@contextmanager
def open_workspace(path: Path | None) -> "Iterator[Workspace]":
    """The workspace of the option, open for the block."""
    from benthoscope.engine.workspace import Workspace

    with Workspace.open(workspace_folder(path)) as workspace:
        yield workspace


def show(result: Any, as_json: bool, text: Callable[[Any], Any]) -> None:
    """Print a result as JSON, or as `text(result)`: a string or anything that Rich can print."""
    if as_json:
        typer.echo(json.dumps(result, indent=2, ensure_ascii=False, default=str))
    else:
        console().print(text(result), highlight=False)


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> Any:
    """A table to print. In a narrow terminal, long words continue on the next line: a name of a file that ends with an
    ellipsis could not be copied."""
    from rich.table import Column, Table

    columns = (Column(heading, overflow="fold") for heading in headings)
    table = Table(*columns, title=title, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    return table


def styled(text: str, style: str) -> Any:
    """A line to print in a style of Rich, such as "red"."""
    from rich.text import Text

    return Text(text, style)


def console():
    """The terminal. It prints text as it is: square brackets, as in the name of a file, are not markup."""
    from rich.console import Console

    return Console(soft_wrap=not sys.stdout.isatty(), markup=False)


def print_problem(problem: Problem, as_json: bool) -> None:
    """Print an error as one line: JSON on standard output, text on standard error."""
    if as_json:
        typer.echo(json.dumps({"error": vars(problem)}, ensure_ascii=False))
    else:
        typer.secho(f"Error: {problem}".encode("utf-8", "backslashreplace").decode(), fg="red", err=True)


def run_job(
    workspace: "Workspace",
    kind: str,
    parameters: Mapping[str, Any],
    *,
    as_json: bool,
    title: str | None = None,
    resume: int | None = None,
) -> Mapping[str, Any]:
    """Run a job with a progress bar and return its result. Ctrl-C cancels it; the same command resumes it."""
    from benthoscope.engine.jobs import JobQueue, run_now

    if resume is None and (stopped := JobQueue(workspace).requeue_stopped(kind, parameters)) is not None:
        resume = stopped.id
        typer.secho(f"Resuming job {resume}, which stopped before its end.", fg="yellow", err=True)
    with _bar(quiet=as_json) as watch:
        try:
            job = run_now(workspace, kind, parameters, title=title, watch=watch, resume=resume)
        except KeyboardInterrupt:
            typer.secho("Stopped. Finished work is kept; run the same command to resume.", fg="yellow", err=True)
            raise typer.Exit(STOPPED) from None
    if job.state == "failed":
        raise BenthoscopeError(_as_problem(job))
    if job.state == "cancelled":
        typer.secho("Cancelled. Finished work is kept; run the same command to resume.", fg="yellow", err=True)
        raise typer.Exit(STOPPED)
    return job.result or {}


def check_jobs(workspace: "Workspace", jobs: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Raise BadInput where one of several jobs (kind, parameters) could only fail."""
    from benthoscope.engine.jobs import JobQueue

    queue = JobQueue(workspace)
    for at, (kind, parameters) in enumerate(jobs):
        queue.check(kind, parameters, after=[earlier for earlier, _ in jobs[:at]])


@contextmanager
def _bar(quiet: bool):
    """Yield a function that draws a job as a progress bar; it draws nothing if standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda job: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[message]}", style="dim", markup=False),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("…", total=None, pace="", message="")

        def draw(job: "Job") -> None:
            bar.update(
                task,
                description=job.title,
                completed=round(job.done),
                pace=_pace(job),
                message=job.message,
                total=None if job.total is None else round(job.total),
            )

        yield draw


def _pace(job: "Job") -> str:
    from benthoscope.engine.progress import format_duration

    time_left = format_duration(job.seconds_left)
    speed = f"{job.rate:.1f}/s" if job.rate else ""
    return f"{speed}  {time_left} left" if time_left else speed


def _as_problem(job: "Job") -> Problem:
    where, _, message = (job.error or job.title).partition(": ")
    text, _, remedy = message.partition("; ")
    return Problem(where, text or "failed", remedy)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise BadInput if the block cannot write to `path`."""
    try:
        yield
    except OSError as error:
        raise fail(str(path), f"cannot be written ({error.strerror or error})", "choose another path") from error


def read_file(path: Path) -> bytes:
    """The content of a file that the user named. Raises BadInput if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise fail(str(path), f"cannot be read ({error.strerror})", "check the path") from error


def counted(count: int, noun: str) -> str:
    """Return "1 image" or "1,200 images"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_size(count: float) -> str:
    """A number of bytes with its unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def is_output_error(error: OSError) -> bool:
    """Whether printing failed, as on a full device: the innermost frame belongs to a printing library."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    return error.filename is None and module.partition(".")[0] in ("typer", "click", "rich")


def silence_output() -> None:
    """Discard what is still buffered for standard output, so that the program can end without another error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def pass_on(context: typer.Context, workspace: Path | None, as_json: bool) -> None:
    """Make `benthoscope runs -w FOLDER --json show 1` equal to `benthoscope runs show 1 -w FOLDER --json`."""
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"as_json": as_json}}
    if workspace is not None:  # the variable that the subcommand's own option reads
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(workspace)
        context.call_on_close(lambda: _restore_variable(before))


def _restore_variable(value: str | None) -> None:
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


def wants_json() -> bool:
    """Whether --json was given, for errors that occur before the option is parsed."""
    return "--json" in sys.argv


def in_debug() -> bool:
    """Whether to show the traceback of errors that are otherwise one line (BENTHOSCOPE_DEBUG=1)."""
    return bool(os.environ.get("BENTHOSCOPE_DEBUG"))
