"""`benthoscope export`: labels in a format of another program."""

from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show
from engine.problems import fail

MOST = 10  # files, terms or problems printed before "and 37 more"
FORMAT_HELP = "csv: all there is; ifdo: archives; squidle, biigle: those platforms; imos: AUV tracks with their " \
              "column label; darwin-core: OBIS and GBIF; coco: boxes, outlines, segments; lists: paths for each class."


def export(
    format: Annotated[str, typer.Argument(help=FORMAT_HELP)],  # noqa: A002
    output: Annotated[Path, typer.Argument(help="Folder to write to; made where it is new.")],
    collection: Annotated[str | None, typer.Option(help="Only this campaign or set of albums.")] = None,
    dive: Annotated[str | None, typer.Option(help="Only this dive or album.")] = None,
    selection: Annotated[str | None, typer.Option(help="Only the images of this saved selection.")] = None,
    labelled: Annotated[bool, typer.Option("--labelled", help="Only images that have a label.")] = False,
    as_of: Annotated[int | None, typer.Option(
        metavar="EVENT", help="The labels that held right after this event of the log; by default today's.")] = None,
    run: Annotated[str | None, typer.Option(help="Run whose clusters go along; by default the current one.")] = None,
    segments: Annotated[str | None, typer.Option(
        metavar="FEATURES", help="Label the segments of this feature set by the points in them, for coco.")] = None,
    vocabulary: Annotated[str | None, typer.Option(
        help="Tell labels in the terms of this vocabulary, as far as terms are linked to it.")] = None,
    level: Annotated[int | None, typer.Option(
        min=1, help="Roll labels up to this level of their tree; 1 is the coarsest.")] = None,
    field: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="A field of the iFDO header, such as image-license='CC BY 4.0'. Say it again for "
                                   "more.")] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write labels in a format other programs read.

    Confidence, person and moment go along where the format has a place for them. What it has no place for is counted,
    printed, and kept in export-report.json beside the files.

    Examples:

        benthoscope export csv labels

        benthoscope export ifdo archive --dive r20150210_064312 --field image-license="CC BY 4.0"

        benthoscope export imos tracks --labelled --as-of 120
    """
    parameters = {"format": format, "output": str(output.absolute()), "collection": collection, "dive": dive,
                  "selection": selection, "labelled": labelled, "until": as_of, "run": run, "segments": segments,
                  "vocabulary": vocabulary, "level": level,
                  "fields": pairs(field or [], "--field", "image-license='CC BY 4.0'")}
    with opened(workspace) as found:
        result = run_job(found, "export", parameters, as_json=as_json)
    show(result, as_json, _export_text)


def pairs(words: list[str], option: str, example: str) -> dict[str, str]:
    """Words like NAME=VALUE, taken apart."""
    pairs = [word.partition("=") for word in words]
    for word, (name, _, value) in zip(words, pairs, strict=True):
        if not name.strip() or not value.strip():
            raise fail(option, f"'{word}' says nothing", f"write it like {example}")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _export_text(told: dict[str, Any]) -> str:
    from rich.markup import escape

    files = few(told["files"])
    lines = [f"{told['rows']:,} labels of {told['images']:,} images written to {told['output']}: {files}"]
    lines += ["What it leaves behind:"] if told["losses"] else []
    lines += [f"  {loss['count']:,} {loss['what']}: {loss['why']}" for loss in told["losses"]]
    return escape("\n".join(lines))


def few(names: list[str]) -> str:
    """All names where they are not many, else the first ones."""
    return ", ".join(names) if len(names) <= MOST else f"{', '.join(names[:3])} and {len(names) - 3:,} more"
