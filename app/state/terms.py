"""The label that holds for every image, as arrays; computed from the log, once for all sessions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.state.app_state import AppState
from app.state.atlas import NONE, placed
from engine.labelling.agreement import Conflict, conflicts
from engine.workspace.events import Event, standing
from engine.workspace.vocabularies import Term


@dataclass(frozen=True)
class Labelled:
    """`term` is (N,) int32, an index into `terms` or NONE; `events` the number of the event that says so."""

    term: np.ndarray
    terms: tuple[Term, ...]

    @property
    def share(self) -> float:
        return float((self.term >= 0).mean()) if len(self.term) else 0.0


def labelled(app: AppState) -> Labelled:
    return app.kept("labelled", lambda: _read(app))


def all_terms(app: AppState) -> Mapping[int, Term]:
    """Every term of every vocabulary by its id."""
    return app.kept("terms of all", lambda: {term.id: term for term in app.workspace.vocabularies.all_terms()})


def current_terms(app: AppState) -> tuple[np.ndarray, np.ndarray]:
    """(ids of the labelled images, the term of each)."""
    return app.kept("current terms", app.workspace.labels.current_terms)


def standing_events(app: AppState) -> list[Event]:
    """Acts that nobody has taken back, oldest first."""
    return app.kept("standing events", lambda: standing(app.workspace.labels.events()))


def open_conflicts(app: AppState) -> list[Conflict]:
    """Images people call differently."""
    return app.kept("conflicts", lambda: conflicts(standing_events(app)))


def _read(app: AppState) -> Labelled:
    log, columns = app.workspace.labels, app.columns
    ids, numbers = log.current()
    positions, known = placed(columns, ids) if len(ids) else (np.empty(0, np.int64), np.empty(0, bool))
    events, at = np.unique(numbers[known], return_inverse=True)
    term_of_event = [log.event(int(number)).term_id for number in events]
    used = sorted(set(term_of_event))
    term = np.full(len(columns), NONE, np.int32)
    term[positions] = np.array([used.index(number) for number in term_of_event], np.int32)[at]
    return Labelled(term, tuple(all_terms(app)[number] for number in used))
