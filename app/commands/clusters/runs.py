"""`benthoscope runs`: list, compare and manage clusterings."""

from pathlib import Path
from typing import Annotated, Any

import typer

from benthoscope.app.commands.labelling.learn import PersonOption
from benthoscope.app.commands.old_options import accepting_old_options
from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    command_group,
    counted,
    open_workspace,
    pass_on,
    run_job,
    show,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail

commands = command_group()
RunArgument = Annotated[str, typer.Argument(help="Number or name of the run.", metavar="RUN")]


@commands.callback()
def runs(
    context: typer.Context,
    deleted: Annotated[bool, typer.Option("--deleted", help="List the deleted runs instead.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the clusterings of a workspace; compare, show, rename, choose, delete and restore them.

    Examples:

        benthoscope runs

        benthoscope runs compare 1 2
    """
    if context.invoked_subcommand:
        pass_on(context, workspace, as_json)
        return
    with open_workspace(workspace) as opened_workspace:
        listed = [
            {**run.facts(), **run.summary, "levels": _levels(opened_workspace, run)}
            for run in opened_workspace.runs.all(deleted=deleted)
        ]
    show(listed, as_json, _list_table)


@commands.command()
def compare(
    first: RunArgument, other: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Compare two runs on the images that both contain."""
    from benthoscope.engine.jobs.cluster.compare_runs import compare_runs

    with open_workspace(workspace) as opened_workspace:
        result = compare_runs(opened_workspace.runs.named(first), opened_workspace.runs.named(other)).to_dict()
    show(result, as_json, _comparison_text)


@commands.command(name="show")
def show_run(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show everything that is stored with a run: levels, splits of clusters, parameters, versions, seed, bounds."""
    from benthoscope.engine.jobs.cluster.fit_request import limit_sentences
    from benthoscope.engine.jobs.cluster.levels import splits

    with open_workspace(workspace) as opened_workspace:
        selected = opened_workspace.runs.named(run)
        facts = {
            **selected.facts(),
            **selected.summary,
            "limits_reached": limit_sentences(selected),
            "levels": _levels(opened_workspace, selected),
            "splits": splits(opened_workspace, selected),
            "parameters": selected.parameters,
            "provenance": selected.provenance,
            "sizes": [cluster.size for cluster in opened_workspace.runs.clusters(selected.id)],
            "segment_sizes": [cluster.size for cluster in opened_workspace.runs.clusters(selected.id, "segment")],
        }
    show(facts, as_json, _provenance_text)


@commands.command()
def purity(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Measure how pure the clusters of a run are, as far as labels and features can tell.

    Examples:

        benthoscope runs purity 3
    """
    from benthoscope.engine.jobs.cluster.run_purity import run_purity

    with open_workspace(workspace) as opened_workspace:
        measured = run_purity(opened_workspace, opened_workspace.runs.named(run)).to_dict()
    show(measured, as_json, lambda facts: facts["text"])


@commands.command()
def levels(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Compute a finer and a coarser level of a run that has none, such as one made by an earlier version.

    Examples:

        benthoscope runs levels 3
    """
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "levels", {"run": opened_workspace.runs.named(run).id}, as_json=as_json)
    show(
        result,
        as_json,
        lambda result: "\n".join(
            f"{level}: run {facts['run']}, {facts['clusters']} clusters" for level, facts in result["levels"].items()
        ),
    )


@commands.command()
def exemplars(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Choose the exemplars of each cluster of a run, store them with the run, and list them.

    Examples:

        benthoscope runs exemplars 3
    """
    from benthoscope.engine.jobs.cluster.exemplars import read_exemplars

    with open_workspace(workspace) as opened_workspace:
        chosen = opened_workspace.runs.named(run)
        run_job(opened_workspace, "exemplars", {"run": chosen.id}, as_json=as_json)
        table = read_exemplars(chosen)
        if table is None:
            raise fail(f"run {chosen.id}", "has no readable exemplars", "run this command again")
        columns = opened_workspace.library.columns("id", "path")
        files = dict(zip(columns["id"].tolist(), columns["path"].tolist(), strict=True))
        clusters = [
            {"cluster": number, "images": [{"id": each, "file": files[each]} for each in row.tolist() if each in files]}
            for number, row in enumerate(table)
        ]
    show({"run": chosen.id, "clusters": clusters}, as_json, _exemplars_text)


@commands.command()
def split(
    run: RunArgument,
    cluster: Annotated[int, typer.Argument(help="Number of the cluster.", metavar="CLUSTER")],
    image: Annotated[
        list[int] | None, typer.Option(help="Id of an image for the new cluster; may be repeated.")
    ] = None,
    by_model: Annotated[bool, typer.Option("--by-model", help="Let the model look for narrower clusters.")] = False,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Split a cluster: in two halves, by a list of images, or by the model.

    Examples:

        benthoscope runs split 3 7 --person Ann

        benthoscope runs split 3 7 --image 120 --image 121 --person Ann

        benthoscope runs split 3 7 --by-model --person Ann
    """
    from benthoscope.app.commands.labelling.people_and_terms import person_id_of
    from benthoscope.engine.labelling.cluster_edits import split_cluster

    if by_model and image:
        raise fail("split", "--by-model and --image exclude each other", "give one of them")
    with open_workspace(workspace) as opened_workspace:
        chosen, person_id = opened_workspace.runs.named(run), person_id_of(opened_workspace, person)
        if by_model:
            parameters = {"run": chosen.id, "cluster": cluster, "person": person}
            new = run_job(opened_workspace, "split cluster", parameters, as_json=as_json)["clusters"][1:]
        else:
            new = split_cluster(opened_workspace, person_id, chosen, cluster, image or ())
    show(
        {"run": chosen.id, "cluster": cluster, "new_clusters": new},
        as_json,
        lambda result: (
            f"Split cluster {cluster}: new {'cluster' if len(new) == 1 else 'clusters'} "
            f"{', '.join(map(str, result['new_clusters']))}; undo with `benthoscope labels undo`"
        ),
    )


@commands.command()
def rename(
    run: RunArgument,
    name: Annotated[str, typer.Argument(help="The new name.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the name of a run."""
    with open_workspace(workspace) as opened_workspace:
        number = opened_workspace.runs.named(run).id
        opened_workspace.runs.rename(number, name)
    show({"run": number, "name": name}, as_json, lambda result: f"Run {result['run']} is now called {result['name']}")


@commands.command()
def choose(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Make a run, or one of its levels, the current one: the app, labels by cluster and exports use it."""
    with open_workspace(workspace) as opened_workspace:
        number = opened_workspace.runs.named(run).id
        opened_workspace.runs.choose(number)
    show({"run": number, "current": True}, as_json, lambda result: f"Run {result['run']} is now the current run")


@commands.command()
def delete(run: RunArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Delete a run. `restore` restores it until `purge` removes it."""
    with open_workspace(workspace) as opened_workspace:
        number = opened_workspace.runs.named(run).id
        opened_workspace.runs.delete(number)
    show(
        {"run": number, "deleted": True},
        as_json,
        lambda result: f"Deleted run {result['run']}; undo with `benthoscope runs restore {result['run']}`",
    )


@commands.command()
def restore(
    run: Annotated[int, typer.Argument(help="Number of the run.", metavar="RUN")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore a run that was deleted."""
    with open_workspace(workspace) as opened_workspace:
        opened_workspace.runs.restore(run)
    show({"run": run, "deleted": False}, as_json, lambda result: f"Restored run {result['run']}")


@commands.command()
def purge(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Remove deleted runs permanently, except runs that labels refer to."""
    with open_workspace(workspace) as opened_workspace:
        removed = opened_workspace.runs.purge()
    show({"removed": removed}, as_json, lambda result: f"Removed {counted(result['removed'], 'run')}")


@commands.command(cls=accepting_old_options({"--output": "--csv", "-o": "--csv"}))
def assign(
    run: RunArgument,
    csv: Annotated[
        Path, typer.Option("--csv", metavar="FILE", help="File to write: image, dive, cluster, probability.")
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the cluster of every image to a CSV file."""
    from benthoscope.engine.jobs.cluster.compare_runs import write_assignments

    with open_workspace(workspace) as opened_workspace, writing(csv):
        count = write_assignments(opened_workspace, opened_workspace.runs.named(run), csv)
    show({"file": str(csv), "images": count}, as_json, lambda result: f"Wrote {result['images']:,} images to {csv}")


def _exemplars_text(result: dict[str, Any]) -> str:
    return "\n".join(
        f"Cluster {entry['cluster']}: {', '.join(image['file'] for image in entry['images'])}"
        for entry in result["clusters"]
    )


def _levels(workspace: Any, run: Any) -> dict[str, dict[str, Any]]:
    """The levels of a run, the coarsest first: number of the run, number of clusters, and whether it is current."""
    from benthoscope.engine.workspace.runs import proper_clusters

    return {
        level: {"run": member.id, "clusters": proper_clusters(member.summary), "current": member.current}
        for level, member in workspace.runs.levels(run).items()
    }


def _list_table(listed: list[dict[str, Any]]) -> Any:
    if not listed:
        return "No runs yet.\nNext: benthoscope cluster"
    headings = ("Run", "Name", "Model", "Features", "Clusters", "Images", "Held-out", "")
    return text_table(headings, [row for run in listed for row in _rows_of_run(run)])


def _rows_of_run(run: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row for the run, and one for each of its finer and coarser levels."""
    score = "" if run.get("held_out") is None else f"{run['held_out']:.4f}"
    clusters, images = _clusters_text(run), f"{run.get('images', 0):,}"
    mark = _current_mark(run)
    rows: list[tuple[str, ...]] = [
        (str(run["id"]), run["name"], run["model"], run["features"], clusters, images, score, mark)
    ]
    rows += [
        (str(facts["run"]), f"  {level}", "", "", str(facts["clusters"]), "", "", _current_mark(facts))
        for level, facts in run["levels"].items()
        if level != "usual"
    ]
    return rows


def _current_mark(facts: dict[str, Any]) -> str:
    return "current" if facts["current"] else ""


def _clusters_text(run: dict[str, Any]) -> str:
    from benthoscope.engine.workspace.runs import proper_clusters

    of_segments = f", {run['segment_clusters']} of segments" if "segment_clusters" in run else ""
    return f"{proper_clusters(run) or ''}{of_segments}"


def _comparison_text(comparison: dict[str, Any]) -> Any:
    from rich.console import Group

    lines = [
        f"{comparison['images']:,} images in both",
        f"V-measure {comparison['v_measure']:.3f}, adjusted Rand index {comparison['adjusted_rand']:.3f}",
    ]
    for side, run in (("one", comparison["one"]), ("other", comparison["other"])):
        score = "" if run["held_out"] is None else f", held-out log likelihood {run['held_out']:.4f}"
        lines.append(f"{run['name']}: {run['clusters']} clusters{score}; sizes {run['sizes']}")
        if "without_cluster" in run:
            lines.append(f"  number {run['without_cluster']} stands for the images without a cluster")
        lines += [
            f"  cluster {entry['cluster']} was split into {entry['into']}" for entry in comparison["splits"][side]
        ]
    return Group(*lines)


def _provenance_text(facts: dict[str, Any]) -> str:
    """Everything stored with a run. The sentences on limits come first, so that nobody overlooks them."""
    import json

    shown = facts | {"provenance": {name: value for name, value in facts["provenance"].items() if name != "trace"}}
    sentences = "".join(f"{sentence}\n" for sentence in facts["limits_reached"])
    return f"{sentences}{json.dumps(shown, indent=2, default=str)}"
