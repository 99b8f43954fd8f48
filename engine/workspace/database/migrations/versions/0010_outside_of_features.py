"""Add to the images of live dives how far each is from what its features describe."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("live_image") as table:
        table.add_column(sa.Column("outside", sa.Float(precision=53), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("live_image") as table:
        table.drop_column("outside")
