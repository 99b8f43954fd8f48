"""Add the time when the content of an image was last replaced."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("image") as table:
        table.add_column(sa.Column("changed_at", sa.Float(precision=53), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("image") as table:
        table.drop_column("changed_at")
