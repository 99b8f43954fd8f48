"""`benthoscope discover`: find the kinds of objects in images that show one object each."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.describe_first import describe_and_cluster
from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    open_workspace,
    show,
    text_table,
)

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Run, Workspace


def discover(
    features: Annotated[
        str,
        typer.Option(
            help="The space in which objects are discovered: a feature set of whole images, or a descriptor that is "
            "computed if there is no such set."
        ),
    ] = "pyramid-kernel",
    collection: Annotated[
        str | None, typer.Option(help="Only this campaign or set of albums (default: all images).")
    ] = None,
    width: Annotated[
        float, typer.Option(help="The width of objects. Use a smaller value to distinguish more kinds.")
    ] = 0.05,
    observation: Annotated[
        str, typer.Option(help="The shape of clusters: diagonal, or full as in the source.")
    ] = "diagonal",
    max_objects: Annotated[int | None, typer.Option(min=1, help="The search stops at this number of objects.")] = None,
    memory: Annotated[
        int, typer.Option(min=1, help="The room for summaries of images that are remembered, as a number of images.")
    ] = 4000,
    epoch: Annotated[int, typer.Option(min=1, help="Number of images that are read at a time.")] = 2000,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Show the objects of this run (number or name) instead of a new one."),
    ] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Discover the kinds of objects in images that show one object each, such as fish or plankton.

    Images are compared by the spatial pyramid match kernel and clustered along its principal axes, as a stream in
    bounded memory. The number of kinds is chosen automatically. The page Explore shows each kind as a card. Where
    images are labelled, every kind gets a name from its five most typical labelled images, and the command tests these
    names on the other labelled images. Ctrl-C stops and keeps the objects found so far.

    Examples:

        benthoscope discover

        benthoscope discover --width 0.02 --name plankton

        benthoscope discover --run 3
    """
    request = {
        "model": "mbvdp",
        "features": features,
        "collection": collection,
        "width": width,
        "name": name,
        "seed": seed,
        "parameters": {
            "observation": observation,
            "memory": memory,
            "epoch": epoch,
            **({"max_clusters": max_objects} if max_objects else {}),
        },
    }
    with open_workspace(workspace) as opened_workspace:
        number = run or describe_and_cluster(opened_workspace, features, "image", request, as_json=as_json)
        result = _summary(opened_workspace, opened_workspace.runs.named(str(number)))
    show(result, as_json, _text)


def _summary(workspace: "Workspace", run: "Run") -> dict[str, Any]:
    from benthoscope.engine.jobs.cluster.discovered_objects import discovered_objects
    from benthoscope.engine.jobs.cluster.fit_request import limit_sentences

    objects, recognition = discovered_objects(workspace, run)
    names = {"max_clusters": "--max-objects", "memory": "--memory"}
    return {
        "run": run.id,
        "name": run.name,
        "images": run.summary["images"],
        "limits": limit_sentences(run, names),
        "objects": [vars(each) for each in objects],
        "recognition": {"tested": recognition.tested, "accuracy": recognition.accuracy},
    }


def _text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    from benthoscope.engine.jobs.cluster.discovered_objects import recognition_text

    rows = [
        (f"{each['cluster']} {each['name']}".strip(), f"{each['images']:,}", "\n".join(each["examples"]))
        for each in result["objects"]
    ]
    title = f"Run {result['run']}: {result['name']}"
    table = text_table(("Object", "Images", "Typical images"), rows, title=title)
    counts = f"{len(rows)} kinds of objects in {result['images']:,} images."
    cards = f"The page Explore shows them as cards (run {result['run']})."
    return Group(table, counts, *result["limits"], recognition_text(result["recognition"]), cards)
