"""The form for predicting a column of numbers along a dive."""

from typing import Any

from benthoscope.app.components.forms import FormField, Recipe, Values, parameter_field
from benthoscope.app.data.group_words import group_words, words_of_group
from benthoscope.app.pages.dive.stored_predictions import predictable_columns
from benthoscope.app.session.app_state import AppState
from benthoscope.engine.analysis.column_prediction import FEWEST, MOST_ROWS
from benthoscope.engine.jobs.predict.predict_column import ACTIVE, BLOCKS, PARAMETERS, usual_features
from benthoscope.engine.problems import fail
from benthoscope.engine.progress import format_duration
from benthoscope.engine.workspace import GroupSummary

# Seconds of one fit on an ordinary laptop: at least, and for each of the rows that it learns from.
FIT_SECONDS, ROW_SECONDS = 0.1, 3e-4
ALL, ONE = "all", "one"


def predicting(app: AppState, dive: GroupSummary) -> Recipe:
    """The form; its job learns from all images or from those of one dive."""
    columns = {column.name: column for column in predictable_columns(app) if column.images >= FEWEST}
    if not columns:
        raise fail(
            "prediction",
            "no column has enough values",
            f"import measurements, or label at least {FEWEST} images with two different terms",
        )
    features = [name for name in app.workspace.features.names() if app.features(name).level == "image"]
    word, words = words_of_group(app, dive.group.id), group_words(app)
    fields = (
        FormField(
            "column",
            "Column",
            PARAMETERS["column"].text,
            "choice",
            next(iter(columns)),
            tuple((name, f"{column.title}: {column.images:,} images have a value") for name, column in columns.items()),
        ),
        FormField(
            "scope",
            "Images",
            "The images to learn from and to predict.",
            "choice",
            ALL,
            ((ALL, f"All {words.plural}"), (ONE, f"Only this {word.singular}")),
        ),
        FormField(
            "features",
            "Image features",
            PARAMETERS["features"].text,
            "choice",
            usual_features(app.workspace),
            tuple((name, name) for name in features),
            more=True,
        ),
        parameter_field(PARAMETERS["active"], "active", "Images that predictions use", "integer", ACTIVE, more=True),
        parameter_field(PARAMETERS["blocks"], "blocks", "Blocks of the test", "integer", BLOCKS, more=True),
        parameter_field(PARAMETERS["seed"], "seed", "Seed", "integer", 0, more=True),
    )

    def jobs(values: Values) -> list[tuple[str, dict[str, Any], str]]:
        parameters = {name: values[name] for name in ("column", "features", "active", "blocks", "seed")}
        if values["scope"] == ONE:
            parameters["dive"] = dive.group.name
        return [("predict column", parameters, f"Predict {columns[values['column']].title}")]

    def cost(values: Values) -> str:
        images = columns[values["column"]].images
        seconds = (values["blocks"] + 1) * (
            FIT_SECONDS + ROW_SECONDS * min(images, MOST_ROWS) * values["active"] / ACTIVE
        )
        return f"Time: about {format_duration(max(seconds, 2))}. You can continue to work meanwhile."

    return Recipe(
        "Predict a column",
        "Predicts a number for every image from image features, also where it was not measured. The prediction is "
        f"tested on parts of each {word.singular} that the model did not see. A prediction of the same column for the "
        "same images is replaced.",
        "Predict",
        fields,
        cost,
        jobs,
    )
