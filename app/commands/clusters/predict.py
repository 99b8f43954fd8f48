"""`benthoscope predict`: predict a column of numbers along a dive, and say how good the prediction is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from benthoscope.app.commands.terminal import (
    JsonOption,
    SeedOption,
    WorkspaceOption,
    open_workspace,
    run_job,
    show,
    text_table,
    writing,
)
from benthoscope.engine.problems import fail

if TYPE_CHECKING:
    from benthoscope.engine.workspace import Workspace


class PredictCommand(TyperCommand):
    """Takes the help of the job's parameters from its catalogue, which is loaded only to show the help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from benthoscope.engine.jobs.predict.predict_column import PARAMETERS

        for parameter in self.params:
            if parameter.name in PARAMETERS and not getattr(parameter, "help", None):
                parameter.help = PARAMETERS[parameter.name].text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def predict(
    column: Annotated[
        str | None,
        typer.Argument(metavar="COLUMN", help="depth, cover:TERM or another column. Without it: list the columns."),
    ] = None,
    features: Annotated[str | None, typer.Option()] = None,
    collection: Annotated[str | None, typer.Option()] = None,
    dive: Annotated[str | None, typer.Option()] = None,
    active: Annotated[int, typer.Option()] = 150,
    blocks: Annotated[int, typer.Option()] = 10,
    dimensions: Annotated[int | None, typer.Option()] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the prediction of every image to this file.")
    ] = None,
    delete: Annotated[int | None, typer.Option(metavar="NUMBER", help="Delete this stored prediction instead.")] = None,
    seed: SeedOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a column of numbers from image features, for images with and without a measurement.

    Columns are depth, altitude, latitude, longitude, imported fields of numbers, and cover:TERM. The cover of a term is
    the share of an image's labelled points or segments, or 0 or 1 for the label of a whole image.

    The command tests the prediction on contiguous blocks of each dive that the model did not see, and compares its
    error with that of the mean of the dive. Random images would be a too easy test, because neighbouring images are
    similar. The page Dive draws the prediction along the dive with its 90 % band, and on the map. A prediction of the
    same column for the same images replaces the earlier one.

    Examples:

        benthoscope predict

        benthoscope predict depth

        benthoscope predict "cover:Biota > Sponges" --dive north --csv sponges.csv
    """
    with open_workspace(workspace) as opened_workspace:
        if delete is not None:
            show(_deleted(opened_workspace, delete), as_json, lambda result: f"Deleted prediction {result['deleted']}")
        elif column is None:
            if csv is not None:
                raise fail("--csv", "needs a column", "write `benthoscope predict COLUMN --csv FILE`")
            show(_overview(opened_workspace), as_json, _overview_text)
        else:
            parameters = {
                "column": column,
                "features": features,
                "collection": collection,
                "dive": dive,
                "active": active,
                "blocks": blocks,
                "dimensions": dimensions,
                "seed": seed,
            }
            result = run_job(opened_workspace, "predict column", parameters, as_json=as_json, title=f"Predict {column}")
            if csv is not None:
                _write_csv(opened_workspace, int(result["id"]), csv)
            show(result, as_json, _result_text)


def _deleted(workspace: "Workspace", number: int) -> dict[str, int]:
    from benthoscope.engine.workspace.predictions import PredictionStore

    PredictionStore(workspace.folder).remove(number)
    return {"deleted": number}


def _overview(workspace: "Workspace") -> dict[str, Any]:
    """The columns that can be predicted, and the stored predictions."""
    from benthoscope.engine.jobs.predict.predict_column import prediction_facts
    from benthoscope.engine.labelling.numeric_columns import numeric_columns
    from benthoscope.engine.workspace.predictions import PredictionStore

    return {
        "columns": [
            {"name": column.name, "title": column.title, "unit": column.unit, "images": column.images}
            for column in numeric_columns(workspace)
        ],
        "predictions": [prediction_facts(stored) for stored in PredictionStore(workspace.folder).all()],
    }


def _write_csv(workspace: "Workspace", number: int, path: Path) -> None:
    from benthoscope.engine.exchange.parsing.csv_output import csv_chunks
    from benthoscope.engine.jobs.predict.predict_column import HEADER, prediction_table
    from benthoscope.engine.workspace.predictions import PredictionStore

    stored = PredictionStore(workspace.folder).get(number)
    with writing(path), path.open("wb") as file:
        file.writelines(csv_chunks(HEADER, prediction_table(workspace, stored)))


def _overview_text(overview: dict[str, Any]) -> Any:
    from rich.console import Group

    if not overview["columns"]:
        return "No column can be predicted. Import measurements with `benthoscope import`, or label images."
    columns = text_table(
        ("Column", "Title", "Images with a value"),
        [(column["name"], column["title"], f"{column['images']:,}") for column in overview["columns"]],
    )
    if not overview["predictions"]:
        return columns
    stored = text_table(("Prediction", "Column", "Images", "Quality"), map(_stored_row, overview["predictions"]))
    return Group(columns, "", stored)


def _stored_row(prediction: dict[str, Any]) -> tuple[str, ...]:
    from benthoscope.engine.jobs.predict.predict_column import verdict

    quality = prediction["quality"]
    text = f"{100 * quality['explained']:.0f} % explained" if quality["better"] else f"{verdict(quality)} the mean"
    scope = ", ".join(filter(None, (prediction["collection"], prediction["dive"]))) or "all"
    return str(prediction["id"]), prediction["column"], f"{prediction['images']:,} ({scope})", text


def _result_text(result: dict[str, Any]) -> Any:
    from rich.console import Group

    from benthoscope.engine.jobs.predict.predict_column import sentences_of, verdict

    def error(value: float) -> str:
        return f"{value:.3g} {result['unit']}".strip()

    rows = [
        (
            dive["name"],
            f"{dive['quality']['images']:,}",
            error(dive["quality"]["error"]),
            error(dive["quality"]["mean_error"]),
            f"{verdict(dive['quality'])} the mean",
        )
        for dive in result["dives"]
    ]
    table = text_table(("Dive", "Measured images", "Error", "Error of the mean", "Result"), rows)
    counts = (
        f"{result['title']}: prediction {result['id']}, {result['images']:,} images, {result['measured']:,} measured."
    )
    return Group(counts, *sentences_of(result), "", table)
