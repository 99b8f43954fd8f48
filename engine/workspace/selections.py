"""Named selections of images, stored for later labelling, export or campaigns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, insert, select, update

from benthoscope.engine.problems import fail, unknown
from benthoscope.engine.workspace.database.catalogue import Catalogue
from benthoscope.engine.workspace.database.schema import selection
from benthoscope.engine.workspace.records import current_time, inserted_id
from benthoscope.engine.workspace.storage.id_packing import pack_ids, unpack_ids


@dataclass(frozen=True)
class SavedSelection:
    """A selection. `images` are sorted ids; `origin` describes how it was made, if known."""

    id: int
    name: str
    person_id: int
    at: float
    images: np.ndarray
    origin: Mapping[str, Any] = field(default_factory=dict)


class SelectionStore:
    def __init__(self, catalogue: Catalogue):
        self._catalogue = catalogue

    def save(
        self, person_id: int, name: str, images: np.ndarray, origin: Mapping[str, Any] | None = None
    ) -> SavedSelection:
        """Store the images under this name. A selection with the same name is replaced and keeps its number."""
        name, ids = " ".join(name.split()), np.unique(np.asarray(images, np.int64))
        if not name:
            raise fail("selection", "has no name", "give it a name")
        if not len(ids):
            raise fail("selection", "contains no images", "select some first")
        values = {
            "name": name,
            "person_id": person_id,
            "at": current_time(),
            "count": len(ids),
            "images": pack_ids(ids),
            "origin": dict(origin or {}),
        }
        return self.get(self._catalogue.write(lambda connection: _stored(connection, values)))

    def get(self, selection_id: int) -> SavedSelection:
        row = self._catalogue.first(select(selection).where(selection.c.id == selection_id))
        if row is None:
            raise fail(
                "selections", f"there is no selection {selection_id}", "it may have been removed; choose another"
            )
        return _saved(row)

    def named(self, name: str) -> SavedSelection:
        row = self._catalogue.first(select(selection).where(selection.c.name == name))
        if row is None:
            raise unknown("selections", name, [known for _, known, _ in self.list()])
        return _saved(row)

    def list(self) -> list[tuple[int, str, int]]:
        """Return (id, name, number of images) of all selections, by name, without reading the images."""
        query = select(selection.c.id, selection.c.name, selection.c.count).order_by(selection.c.name)
        return [(number, name, count) for number, name, count in self._catalogue.all(query)]

    def remove(self, selection_id: int) -> SavedSelection:
        """Delete a selection. Returns it, so that `save` can restore it."""
        removed = self.get(selection_id)
        self._catalogue.execute(delete(selection).where(selection.c.id == selection_id))
        return removed


def _stored(connection: Connection, values: Mapping[str, Any]) -> int:
    known = connection.execute(select(selection.c.id).where(selection.c.name == values["name"])).scalar()
    if known is None:
        return inserted_id(connection.execute(insert(selection).values(**values)))
    connection.execute(update(selection).where(selection.c.id == known).values(**values))
    return known


def _saved(row: Row) -> SavedSelection:
    return SavedSelection(row.id, row.name, row.person_id, row.at, unpack_ids(row.images), row.origin)
