"""Named selections of images: what somebody marked, kept to be come back to, labelled, exported or asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, insert, select, update

from engine.problems import fail, unknown
from engine.workspace.catalogue import Catalogue
from engine.workspace.packing import pack_ids, unpack_ids
from engine.workspace.records import now
from engine.workspace.schema import selection


@dataclass(frozen=True)
class SavedSelection:
    """`images` are sorted ids; `origin` says how it came about, as far as the screen knows."""

    id: int
    name: str
    person_id: int
    at: float
    images: np.ndarray
    origin: Mapping[str, Any] = field(default_factory=dict)


class SelectionStore:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def save(self, person_id: int, name: str, images: np.ndarray, origin: Mapping[str, Any] | None = None
             ) -> SavedSelection:
        """Keeps the images under this name; a selection of the same name is replaced and keeps its number."""
        name, ids = " ".join(name.split()), np.unique(np.asarray(images, np.int64))
        if not name:
            raise fail("selection", "has no name", "give it one")
        if not len(ids):
            raise fail("selection", "holds no images", "select some first")
        values = {"name": name, "person_id": person_id, "at": now(), "count": len(ids), "images": pack_ids(ids),
                  "origin": dict(origin or {})}
        return self.get(self._catalogue.write(lambda connection: _stored(connection, values)))

    def get(self, selection_id: int) -> SavedSelection:
        row = self._catalogue.first(select(selection).where(selection.c.id == selection_id))
        if row is None:
            raise fail("selections", f"no selection {selection_id}", "it may have been removed; choose another")
        return _saved(row)

    def named(self, name: str) -> SavedSelection:
        row = self._catalogue.first(select(selection).where(selection.c.name == name))
        if row is None:
            raise unknown("selections", name, [known for _, known, _ in self.list()])
        return _saved(row)

    def list(self) -> list[tuple[int, str, int]]:
        """(id, name, number of images) of all, by name; without reading the images."""
        wanted = select(selection.c.id, selection.c.name, selection.c.count).order_by(selection.c.name)
        return [(row.id, row.name, row.count) for row in self._catalogue.all(wanted)]

    def remove(self, selection_id: int) -> SavedSelection:
        """Forgets it; what it was is given back, so that `save` can bring it back."""
        found = self.get(selection_id)
        self._catalogue.execute(delete(selection).where(selection.c.id == selection_id))
        return found


def _stored(connection: Connection, values: Mapping[str, Any]) -> int:
    known = connection.execute(select(selection.c.id).where(selection.c.name == values["name"])).scalar()
    if known is None:
        return connection.execute(insert(selection).values(**values)).inserted_primary_key[0]
    connection.execute(update(selection).where(selection.c.id == known).values(**values))
    return known


def _saved(row: Row) -> SavedSelection:
    return SavedSelection(row.id, row.name, row.person_id, row.at, unpack_ids(row.images), row.origin)
