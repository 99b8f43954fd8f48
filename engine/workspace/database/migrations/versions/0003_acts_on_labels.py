"""Add more kinds of label events, the range of their images, favourites, and links between vocabularies."""

import sqlalchemy as sa
from alembic import op

from benthoscope.engine.workspace.database.migrations.checks import replace_event_kinds
from benthoscope.engine.workspace.storage.id_packing import unpack_ids

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KINDS = "kind in ('label', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
event = sa.table(
    "label_event",
    sa.column("number"),
    sa.column("undoes"),
    sa.column("images"),
    sa.column("kind"),
    sa.column("first_image"),
    sa.column("last_image"),
)


def upgrade() -> None:
    op.add_column("label_event", sa.Column("first_image", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("label_event", sa.Column("last_image", sa.BigInteger(), nullable=False, server_default="0"))
    _note_extremes()
    replace_event_kinds(KINDS, _without_defaults)
    op.create_index("ix_label_event_first_image", "label_event", ["first_image", "last_image"])
    _create_favourite()
    _create_term_link()


def downgrade() -> None:
    op.drop_table("term_link")
    op.drop_table("favourite")
    op.drop_index("ix_label_event_first_image", "label_event")
    op.execute(event.delete().where(event.c.kind.not_in(["label", "undo"])))
    replace_event_kinds("kind in ('label', 'undo')", _without_extremes)


def _note_extremes() -> None:
    connection = op.get_bind()
    for number, images in connection.execute(sa.select(event.c.number, event.c.images)).all():
        ids = unpack_ids(images)
        values = {"first_image": int(ids[0]), "last_image": int(ids[-1])}
        connection.execute(event.update().where(event.c.number == number).values(**values))


def _without_defaults(batch) -> None:
    for name in ("first_image", "last_image"):
        batch.alter_column(name, existing_type=sa.BigInteger(), existing_nullable=False, server_default=None)


def _without_extremes(batch) -> None:
    for name in ("first_image", "last_image"):
        batch.drop_column(name)


def _create_favourite() -> None:
    op.create_table(
        "favourite",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("person_id", Id, nullable=False),
        sa.Column("key", sa.String(length=8), nullable=False),
        sa.Column("term_id", Id, nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_favourite_person_id_person"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["term_id"], ["term.id"], name=op.f("fk_favourite_term_id_term"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_favourite")),
        sa.UniqueConstraint("person_id", "key", name=op.f("uq_favourite_person_id")),
    )


def _create_term_link() -> None:
    op.create_table(
        "term_link",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("source_id", Id, nullable=False),
        sa.Column("target_id", Id, nullable=False),
        sa.Column("relation", sa.String(length=16), nullable=False),
        sa.CheckConstraint("relation in ('same', 'broader', 'narrower')", name=op.f("ck_term_link_relation")),
        sa.ForeignKeyConstraint(
            ["source_id"], ["term.id"], name=op.f("fk_term_link_source_id_term"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["term.id"], name=op.f("fk_term_link_target_id_term"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_term_link")),
        sa.UniqueConstraint("source_id", "target_id", name=op.f("uq_term_link_source_id")),
    )
