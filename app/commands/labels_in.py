"""`benthoscope import-labels`: labels that other programs hold."""

import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.export import MOST, few, pairs
from app.commands.terminal import JsonOption, WorkspaceOption, opened, run_job, show


def import_labels(
    files: Annotated[list[Path], typer.Argument(
        help="iFDO, Squidle+, BIIGLE (CSV or ZIP), Darwin Core, COCO, labelled AUV tracks, CoralNet CSV, CPCe .cpc, "
             "lists of images, or any table with a column of images and one of labels.")],
    vocabulary: Annotated[str | None, typer.Option(help="Look for the labels in this vocabulary only.")] = None,
    add_terms: Annotated[bool, typer.Option(
        "--add-terms", help="Add labels nobody knows yet to the vocabulary, else they are listed.")] = False,
    collection: Annotated[str | None, typer.Option(help="Only images of this collection are meant.")] = None,
    dive: Annotated[str | None, typer.Option(help="Only images of this dive or album are meant.")] = None,
    mapping: Annotated[list[str] | None, typer.Option(
        metavar="COLUMN=image|label", help="Which columns of a table to read, where the guess is wrong.")] = None,
    replace: Annotated[bool, typer.Option(
        "--replace", help="Let the files win where an image has another label; its history keeps the old.")] = False,
    person: Annotated[str | None, typer.Option(help="Who imports; by default the name you are logged in with.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would come of it.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take labels in from files of other programs.

    Images are found by path, content, or file name. Nothing is overwritten: labels become acts in the log that tell
    where they come from. Points become labels of parts of their image, not of the whole.

    Examples:

        benthoscope import-labels annotations.csv --vocabulary CATAMI --dry-run

        benthoscope import-labels coralnet.csv --vocabulary "Reef codes" --add-terms

        benthoscope import-labels report.zip --collection PS201502 --replace
    """
    parameters = {
        "files": [str(path.absolute()) for path in files], "person": person or getpass.getuser(),
        "vocabulary": vocabulary, "add_terms": add_terms, "collection": collection, "dive": dive, "replace": replace,
        "mapping": pairs(mapping or [], "--mapping", "Photo=image"), "dry_run": dry_run}
    with opened(workspace) as found:
        result = run_job(found, "import labels", parameters, as_json=as_json)
    show(result, as_json, _import_text)


def _import_text(told: dict[str, Any]) -> str:
    from rich.markup import escape

    lines = [f"{source['file']}: {source['kind']}, {source['labels']:,} labels" for source in told["files"][:MOST]]
    verb = "would be imported" if told["dry_run"] else "imported"
    lines.append(f"{told['labels']:,} labels of images and {told['parts']:,} of parts {verb}; "
                 f"{told['already_there']:,} were there already")
    lines += [f"{told['kept']:,} images have another label, which they keep (--replace lets the files win)"
              ] if told["kept"] else []
    lines += [f"{told['replaced']:,} images had another label"] if told["replaced"] else []
    lines += [f"New terms: {few(told['added_terms'])}"] if told["added_terms"] else []
    lines += told["losses"][:MOST] + told["problems"][:MOST]
    more = len(told["problems"]) - MOST
    lines += [f"and {more:,} more: benthoscope problems"] if more > 0 else []
    return escape("\n".join(lines))
