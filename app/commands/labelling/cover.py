"""`benthoscope cover`: shares of habitats, estimated from random images."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.answer_files import AnswersOption, read_answers, refuse_other_images
from benthoscope.app.commands.labelling.learn import PersonOption, write_text
from benthoscope.app.commands.labelling.people_and_terms import person_id_of
from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, open_workspace, show, text_table

if TYPE_CHECKING:
    from benthoscope.engine.labelling.cover.report import Cover
    from benthoscope.engine.workspace import Workspace


def cover(
    level: Annotated[
        int | None,
        typer.Option(min=1, help="Replace terms by their ancestors at this level of the tree; 1 is the top."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the table, with method and counts, to this file.")
    ] = None,
    random: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw N random images to label, and list the images that are not answered yet."),
    ] = None,
    answers: AnswersOption = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Apply the confidence level to all intervals at once, not to each.")
    ] = False,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of every habitat per dive, with intervals.

    Only random images represent the other images. Without them the command prints bounds of what is known. Draw images
    with --random, label all of them in Learn or in a file for --answers, and repeat. Some images are asked a second
    time. Give an image that you cannot label the term "cannot tell".

    Examples:

        benthoscope cover --random 100 --person Ann --json > to_label.json

        benthoscope cover --answers answers.csv --person Ann

        benthoscope cover --level 2 --csv cover.csv
    """
    from benthoscope.engine.labelling.cover.report import cover_of

    with open_workspace(workspace) as opened_workspace:
        if random:
            show(_draw(opened_workspace, random, person), as_json, _draws_text)
            return
        if answers:
            _read_answers(opened_workspace, answers, person)
        _refresh(opened_workspace)
        result = cover_of(opened_workspace, level=level, confidence=confidence, together=simultaneous)
        names = _names(opened_workspace)
        if csv:
            write_text(csv, _csv(result, names))
    show([_row(row, *names) for row in result.rows], as_json, lambda rows: _text(rows, result, names))


def _draw(workspace: "Workspace", count: int, name: str) -> list[dict[str, Any]]:
    """Draw random images unless earlier draws are unanswered. Returns the unanswered images."""
    from benthoscope.engine.labelling.accuracy.random_draws import ask_for, next_page

    person = person_id_of(workspace, name)
    waiting = len(next_page(workspace, person, 1).draws)
    if not waiting:
        ask_for(workspace, person, count)
    page = next_page(workspace, person, max(count, 1))
    paths = workspace.library.locate(page.images)
    return [{"id": draw.image_id, "path": str(paths[draw.image_id]), "again": page.second} for draw in page.draws]


def _read_answers(workspace: "Workspace", path: Path, name: str) -> None:
    """Record the answers of a file. Every row must contain a drawn image and a term."""
    from benthoscope.engine.labelling.accuracy.random_draws import answer

    terms = read_answers(workspace, path)
    draws = workspace.sampling.draws_of_images(list(terms), "cover")
    refuse_other_images(path, terms, draws, "list the random images with --random N")
    answer(workspace, person_id_of(workspace, name), terms, rule={"file": path.name})


def _refresh(workspace: "Workspace") -> None:
    """Retrain the model of the cover estimate if draws were answered since it was trained."""
    from benthoscope.engine.labelling.cover.estimate import FEW
    from benthoscope.engine.labelling.cover.guesses import GuessStore, refresh_guesses
    from benthoscope.engine.labelling.training_data import material
    from benthoscope.engine.problems import BadInput

    draws = workspace.sampling.answered_draws("cover")
    stored = GuessStore(workspace.folder).get()
    if len(draws) < FEW or (stored and stored.facts["last_event"] == workspace.labels.last_number()):
        return
    try:
        refresh_guesses(workspace, material(workspace))
    except BadInput:  # without features the estimate uses no model
        return


def _names(workspace: "Workspace") -> tuple[dict[int, str], dict[int, str]]:
    """Names of groups and names of terms, by id."""
    from benthoscope.engine.labelling.cover.report import EVERYWHERE, term_names

    return {group.id: group.name for group in workspace.library.groups()} | {EVERYWHERE: "all"}, term_names(workspace)


def _csv(result: "Cover", names: tuple[dict[int, str], dict[int, str]]) -> str:
    from benthoscope.engine.labelling.cover.report import as_csv

    return as_csv(result.rows, *names)


def _row(row, groups: dict[int, str], terms: dict[int, str]) -> dict[str, Any]:
    return {"group": groups[row.group_id], "term": terms[row.term_id], **vars(row.share)}


def _draws_text(images: list[dict[str, Any]]) -> str:
    if not images:
        return "All random images are answered. Draw more with --random N"
    head = "Label these images a second time, without looking at the first answer:\n" if images[0]["again"] else ""
    return head + "\n".join(f"{image['id']}\t{image['path']}" for image in images)


def _text(rows: list[dict[str, Any]], result: "Cover", names: tuple[dict[int, str], dict[int, str]]) -> Any:
    from rich.console import Group

    cells = [
        (
            row["group"],
            row["term"],
            "not estimated" if row["estimate"] is None else f"{100 * row['estimate']:.1f} %",
            f"{100 * row['low']:.1f} to {100 * row['high']:.1f} %",
            row["method"],
        )
        for row in rows
    ]
    table = text_table(("Dive or album", "Term", "Cover", "Interval", "Method"), cells)
    return Group(table, *_notes(result, names))


def _notes(result: "Cover", names: tuple[dict[int, str], dict[int, str]]) -> list[str]:
    """Notes that a reader needs to interpret the figures."""
    everywhere = result.groups[0]
    notes = [
        f"Intervals: {result.intervals}."
        if everywhere.draws
        else "No random images are labelled. Labels of other images do not represent the rest. "
        "Draw random images with `benthoscope cover --random 100`."
    ]
    if everywhere.of_drawn:
        shares = ", ".join(f"{names[1][term]} {100 * estimate:.1f} %" for term, estimate, *_ in everywhere.of_drawn)
        notes.append(f"Among the {everywhere.drawn_images:,} images that the draws represent: {shares}.")
    if everywhere.draws:
        notes += [
            f"Any other term: at most {100 * everywhere.other_at_most:.1f} %.",
            str(result.slips)[:1].upper() + str(result.slips)[1:] + ".",
        ]
    return notes
