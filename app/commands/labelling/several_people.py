"""`benthoscope labels double|agreement|disagreements`: blind second labels, and how people differ."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.answer_files import AnswersOption, read_answers
from benthoscope.app.commands.labelling.learn import PersonOption
from benthoscope.app.commands.labelling.people_and_terms import person_id_of
from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, counted, open_workspace, show, text_table
from benthoscope.engine.term_path import joined

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace

ImageOption = list[int] | None


def double(
    random: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw N images that others labelled, and list those you have not answered."),
    ] = None,
    answers: AnswersOption = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Label images a second time that others labelled, without seeing their labels.

    The images are drawn at random from the labels that others gave to single images. Everybody is shown the same images
    first. Your labels do not replace the labels of others. They show how well people agree, and the model learns from
    each person as far as the person is reliable.

    Examples:

        benthoscope labels double --random 50 --person Ben --json > to_label.json

        benthoscope labels double --answers answers.csv --person Ben
    """
    from benthoscope.engine.labelling.people import double_labels

    with open_workspace(workspace) as opened_workspace:
        person_id = person_id_of(opened_workspace, person)
        if answers:
            double_labels.answer(opened_workspace, person_id, read_answers(opened_workspace, answers))
        if random and not double_labels.progress(opened_workspace, person_id).remaining:
            double_labels.ask_for(opened_workspace, person_id, random)
        facts = double_labels.double_facts(opened_workspace, person_id)
        paths = opened_workspace.library.locate(facts["images"])
        facts["images"] = [{"id": image, "path": str(paths[image])} for image in facts["images"]]
    show(facts, as_json, _double_text)


def agreement(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show how well people agree in blind second labels, and which labels they confuse."""
    from benthoscope.engine.labelling.people.person_report import agreement_facts

    with open_workspace(workspace) as opened_workspace:
        facts = agreement_facts(opened_workspace)
    show(facts, as_json, _agreement_text)


def disagreements(
    adopt: Annotated[ImageOption, typer.Option(help="Id of an image that gets the consensus; may be repeated.")] = None,
    keep: Annotated[ImageOption, typer.Option(help="Id of an image that keeps your label; may be repeated.")] = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the images on which you differ from the consensus of the others, and decide about them.

    Examples:

        benthoscope labels disagreements --person Ben

        benthoscope labels disagreements --adopt 12 --keep 15 --person Ben
    """
    from benthoscope.engine.labelling.people import disagreements as people_disagreements

    with open_workspace(workspace) as opened_workspace:
        person_id = person_id_of(opened_workspace, person)
        if adopt:
            people_disagreements.adopt(opened_workspace, person_id, adopt)
        if keep:
            people_disagreements.keep(opened_workspace, person_id, keep)
        facts = _with_names(opened_workspace, people_disagreements.disagreement_facts(opened_workspace, person_id))
    show(facts, as_json, _disagreements_text)


def _with_names(workspace: "Workspace", facts: dict[str, Any]) -> dict[str, Any]:
    words = {term.id: joined(term.path) for term in workspace.vocabularies.all_terms()}
    paths = workspace.library.locate([each["image"] for each in facts["disagreements"]])
    listed = [
        {
            **each,
            "own_term": words[each["own_term"]],
            "consensus": words[each["consensus"]],
            "path": str(paths[each["image"]]),
        }
        for each in facts["disagreements"]
    ]
    return {**facts, "disagreements": listed}


def _double_text(facts: dict[str, Any]) -> str:
    if facts["images"]:
        return "\n".join(f"{image['id']}\t{image['path']}" for image in facts["images"])
    if facts["available"]:
        return f"All drawn images are answered. {facts['available']:,} more can be drawn with --random N"
    return "No other person has given labels that you can repeat"


def _agreement_text(facts: dict[str, Any]) -> Any:
    from rich.console import Group

    if not facts["images"]:
        return "No image has a blind second label. Give some with `benthoscope labels double --random 50 --person NAME`"
    lines = [f"{counted(facts['images'], 'image')} with blind second labels, Fleiss' kappa {facts['kappa']:.2f}"]
    lines += [
        f"{' and '.join(pair['people'])}: {pair['same']} of {pair['images']} labels are the same, "
        f"Cohen's kappa {pair['kappa']:.2f}"
        for pair in facts["pairs"]
    ]
    if facts["blame_is_shared"]:
        lines.append("Two people: where they differ, no third person shows who is right")
    return Group(*lines, _terms_table(facts["terms"]))


def _terms_table(terms: list[dict[str, Any]]) -> Any:
    heads = (
        "Person",
        "Label of the others",
        "The same",
        "Interval (95 %)",
        "Most often instead",
        "Right, by the model",
    )
    return text_table(
        heads,
        [
            (
                each["person"],
                each["term"],
                f"{each['same']} of {each['images']}",
                f"{100 * each['low']:.0f} to {100 * each['high']:.0f} %",
                f"{each['instead']} ({each['instead_images']})" if each["instead"] else "",
                "too few images" if each["right"] is None else f"about {100 * each['right']:.0f} %",
            )
            for each in terms
        ],
    )


def _disagreements_text(facts: dict[str, Any]) -> Any:
    from rich.console import Group

    if not facts["shared"]:
        return "No other person has labelled images that you labelled"
    lines = [f"{facts['same']:,} of {facts['shared']:,} labels are those of the others"]
    lines += [f"On {counted(facts['divided'], 'image')} the others are divided"] if facts["divided"] else []
    rows = [
        (
            str(each["image"]),
            each["own_term"],
            each["consensus"],
            f"{each['agreeing']} of {each['other_people']}",
            each["path"],
        )
        for each in facts["disagreements"]
    ]
    return Group(*lines, *([text_table(("Image", "Your label", "Consensus", "People", "File"), rows)] if rows else []))
