"""The columns that can be predicted, and whether a stored prediction is out of date."""

from benthoscope.app.data.column_predictions import AlignedPrediction
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.engine.labelling.numeric_columns import COVER, NumericColumn, numeric_columns


def predictable_columns(app: AppState) -> list[NumericColumn]:
    return app.cached("numeric columns", lambda: numeric_columns(app.workspace), (IMAGES, LABELS))


def labels_changed_since(app: AppState, prediction: AlignedPrediction) -> bool:
    """Whether labels changed after the cover of a term was predicted."""
    if not prediction.facts["column"].startswith(COVER):
        return False
    return prediction.facts["last_event"] < app.workspace.labels.last_number()
