"""`benthoscope learn`: train a model on the labels and suggest labels for the other images."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.labelling.people_and_terms import check_person, person_id_of
from benthoscope.app.commands.terminal import (
    JsonOption,
    WorkspaceOption,
    open_workspace,
    run_job,
    show,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail
from benthoscope.engine.term_path import joined

if TYPE_CHECKING:
    from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws
    from benthoscope.engine.labelling.suggestions import Suggestions
    from benthoscope.engine.workspace import Workspace

PersonOption = Annotated[
    str,
    typer.Option(
        "--person", metavar="NAME", envvar="BENTHOSCOPE_PERSON", help="Your name, which is stored with every change."
    ),
]


def learn(
    features: Annotated[str | None, typer.Option(help="Feature set (default: that of the current run).")] = None,
    run: Annotated[
        int | None, typer.Option(help="Number of the run whose clusters the model uses (default: the current one).")
    ] = None,
    accept: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Accept suggestions while random images show that at least this share of them is correct.",
        ),
    ] = None,
    error: Annotated[
        float, typer.Option(metavar="SHARE", help="Allowed error rate of the prediction sets (conformal alpha).")
    ] = 0.05,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write every unlabelled image with its suggestion, confidence and prediction set to this file.",
        ),
    ] = None,
    person: PersonOption = "",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a model on all labels and suggest labels for the other images.

    The command prints how often the best suggestion is correct, and the average size of the prediction sets. A
    prediction set contains the true label, except for the given error rate. Both figures are measured on random images,
    which are one in six on every page of Learn; at least 30 of them must be answered. --accept accepts only what these
    images prove, and prints how many more answers it needs. Each accepted label is one event; undo it with
    `benthoscope labels undo` or `labels revert`.

    Examples:

        benthoscope learn

        benthoscope learn --accept 0.95 --person Ann

        benthoscope learn --error 0.1 --csv suggestions.csv
    """
    if accept is not None:
        _check_share("--accept", accept)
        check_person(person)
    _check_share("--error", error)
    with open_workspace(workspace) as opened_workspace:
        result = dict(run_job(opened_workspace, "learn", {"features": features, "run": run}, as_json=as_json))
        result |= measured(opened_workspace)
        result["sets"] = sets_of_terms(opened_workspace, error, csv)
        if accept is not None:
            result["accepted"] = accepted(opened_workspace, accept, person)
    show(result, as_json, _learn_text)


def measured(workspace: "Workspace") -> dict[str, Any]:
    """Accuracy of the suggestions on random images, its lower bound, and its curve; None while unknown."""
    from benthoscope.engine.labelling.accuracy.stream import answered_stream
    from benthoscope.engine.labelling.measured_accuracy import measure

    draws = answered_stream(workspace)
    measurement = measure(draws)
    return {
        "accuracy": measurement.accuracy,
        "at_least": measurement.at_least,
        "calibration_error": measurement.calibration_error,
        "draws": measurement.answered,
        "used": measurement.used,
        "missing": measurement.missing,
        "remark": measurement.remark,
        "repeated": measurement.repeated,
        "differ": measurement.differ,
        "curve": _curve(draws) if measurement.known else [],
    }


def _check_share(option: str, value: float) -> None:
    if not 0 < value < 1:
        raise fail(option, f"{value:g} is not a share between 0 and 1", "write it like 0.95")


def sets_of_terms(workspace: "Workspace", error: float, csv: Path | None) -> dict[str, Any]:
    """Sizes of the prediction sets of unlabelled images at the error rate `error`.

    They are None until enough random images are answered.
    """
    from benthoscope.engine.labelling.measured_accuracy import conformal_size
    from benthoscope.engine.labelling.suggestions import as_csv

    suggestions = _learned_suggestions(workspace)
    free = (~suggestions.labelled).nonzero()[0]
    sets = suggestions.sets(free, error)
    if csv:
        names = {term.id: joined(term.path) for term in workspace.vocabularies.all_terms()}
        write_text(csv, as_csv(suggestions, free, sets, workspace.library.locate(suggestions.image_ids[free]), names))
    sizes = None if sets is None or not len(free) else sets.sum(1)
    return {
        "error": error,
        "images": len(free),
        "draws": suggestions.draws_for_sets(),
        "needed": conformal_size(error),
        "mean_size": None if sizes is None else float(sizes.mean()),
        "single": None if sizes is None else float((sizes == 1).mean()),
    }


