"""Stored predictions of columns of numbers, aligned with the images of the workspace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustered_images import Atlas, changed_since, placed
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import FEATURES, IMAGES
from benthoscope.engine.workspace.predictions import PredictedColumn, PredictionStore


@dataclass(frozen=True)
class AlignedPrediction:
    """A prediction with one value for each image by position (N,), NaN for images that it lacks."""

    id: int
    facts: Mapping[str, Any]
    measured: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    std: np.ndarray


def predictions_of_dive(app: AppState, atlas: Atlas, dive: int) -> list[AlignedPrediction]:
    """The predictions that have a value for an image of the dive, by number. `dive` is an index of the groups."""
    track = atlas.track(dive)
    return [prediction for prediction in _aligned(app, atlas) if np.isfinite(prediction.mean[track]).any()]


def chosen_prediction(predictions: list[AlignedPrediction], number: int | None) -> AlignedPrediction | None:
    """The prediction with this number, else the newest one; None if there is none."""
    newest = max(predictions, key=lambda each: float(each.facts["at"]), default=None)
    return next((each for each in predictions if each.id == number), newest)


def _aligned(app: AppState, atlas: Atlas) -> list[AlignedPrediction]:
    """All predictions, by number. Images whose file was replaced later have no values."""
    return app.cached(
        "aligned predictions",
        lambda: [_by_position(app, atlas, each) for each in PredictionStore(app.workspace.folder).all()],
        (IMAGES, FEATURES),
    )


def _by_position(app: AppState, atlas: Atlas, stored: PredictedColumn) -> AlignedPrediction:
    positions, known = placed(atlas.columns, stored.image_ids)
    changed = changed_since(app, float(stored.facts["at"]))

    def spread(values: np.ndarray) -> np.ndarray:
        result = np.full(len(atlas), np.nan, np.float32)
        result[positions] = values[known]
        result[changed] = np.nan
        return result

    columns = (stored.values, stored.mean, stored.low, stored.high, stored.std)
    return AlignedPrediction(stored.id, stored.facts, *(spread(np.asarray(values)) for values in columns))
