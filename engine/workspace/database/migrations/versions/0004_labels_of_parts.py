"""Acts in the label log that name parts of images: points, boxes, outlines."""

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
    told = {number: (kind, undoes) for number, kind, undoes in
            connection.execute(sa.select(event.c.number, event.c.kind, event.c.undoes))}
    gone = {number for number in sorted(told) if told[number][0] == "part" or _undoes_one_of(number, told)}
    for number in sorted(gone, reverse=True):  # an undo before what it undoes
        connection.execute(event.delete().where(event.c.number == number))
    _rebuild(BEFORE)


def _undoes_one_of(number: int, told: dict[int, tuple[str, int | None]]) -> bool:
    """Whether an act takes back, through any number of undos, one that names parts."""
    kind, undoes = told[number]
    while kind == "undo" and undoes is not None:
        kind, undoes = told[undoes]
    return kind == "part"


def _rebuild(kinds: str) -> None:
    """Another check of kinds. SQLite copies the table for that and refuses to drop one whose rows refer to each other,
    so the references are set aside meanwhile."""
    connection = op.get_bind()
    undone = connection.execute(sa.select(event.c.number, event.c.undoes).where(event.c.undoes.is_not(None))).all()
    connection.execute(event.update().values(undoes=None))
    with op.batch_alter_table("label_event", schema=None) as batch:
        batch.drop_constraint(op.f("ck_label_event_kind"), type_="check")
        batch.create_check_constraint(op.f("ck_label_event_kind"), kinds)
    for number, undoes in undone:
        connection.execute(event.update().where(event.c.number == number).values(undoes=undoes))
