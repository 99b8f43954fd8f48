"""The label log: events are appended and never changed; the current labels are computed from them."""

import threading
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, insert, select, text

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import label_event
from benthoscope.engine.workspace.labels.events import (
    NOBODY,
    Event,
    Held,
    current_labels,
    standing,
    undo_stack,
    undone_numbers,
    without_bulk,
)
from benthoscope.engine.workspace.records import current_time, inserted_id
from benthoscope.engine.workspace.storage.id_packing import pack_ids

REASONS = (
    "manual",
    "bulk",
    "review",
    "suggestion",
    "crowd",
    "import",
    "verification",
    "double",
    "resolved",
    "audit",
    "arrange",
    "revert",
    "undo",
)
ORDER = 7332  # the advisory lock with which PostgreSQL assigns numbers in the order of commits


@dataclass(frozen=True)
class Act:
    """A new event for the log. `images` are sorted distinct ids."""

    kind: str
    images: np.ndarray
    why: str
    term_id: int | None = None
    run_id: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None
    undoes: int | None = None  # the event that an undo or a revert refers to

    def __post_init__(self):
        if not len(self.images):
            raise fail(self.kind, "no images are selected", "select some first")
        if self.why not in REASONS:
            raise unknown("reason of a label", self.why, REASONS)

    def values(self) -> dict[str, Any]:
        numbers = {"term_id": self.term_id, "run_id": self.run_id}  # database drivers do not accept numpy types
        return {
            "kind": self.kind,
            "why": self.why,
            "rule": dict(self.rule),
            "confidence": self.confidence,
            "undoes": self.undoes,
            **{name: None if number is None else int(number) for name, number in numbers.items()},
        }


