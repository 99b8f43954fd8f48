"""The label log: facts are appended, never changed; what holds now is computed from them."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, insert, select

from engine.problems import fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.records import now
from engine.workspace.schema import label_event

REASONS = ("manual", "bulk", "review", "suggestion", "crowd", "import", "undo")


@dataclass(frozen=True)
class Event:
    """`images` are sorted ids; an undo carries those of the event it undoes."""

    number: int
    kind: str
    person_id: int
    at: float
    images: np.ndarray
    why: str
    term_id: int | None = None
    undoes: int | None = None
    run_id: int | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = None


class LabelLog:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def label(
        self, person_id: int, images: Iterable[int] | np.ndarray, term_id: int, *, why: str = "manual",
        run_id: int | None = None, rule: Mapping[str, Any] | None = None, confidence: float | None = None,
    ) -> int:
        """One act, of one image or a million; its number, once it is on disk."""
        ids = np.unique(np.fromiter(images, np.int64) if not isinstance(images, np.ndarray) else images)
        if not len(ids):
            raise fail("label", "no images chosen", "choose some first")
        if why not in REASONS:
            raise unknown("reason of a label", why, REASONS)
        event = {"kind": "label", "person_id": person_id, "term_id": term_id, "why": why, "run_id": run_id,
                 "rule": dict(rule or {}), "confidence": confidence}
        return self._append(event, pack_ids(ids), len(ids))

    def undo(self, person_id: int, number: int) -> int:
        """Takes an event back, be it a label or itself an undo; the number of the event that does so."""
        undone = self.event(number)
        event = {"kind": "undo", "person_id": person_id, "undoes": number, "why": "undo", "rule": {}}
        return self._append(event, pack_ids(undone.images), len(undone.images))

    def event(self, number: int) -> Event:
        row = self._catalogue.first(select(label_event).where(label_event.c.number == number))
        if row is None:
            raise fail("label log", f"no event {number}", "choose one of the history")
        return _event(row)

    def events(self, after: int = 0) -> list[Event]:
        wanted = select(label_event).where(label_event.c.number > after).order_by(label_event.c.number)
        return [_event(row) for row in self._catalogue.all(wanted)]

    def standing(self, until: int | None = None) -> list[Event]:
        """The label events that hold, oldest first; with `until`, those that held right after that event."""
        history = [event for event in self.events() if until is None or event.number <= until]
        undone: set[int] = set()
        for event in reversed(history):  # newest first, because an undo may itself be undone
            if event.undoes is not None and event.number not in undone:
                undone.add(event.undoes)
        return [event for event in history if event.kind == "label" and event.number not in undone]

    def current(self, until: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(ids, event numbers): every labelled image, sorted, with the newest standing event that labels it."""
        standing = self.standing(until)
        if not standing:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        newest_first = standing[::-1]
        ids = np.concatenate([event.images for event in newest_first])
        numbers = np.repeat([event.number for event in newest_first], [len(event.images) for event in newest_first])
        found, first = np.unique(ids, return_index=True)
        return found, numbers[first]

    def _append(self, event: Mapping[str, Any], images: bytes, count: int) -> int:
        def store(connection: Connection) -> int:
            values = {**event, "images": images, "count": count, "at": now()}
            return connection.execute(insert(label_event).values(**values)).inserted_primary_key[0]

        return self._catalogue.write(store)


def pack_ids(ids: np.ndarray) -> bytes:
    """Sorted ids as compressed gaps: a run of neighbours takes next to nothing."""
    return zlib.compress(np.diff(ids, prepend=0).astype("<i8").tobytes(), 1)


def unpack_ids(packed: bytes) -> np.ndarray:
    return np.cumsum(np.frombuffer(zlib.decompress(packed), "<i8"))


def _event(row: Row) -> Event:
    return Event(row.number, row.kind, row.person_id, row.at, unpack_ids(row.images), row.why, row.term_id,
                 row.undoes, row.run_id, row.rule, row.confidence)
