"""Add label events for parts of images: points, boxes, outlines."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BEFORE = "kind in ('label', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
AFTER = "kind in ('label', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
event = sa.table("label_event", sa.column("number"), sa.column("undoes"), sa.column("kind"))


def upgrade() -> None:
    _rebuild(AFTER)


def downgrade() -> None:
    connection = op.get_bind()
    event_by_number = {
        number: (kind, undoes)
        for number, kind, undoes in connection.execute(sa.select(event.c.number, event.c.kind, event.c.undoes))
    }
    gone = {
        number
        for number in sorted(event_by_number)
        if event_by_number[number][0] == "part" or _undoes_one_of(number, event_by_number)
    }
    for number in sorted(gone, reverse=True):  # an undo before the event that it undoes
        connection.execute(event.delete().where(event.c.number == number))
    _rebuild(BEFORE)


def _undoes_one_of(number: int, event_by_number: dict[int, tuple[str, int | None]]) -> bool:
    """Return whether an event undoes, directly or through other undo events, one that labels parts."""
    kind, undoes = event_by_number[number]
    while kind == "undo" and undoes is not None:
        kind, undoes = event_by_number[undoes]
    return kind == "part"


def _rebuild(kinds: str) -> None:
    """Replace the check of kinds. SQLite copies the table for this and does not drop a table whose rows refer to each
    other, so the references are removed temporarily."""
    connection = op.get_bind()
    undone = connection.execute(sa.select(event.c.number, event.c.undoes).where(event.c.undoes.is_not(None))).all()
    connection.execute(event.update().values(undoes=None))
    with op.batch_alter_table("label_event", schema=None) as batch:
        batch.drop_constraint(op.f("ck_label_event_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_label_event_kind"), kinds)
    for number, undoes in undone:
        connection.execute(event.update().where(event.c.number == number).values(undoes=undoes))
