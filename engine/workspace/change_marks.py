"""Marks of the aspects of a workspace: a mark differs after its aspect was changed, also by another process.

A program that shows the workspace reads them every few seconds, so they come from indexed columns or short tables.
They do not cover changes that only jobs make, such as replaced images: the list of jobs tells that a job has ended.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Select, func, select

from benthoscope.engine.workspace.database import schema
from benthoscope.engine.workspace.database.catalogue import Catalogue

Mark = tuple[Any, ...]


def _newest(table: Any, column: str = "id") -> Select:
    return select(func.max(table.c[column]))


def _rows(table: Any, *columns: str) -> Select:
    return select(*(table.c[name] for name in columns)).order_by(table.c[columns[0]])


STATEMENTS: Mapping[str, tuple[Select, ...]] = {
    "images": (
        _newest(schema.image),
        _newest(schema.image_group),
        _newest(schema.import_problem),
        _rows(schema.collection, "id", "name"),
        _rows(schema.root, "id", "path"),
    ),
    "labels": (
        _newest(schema.label_event, "number"),
        _newest(schema.sampling_draw),
        _newest(schema.sampling_answer),
        _newest(schema.term_link),
        _rows(schema.vocabulary, "id", "name", "version"),
        _rows(schema.term, "id", "name", "parent_id", "colour"),
        _rows(schema.favourite, "person_id", "key", "term_id"),
        _rows(schema.person, "id", "name"),
    ),
    "runs": (_rows(schema.run, "id", "name", "current", "deleted_at"),),
    "features": (_rows(schema.feature_set, "id", "name", "created_at"),),
    "other": (
        _rows(schema.crowd_campaign, "id", "name", "state", "link", "expires_at"),
        _rows(schema.selection, "id", "name", "at"),
    ),
    "live": (
        _newest(schema.live_image),
        _newest(schema.live_round),
        _newest(schema.live_edit),
        _rows(schema.live_dive, "id", "state", "notice", "run_id"),
    ),
    "answers": (_newest(schema.crowd_answer), _newest(schema.crowd_worker), _newest(schema.crowd_refusal)),
}


def read_marks(catalogue: Catalogue, aspects: Iterable[str] = STATEMENTS) -> dict[str, Mark]:
    """Return the mark of each aspect, all of the same moment."""
    with catalogue.reading() as connection:
        return {
            aspect: tuple(hash(tuple(map(tuple, connection.execute(statement)))) for statement in STATEMENTS[aspect])
            for aspect in aspects
        }
