"""Add random images: frames, waves, draws and their answers."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "sampling_frame",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("parent_kind", sa.String(length=16), nullable=False),
        sa.Column("parent_id", number, nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("rule", sa.JSON(), nullable=False),
        sa.Column("images", sa.LargeBinary(), nullable=False),
        sa.Column("images_hash", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("label_event", sa.BigInteger(), nullable=False),
        sa.Column("person_id", number, nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.CheckConstraint("purpose in ('cover', 'stop', 'audit', 'repeat')", name=op.f("ck_sampling_frame_purpose")),
        sa.CheckConstraint(
            "parent_kind in ('dive', 'campaign', 'workspace', 'event', 'labels')",
            name=op.f("ck_sampling_frame_parent_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_sampling_frame_person_id_person"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sampling_frame")),
    )
    op.create_index("ix_sampling_frame_parent", "sampling_frame", ["purpose", "parent_kind", "parent_id"])
    op.create_table(
        "sampling_wave",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("frame_id", number, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("label_event", sa.BigInteger(), nullable=False),
        sa.Column("images", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("budget", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["frame_id"],
            ["sampling_frame.id"],
            name=op.f("fk_sampling_wave_frame_id_sampling_frame"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sampling_wave")),
        sa.UniqueConstraint("frame_id", "number", name=op.f("uq_sampling_wave_frame_id")),
    )
    op.create_table(
        "sampling_draw",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("frame_id", number, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("image_id", number, nullable=False),
        sa.Column("probability", sa.Float(precision=53), nullable=False),
        sa.Column("eligible", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.Integer(), nullable=True),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("person_id", number, nullable=True),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("guess_term_id", number, nullable=True),
        sa.Column("guess_probability", sa.Float(), nullable=True),
        sa.Column("guess_model", sa.Text(), nullable=True),
        sa.Column("label_event", sa.BigInteger(), nullable=False),
        sa.Column("earlier_term_id", number, nullable=True),
        sa.Column("earlier_event", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["frame_id"],
            ["sampling_frame.id"],
            name=op.f("fk_sampling_draw_frame_id_sampling_frame"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_sampling_draw_person_id_person"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sampling_draw")),
        sa.UniqueConstraint("frame_id", "number", name=op.f("uq_sampling_draw_frame_id")),
        sa.UniqueConstraint("frame_id", "image_id", name="uq_sampling_draw_image"),
    )
    op.create_index("ix_sampling_draw_image_id", "sampling_draw", ["image_id"])
    op.create_table(
        "sampling_answer",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("draw_id", number, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("term_id", number, nullable=True),
        sa.Column("event", sa.BigInteger(), nullable=True),
        sa.Column("person_id", number, nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.CheckConstraint("state in ('answered', 'cannot tell', 'withdrawn')", name=op.f("ck_sampling_answer_state")),
        sa.ForeignKeyConstraint(
            ["draw_id"],
            ["sampling_draw.id"],
            name=op.f("fk_sampling_answer_draw_id_sampling_draw"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_sampling_answer_person_id_person"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["term_id"], ["term.id"], name=op.f("fk_sampling_answer_term_id_term"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sampling_answer")),
    )
    op.create_index("ix_sampling_answer_draw_id", "sampling_answer", ["draw_id"])


def downgrade() -> None:
    op.drop_table("sampling_answer")
    op.drop_table("sampling_draw")
    op.drop_table("sampling_wave")
    op.drop_table("sampling_frame")
