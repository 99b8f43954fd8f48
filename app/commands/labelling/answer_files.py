"""Files with answers to drawn images: CSV with the columns id and term."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benthoscope.app.commands.terminal import read_file
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

AnswersOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Read answers to random images from a CSV file with the columns id and term."),
]
UNKNOWN_TERMS = ("", "cannot tell")  # in the column `term`


def read_answers(workspace: "Workspace", path: Path) -> dict[int, int | None]:
    """Return {image: term} of a file; None means "cannot tell"."""
    from benthoscope.app.commands.labelling.people_and_terms import find_term
    from benthoscope.engine.exchange.parsing.tables import read_table

    table = read_table(read_file(path), source=path.name)
    if not {"id", "term"} <= set(table.header):
        raise fail(path.name, f"has the columns {', '.join(table.header)}", "give the columns id and term")
    rows = [dict(zip(table.header, cells, strict=False)) for _, cells in table.rows]
    numberless = [row["id"] for row in rows if not row["id"].isdecimal()]
    if numberless:
        raise fail(path.name, f"'{numberless[0]}' is not the id of an image", "give the ids that the command listed")
    return {
        int(row["id"]): None if row["term"].strip() in UNKNOWN_TERMS else find_term(workspace, row["term"]).id
        for row in rows
    }


def refuse_other_images(path: Path, images: Collection[int], expected: Collection[int], remedy: str) -> None:
    """Raise if the file answers an image that was not drawn."""
    unexpected = [image for image in images if image not in expected]
    if unexpected:
        raise fail(path.name, f"image {unexpected[0]} was not drawn at random", remedy)
