"""Routes of predicted columns: what can be predicted, what was predicted and how well, and tables."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from benthoscope.app.api.common import Integer, State, not_found
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.exchange.parsing.csv_output import csv_chunks, file_name
from benthoscope.engine.jobs.predict.predict_column import HEADER, prediction_facts, prediction_table
from benthoscope.engine.labelling.numeric_columns import numeric_columns
from benthoscope.engine.workspace.predictions import PredictedColumn, PredictionStore

router = APIRouter(tags=["predictions"])


@router.get("/predictions")
def predictions(app: State) -> list[dict[str, Any]]:
    """All stored predictions of columns with their quality, overall and in each dive.

    A job of the kind `predict column` makes one: POST /jobs with
    {"kind": "predict column", "parameters": {"column": "depth"}}.
    """
    return [prediction_facts(stored) for stored in PredictionStore(app.workspace.folder).all()]


@router.get("/predictions/columns")
def columns(app: State) -> list[dict[str, Any]]:
    """The columns of numbers that can be predicted, with the number of images that have a value."""
    return [
        {"name": column.name, "title": column.title, "unit": column.unit, "images": column.images}
        for column in numeric_columns(app.workspace)
    ]


@router.get("/predictions/{number}")
def prediction(number: Integer, app: State) -> dict[str, Any]:
    """One stored prediction with its quality, overall and in each dive."""
    return prediction_facts(_stored(app, number))


@router.get("/predictions/{number}/images.csv", response_class=StreamingResponse)
def table(number: Integer, app: State, dive: Integer | None = None) -> StreamingResponse:
    """Measured and predicted values with their 90 % band, of all images or of one dive (its id), in the order
    taken."""
    stored = _stored(app, number)
    name = file_name("predicted", stored.facts["column"].rpartition(":")[2])
    return StreamingResponse(
        csv_chunks(HEADER, prediction_table(app.workspace, stored, dive)),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}.csv"'},
    )


def _stored(app: AppState, number: int) -> PredictedColumn:
    store = PredictionStore(app.workspace.folder)
    if number not in store.numbers():
        raise not_found("predictions", f"there is no prediction {number}")
    return store.get(number)
