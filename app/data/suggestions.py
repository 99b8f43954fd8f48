"""Suggested labels of all unlabelled images, as arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benthoscope.app.data.clusters.clustered_images import NONE, changed_since, placed
from benthoscope.app.data.labels import all_terms
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.engine.labelling.accuracy.stream import answered_stream
from benthoscope.engine.labelling.measured_accuracy import AnsweredDraws, measure
from benthoscope.engine.labelling.suggestions import Suggestions, SuggestionStore
from benthoscope.engine.workspace.labels.vocabularies import Term


@dataclass(frozen=True)
class Suggested:
    """`term` is (N,) int32, an index into `terms` or NONE; `sure` (N,) is its probability, NaN without a suggestion."""

    term: np.ndarray
    sure: np.ndarray
    terms: tuple[Term, ...]


def suggestions(app: AppState) -> Suggestions | None:
    """Suggestions of the newest model, without images whose file was replaced since."""
    return app.cached("suggestions", lambda: _current(app), (IMAGES, LABELS))


def _current(app: AppState) -> Suggestions | None:
    suggestions = SuggestionStore(app.workspace.folder).get()
    return suggestions and suggestions.without(app.columns.ids[changed_since(app, suggestions.facts["at"])])


def suggested(app: AppState) -> Suggested:
    """Best suggestions of unlabelled images; all NONE before a model is trained."""
    return app.cached("suggested", lambda: _read(app), (IMAGES, LABELS))


def answered_draws(app: AppState) -> AnsweredDraws:
    """The evidence about suggestions, as it is now."""
    return app.cached("answered draws", lambda: answered_stream(app.workspace), LABELS)


def is_measured(app: AppState) -> bool:
    """Whether enough random images were answered to show how sure the model is in per cent; before that its confidence
    is an order only."""
    return measure(answered_draws(app)).known


def suggestion_of(app: AppState, image_id: int) -> dict[str, Any] | None:
    """{term, name, sure, measured} for one image; None if it has a label or the model has not seen it. `sure` can be
    shown as a probability only if `measured`: random images then show how far it can be trusted."""
    suggestion, at = suggested(app), app.columns.positions(np.array([image_id]))
    if not len(at) or suggestion.term[at[0]] < 0:
        return None
    term = suggestion.terms[suggestion.term[at[0]]]
    return {
        "term": term.id,
        "name": term.name,
        "sure": round(float(suggestion.sure[at[0]]), 3),
        "measured": is_measured(app),
    }


def _read(app: AppState) -> Suggested:
    columns, suggestion_set = app.columns, suggestions(app)
    term, sure = np.full(len(columns), NONE, np.int32), np.full(len(columns), np.nan)
    if suggestion_set is None:
        return Suggested(term, sure, ())
    positions, known = placed(columns, suggestion_set.image_ids)
    best, share = (each[known] for each in suggestion_set.best())
    used, at = np.unique(best, return_inverse=True)
    term[positions], sure[positions] = at, share
    labelled = columns.positions(app.workspace.labels.current()[0])
    term[labelled], sure[labelled] = NONE, np.nan
    return Suggested(term, sure, tuple(all_terms(app)[number] for number in used.tolist()))
