"""`benthoscope labels final-check`: prove that few labels are wrong, then label the remaining images."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.answer_files import AnswersOption, read_answers, refuse_other_images
from benthoscope.app.commands.labelling.learn import PersonOption
from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, open_workspace, show
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.labelling.stopping.versions import LabelVersion
    from benthoscope.engine.labelling.suggestions import Suggestions
    from benthoscope.engine.workspace import Workspace


def final_check(
    start: Annotated[
        bool, typer.Option("--start", help="Freeze all labels and suggestions as a version, and draw the first images.")
    ] = False,
    target: Annotated[
        float, typer.Option(metavar="SHARE", help="Largest share of wrong labels in the claim, for --start.")
    ] = 0.05,
    answers: AnswersOption = None,
    deliver: Annotated[
        bool, typer.Option("--deliver", help="After the proof, label the remaining images as in the version.")
    ] = False,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Prove that at most 5 % of all labels are wrong, by checking images that are drawn at random.

    Without options, the command prints a forecast, the state of the check, and the images to check next with the label
    of the version. Doubtful images are drawn more often. A usual check needs 130 to 260 images.

    Examples:

        benthoscope labels final-check --start --person Ann

        benthoscope labels final-check --answers checked.csv --person Ann

        benthoscope labels final-check --deliver --person Ann
    """
    from benthoscope.app.commands.labelling.people_and_terms import person_id_of
    from benthoscope.engine.labelling.stopping import final_check as engine
    from benthoscope.engine.labelling.stopping.versions import VersionStore

    with open_workspace(workspace) as opened_workspace:
        person_id = person_id_of(opened_workspace, person)
        store = VersionStore(opened_workspace.folder)
        if start:
            _start(opened_workspace, person_id, target)
        version = store.latest()
        if version is None and (answers or deliver):
            raise fail("final check", "none was started", "start one with --start")
        if version and answers:
            _read_answers(opened_workspace, person_id, version, answers)
        delivered = engine.deliver(opened_workspace, person_id, version) if version and deliver else None
        facts = _facts(opened_workspace, person_id, version, delivered)
    show(facts, as_json, _text)


def _suggestions(workspace: "Workspace") -> "Suggestions":
    from benthoscope.engine.labelling.suggestions import SuggestionStore

    suggestions = SuggestionStore(workspace.folder).get()
    if suggestions is None:
        raise fail("learning", "there is no model yet", "train one: benthoscope learn")
    return suggestions


def _start(workspace: "Workspace", person_id: int, target: float) -> None:
    from benthoscope.engine.labelling.accepting import refuse_stale
    from benthoscope.engine.labelling.accuracy.stream import answered_stream
    from benthoscope.engine.labelling.stopping.final_check import start

    suggestions = _suggestions(workspace)
    refuse_stale(suggestions, workspace.labels)
    start(workspace, person_id, suggestions, answered_stream(workspace), target)


def _read_answers(workspace: "Workspace", person_id: int, version: "LabelVersion", path: Path) -> None:
    from benthoscope.engine.labelling.stopping.final_check import answer, page

    terms = read_answers(workspace, path)
    shown = {draw.image_id for draw in page(workspace, person_id, version)}
    refuse_other_images(path, terms, shown, "list the images of the check with `benthoscope labels final-check`")
    answer(workspace, person_id, version, terms)


def _facts(
    workspace: "Workspace", person_id: int, version: "LabelVersion | None", delivered: int | None
) -> dict[str, Any]:
    from benthoscope.engine.labelling.stopping.final_check import page, result

    if version is None:
        return {"forecast": _forecast_text(workspace, person_id), "check": None, "next": [], "delivered": None}
    checked = result(workspace, version)
    names = workspace.vocabularies.all_terms()
    name_of = {term.id: term.name for term in names}
    draws = [] if checked.proven else page(workspace, person_id, version)
    paths = workspace.library.locate([draw.image_id for draw in draws])
    return {
        "forecast": _forecast_text(workspace, person_id),
        "check": {**vars(checked), "text": str(checked)},
        "next": [
            {
                "id": draw.image_id,
                "path": str(paths[draw.image_id]),
                "term": name_of[int(version.terms_of([draw.image_id])[0])],
            }
            for draw in draws
        ],
        "delivered": delivered,
    }


def _forecast_text(workspace: "Workspace", person_id: int) -> str:
    from benthoscope.engine.labelling.accuracy.stream import answered_stream
    from benthoscope.engine.labelling.stopping.final_check import forecast

    return str(forecast(workspace, person_id, _suggestions(workspace), answered_stream(workspace)))


def _text(facts: dict[str, Any]) -> str:
    if facts["check"] is None:
        return f"{facts['forecast']}.\nStart a check with --start"
    lines = [facts["check"]["text"]]
    if facts["delivered"] is not None:
        lines.append(f"Labelled the remaining {facts['delivered']:,} images")
    elif facts["check"]["proven"]:
        lines.append("Label the remaining images with --deliver")
    else:
        lines += ["Check these images and return them with --answers:"]
        lines += [f"{image['id']}\t{image['term']}\t{image['path']}" for image in facts["next"]]
    return "\n".join(lines)
