"""`benthoscope init`, `status`, `relink` and `problems`: create a workspace and see what is in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    counted,
    format_size,
    open_workspace,
    run_job,
    show,
    styled,
    text_table,
)
from benthoscope.engine.problems import Problem

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace


def init(
    name: Annotated[
        Path, typer.Argument(help="Folder of the new workspace; the ending .benthos is added.", metavar="NAME")
    ],
    title: Annotated[str | None, typer.Option(help="Name to show (default: the name of the folder).")] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Store the catalogue in PostgreSQL: postgresql://user@host/name (default: in the folder).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create an empty workspace.

    Images stay where they are. A workspace contains references to them, thumbnails, features, clusterings and labels.

    Examples:

        benthoscope init scott-reef

        benthoscope init lab --database postgresql://bentho@server/reefs
    """
    from benthoscope.engine.workspace import Workspace

    with Workspace.create(name, name=title, database=database) as created:
        result = {"workspace": str(created.folder), "name": created.name}
    show(
        result,
        as_json,
        lambda facts: f"Created {facts['workspace']}\nNext: benthoscope import FOLDER --workspace {name}",
    )


def status(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show the images, features, runs and labels of a workspace.

    Examples:

        benthoscope status

        benthoscope status --workspace scott-reef --json
    """
    with open_workspace(workspace) as opened_workspace:
        show(describe(opened_workspace), as_json, _status_text)


def relink(
    folder: Annotated[Path, typer.Argument(help="Folder that contains the images now.")],
    root: Annotated[
        int | None, typer.Option(help="Number of the folder that moved; `status` shows it if images are missing.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find images again after their folder moved.

    Files are recognised by name and size, renamed files by their content. Nothing changes unless at least one image is
    found.

    Examples:

        benthoscope relink /media/disk2/dives

        benthoscope relink /media/disk2/dives --root 3
    """
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "relink", {"folder": str(folder.absolute()), "root": root}, as_json=as_json)
    show(result, as_json, _relink_text)


def describe(workspace: "Workspace") -> dict[str, Any]:
    """Return the values that `status` prints."""
    from benthoscope.engine.jobs import JobQueue

    return {
        "workspace": str(workspace.folder),
        "name": workspace.name,
        "database": workspace.catalogue.dialect,
        "size": sum(path.stat().st_size for path in workspace.folder.rglob("*") if path.is_file()),
        "images": workspace.library.count_images(),
        "collections": _collection_facts(workspace),
        "roots": [vars(root) for root in workspace.library.roots()],
        "features": [_feature_facts(workspace, name) for name in workspace.features.names()],
        "runs": [
            {"id": run.id, "name": run.name, "model": run.model, "current": run.current, **run.summary}
            for run in workspace.runs.all()
        ],
        "read_only": workspace.read_only,
        "alarms": [
            str(problem)
            for problem in (workspace.lost_catalogue(), *workspace.features.unreadable().values())
            if problem
        ],
        "labels": len(workspace.labels.current()[0]),
        "problems": len(workspace.library.problems()),
        "duplicates": workspace.library.count_copies(),
        "jobs": [{"id": job.id, "title": job.title, "state": job.state} for job in JobQueue(workspace).unfinished()],
    }


def _collection_facts(workspace: "Workspace") -> list[dict[str, Any]]:
    summaries = workspace.library.summaries()
    return [
        {
            "name": collection.name,
            "kind": collection.kind,
            "groups": [
                {
                    "name": summary.group.name,
                    "images": summary.images,
                    "first": summary.first_taken,
                    "last": summary.last_taken,
                    "depth": summary.depth,
                    "bounds": summary.bounds,
                }
                for summary in summaries
                if summary.group.collection_id == collection.id
            ],
        }
        for collection in workspace.library.collections()
    ]


def _feature_facts(workspace: "Workspace", name: str) -> dict[str, Any]:
    features = workspace.features.open(name)
    sidecar = features.sidecar
    return {
        "name": name,
        "stale": len(workspace.stale_images(features)),
        "level": sidecar.level,
        "images": sidecar.images,
        "rows": sidecar.rows,
        "width": sidecar.width,
    }


def _status_text(facts: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.text import Text

    lines: list[Any] = [
        Text.assemble((facts["name"], "bold"), f"  {facts['workspace']}"),
        f"{facts['images']:,} images, {facts['labels']:,} labelled; {format_size(facts['size'])} on disk, "
        f"catalogue in {facts['database']}",
    ]
    lines += [styled(alarm, "red") for alarm in facts["alarms"]]
    if facts["read_only"]:
        lines.append(styled("Read-only: the folder is not writable", "yellow"))
    if not facts["images"] and not facts["alarms"]:
        lines.append("Next: benthoscope import FOLDER")
    lines += [
        Text.assemble(
            (f"Missing folder {root['id']}: {root['path']}", "red"),
            f" (benthoscope relink NEW-FOLDER --root {root['id']})",
        )
        for root in facts["roots"]
        if not root["present"]
    ]
    if facts["problems"]:
        lines.append(f"{counted(facts['problems'], 'file')} cannot be used (benthoscope problems)")
    if facts["duplicates"]:
        lines.append(f"{facts['duplicates']:,} images are copies of others")
    lines += [
        f"Features {features['name']}: {features['images']:,} images, {features['rows']:,} rows of {features['width']}"
        for features in facts["features"]
    ]
    lines += [
        Text.assemble(
            (f"{counted(features['stale'], 'image file')} replaced after {features['name']} described them", "yellow"),
            " (benthoscope features --repair)",
        )
        for features in facts["features"]
        if features["stale"]
    ]
    lines += [f"Run {run['id']} {run['name']}: {run['model']}" for run in facts["runs"]]
    lines += [f"Job {job['id']} {job['title']}: {job['state']}" for job in facts["jobs"]]
    return Group(*lines, *([_groups_table(facts)] if facts["collections"] else []))


def _groups_table(facts: dict[str, Any]) -> Any:
    rows = [
        (
            collection["name"],
            group["name"],
            f"{group['images']:,}",
            _format_time(group["first"]),
            "{:.0f} to {:.0f}".format(*group["depth"]) if group["depth"] else "",
        )
        for collection in facts["collections"]
        for group in collection["groups"]
    ]
    table = text_table(("Collection", "Dive or album", "Images", "First image (UTC)", "Depth (m)"), rows)
    table.columns[2].justify = "right"
    return table


def _format_time(seconds: float | None) -> str:
    from datetime import UTC, datetime

    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _relink_text(result: dict[str, Any]) -> Any:
    from rich.text import Text

    text = f"{result['found']:,} images found in {result['to']}"
    text += f", {result['renamed']:,} of them under another name" if result["renamed"] else ""
    missing = (f"; {result['missing']:,} are still missing" if result["missing"] else "", "red")
    return Text.assemble(text, missing)


def problems(
    source: Annotated[str | None, typer.Argument(help="Only the problems of this import.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the files that could not be imported, with the reason and a remedy, and the copies of images.

    Example:

        benthoscope problems --json > problems.json
    """
    with open_workspace(workspace) as opened_workspace:
        listed = [vars(problem) for problem in opened_workspace.library.problems(source)]
        copies = [[image.path for image in same] for same in opened_workspace.library.duplicates()]
    show({"problems": listed, "copies": copies}, as_json, _problems_text)


def _problems_text(result: dict[str, Any]) -> str:
    lines = [str(Problem(**problem)) for problem in result["problems"]]
    lines += [f"Copies of one image: {', '.join(paths)}" for paths in result["copies"]]
    return "\n".join(lines) or "No problems."
