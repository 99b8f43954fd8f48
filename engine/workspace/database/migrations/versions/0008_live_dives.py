"""Add the tables of live dives: dives, their images, rounds of learning, and edits of clusters."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.Float(precision=53)


def _id(table: str) -> tuple:
    return (
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )


def _of(table: str, column: str, other: str, on_delete: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}_{other}"), ondelete=on_delete
    )


def upgrade() -> None:
    op.create_table(
        "live_dive",
        *_id("live_dive"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("group_id", NUMBER, nullable=False),
        sa.Column("root_id", NUMBER, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("descriptor", sa.JSON(), nullable=False),
        sa.Column("requests", sa.JSON(), nullable=False),
        sa.Column("notice", sa.Text(), nullable=False),
        sa.Column("run_id", NUMBER, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.CheckConstraint("state in ('watching', 'finished')", name=op.f("ck_live_dive_state")),
        _of("live_dive", "group_id", "image_group", "CASCADE"),
        _of("live_dive", "root_id", "root", "RESTRICT"),
        _of("live_dive", "run_id", "run", "SET NULL"),
    )
    op.create_table(
        "live_image",
        *_id("live_image"),
        sa.Column("live_dive_id", NUMBER, nullable=False),
        sa.Column("image_id", NUMBER, nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=True),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("percentile", sa.Float(), nullable=True),
        sa.Column("new_cluster", sa.Float(), nullable=True),
        sa.Column("novel", sa.Boolean(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("learned_in", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.Column("arrived_at", MOMENT, nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        _of("live_image", "live_dive_id", "live_dive", "CASCADE"),
        _of("live_image", "image_id", "image", "CASCADE"),
        sa.UniqueConstraint("live_dive_id", "image_id", name=op.f("uq_live_image_live_dive_id")),
    )
    op.create_index("ix_live_image_learned", "live_image", ["live_dive_id", "learned_in"], unique=False)
    op.create_index("ix_live_image_novel", "live_image", ["live_dive_id", "novel"], unique=False)
    op.create_table(
        "live_round",
        *_id("live_round"),
        sa.Column("live_dive_id", NUMBER, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("images", sa.Integer(), nullable=False),
        sa.Column("clusters", sa.JSON(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("memory", sa.JSON(), nullable=False),
        sa.Column("budget_binds", sa.Boolean(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        _of("live_round", "live_dive_id", "live_dive", "CASCADE"),
        sa.UniqueConstraint("live_dive_id", "number", name=op.f("uq_live_round_live_dive_id")),
    )
    op.create_table(
        "live_edit",
        *_id("live_edit"),
        sa.Column("live_dive_id", NUMBER, nullable=False),
        sa.Column("person_id", NUMBER, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("rule", sa.JSON(), nullable=False),
        sa.Column("undoes", NUMBER, nullable=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.CheckConstraint("kind in ('name', 'merge', 'split', 'undo')", name=op.f("ck_live_edit_kind")),
        _of("live_edit", "live_dive_id", "live_dive", "CASCADE"),
        _of("live_edit", "person_id", "person", "RESTRICT"),
        sa.ForeignKeyConstraint(
            ["undoes"], ["live_edit.id"], name=op.f("fk_live_edit_undoes_live_edit"), ondelete="RESTRICT"
        ),
    )


def downgrade() -> None:
    for name in ("live_edit", "live_round", "live_image", "live_dive"):
        op.drop_table(name)
