"""`benthoscope backup`, `restore` and `check`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.terminal import (
    ERROR,
    JsonOption,
    WorkspaceOption,
    counted,
    format_size,
    open_workspace,
    show,
    styled,
)

if TYPE_CHECKING:
    from benthoscope.engine.workspace.backup import Snapshot

BackupFolder = Annotated[Path, typer.Argument(help="Folder of the backup.", metavar="BACKUP")]


def backup(
    target: BackupFolder,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Keep only this many snapshots and remove older ones (default: keep all)."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Back up a workspace, also while the app is open.

    The backup contains the whole catalogue (images, labels, runs, jobs, crowd answers; from PostgreSQL too) and the
    feature sets, runs, thumbnails and learned models. It does not contain the image files: keep copies of
    them elsewhere.

    Run the same command again to add a snapshot; only changes are written. Every new file is read back and compared
    with its checksum. Do not copy catalogue.sqlite yourself while the app is open: a second file contains the
    newest labels.

    Examples:

        benthoscope backup /media/disk2/reef-backup

        benthoscope backup /media/disk2/reef-backup --keep 10
    """
    from benthoscope.engine.workspace.backup import Backup

    with open_workspace(workspace) as opened_workspace:
        into = Backup.of(opened_workspace, target)
        snapshot, tally = into.take(opened_workspace, _progress(as_json))
    removed = into.prune(keep) if keep else 0
    result = {
        **_facts(snapshot),
        "backup": str(into.folder),
        "written": tally.new_bytes,
        "new_files": tally.new_files,
        "removed_snapshots": removed,
    }
    show(
        result,
        as_json,
        lambda _: (
            f"{_text(snapshot)}\n{format_size(tally.new_bytes)} written to {into.folder}, "
            f"{tally.new_files:,} files are new or changed. The backup does not contain the image files."
        ),
    )


def restore(
    source: BackupFolder,
    name: Annotated[
        Path | None,
        typer.Argument(
            metavar="NAME",
            help="Folder of the restored workspace; the ending .benthos is added (default: its former name).",
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="First characters of the name of a snapshot; `check` lists the names (default: the newest).",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Restore the catalogue into this empty PostgreSQL database (default: into a file)."
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace a workspace of this name; it is moved aside and not deleted."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Restore a workspace from a backup.

    Every file is compared with its checksum. Close the app first if you use --replace.

    Examples:

        benthoscope restore /media/disk2/reef-backup

        benthoscope restore /media/disk2/reef-backup scott-reef --snapshot 2026-03-01 --replace
    """
    from benthoscope.engine.workspace.backup import Backup

    origin = Backup.open(source)
    folder, chosen = origin.restore(
        name or Path(origin.name), snapshot=snapshot, database=database, replace=replace, on_step=_progress(as_json)
    )
    result = {**_facts(chosen), "workspace": str(folder)}
    text = f"{_text(chosen)}\nRestored {folder}\nNext: benthoscope doctor --workspace {folder}"
    show(result, as_json, lambda _: text)


def check(source: BackupFolder, as_json: JsonOption = False) -> None:
    """Check a backup: read every file of every snapshot and open its catalogue.

    Exits with code 2 if something is damaged. The next `benthoscope backup` writes damaged files again if the workspace
    still has them.

    Example:

        benthoscope check /media/disk2/reef-backup
    """
    from rich.console import Group

    from benthoscope.engine.workspace.backup import Backup

    origin = Backup.open(source)
    problems = origin.check(_progress(as_json))
    names = origin.snapshots()
    lines: list[Any] = [f"{len(names):,} snapshots of {origin.name}, the newest {names[-1] if names else 'missing'}"]
    lines += [styled(str(problem), "red") for problem in problems] or [
        "All files can be read and match their checksums."
    ]
    lines += [f"  {name}" for name in names[-10:]]
    result = {"backup": str(origin.folder), "snapshots": names, "problems": [vars(problem) for problem in problems]}
    show(result, as_json, lambda _: Group(*lines))
    if problems or not names:
        raise typer.Exit(ERROR)


def _facts(snapshot: "Snapshot") -> dict[str, Any]:
    return {
        "snapshot": snapshot.name,
        "taken_at": snapshot.taken_at,
        "files": len(snapshot.files),
        "size": snapshot.size,
        **snapshot.counts,
    }


def _text(snapshot: "Snapshot") -> str:
    counts = snapshot.counts
    return (
        f"Snapshot {snapshot.name}: {counts['images']:,} images, {counts['label_events']:,} label events, "
        f"{_runs(counts)}; {len(snapshot.files):,} files, {format_size(snapshot.size)}"
    )


def _runs(counts: Mapping[str, int]) -> str:
    """Counts of runs and of their finer and coarser levels; older snapshots counted both together."""
    if "levels" not in counts:
        return f"{counted(counts['runs'], 'run')} and levels"
    levels = f" with {counted(counts['levels'], 'level')}" if counts["levels"] else ""
    return f"{counted(counts['runs'], 'run')}{levels}"


def _progress(quiet: bool) -> Any:
    """A function that prints progress on one line; it prints nothing if standard error is no terminal."""
    import sys

    from benthoscope.engine.progress import ignore

    if quiet or not sys.stderr.isatty():
        return ignore

    def draw(progress: Any) -> None:
        text = f"{progress.done:,.0f} of {progress.total:,.0f}  {progress.message}"
        typer.echo(f"\r\033[K{text[:100]}", err=True, nl=progress.done + 1 >= (progress.total or 0))

    return draw
