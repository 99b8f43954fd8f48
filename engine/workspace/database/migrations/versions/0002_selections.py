"""Named selections of images."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "selection",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("person_id", number, nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("images", sa.LargeBinary(), nullable=False),
        sa.Column("origin", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name=op.f("fk_selection_person_id_person"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_selection")),
        sa.UniqueConstraint("name", name=op.f("uq_selection_name")),
    )


def downgrade() -> None:
    op.drop_table("selection")
