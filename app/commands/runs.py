"""`benthoscope runs`: what was clustered, how, and how alike the results are."""

from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, show

commands = typer.Typer(invoke_without_command=True, no_args_is_help=False, rich_markup_mode="rich")
RunWord = Annotated[str, typer.Argument(help="Number or name of the run.", metavar="RUN")]


@commands.callback()
def runs(
    context: typer.Context,
    deleted: Annotated[bool, typer.Option("--deleted", help="List those that were deleted instead.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the clusterings of a workspace; compare, show, rename, choose, delete and restore them.

    Examples:

        benthoscope runs

        benthoscope runs compare 1 2
    """
    if context.invoked_subcommand:
        return
    with opened(workspace) as found:
        listed = [_facts(run) for run in found.runs.all(deleted=deleted)]
    show(listed, as_json, _list_table)


@commands.command()
def compare(one: RunWord, other: RunWord, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Tell how alike two runs are, on the images they share."""
    from engine.jobs.comparison import compare_runs

    with opened(workspace) as found:
        result = compare_runs(found.runs.named(one), found.runs.named(other)).told()
    show(result, as_json, _comparison_text)


@commands.command(name="show")
def show_run(run: RunWord, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show everything a run remembers: parameters, versions, data, seed, times, bounds."""
    with opened(workspace) as found:
        chosen = found.runs.named(run)
        told = _facts(chosen) | {"parameters": chosen.parameters, "provenance": chosen.provenance,
                                 "sizes": [cluster.size for cluster in found.runs.clusters(chosen.id)],
                                 "segment_sizes": [one.size for one in found.runs.clusters(chosen.id, "segment")]}
    show(told, as_json, _provenance_text)


@commands.command()
def rename(run: RunWord, name: Annotated[str, typer.Argument(help="The new name.")],
           workspace: WorkspaceOption = None) -> None:
    """Give a run another name."""
    with opened(workspace) as found:
        found.runs.rename(found.runs.named(run).id, name)


@commands.command()
def choose(run: RunWord, workspace: WorkspaceOption = None) -> None:
    """Make a run the current one, which the app opens with."""
    with opened(workspace) as found:
        found.runs.choose(found.runs.named(run).id)


@commands.command()
def delete(run: RunWord, workspace: WorkspaceOption = None) -> None:
    """Delete a run; `restore` brings it back until `purge`."""
    with opened(workspace) as found:
        found.runs.delete(found.runs.named(run).id)


@commands.command()
def restore(run: Annotated[int, typer.Argument(help="Number of the run.", metavar="RUN")],
            workspace: WorkspaceOption = None) -> None:
    """Bring a deleted run back."""
    with opened(workspace) as found:
        found.runs.restore(run)


@commands.command()
def purge(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Remove deleted runs for good, but those that labels were made from."""
    with opened(workspace) as found:
        gone = found.runs.purge()
    show({"removed": gone}, as_json, lambda told: f"{told['removed']} runs removed")


@commands.command()
def assign(
    run: RunWord,
    file: Annotated[Path, typer.Option("--output", "-o", help="CSV to write: image, dive, cluster, probability.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Write the cluster of every image to a CSV file."""
    from engine.jobs.comparison import write_assignments

    with opened(workspace) as found:
        count = write_assignments(found, found.runs.named(run), file)
    typer.echo(f"{count:,} images written to {file}")


def _facts(run: Any) -> dict[str, Any]:
    return {"id": run.id, "name": run.name, "model": run.model, "features": run.features, "current": run.current,
            "created_at": run.created_at, **run.summary}


def _list_table(listed: list[dict[str, Any]]) -> Any:
    from rich.markup import escape
    from rich.table import Table

    if not listed:
        return "No runs yet.\nNext: benthoscope cluster"
    headings = ("Run", "Name", "Model", "Features", "Clusters", "Images", "Held-out", "")
    table = Table(*headings, box=None, header_style="bold")
    for run in listed:
        score = "" if run.get("held_out") is None else f"{run['held_out']:.4f}"
        table.add_row(str(run["id"]), escape(run["name"]), run["model"], run["features"], _counted(run),
                      f"{run.get('images', 0):,}", score, "current" if run["current"] else "")
    return table


def _counted(run: dict[str, Any]) -> str:
    of_segments = f", {run['segment_clusters']} of segments" if "segment_clusters" in run else ""
    return f"{run.get('clusters', '')}{of_segments}"


def _comparison_text(found: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.markup import escape

    lines = [f"{found['images']:,} images in both",
             f"V-measure {found['v_measure']:.3f}, adjusted Rand index {found['adjusted_rand']:.3f}"]
    for side, run in (("one", found["one"]), ("other", found["other"])):
        score = "" if run["held_out"] is None else f", held-out log likelihood {run['held_out']:.4f}"
        lines.append(f"{escape(run['name'])}: {run['clusters']} clusters{score}; sizes {run['sizes']}")
        lines += [f"  cluster {entry['cluster']} was split into {entry['into']}" for entry in found["splits"][side]]
    return Group(*lines)


def _provenance_text(found: dict[str, Any]) -> str:
    import json

    shown = found | {"provenance": {name: value for name, value in found["provenance"].items() if name != "trace"}}
    return json.dumps(shown, indent=2, default=str).replace("[", "\\[")
