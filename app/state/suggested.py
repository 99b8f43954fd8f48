"""What the model would call every image that has no label, as arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import NONE, placed
from app.state.terms import all_terms
from engine.labelling.suggestion_store import Suggestions, SuggestionStore
from engine.workspace.vocabularies import Term


@dataclass(frozen=True)
class Suggested:
    """`term` is (N,) int32, an index into `terms` or NONE; `sure` (N,) the probability, NaN where there is none."""

    term: np.ndarray
    sure: np.ndarray
    terms: tuple[Term, ...]


def suggestions(app: AppState) -> Suggestions | None:
    return app.kept("suggestions", SuggestionStore(app.workspace.folder).get)


def suggested(app: AppState) -> Suggested:
    """Of images without a label; all NONE before anything was learnt."""
    return app.kept("suggested", lambda: _read(app))


def suggestion_of(app: AppState, image_id: int) -> dict[str, Any] | None:
    """{term, name, sure} for one image, None where it has a label or the model has not seen it."""
    found, at = suggested(app), app.columns.positions(np.array([image_id]))
    if not len(at) or found.term[at[0]] < 0:
        return None
    term = found.terms[found.term[at[0]]]
    return {"term": term.id, "name": term.name, "sure": round(float(found.sure[at[0]]), 3)}


def _read(app: AppState) -> Suggested:
    columns, found = app.columns, suggestions(app)
    term, sure = np.full(len(columns), NONE, np.int32), np.full(len(columns), np.nan)
    if found is None:
        return Suggested(term, sure, ())
    positions, known = placed(columns, found.image_ids)
    best, share = (each[known] for each in found.best())
    used, at = np.unique(best, return_inverse=True)
    term[positions], sure[positions] = at, share
    labelled = columns.positions(app.workspace.labels.current()[0])
    term[labelled], sure[labelled] = NONE, np.nan
    return Suggested(term, sure, tuple(all_terms(app)[number] for number in used.tolist()))