class LabelLog:
    """Reads and appends events. Events are loaded once and kept packed, because they never change."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._history: list[Event] = []
        self._index, self._held_until = NOBODY, 0
        self._looked, self._looked_until = NOBODY, 0
        self._terms: dict[int, int | None] = {}  # by event
        self._effective: list[Event] = []
        self._effective_at = self._folds = 0
        self._lock = threading.RLock()

    # --- appending events

    def label(
        self,
        person_id: int,
        images: Iterable[int] | np.ndarray,
        term_id: int,
        *,
        why: str = "manual",
        run_id: int | None = None,
        rule: Mapping[str, Any] | None = None,
        confidence: float | None = None,
    ) -> int:
        """Label one image or many with one event. Returns its number after the commit."""
        event = Act("label", _distinct(images), why, term_id, run_id, rule or {}, confidence)
        return self.append_events(person_id, [event])[0]

    def clear(self, person_id: int, images: Iterable[int] | np.ndarray, *, why: str = "manual") -> int:
        """Remove the labels of these images."""
        return self.append("clear", person_id, images, why=why)

    def refuse(
        self,
        person_id: int,
        images: Iterable[int] | np.ndarray,
        term_id: int,
        *,
        run_id: int | None = None,
        rule: Mapping[str, Any] | None = None,
    ) -> int:
        """Record that a suggested term is wrong for these images."""
        return self.append("refuse", person_id, images, term_id=term_id, why="suggestion", run_id=run_id, rule=rule)

    def append(
        self,
        kind: str,
        person_id: int,
        images: Iterable[int] | np.ndarray,
        *,
        why: str,
        term_id: int | None = None,
        run_id: int | None = None,
        rule: Mapping[str, Any] | None = None,
        confidence: float | None = None,
    ) -> int:
        """Append an event of any kind. Returns its number after the commit."""
        event = Act(kind, _distinct(images), why, term_id, run_id, rule or {}, confidence)
        return self.append_events(person_id, [event])[0]

    def append_events(self, person_id: int, events: Iterable[Act]) -> list[int]:
        """Append events in this order, all or none. Returns their numbers after the commit."""
        rows = [{**event.values(), **_packed(event.images), "person_id": person_id} for event in events]

        def store(connection: Connection) -> list[int]:
            if connection.dialect.name == "postgresql":  # readers use the numbers, so a lower one must not appear later
                connection.execute(text(f"SELECT pg_advisory_xact_lock({ORDER})"))
            at = current_time()
            return [inserted_id(connection.execute(insert(label_event).values(**row, at=at))) for row in rows]

        return self._catalogue.write(store) if rows else []

    def undo(self, person_id: int, number: int) -> int:
        """Undo an event, which may itself be an undo. Returns the number of the undo event."""
        undone = self.event(number)
        return self.append_events(person_id, [Act("undo", undone.images, "undo", undoes=number)])[0]

    def undo_last(self, person_id: int) -> int | None:
        """Undo this person's last effective event, even from an earlier session. Returns the number of the undone
        event."""
        done, _ = undo_stack(self.events(), person_id)
        if done:
            self.undo(person_id, done[-1])
        return done[-1] if done else None

    def redo_last(self, person_id: int) -> int | None:
        """Redo the last undone event, unless this person has added events since. Returns its number."""
        history = self.events()
        _, back = undo_stack(history, person_id)
        if not back:
            return None
        undos = [event for event in history if event.kind == "undo" and event.undoes == back[-1]]
        self.undo(person_id, undos[-1].number)
        return back[-1]

    def revert(self, person_id: int, until: int, images: Iterable[int] | np.ndarray | None = None) -> int:
        """Restore the labels that were effective immediately after event `until` (0: before all events), for all images
        or for these."""
        if until:
            self.event(until)
        touched = self._touched_after(until) if images is None else np.fromiter(images, np.int64)
        if not len(touched):
            raise fail("revert", "nothing has changed since then", "choose an earlier moment")
        return self.append_events(person_id, [Act("revert", np.unique(touched), "revert", undoes=until or None)])[0]

    # --- reading events

    def event(self, number: int) -> Event:
        row = self._catalogue.first(select(label_event).where(label_event.c.number == number))
        if row is None:
            raise fail("label log", f"there is no event {number}", "choose an event in the history")
        return _event(row)

    def events(self, after: int = 0) -> list[Event]:
        """Return all events with a greater number, oldest first."""
        with self._lock:
            self._read_new()
            return self._history[bisect_right(self._history, after, key=lambda event: event.number) :]

    def effective(self) -> tuple[list[Event], int]:
        """Return the events that are not undone, oldest first, and how often they were computed from the whole log.
        While that number stays the same, the list only grew."""
        with self._lock:
            self._read_new()
            new = self._history[self._effective_at :]
            if any(event.kind == "undo" for event in new):
                self._effective, self._folds = standing(self._history), self._folds + 1
            else:
                self._effective += new
            self._effective_at = len(self._history)
            return list(self._effective), self._folds

    def _read_new(self) -> None:
        """Read what was appended since the last call, by this process or another."""
        last = self._history[-1].number if self._history else 0
        query = select(label_event).where(label_event.c.number > last).order_by(label_event.c.number)
        new = [_event(row) for row in self._catalogue.all(query)]
        self._history += new
        self._terms.update((event.number, event.term_id) for event in new)

    def last_number(self) -> int:
        """Return the number of the newest event, 0 without events; a cheap test for changes."""
        return self._catalogue.value(select(func.max(label_event.c.number))) or 0

    def history(self, image: int) -> list[Event]:
        """Return all events of an image, oldest first, including undone ones."""
        near = (label_event.c.first_image <= image) & (label_event.c.last_image >= image)
        rows = self._catalogue.all(select(label_event).where(near).order_by(label_event.c.number))
        return [event for event in map(_event, rows) if event.concerns(image)]

    def standing(self, until: int | None = None) -> list[Event]:
        """Return the effective label events, oldest first; with `until`, those effective immediately after that
        event."""
        return [event for event in standing(self._until(until)) if event.kind == "label"]

    # --- current labels

    def current(self, until: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (ids, event numbers): all labelled images, sorted, with the newest effective event that labels
        them."""
        index = self._held_now() if until is None else current_labels(self._until(until))
        return index.images, index.numbers

    def current_terms(self, until: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (ids, term ids): all labelled images, sorted, with their term."""
        images, numbers = self.current(until)
        return images, self.terms_of(numbers)

    def terms_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the term ids of label events by their numbers."""
        distinct, position = np.unique(numbers, return_inverse=True)
        with self._lock:
            self._read_new()
            terms = [self._terms[number] for number in distinct.tolist()]
        return np.array(terms, np.int64)[position]

    def given_by_looking(self, until: int | None = None) -> Held:
        """Return all images with a label given by looking at the image individually, with its event. Bulk labels, older
        or newer, do not change it."""
        if until is not None:
            return current_labels(without_bulk(self._until(until)))
        with self._lock:
            new = self.events(self._looked_until)
            history = self._history
            if any(event.kind == "undo" for event in new):
                self._looked = current_labels(without_bulk(history))
            elif new:
                self._looked = current_labels(without_bulk(new), self._looked, without_bulk(history))
            self._looked_until = history[-1].number if history else 0
            return self._looked

    def undone(self) -> set[int]:
        """Return the numbers of undone events."""
        return undone_numbers(self.events())

    def changed_by_others(self, person_id: int, since: int, images: np.ndarray) -> list[Event]:
        """Return what other people labelled among these images after event `since`, as a warning before labelling."""
        return [
            event
            for event in self.events(since)
            if event.person_id != person_id and np.isin(event.images, images, assume_unique=True).any()
        ]

    def _held_now(self) -> Held:
        """Return the current labels, cached. New labels are applied to the cache; an undo starts again."""
        with self._lock:
            new = self.events(self._held_until)
            history = self._history
            if any(event.kind == "undo" for event in new):
                self._index = current_labels(history)
            elif new:
                self._index = current_labels(new, self._index, history)
            self._held_until = history[-1].number if history else 0
            return self._index

    def _until(self, until: int | None) -> list[Event]:
        return [event for event in self.events() if until is None or event.number <= until]

    def _touched_after(self, until: int) -> np.ndarray:
        changed = [event.images for event in self.events(until) if event.kind in ("label", "clear", "revert", "undo")]
        return np.unique(np.concatenate(changed)) if changed else np.empty(0, np.int64)


def _distinct(images: Iterable[int] | np.ndarray) -> np.ndarray:
    """Return the distinct ids, sorted. For a million sorted ids, checking the order is ten times faster than
    sorting."""
    ids = images if isinstance(images, np.ndarray) else np.fromiter(images, np.int64)
    return ids if len(ids) and (np.diff(ids) > 0).all() else np.unique(ids)


def _packed(ids: np.ndarray) -> dict[str, Any]:
    """Return the columns of a set of images."""
    return {"images": pack_ids(ids), "count": len(ids), "first_image": int(ids[0]), "last_image": int(ids[-1])}


def _event(row: Row) -> Event:
    return Event(
        row.number,
        row.kind,
        row.person_id,
        row.at,
        row.images,
        row._mapping["count"],  # `Row.count` is a method to the type checker
        row.why,
        row.term_id,
        row.undoes,
        row.run_id,
        row.rule,
        row.confidence,
    )
