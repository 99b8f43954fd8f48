"""The job that predicts a column of numbers from image features, and measures how good the predictions are."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benthoscope.engine.exchange.parsing.csv_output import stamp
from benthoscope.engine.jobs.cluster.exemplars import image_features_of
from benthoscope.engine.jobs.cluster.inputs import Rows, chosen_rows, errors_name_images, narrowed
from benthoscope.engine.jobs.context import JobContext
from benthoscope.engine.jobs.labels.export_collect import chosen_images
from benthoscope.engine.labelling.numeric_columns import NumericColumn, numeric_column
from benthoscope.engine.parameters import ParameterHelp
from benthoscope.engine.problems import fail
from benthoscope.engine.value_checks import require_usable_values
from benthoscope.engine.workspace import Workspace
from benthoscope.engine.workspace.predictions import PredictedColumn, PredictionStore
from benthoscope.engine.workspace.records import current_time

if TYPE_CHECKING:
    from benthoscope.engine.analysis import ColumnPrediction

ACTIVE, BLOCKS = 150, 10
DIMENSIONS = 32  # altitude of the sample campaign: 36 % explained from 10 dimensions of `deep`, 42 % from 24
PARAMETERS = {
    "column": ParameterHelp(
        "The number to predict for every image: a measurement, an imported field of numbers, or the cover of a term "
        "(cover:TERM). The cover is the share of an image's points or segments, or 0 or 1 for the label of a whole "
        "image."
    ),
    "features": ParameterHelp("The set of whole-image features to predict from; that of the current run by default."),
    "collection": ParameterHelp("Only this campaign or set of albums; all images by default."),
    "dive": ParameterHelp("Only this dive or album."),
    "active": ParameterHelp(
        "The number of measured images that predictions use. The model chooses them. More are slower and more exact.",
        2,
        2_000,
    ),
    "blocks": ParameterHelp(
        "The number of contiguous blocks of images in the order taken. To measure the error, each block is predicted "
        "without its values.",
        2,
        100,
    ),
    "dimensions": ParameterHelp(f"The number of principal axes of the features to use; {DIMENSIONS} by default.", 1),
    "seed": ParameterHelp("The same seed gives the same prediction on the same machine.", 0),
}
HEADER = (
    "image_id",
    "group",
    "path",
    "taken_at",
    "measured",
    "predicted",
    "low_90",
    "high_90",
    "standard_deviation",
    "block",
)


@dataclass(frozen=True)
class ColumnRows:
    """The images to predict: their features, dives (N,), ranks by time (N,), and the measured values (N,)."""

    column: NumericColumn
    rows: Rows
    order: np.ndarray
    values: np.ndarray


def predict(
    job: JobContext,
    workspace: Workspace,
    *,
    column: str,
    features: str | None = None,
    collection: str | None = None,
    dive: str | None = None,
    active: int = ACTIVE,
    blocks: int = BLOCKS,
    dimensions: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Predict a column of numbers, such as depth or the cover of a term, for all images with features. The error is
    measured on whole blocks of a dive that the model did not see."""
    job.progress(0, None, "reading images")
    data = column_rows(workspace, column, features=features, collection=collection, dive=dive)
    rows = narrowed(data.rows, dimensions or DIMENSIONS)
    X = np.asarray(rows.values, float)
    with errors_name_images(rows.features, rows.image_ids):
        require_usable_values(X)
    from benthoscope.engine.analysis import predict_column  # slow to import
    from benthoscope.engine.exemplars import SparseGPRegressor

    predicted = predict_column(
        X,
        data.values,
        rows.groups,
        data.order,
        model=SparseGPRegressor(active, lengthscales="common", max_passes=1),
        blocks=blocks,
        bounds=data.column.bounds,
        seed=seed,
        on_step=job.on_step,
    )
    parameters = {"active": active, "blocks": blocks, "dimensions": X.shape[1], "seed": seed}
    scope = {"collection": collection, "dive": dive}
    stored = PredictionStore(workspace.folder).put(_stored(workspace, data, rows, predicted, parameters, scope))
    return prediction_facts(stored)


def column_rows(
    workspace: Workspace, column: str, *, features: str | None, collection: str | None, dive: str | None
) -> ColumnRows:
    """Return the rows of the images to predict. Raises if the column or the features do not exist."""
    numbers = numeric_column(workspace, column)
    rows = chosen_rows(workspace, features or usual_features(workspace), collection)
    included = np.isin(rows.image_ids, chosen_images(workspace, collection, dive))
    if not included.any():
        raise fail(f"features {rows.features.name}", "has none of the selected images", "compute their features first")
    if not included.all():
        rows = replace(
            rows, values=rows.values[included], image_ids=rows.image_ids[included], groups=rows.groups[included]
        )
    values = numbers.values[np.searchsorted(numbers.image_ids, rows.image_ids)]
    times = workspace.library.columns("id", "taken_at")
    taken_at = times["taken_at"][np.searchsorted(times["id"], rows.image_ids)]
    order = np.empty(len(values), np.int64)
    order[np.lexsort((rows.image_ids, np.where(np.isnan(taken_at), np.inf, taken_at)))] = np.arange(len(values))
    return ColumnRows(numbers, rows, order, values)


