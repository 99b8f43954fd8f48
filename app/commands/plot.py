"""`benthoscope plot`: the plots of the pages as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benthoscope.app.commands.terminal import JsonOption, WorkspaceOption, open_workspace, show, text_table
from benthoscope.engine.problems import fail, unknown

if TYPE_CHECKING:
    from benthoscope.app.data.figures import FigureChoice
    from benthoscope.engine.workspace import Workspace


def plot(
    name: Annotated[str | None, typer.Argument(help="Name of the plot; without it, list the plots.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write: .svg or .png, .html with zoom, .csv values."
        ),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Number or name of the run (default: the current one).")] = None,
    against: Annotated[str | None, typer.Option(metavar="RUN", help="contingency: the run to compare with.")] = None,
    dive: Annotated[str | None, typer.Option(help="Only this dive or album.")] = None,
    prediction: Annotated[
        int | None, typer.Option(min=1, help="prediction: number of the predicted column (default: the newest).")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="TERM", help="cover-by-dive: the label (default: the most frequent one).")
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(min=1, help="Replace terms by their ancestors at this level of the tree; 1 is the top."),
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Apply the confidence level to all intervals at once, not to each.")
    ] = False,
    campaign: Annotated[
        str | None, typer.Option(help="Number or name of the crowd campaign (default: the newest).")
    ] = None,
    school: Annotated[int, typer.Option(min=1, help="school: number of the school of thought.")] = 1,
    worker: Annotated[int, typer.Option(min=1, help="worker: number of the person in the campaign.")] = 1,
    live: Annotated[
        int | None, typer.Option(min=1, help="live-...: number of the live dive (default: the newest).")
    ] = None,
    method: Annotated[str, typer.Option(help="embedding: pca or umap.")] = "pca",
    theme: Annotated[str, typer.Option(help="Colours: light or dark.")] = "light",
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a plot to a file: SVG or PNG for print, HTML with zoom and values under the pointer, or its values as CSV.

    Examples:

        benthoscope plot

        benthoscope plot cover --output cover.svg

        benthoscope plot contingency --run 1 --against 2 --output runs.png
    """
    from benthoscope.app.data.figures import FIGURES, FigureChoice, figure
    from benthoscope.app.session.app_state import AppState
    from benthoscope.plots.files import format_of, save

    if name is None:
        show([_listed(*entry) for entry in FIGURES.items()], as_json, _table)
        return
    if name not in FIGURES:
        raise unknown("plot", name, FIGURES)
    if output is None:
        raise fail("--output", "is missing", f"name a file, such as --output {name}.svg")
    format_of(output)  # before the work starts
    with open_workspace(workspace) as opened:
        choice = FigureChoice(
            run=_run(opened, run),
            against=_run(opened, against),
            dive=_dive(opened, dive),
            term=_term(opened, label),
            prediction=prediction,
            campaign=None if campaign is None else opened.crowd.named(campaign).id,
            school=school - 1,
            person=worker - 1,
            level=level,
            together=simultaneous,
            method=method,
            live=live,
            theme=theme,
        )
        _check_used(name, choice, FIGURES[name].options)
        app = AppState(opened)
        try:
            path = save(figure(app, name, choice), output)
        finally:
            app.close()
    show({"plot": name, "file": str(path)}, as_json, lambda result: f"Wrote {result['file']}")


def _check_used(name: str, choice: "FigureChoice", options: tuple[str, ...]) -> None:
    """Raise BadInput for an option that the plot would ignore."""
    from benthoscope.app.data.figures import FigureChoice

    usual = FigureChoice()
    for field, option in OPTIONS.items():
        if getattr(choice, field) != getattr(usual, field) and field not in options:
            used = ", ".join(OPTIONS[known] for known in options if known in OPTIONS) or "none of these options"
            raise fail(option, f"does not apply to the plot {name}", f"it uses {used}")


OPTIONS = {
    "run": "--run",
    "against": "--against",
    "dive": "--dive",
    "prediction": "--prediction",
    "term": "--label",
    "level": "--level",
    "together": "--simultaneous",
    "campaign": "--campaign",
    "school": "--school",
    "person": "--worker",
    "method": "--method",
    "live": "--live",
}  # of the fields of a choice


def _run(workspace: "Workspace", word: str | None) -> int | None:
    return None if word is None else workspace.runs.named(word).id


def _dive(workspace: "Workspace", name: str | None) -> int | None:
    if name is None:
        return None
    by_name = {group.name: group.id for group in workspace.library.groups()}
    if name not in by_name:
        raise unknown("dive", name, by_name)
    return by_name[name]


def _term(workspace: "Workspace", word: str | None) -> int | None:
    from benthoscope.app.commands.labelling.labels import find_term

    return None if word is None else find_term(workspace, word).id


def _listed(name: str, entry: Any) -> dict[str, Any]:
    return {
        "plot": name,
        "shows": entry.title,
        "options": [OPTIONS[field] for field in entry.options if field in OPTIONS],
    }


def _table(rows: list[dict[str, Any]]) -> Any:
    return text_table(
        ("Plot", "Shows", "Options"), [(row["plot"], row["shows"], " ".join(row["options"])) for row in rows]
    )
