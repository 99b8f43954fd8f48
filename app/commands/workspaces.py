"""`benthoscope init`, `status` and `relink`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show, size_told

if TYPE_CHECKING:
    from engine.workspace import Workspace


def init(
    name: Annotated[Path, typer.Argument(help="Folder of the new workspace; .benthos is added.", metavar="NAME")],
    title: Annotated[str | None, typer.Option(help="A name to show; by default that of the folder.")] = None,
    database: Annotated[str | None, typer.Option(
        metavar="URL", help="Keep the catalogue in PostgreSQL: postgresql://user@host/name. By default in the folder.",
    )] = None,
    as_json: JsonOption = False,
) -> None:
    """Make an empty workspace.

    Images stay where they are; a workspace holds references, thumbnails, features, clusterings and labels.

    Examples:

        benthoscope init scott-reef

        benthoscope init lab --database postgresql://bentho@server/reefs
    """
    from engine.workspace import Workspace

    with Workspace.create(name, name=title, database=database) as made:
        result = {"workspace": str(made.folder), "name": made.name}
    show(result, as_json, lambda made: f"Made {made['workspace']}\nNext: benthoscope import FOLDER --workspace {name}")


def status(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show what a workspace holds.

    Examples:

        benthoscope status

        benthoscope status --workspace scott-reef --json
    """
    with opened(workspace) as found:
        show(describe(found), as_json, _status_text)


def relink(
    folder: Annotated[Path, typer.Argument(help="Where the images are now.")],
    root: Annotated[int | None, typer.Option(help="Number of the folder that moved, as `status` shows it.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find images again after their folder moved.

    Files are found by name and size; those that were renamed, by their content. Nothing is changed unless at least
    one image is found.

    Examples:

        benthoscope relink /media/disk2/dives

        benthoscope relink /media/disk2/dives --root 3
    """
    with opened(workspace) as found:
        result = run_job(found, "relink", {"folder": str(folder.absolute()), "root": root}, as_json=as_json)
    show(result, as_json, _relink_text)


def describe(workspace: "Workspace") -> dict[str, Any]:
    """What `status` shows, as plain values."""
    from engine.jobs import JobQueue

    summaries = workspace.library.summaries()
    return {
        "workspace": str(workspace.folder),
        "name": workspace.name,
        "database": workspace.catalogue.dialect,
        "size": sum(path.stat().st_size for path in workspace.folder.rglob("*") if path.is_file()),
        "images": workspace.library.count_images(),
        "collections": [
            {"name": collection.name, "kind": collection.kind, "groups": [
                {"name": found.group.name, "images": found.images, "first": found.first_taken, "last": found.last_taken,
                 "depth": found.depth, "bounds": found.bounds}
                for found in summaries if found.group.collection_id == collection.id]}
            for collection in workspace.library.collections()],
        "roots": [vars(root) for root in workspace.library.roots()],
        "features": [_feature_facts(workspace, name) for name in workspace.features.names()],
        "runs": [{"id": run.id, "name": run.name, "model": run.model, "current": run.current, **run.summary}
                 for run in workspace.runs.all()],
        "labels": len(workspace.labels.current()[0]),
        "problems": len(workspace.library.problems()),
        "duplicates": sum(len(same) - 1 for same in workspace.library.duplicates()),
        "jobs": [{"id": job.id, "title": job.title, "state": job.state} for job in JobQueue(workspace).unfinished()],
    }


def _feature_facts(workspace: "Workspace", name: str) -> dict[str, Any]:
    found = workspace.features.open(name).sidecar
    return {"name": name, "level": found.level, "images": found.images, "rows": found.rows, "width": found.width}


def _status_text(found: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.markup import escape

    lines = [f"[bold]{escape(found['name'])}[/bold]  {escape(found['workspace'])}",
             f"{found['images']:,} images, {found['labels']:,} labelled; {size_told(found['size'])} on disk, "
             f"catalogue in {found['database']}"]
    if not found["images"]:
        lines.append("Next: benthoscope import FOLDER")
    lines += [f"[red]Missing folder {root['id']}: {escape(root['path'])}[/red] (benthoscope relink NEW-FOLDER "
              f"--root {root['id']})" for root in found["roots"] if not root["present"]]
    if found["problems"]:
        lines.append(f"{found['problems']:,} files could not be used (benthoscope problems)")
    if found["duplicates"]:
        lines.append(f"{found['duplicates']:,} images are copies of others")
    lines += [f"Features {features['name']}: {features['images']:,} images, {features['rows']:,} rows of "
              f"{features['width']}" for features in found["features"]]
    lines += [f"Run {run['id']} {escape(run['name'])}: {run['model']}" for run in found["runs"]]
    lines += [f"Job {job['id']} {job['title']}: {job['state']}" for job in found["jobs"]]
    return Group(*lines, *([_groups_table(found)] if found["collections"] else []))


def _groups_table(found: dict[str, Any]) -> Any:
    from rich.table import Table

    headings = ("Collection", "Dive or album", "Images", "First image (UTC)", "Depth (m)")
    table = Table(*headings, box=None, header_style="bold")
    table.columns[2].justify = "right"
    for collection in found["collections"]:
        for group in collection["groups"]:
            depth = "{:.0f} to {:.0f}".format(*group["depth"]) if group["depth"] else ""
            table.add_row(collection["name"], group["name"], f"{group['images']:,}", _moment(group["first"]), depth)
    return table


def _moment(seconds: float | None) -> str:
    from datetime import UTC, datetime

    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _relink_text(result: dict[str, Any]) -> str:
    told = f"{result['found']:,} images found in {result['to']}"
    told += f", {result['renamed']:,} of them under another name" if result["renamed"] else ""
    return told + (f"; [red]{result['missing']:,} are still missing[/red]" if result["missing"] else "")
