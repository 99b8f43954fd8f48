"""`benthoscope segment`: divide images together into regions that they share."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.describe_first import describe_and_cluster
from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    check_jobs,
    open_workspace,
    run_job,
    show,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Run, Workspace


def segment(
    segments: Annotated[
        str,
        typer.Option(
            metavar="FEATURES",
            help="What images are divided into first: a feature set of segments, or a descriptor that is computed if "
            "there is no such set. segments compares texture and colour; colour-segments and pixels compare position "
            "and colour.",
        ),
    ] = "segments",
    collection: Annotated[
        str | None, typer.Option(help="Only this campaign or set of albums (default: all images).")
    ] = None,
    width: Annotated[
        float,
        typer.Option(help="The width of topics. Use a smaller value to distinguish more kinds of regions."),
    ] = 0.5,
    max_topics: Annotated[int | None, typer.Option(min=1, help="The search stops at this number of topics.")] = None,
    clumps: Annotated[
        int, typer.Option(min=1, help="The largest number of summaries of segments that are remembered.")
    ] = 1000,
    groups: Annotated[
        int, typer.Option(min=1, help="The largest number of groups of similar images that are remembered.")
    ] = 200,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Use this run (number or name) instead of segmenting the images again."),
    ] = None,
    add: Annotated[
        bool,
        typer.Option(
            "--add",
            help="Add the images that a joint segmentation does not have, such as those of a new dive, and keep its "
            "topics: that of --run, or the newest one. The result is a new run.",
        ),
    ] = False,
    masks: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Compare with known masks: a folder of PNG files, or an .npz file, named like the images. A pixel is "
            "the number of its class, 0 for unknown.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the topic of every pixel as coloured PNG files to this folder."),
    ] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Segment all images jointly: the same topic is the same kind of region in every image.

    Images are divided into segments, and segments into topics. The number of topics is chosen automatically. Images
    are read ten at a time, and the memory stays the same size however many there are. The pages Topics and Objects
    show the result, also over each image; `benthoscope topics` lists typical images. Ctrl-C stops and keeps the topics
    of the images so far.

    Examples:

        benthoscope segment

        benthoscope segment --segments colour-segments --max-topics 20 --output maps

        benthoscope segment --add

        benthoscope segment --run 3 --masks truth/object_masks.npz
    """
    from benthoscope.engine.jobs.cluster.model_catalog import JOINT_SEGMENTATION
    from benthoscope.engine.jobs.cluster.topic_maps import compare_with_masks
    from benthoscope.engine.jobs.cluster.topic_summary import run_of_topics

    parameters = {"max_clusters": max_topics, "max_clumps": clumps, "max_groups": groups}
    request = {
        "model": JOINT_SEGMENTATION,
        "segments": segments,
        "collection": collection,
        "segment_width": width,
        "name": name,
        "seed": seed,
        "parameters": {key: value for key, value in parameters.items() if value is not None},
    }
    with open_workspace(workspace) as opened_workspace:
        addition = None
        if add:
            extended = _extended(opened_workspace, run, collection, name, as_json=as_json)
            number, addition = extended["run"], extended["added"]
        else:
            number = run or describe_and_cluster(opened_workspace, segments, "segment", request, as_json=as_json)
        segmented = run_of_topics(opened_workspace, str(number))
        result = _summary(opened_workspace, segmented)
        if addition is not None:
            result["added"] = addition
        if masks is not None:
            scores = compare_with_masks(opened_workspace, segmented, masks)
            result["scores"] = {**vars(scores), "class_of_topic": scores.class_of_topic.tolist()}
        if output is not None:
            result["files"] = _write_maps(opened_workspace, segmented, output)
    show(result, as_json, _text)


def _extended(
    workspace: "Workspace", run: str | None, collection: str | None, name: str | None, *, as_json: bool
) -> Mapping[str, Any]:
    """Describe the images that a segmentation lacks, and add them. Returns the result of the job."""
    from benthoscope.engine.jobs.cluster.extend_topics import undescribed_images
    from benthoscope.engine.jobs.cluster.topic_summary import newest_segmentation, run_of_topics

    segmented = newest_segmentation(workspace) if run is None else run_of_topics(workspace, run)
    jobs: list[tuple[str, dict[str, Any]]] = [
        ("extend topics", {"run": segmented.id, "collection": collection, "name": name})
    ]
    if undescribed_images(workspace, segmented, collection):
        jobs.insert(0, ("features", {"kinds": [segmented.features], "collection": collection}))
    check_jobs(workspace, jobs)
    return [run_job(workspace, kind, parameters, as_json=as_json) for kind, parameters in jobs][-1]


def _summary(workspace: "Workspace", run: "Run") -> dict[str, Any]:
    from benthoscope.engine.jobs.cluster.fit_request import limit_sentences
    from benthoscope.engine.jobs.cluster.topic_summary import summaries

    return {
        "run": run.id,
        "name": run.name,
        "images": run.summary["images"],
        "segments": run.summary["segments"],
        "limits": limit_sentences(run, {"max_clusters": "--max-topics", "max_clumps": "--clumps"}),
        "topics": [topic.to_dict() for topic in summaries(workspace, run, typical=1)],
    }


def _write_maps(workspace: "Workspace", run: "Run", folder: Path) -> int:
    """Write a PNG for each image whose values are topics, shown in the colours of the app. Returns the number of files.
    Pixels without a topic have the number after the last topic."""
    import numpy as np
    from PIL import Image

    from benthoscope.engine.jobs.cluster.topic_maps import topic_maps
    from benthoscope.plots.colours import distinct

    count = np.asarray(run.array("image_weights")).shape[1]
    if count > 255:
        raise fail("--output", f"cannot show {count} topics in one image", "use a larger --width, or --max-topics")
    palette = bytes.fromhex("".join(colour[1:7] for colour in distinct(count))) + bytes(3)
    written = 0
    for each in topic_maps(workspace, run):
        image = Image.fromarray(np.where(each.topics < 0, count, each.topics).astype(np.uint8), "P")
        image.putpalette(palette)
        path = (folder / each.path).with_suffix(".png")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path)
        written += 1
    return written


def _text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    from benthoscope.engine.jobs.cluster.topic_summary import addition_text

    rows = [
        (
            f"{topic['topic']} {topic['name']}".strip(),
            f"{topic['share']:.1%}",
            f"{topic['largest_in']:,}",
            "\n".join(topic["images"]),
        )
        for topic in sorted(result["topics"], key=lambda topic: -topic["share"])
    ]
    title = f"Run {result['run']}: {result['name']}"
    table = text_table(("Topic", "Share", "Largest in", "Image with most of it"), rows, title=title)
    counts = f"{len(rows)} topics of {result['segments']:,} segments in {result['images']:,} images."
    sentences = [counts, *result["limits"]]
    if "added" in result:
        sentences.insert(0, addition_text(result["added"]))
    if "scores" in result:
        sentences.append(_score_text(result["scores"]))
    if "files" in result:
        sentences.append(f"Wrote {result['files']:,} maps.")
    return Group(table, *sentences)


def _score_text(scores: dict[str, Any]) -> str:
    return (
        f"Against known masks of {scores['images']:,} images ({scores['pixels']:,} pixels): V-measure "
        f"{scores['v_measure']:.3f}, adjusted Rand index {scores['adjusted_rand']:.3f}. If every topic is named after "
        f"its most frequent class, {scores['accuracy']:.1%} of the pixels have the right name."
    )
