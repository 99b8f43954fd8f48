"""`benthoscope topics`: list, name and extend the topics of a run, and find images by their topics."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, open_workspace, run_job, show, text_table
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Run, Workspace


def topics(
    run: Annotated[
        str | None, typer.Argument(help="Number or name of a run of topics (default: the newest one).", metavar="RUN")
    ] = None,
    typical: Annotated[int, typer.Option(min=1, help="Number of typical images to list for each topic.")] = 5,
    add: Annotated[
        bool,
        typer.Option(
            "--add",
            help="First add all described images that the run does not have, without fitting the topics again. The "
            "result is a new run.",
        ),
    ] = False,
    collection: Annotated[
        str | None, typer.Option(help="With --add: only images of this campaign or set of albums.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC=NAME", help="Name a topic; an empty name removes it. Repeatable.")
    ] = None,
    mixture: Annotated[
        str | None,
        typer.Option(metavar="MIXTURE", help="List the images nearest to a mixture of topics like '3: 50 %, 7: 50 %'."),
    ] = None,
    like: Annotated[
        int | None, typer.Option(metavar="IMAGE", help="List the images with the topics of this image (its number).")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE:LEFT,TOP,WIDTH,HEIGHT",
            help="List the images that contain the topics of a region of an image, such as 17:0.2,0.1,0.5,0.4. Left, "
            "top, width and height are fractions of the image.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Number of images to list with --mixture, --like or --region.")
    ] = 20,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the topics of a run: their share of all images and of each dive, typical images, and related labels.

    `benthoscope cluster --model iwtm` makes a run of topics.

    Examples:

        benthoscope topics

        benthoscope topics 3 --typical 10 --json

        benthoscope topics --add

        benthoscope topics --name 3="sand ripples"

        benthoscope topics --mixture "3: 50 %, 7: 50 %"

        benthoscope topics --region 17:0.2,0.1,0.5,0.4
    """
    from benthoscope.engine.jobs.cluster.topic_summary import run_of_topics, summaries

    if sum(option is not None for option in (mixture, like, region)) > 1:
        raise fail("--mixture, --like and --region", "cannot be combined", "choose one of them")
    if collection is not None and not add:
        raise fail("--collection", "needs --add", "add --add, or leave it out")
    with open_workspace(workspace) as opened_workspace:
        selected = run_of_topics(opened_workspace, run)
        added = None
        if add:
            parameters = {"run": selected.id, "collection": collection}
            added = run_job(opened_workspace, "extend topics", parameters, as_json=as_json)
            selected = opened_workspace.runs.get(added["run"])
        for text in name or []:
            _rename(opened_workspace, selected, text)
        nearest = _nearest(opened_workspace, selected, mixture, like, region, limit)
        if nearest is not None:
            show(nearest, as_json, _image_table)
            return
        result = {
            "run": selected.id,
            "name": selected.name,
            **({"added": added["added"]} if added else {}),
            "topics": [topic.to_dict() for topic in summaries(opened_workspace, selected, typical)],
        }
    show(result, as_json, _text)


def _rename(workspace: "Workspace", run: "Run", text: str) -> None:
    topic, is_given, title = text.partition("=")
    if not is_given or not topic.strip().isdecimal():
        raise fail("--name", f"'{text}' is not a topic and its name", "write it like 3=sand")
    workspace.runs.rename_cluster(run.id, int(topic), title, "segment")


def _nearest(
    workspace: "Workspace", run: "Run", mixture: str | None, like: int | None, region: str | None, limit: int
) -> dict[str, Any] | None:
    """The images that are searched for, or None if the options search for nothing."""
    from benthoscope.engine.jobs.cluster.topic_summary import images_by_mixture, images_like, images_like_region

    if mixture is not None:
        return images_by_mixture(workspace, run, mixture, limit)
    if like is not None:
        return images_like(workspace, run, like, limit)
    return None if region is None else images_like_region(workspace, run, region, limit)


def _image_table(result: dict[str, Any]) -> Any:
    rows = [
        (
            str(image["id"]),
            f"{image['distance']:.3f}",
            ", ".join(f"{name} {share:.0%}" for name, share in image["topics"].items()),
            image["file"],
        )
        for image in result["images"]
    ]
    return text_table(("Image", "Distance", "Largest topics", "File"), rows)


def _text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    from benthoscope.engine.jobs.cluster.topic_summary import addition_text

    sentences = [addition_text(result["added"])] if "added" in result else []
    return Group(*sentences, _table(result))


def _table(result: dict[str, Any]) -> Any:
    rows = [
        (
            f"{topic['topic']} {topic['name']}".strip(),
            f"{topic['share']:.1%}",
            f"{topic['largest_in']:,}",
            _shares(topic["dives"]),
            _shares(dict(list(topic["labels"].items())[:3])),
            "\n".join(topic["images"]),
        )
        for topic in result["topics"]
    ]
    headings = ("Topic", "Share", "Largest in", "Dives", "Labels", "Typical images")
    return text_table(headings, rows, title=f"Run {result['run']}: {result['name']}")


def _shares(values: dict[str, float]) -> str:
    return "\n".join(f"{name} {share:.0%}" for name, share in values.items())