def _learned_suggestions(workspace: "Workspace") -> "Suggestions":
    from benthoscope.engine.labelling.suggestions import SuggestionStore

    suggestions = SuggestionStore(workspace.folder).get()
    if suggestions is None:
        raise fail("suggestions", "are missing or damaged", "run `benthoscope learn` again")
    return suggestions


def accepted(workspace: "Workspace", precision: float, person: str) -> dict[str, Any]:
    """Accept the suggestions of unlabelled images that are correct at least as often as `precision`."""
    from benthoscope.engine.labelling.accepting import accept_sure
    from benthoscope.engine.labelling.accuracy.stream import answered_stream

    suggestions = _learned_suggestions(workspace)
    person_id = person_id_of(workspace, person)
    outcome = accept_sure(workspace.labels, person_id, suggestions, precision, answered_stream(workspace))
    return {
        "images": outcome.images,
        "threshold": outcome.threshold,
        "events": list(outcome.events),
        "missing": outcome.need.text if outcome.need else "",
        "more": outcome.need.missing_draws if outcome.need else None,
        "reachable": outcome.need.reachable if outcome.need else None,
    }


def write_text(path: Path, text: str) -> None:
    with writing(path):
        path.write_text(text, encoding="utf-8")


def _curve(draws: "AnsweredDraws") -> list[dict[str, float]]:
    """A few points of accuracy against coverage."""
    curve = draws.curve()
    picked = [int(share * (len(curve.coverage) - 1)) for share in (0.1, 0.25, 0.5, 0.75, 1.0)]
    return [
        {
            "threshold": float(curve.thresholds[at]),
            "coverage": float(curve.coverage[at]),
            "accuracy": float(curve.accuracy[at]),
            "at_least": float(curve.at_least[at]),
        }
        for at in picked
    ]


def _learn_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    lines = [
        f"Learned {result['terms']} labels from {result['labels']:,} images. {_accuracy_text(result)}",
        _sets_text(result),
    ]
    if "accepted" in result:
        accepted_labels = result["accepted"]
        lines.append(
            f"Accepted {accepted_labels['images']:,} suggestions with a confidence of at least "
            f"{accepted_labels['threshold']:.2f}"
            if accepted_labels["images"]
            else f"Accepted nothing: {accepted_labels['missing']}"
        )
    if not result["curve"]:
        return Group(*filter(None, lines))
    rows = [
        (
            f"{point['threshold']:.2f}",
            f"{100 * point['coverage']:.0f} %",
            f"{100 * point['accuracy']:.1f} %",
            f"{100 * point['at_least']:.1f} %",
        )
        for point in result["curve"]
    ]
    table = text_table(("Confidence", "Images above it", "Correct", "At least"), rows)
    return Group(*filter(None, lines), table)


def _accuracy_text(result: dict[str, Any]) -> str:
    if result["accuracy"] is None:
        return f"Accuracy: {result['missing']}; label pages of Learn in the app: one image in six is a random image"
    return (
        f"Best suggestion correct: {100 * result['accuracy']:.0f} %, at least {100 * result['at_least']:.0f} %, "
        f"from the last {result['used']} of {result['draws']} random images ({result['remark']}){_repeats_text(result)}"
    )


def _repeats_text(result: dict[str, Any]) -> str:
    return f"; {result['differ']} of {result['repeated']} repeated answers differ" if result["repeated"] else ""


def _sets_text(result: dict[str, Any]) -> str:
    sets = result["sets"]
    if sets["mean_size"] is None:
        return (
            f"No prediction sets yet: {sets['draws']} of {sets['needed']} random images answered"
            if sets["images"]
            else ""
        )
    return (
        f"{100 * (1 - sets['error']):g} % prediction sets contain {sets['mean_size']:.1f} labels on average; "
        f"{100 * sets['single']:.0f} % of these sets contain one label"
    )
