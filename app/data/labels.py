"""Current labels as arrays, label events as text, and the search for terms; shared by all sessions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from benthoscope.app.data.clusters.clustered_images import NONE, placed
from benthoscope.app.session.app_state import AppState
from benthoscope.app.session.cache import IMAGES, LABELS
from benthoscope.engine.labelling.agreement import Conflict, conflicts
from benthoscope.engine.labelling.audits.sample import audit_of
from benthoscope.engine.labelling.terms import find_term
from benthoscope.engine.term_path import joined, parted
from benthoscope.engine.workspace.labels.events import Event, undone_numbers
from benthoscope.engine.workspace.labels.parts import count_of, names_segments, parts_of
from benthoscope.engine.workspace.labels.term_search import matches, search
from benthoscope.engine.workspace.labels.vocabularies import Term
from benthoscope.plots.colours import GREY, distinct


@dataclass(frozen=True)
class LabelledImages:
    """`term` is (N,) int32, an index into `terms` or NONE."""

    term: np.ndarray
    terms: tuple[Term, ...]

    @property
    def share(self) -> float:
        return float((self.term >= 0).mean()) if len(self.term) else 0.0


def labelled(app: AppState) -> LabelledImages:
    return app.cached("labelled", lambda: _read(app), (IMAGES, LABELS))


def all_terms(app: AppState) -> Mapping[int, Term]:
    """Every term of every vocabulary by its id."""
    return app.cached(
        "terms of all", lambda: {term.id: term for term in app.workspace.vocabularies.all_terms()}, LABELS
    )


def current_terms(app: AppState) -> tuple[np.ndarray, np.ndarray]:
    """(ids of the labelled images, the term of each)."""
    return app.cached("current terms", app.workspace.labels.current_terms, LABELS)


def labelled_by_group(app: AppState) -> dict[int, int]:
    """How many images of each dive have a label that holds."""

    def count() -> dict[int, int]:
        columns = app.columns
        groups = columns.group_ids[columns.positions(app.workspace.labels.current()[0])]
        return dict(zip(*(column.tolist() for column in np.unique(groups, return_counts=True)), strict=True))

    return app.cached("labelled by group", count, (IMAGES, LABELS))


def standing_events(app: AppState) -> list[Event]:
    """Events that are not undone, oldest first."""
    return app.cached("standing events", lambda: app.workspace.labels.effective()[0], LABELS)


def open_conflicts(app: AppState) -> list[Conflict]:
    """Images that people labelled differently."""
    return app.cached("conflicts", lambda: conflicts(standing_events(app)), LABELS)


def _read(app: AppState) -> LabelledImages:
    log, columns = app.workspace.labels, app.columns
    ids, numbers = log.current()
    positions, known = placed(columns, ids) if len(ids) else (np.empty(0, np.int64), np.empty(0, bool))
    events, at = np.unique(numbers[known], return_inverse=True)
    term_of_event = [log.event(int(number)).given_term_id for number in events]
    used = sorted(set(term_of_event))
    term = np.full(len(columns), NONE, np.int32)
    term[positions] = np.array([used.index(number) for number in term_of_event], np.int32)[at]
    return LabelledImages(term, tuple(all_terms(app)[number] for number in used))


WHY = {
    "manual": "by hand",
    "bulk": "selection",
    "review": "in Review",
    "suggestion": "suggestion",
    "crowd": "crowd answers",
    "import": "imported",
    "verification": "verified",
    "double": "without seeing the first label",
    "resolved": "resolved conflict",
    "audit": "after a check",
    "arrange": "cluster edit",
    "revert": "restored",
    "undo": "undo",
}
KINDS = {
    "label": "labelled",
    "opinion": "would label",
    "clear": "removed the label",
    "refuse": "rejected the suggestion",
}
PARTS = {
    "point": "points",
    "box": "boxes",
    "circle": "circles",
    "line": "lines",
    "outline": "outlines",
    "mask": "segments",
    "segment": "segments",
}


def describe_events(app: AppState, events: Iterable[Event], image: int | None = None) -> list[dict[str, Any]]:
    """Events as plain values, in their order; with an image, the parts of it that they mark."""
    names = all_terms(app)
    people = {person.id: person.name for person in app.workspace.people.all()}
    undone = undone_numbers(app.workspace.labels.events())
    return [
        {
            "number": event.number,
            "at": event.at,
            "who": event.rule.get("by") or people.get(event.person_id, ""),
            "what": _description(event, names, image),
            "why": _why(event),
            "images": event.count,
            "kind": event.kind,
            "undone": event.number in undone,
            "confidence": event.confidence,
            "run": event.run_id,
            "parts": _annotations(event, image),
        }
        for event in events
    ]


def images_text(number: int) -> str:
    return f"{number:,} {'image' if number == 1 else 'images'}"


def undone_text(app: AppState, number: int | None, *, again: bool = False) -> str:
    """The message after an undo, or with `again` after a redo: the change in words, not its number in the log."""
    if number is None:
        return "There is nothing to redo" if again else "There is nothing to undo"
    return f"{'Redone' if again else 'Undone'}: {change_text(app, number)}"


def change_text(app: AppState, number: int) -> str:
    """A label event in words."""
    event = app.workspace.labels.event(number)
    term = None if event.term_id is None else all_terms(app).get(event.term_id)
    if event.kind in ("label", "opinion") and term is not None:
        return f'"{term.name}" on {images_text(event.count)}'
    return _description(event, all_terms(app), None)


def _description(event: Event, names: Mapping[int, Any], image: int | None) -> str:
    term = None if event.term_id is None else names.get(event.term_id)
    word = term.name if term else ""
    if event.kind == "part":
        return f"labelled {_counted(event, image)} {word}"
    if event.kind == "undo":
        return f"undid entry {event.undoes}"
    if event.kind == "revert":
        return f"restored the labels as of entry {event.undoes}" if event.undoes else "removed all labels"
    if event.kind == "arrange":
        return f"{event.rule.get('act', 'moved')} to cluster {event.rule.get('into', '?')}"
    if event.kind == "audit":
        about = event.rule["about"]
        entries = f"entry {about}" if isinstance(about, int) else f"{len(about)} entries together"
        return f"check of {entries}: {audit_of(event)}"
    return f"{KINDS[event.kind]} {word}".strip()


def _why(event: Event) -> str:
    """The reason; for imported labels with the file."""
    source = event.rule.get("source")
    return f"{WHY.get(event.why, event.why)}{f', {source}' if source else ''}"


def _counted(event: Event, image: int | None) -> str:
    shape = event.rule.get("shape", "point")
    if image is None:
        return f"{event.rule['segments']:,} segments" if names_segments(event) else PARTS.get(shape, shape)
    count = count_of(event, image) if names_segments(event) else Counter(p.image for p in parts_of(event))[image]
    return f"{count} {PARTS.get(shape, shape) if count != 1 else shape}"


def _annotations(event: Event, image: int | None) -> list[dict[str, Any]]:
    if event.kind != "part" or image is None or names_segments(event):  # segments are shown as such
        return []
    return [
        {"shape": annotation.shape, "numbers": list(annotation.numbers)}
        for annotation in parts_of(event)
        if annotation.image == image
    ]


LISTED = 9  # terms in a list: each has a digit as its key


def look_up(app: AppState, typed: str, person: str = "") -> dict[str, Any]:
    """{text, terms, exact, alike, total} for a term field; favourites come first among equally good matches."""
    terms = ordered_terms(app)
    found_terms = search(terms, typed, LISTED, _favourites(app, person))
    name = " ".join(typed.split())
    exact = find_term(found_terms, (name,)) or find_term(found_terms, tuple(level.strip() for level in parted(name)))
    return {
        "text": typed,
        "terms": [term_values(app, term) for term in found_terms],
        "exact": exact is not None,
        "alike": bool(found_terms) and not matches(found_terms[0], typed),
        "total": len(terms),
    }


def ordered_terms(app: AppState) -> list[Term]:
    return app.cached("terms in order", app.workspace.vocabularies.all_terms, LABELS)


def term_colours(app: AppState) -> dict[int, str]:
    """The colour of every term of every vocabulary: its own, or one that does not depend on which labels are in use."""
    return app.cached("term colours", lambda: _term_colours(app), LABELS)


def _term_colours(app: AppState) -> dict[int, str]:
    from benthoscope.engine.labelling.cover.evidence import CANNOT_TELL  # loads parts of SciPy

    terms = sorted(all_terms(app).values(), key=lambda term: term.id)
    own = {term.id: term.colour or colour for term, colour in zip(terms, distinct(len(terms)), strict=True)}
    return own | {CANNOT_TELL: GREY}


@overload
def term_values(app: AppState, term: Term) -> dict[str, Any]: ...
@overload
def term_values(app: AppState, term: None) -> None: ...
@overload
def term_values(app: AppState, term: Term | None) -> dict[str, Any] | None: ...
def term_values(app: AppState, term: Term | None) -> dict[str, Any] | None:
    """A term as plain values for the browser, with the colour that it has everywhere."""
    if term is None:
        return None
    return {
        "id": term.id,
        "name": term.name,
        "path": joined(term.path),
        "colour": term_colours(app).get(term.id, ""),
        "notes": str(term.details.get("notes", "")),
        "examples": list(term.details.get("examples", ())),
    }


def _favourites(app: AppState, person: str) -> set[int]:
    """Ids of the terms on the person's keys; does not store a new name."""
    known = next(
        (known_person for known_person in app.workspace.people.all() if known_person.name == person.strip()), None
    )
    return set(app.workspace.favourites.of(known.id).values()) if known else set()
