"""The label log: facts are appended, never changed; what holds now is computed from them."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, insert, select, text

from engine.problems import fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.events import NOBODY, Event, Held, held, standing, undo_stack
from engine.workspace.packing import pack_ids
from engine.workspace.records import now
from engine.workspace.schema import label_event

REASONS = ("manual", "bulk", "review", "suggestion", "crowd", "import", "verification", "resolved", "audit", "arrange",
           "revert", "undo")
ORDER = 7332  # the advisory lock under which PostgreSQL gives out numbers in the order of the commits


@dataclass(frozen=True)
class Act:
    """Something to be said in the log; `images` are sorted ids, each once."""

    kind: str
    images: np.ndarray
    why: str
    term_id: int | None = None
    run_id: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None

    def __post_init__(self):
        if not len(self.images):
            raise fail(self.kind, "no images chosen", "choose some first")
        if self.why not in REASONS:
            raise unknown("reason of a label", self.why, REASONS)

    def values(self) -> dict[str, Any]:
        numbers = {"term_id": self.term_id, "run_id": self.run_id}  # databases do not know numpy
        return {"kind": self.kind, "why": self.why, "rule": dict(self.rule), "confidence": self.confidence,
                **{name: None if number is None else int(number) for name, number in numbers.items()}}


class LabelLog:
    """Events are fetched once and kept packed: they never change."""

    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue
        self._history: list[Event] = []
        self._held, self._held_until = NOBODY, 0
        self._lock = threading.RLock()

    # --- acts

    def label(
        self, person_id: int, images: Iterable[int] | np.ndarray, term_id: int, *, why: str = "manual",
        run_id: int | None = None, rule: Mapping[str, Any] | None = None, confidence: float | None = None,
    ) -> int:
        """One act, of one image or a million; its number, once it is on disk."""
        return self.act("label", person_id, images, term_id=term_id, why=why, run_id=run_id, rule=rule,
                        confidence=confidence)

    def clear(self, person_id: int, images: Iterable[int] | np.ndarray, *, why: str = "manual") -> int:
        """Takes the labels of these images away."""
        return self.act("clear", person_id, images, why=why)

    def refuse(self, person_id: int, images: Iterable[int] | np.ndarray, term_id: int, *,
               run_id: int | None = None, rule: Mapping[str, Any] | None = None) -> int:
        """Notes that a suggested term is wrong for these images."""
        return self.act("refuse", person_id, images, term_id=term_id, why="suggestion", run_id=run_id, rule=rule)

    def act(
        self, kind: str, person_id: int, images: Iterable[int] | np.ndarray, *, why: str, term_id: int | None = None,
        run_id: int | None = None, rule: Mapping[str, Any] | None = None, confidence: float | None = None,
    ) -> int:
        """Appends an act of any kind; its number, once it is on disk."""
        ids = _each_once(images if isinstance(images, np.ndarray) else np.fromiter(images, np.int64))
        return self.act_together(person_id, [Act(kind, ids, why, term_id, run_id, rule or {}, confidence)])[0]

    def act_together(self, person_id: int, acts: Iterable[Act]) -> list[int]:
        """Appends acts in this order, all of them or none; their numbers, once they are on disk."""
        rows = [_row_of({**act.values(), "person_id": person_id}, act.images) for act in acts]
        return self._append_all(rows) if rows else []

    def undo(self, person_id: int, number: int) -> int:
        """Takes an event back, be it a label or itself an undo; the number of the event that does so."""
        undone = self.event(number)
        return self._append({"kind": "undo", "person_id": person_id, "undoes": number, "why": "undo", "rule": {}},
                            undone.images)

    def undo_last(self, person_id: int) -> int | None:
        """Takes back this person's last act that holds, of this session or any before; the act's number."""
        done, _ = undo_stack(self.events(), person_id)
        if done:
            self.undo(person_id, done[-1])
        return done[-1] if done else None

    def redo_last(self, person_id: int) -> int | None:
        """Brings back the act taken back last, unless this person has acted since; the act's number."""
        history = self.events()
        _, back = undo_stack(history, person_id)
        if not back:
            return None
        undos = [event for event in history if event.kind == "undo" and event.undoes == back[-1]]
        self.undo(person_id, undos[-1].number)
        return back[-1]

    def revert(self, person_id: int, until: int, images: Iterable[int] | np.ndarray | None = None) -> int:
        """Brings back the labels that held right after event `until` (0: none yet); of all images or of these."""
        if until:
            self.event(until)
        touched = self._touched_after(until) if images is None else np.fromiter(images, np.int64)
        if not len(touched):
            raise fail("revert", "nothing has changed since", "choose an earlier moment")
        event = {"kind": "revert", "person_id": person_id, "undoes": until or None, "why": "revert", "rule": {}}
        return self._append(event, np.unique(touched))

    # --- what was said

    def event(self, number: int) -> Event:
        row = self._catalogue.first(select(label_event).where(label_event.c.number == number))
        if row is None:
            raise fail("label log", f"no event {number}", "choose one of the history")
        return _event(row)

    def events(self, after: int = 0) -> list[Event]:
        """All events with a greater number, oldest first."""
        with self._lock:
            last = self._history[-1].number if self._history else 0
            wanted = select(label_event).where(label_event.c.number > last).order_by(label_event.c.number)
            self._history += [_event(row) for row in self._catalogue.all(wanted)]
            return [event for event in self._history if event.number > after] if after else list(self._history)

    def last_number(self) -> int:
        """Of the newest event, 0 for none: cheap, to see whether anybody has said anything."""
        return self._catalogue.first(select(func.max(label_event.c.number)))[0] or 0

    def history(self, image: int) -> list[Event]:
        """Every event that concerns an image, oldest first, those taken back as well."""
        near = (label_event.c.first_image <= image) & (label_event.c.last_image >= image)
        rows = self._catalogue.all(select(label_event).where(near).order_by(label_event.c.number))
        return [event for event in map(_event, rows) if event.concerns(image)]

    def standing(self, until: int | None = None) -> list[Event]:
        """The label events that hold, oldest first; with `until`, those that held right after that event."""
        return [event for event in standing(self._until(until)) if event.kind == "label"]

    # --- what holds

    def current(self, until: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(ids, event numbers): every labelled image, sorted, with the newest standing event that labels it."""
        found = self._held_now() if until is None else held(self._until(until))
        return found.images, found.numbers

    def current_terms(self, until: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(ids, term ids): every labelled image, sorted, with its term."""
        images, numbers = self.current(until)
        return images, self.terms_of(numbers)

    def terms_of(self, numbers: np.ndarray) -> np.ndarray:
        """The term ids of label events by their numbers."""
        distinct, place = np.unique(numbers, return_inverse=True)
        terms = {event.number: event.term_id for event in self.events()}
        return np.array([terms[number] for number in distinct.tolist()], np.int64)[place]

    def changed_by_others(self, person_id: int, since: int, images: np.ndarray) -> list[Event]:
        """What others said of these images after event `since`: to be shown to whoever is about to label them."""
        return [event for event in self.events(since)
                if event.person_id != person_id and np.isin(event.images, images, assume_unique=True).any()]

    def _held_now(self) -> Held:
        """Kept from call to call: new labels are laid over it, an undo begins anew."""
        with self._lock:
            history = self.events()
            new = [event for event in history[::-1] if event.number > self._held_until][::-1]
            if any(event.kind == "undo" for event in new):
                self._held = held(history)
            elif new:
                self._held = held(new, self._held, history)
            self._held_until = history[-1].number if history else 0
            return self._held

    def _until(self, until: int | None) -> list[Event]:
        return [event for event in self.events() if until is None or event.number <= until]

    def _touched_after(self, until: int) -> np.ndarray:
        changed = [event.images for event in self.events(until) if event.kind in ("label", "clear", "revert", "undo")]
        return np.unique(np.concatenate(changed)) if changed else np.empty(0, np.int64)

    def _append(self, event: Mapping[str, Any], ids: np.ndarray) -> int:
        return self._append_all([_row_of(event, ids)])[0]

    def _append_all(self, rows: list[dict[str, Any]]) -> list[int]:
        def store(connection: Connection) -> list[int]:
            if connection.dialect.name == "postgresql":  # readers go by numbers, so a lower one must not come later
                connection.execute(text(f"SELECT pg_advisory_xact_lock({ORDER})"))
            at = now()
            return [connection.execute(insert(label_event).values(**row, at=at)).inserted_primary_key[0]
                    for row in rows]

        return self._catalogue.write(store)


def _each_once(ids: np.ndarray) -> np.ndarray:
    """Sorted, without repeats; a million that are so already are seen to be so ten times faster than sorted again."""
    return ids if len(ids) and (np.diff(ids) > 0).all() else np.unique(ids)


def _row_of(event: Mapping[str, Any], ids: np.ndarray) -> dict[str, Any]:
    return {**event, "images": pack_ids(ids), "count": len(ids), "first_image": int(ids[0]), "last_image": int(ids[-1])}


def _event(row: Row) -> Event:
    return Event(row.number, row.kind, row.person_id, row.at, row.images, row.count, row.why, row.term_id, row.undoes,
                 row.run_id, row.rule, row.confidence)
