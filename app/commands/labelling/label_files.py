"""`benthoscope export` and `import-labels`: labels in the formats of other programs."""

import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, open_workspace, run_job, show
from benthoscope.engine.problems import fail

MOST = 10  # lines printed before "and 37 more"
FORMAT_HELP = (
    "csv: everything; ifdo: archives; squidle, biigle: these platforms; imos: AUV tracks with a column label; "
    "darwin-core: OBIS and GBIF; coco: boxes, outlines, segments; lists: paths of the images of each label."
)


def export(
    format: Annotated[str, typer.Argument(help=FORMAT_HELP)],  # noqa: A002
    output: Annotated[Path, typer.Argument(help="Folder to write to; created if it does not exist.")],
    collection: Annotated[
        str | None, typer.Option(help="Only this campaign or set of albums (default: all images).")
    ] = None,
    dive: Annotated[str | None, typer.Option(help="Only this dive or album.")] = None,
    selection: Annotated[str | None, typer.Option(help="Only the images of this saved selection.")] = None,
    labelled: Annotated[bool, typer.Option("--labelled", help="Only images that have a label.")] = False,
    as_of: Annotated[
        int | None,
        typer.Option(
            metavar="EVENT", help="The labels as they were after this event of the log (default: the current labels)."
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="Run whose clusters are written too (default: the current one).")
    ] = None,
    segments: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURES", help="coco: write the segments of this feature set, labelled by the points inside them."
        ),
    ] = None,
    vocabulary: Annotated[
        str | None, typer.Option(help="Translate labels to this vocabulary, where their terms are linked.")
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(min=1, help="Replace terms by their ancestors at this level of the tree; 1 is the top."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Field of the iFDO header, such as image-license='CC BY 4.0'. May be repeated.",
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export labels in a format of another program.

    Confidence, person and time are included if the format supports them. What the format cannot store is counted,
    printed, and listed in export-report.json beside the files.

    Examples:

        benthoscope export csv labels

        benthoscope export ifdo archive --dive r20150210_064312 --field image-license="CC BY 4.0"

        benthoscope export imos tracks --labelled --as-of 120
    """
    parameters = {
        "format": format,
        "output": str(output.absolute()),
        "collection": collection,
        "dive": dive,
        "selection": selection,
        "labelled": labelled,
        "until": as_of,
        "run": run,
        "segments": segments,
        "vocabulary": vocabulary,
        "level": level,
        "fields": pairs(field or [], "--field", "image-license='CC BY 4.0'"),
    }
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "export", parameters, as_json=as_json)
    show(result, as_json, _export_text)


def pairs(words: list[str], option: str, example: str) -> dict[str, str]:
    """The values of NAME=VALUE arguments by their names."""
    named_values = [word.partition("=") for word in words]
    for word, (name, _, value) in zip(words, named_values, strict=True):
        if not name.strip() or not value.strip():
            raise fail(option, f"'{word}' is not NAME=VALUE", f"write it like {example}")
    return {name.strip(): value.strip() for name, _, value in named_values}


def _export_text(report: dict[str, Any]) -> str:
    files = few(report["files"])
    lines = [f"Wrote {report['rows']:,} labels of {report['images']:,} images to {report['output']}: {files}"]
    lines += ["Not included in this format:"] if report["losses"] else []
    lines += [f"  {loss['count']:,} {loss['what']}: {loss['why']}" for loss in report["losses"]]
    return "\n".join(lines)


def few(names: list[str]) -> str:
    """All names, or the first three and the number of the others."""
    return ", ".join(names) if len(names) <= MOST else f"{', '.join(names[:3])} and {len(names) - 3:,} more"


def import_labels(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="iFDO, Squidle+, BIIGLE (CSV or ZIP), Darwin Core, COCO, EcoTaxa TSV, FathomNet (JSON or CSV), "
            "VIAME CSV, labelled AUV tracks, CoralNet CSV, CPCe .cpc, lists of images, or any table with a column of "
            "images and one of labels."
        ),
    ],
    vocabulary: Annotated[str | None, typer.Option(help="Look up the labels only in this vocabulary.")] = None,
    add_terms: Annotated[
        bool, typer.Option("--add-terms", help="Add unknown labels to the vocabulary (default: list them).")
    ] = False,
    collection: Annotated[str | None, typer.Option(help="Match only images of this campaign or set of albums.")] = None,
    dive: Annotated[str | None, typer.Option(help="Match only images of this dive or album.")] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=image|label",
            help="Column of images and column of labels in a table, if the guess is wrong.",
        ),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Replace the labels of images that have another label; the history keeps the old ones."
        ),
    ] = False,
    person: Annotated[
        str | None, typer.Option(help="Your name, which is stored with the labels (default: your login name).")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be imported.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import labels from files of other programs.

    Images are matched by path, content or file name. The labels become events of the label log, which store the source;
    nothing is overwritten. Points become labels of parts of an image, not of the whole image.

    Examples:

        benthoscope import-labels annotations.csv --vocabulary CATAMI --dry-run

        benthoscope import-labels coralnet.csv --vocabulary "Reef codes" --add-terms

        benthoscope import-labels report.zip --collection PS201502 --replace
    """
    parameters = {
        "files": [str(path.absolute()) for path in files],
        "person": person or getpass.getuser(),
        "vocabulary": vocabulary,
        "add_terms": add_terms,
        "collection": collection,
        "dive": dive,
        "replace": replace,
        "mapping": pairs(mapping or [], "--mapping", "Photo=image"),
        "dry_run": dry_run,
    }
    with open_workspace(workspace) as opened_workspace:
        result = run_job(opened_workspace, "import labels", parameters, as_json=as_json)
    show(result, as_json, _import_text)


def _import_text(report: dict[str, Any]) -> str:
    lines = [f"{source['file']}: {source['kind']}, {source['labels']:,} labels" for source in report["files"][:MOST]]
    verb = "would be imported" if report["dry_run"] else "imported"
    lines.append(
        f"{report['labels']:,} labels of images and {report['parts']:,} of parts {verb}; "
        f"{report['already_there']:,} exist already"
    )
    lines += [
        f"{count:,} of them are {status}: they keep this status and never count as labels by a person"
        for status, count in report["unconfirmed"].items()
    ]
    lines += (
        [f"{report['kept']:,} images have another label and keep it; --replace replaces it"] if report["kept"] else []
    )
    lines += [f"{report['replaced']:,} images had another label, which was replaced"] if report["replaced"] else []
    lines += [f"New terms: {few(report['added_terms'])}"] if report["added_terms"] else []
    lines += report["losses"][:MOST] + report["problems"][:MOST]
    unlisted = len(report["problems"]) - MOST
    lines += [f"and {unlisted:,} more: benthoscope problems"] if unlisted > 0 else []
    return "\n".join(lines)