def usual_features(workspace: Workspace) -> str:
    """Return the features of the current run, or else any features of whole images."""
    run = workspace.runs.current()
    stored = image_features_of(workspace, run) if run else None
    if stored is not None:
        return stored.name
    names = [name for name in workspace.features.names() if workspace.features.open(name).level == "image"]
    if not names:
        raise fail("features", "there is no feature set of whole images", "compute one with `benthoscope features`")
    return "deep" if "deep" in names else names[0]


def prediction_facts(stored: PredictedColumn) -> dict[str, Any]:
    """Return the number of a prediction and its facts, as the command and REST show them."""
    return {"id": stored.id, **stored.facts}


def quality_sentence(quality: Mapping[str, Any], unit: str, blocks: str, mean: str) -> str:
    """Return how good predictions are on `blocks`, such as "blocks of this dive", compared with a `mean`."""
    test = f"Tested on {quality['blocks']} {blocks} that the model did not see ({quality['images']:,} images)"
    errors = (
        f"the typical error is {_number(quality['error'], unit)}, "
        f"and {_number(quality['mean_error'], unit)} if {mean} is used instead"
    )
    if not quality["better"]:
        return f"{test}, the predictions are {verdict(quality)} {mean}: {errors}."
    interval = f"{_percent(quality['low'])} to {_percent(quality['high'])} with 90 % confidence"
    return (
        f"{test}, {errors}. The predictions explain {_percent(quality['explained'])} ({interval}) of the variance "
        f"about {mean}. The band contains {_percent(quality['in_band'])} of the measured values."
    )


def verdict(quality: Mapping[str, Any]) -> str:
    """Return whether predictions are better than the mean, in words to put before its name."""
    if quality["better"]:
        return "better than"
    return "not clearly better than" if (quality["explained"] or 0) > 0 else "no better than"


def sentences_of(facts: Mapping[str, Any]) -> list[str]:
    """Return how good a prediction is: overall, and in dives without measurements if there are any."""
    sentences = [quality_sentence(facts["quality"], facts["unit"], "blocks of dives", "the mean of the dive")]
    if facts["new_dives"] is not None:
        quality = facts["new_dives"]["quality"]
        test = (
            "They were not tested, because too few dives have measurements."
            if quality is None
            else quality_sentence(quality, facts["unit"], "whole dives", "the mean of the other dives")
        )
        sentences.append(f"Some dives have no measurements. {test}")
    return sentences


def prediction_table(workspace: Workspace, stored: PredictedColumn, group_id: int | None = None) -> Iterator[tuple]:
    """Yield the rows under `HEADER`, by dive, time and id; of one dive or of all."""
    ids = np.asarray(stored.image_ids)
    columns = workspace.library.columns("id", "group_id", "taken_at", "path")
    at = np.minimum(np.searchsorted(columns["id"], ids), max(len(columns["id"]) - 1, 0))
    known = columns["id"][at] == ids if len(columns["id"]) else np.zeros(len(ids), bool)
    if group_id is not None:
        known = known & (columns["group_id"][at] == group_id)
    names = {group.id: group.name for group in workspace.library.groups()}
    taken_at = np.where(np.isnan(columns["taken_at"]), np.inf, columns["taken_at"])
    rows = np.flatnonzero(known)
    rows = rows[np.lexsort((ids[rows], taken_at[at[rows]], columns["group_id"][at[rows]]))]
    for row in rows.tolist():
        image = at[row]
        numbers = (getattr(stored, name)[row] for name in ("values", "mean", "low", "high", "std"))
        moment = columns["taken_at"][image]
        yield (
            int(ids[row]),
            names[int(columns["group_id"][image])],
            columns["path"][image],
            stamp(None if np.isnan(moment) else float(moment)),
            *(None if np.isnan(number) else f"{number:.6g}" for number in numbers),
            int(stored.block[row]) if stored.block[row] >= 0 else None,
        )


def _stored(
    workspace: Workspace,
    data: ColumnRows,
    rows: Rows,
    predicted: "ColumnPrediction",
    parameters: dict[str, Any],
    scope: dict[str, str | None],
) -> PredictedColumn:
    names = {group.id: group.name for group in workspace.library.groups()}
    facts = {
        "column": data.column.name,
        "title": data.column.title,
        "unit": data.column.unit,
        **scope,
        "features": rows.features.name,
        "data_hash": rows.features.sidecar.data_hash,
        "images": len(data.values),
        "measured": int(np.isfinite(data.values).sum()),
        "quality": asdict(predicted.quality),
        "dives": [
            {"id": group, "name": names[group], "quality": asdict(quality)}
            for group, quality in predicted.quality_of_group.items()
        ],
        "new_dives": {"quality": predicted.quality_of_new_groups and asdict(predicted.quality_of_new_groups)}
        if len(predicted.quality_of_group) < len(np.unique(rows.groups))
        else None,
        "parameters": parameters,
        "last_event": workspace.labels.last_number(),
        "at": current_time(),
    }
    arrays = (predicted.mean, predicted.std, predicted.low, predicted.high, predicted.block)
    return PredictedColumn(rows.image_ids, data.values, *arrays, facts)


def _number(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".strip()


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
