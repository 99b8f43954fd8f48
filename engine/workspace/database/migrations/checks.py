"""Replacing the checks of tables. SQLite copies a table for this, and drops no table whose rows are referred to."""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op

event = sa.table("label_event", sa.column("number"), sa.column("undoes"), sa.column("kind"))
SAMPLING = ("sampling_answer", "sampling_draw", "sampling_wave")  # tables that refer to the frame, the last ones first


def replace_event_kinds(kinds: str, change: Callable = lambda batch: None) -> None:
    """Replace the check of the kinds of label events. The references between events are removed temporarily. `change`
    makes other changes of the table at the same time."""
    connection = op.get_bind()
    undone = connection.execute(sa.select(event.c.number, event.c.undoes).where(event.c.undoes.is_not(None))).all()
    connection.execute(event.update().values(undoes=None))
    with op.batch_alter_table("label_event", schema=None) as batch:
        batch.drop_constraint(op.f("ck_label_event_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_label_event_kind"), kinds)
        change(batch)
    for number, undoes in undone:
        connection.execute(event.update().where(event.c.number == number).values(undoes=undoes))


def delete_events(kind: str) -> None:
    """Delete the label events of a kind, and the undo events that refer to them."""
    connection = op.get_bind()
    event_by_number = {
        number: (kind_of_event, undoes)
        for number, kind_of_event, undoes in connection.execute(sa.select(event.c.number, event.c.kind, event.c.undoes))
    }
    gone = [number for number in sorted(event_by_number) if _first_kind(number, event_by_number) == kind]
    for number in reversed(gone):  # an undo before the event that it undoes
        connection.execute(event.delete().where(event.c.number == number))


def _first_kind(number: int, event_by_number: dict[int, tuple[str, int | None]]) -> str:
    """Return the kind of an event or, for an undo, of the event that it undoes, directly or through other undo
    events."""
    kind, undoes = event_by_number[number]
    while kind == "undo" and undoes is not None:
        kind, undoes = event_by_number[undoes]
    return kind


def replace_frame_purposes(purposes: str) -> None:
    """Replace the check of the purposes of sampling frames. On SQLite, waves, draws and answers are set aside
    in the meantime."""
    is_copied = op.get_bind().dialect.name == "sqlite"
    for table in SAMPLING if is_copied else ():
        op.execute(f"CREATE TEMPORARY TABLE saved_{table} AS SELECT * FROM {table}")
        op.execute(f"DELETE FROM {table}")
    with op.batch_alter_table("sampling_frame", schema=None) as batch:
        batch.drop_constraint(op.f("ck_sampling_frame_purpose"), type_="check")
        batch.create_check_constraint(op.f("ck_sampling_frame_purpose"), purposes)
    for table in reversed(SAMPLING) if is_copied else ():
        op.execute(f"INSERT INTO {table} SELECT * FROM saved_{table}")
        op.execute(f"DROP TABLE saved_{table}")
