"""Add the tables of crowd campaigns: campaigns, tasks, workers, assignments, answers and rejected requests."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "crowd_campaign",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("link", sa.String(length=64), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("images", sa.LargeBinary(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(precision=53), nullable=False),
        sa.Column("expires_at", sa.Float(precision=53), nullable=False),
        sa.CheckConstraint("state in ('draft', 'open', 'paused', 'closed')", name=op.f("ck_crowd_campaign_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_campaign")),
        sa.UniqueConstraint("link", name=op.f("uq_crowd_campaign_link")),
        sa.UniqueConstraint("name", name=op.f("uq_crowd_campaign_name")),
    )
    op.create_table(
        "crowd_refusal",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("crowd_campaign_id", number, nullable=True),
        sa.Column("worker", sa.Integer(), nullable=True),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["crowd_campaign_id"],
            ["crowd_campaign.id"],
            name=op.f("fk_crowd_refusal_crowd_campaign_id_crowd_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_refusal")),
    )
    op.create_index("ix_crowd_refusal_campaign", "crowd_refusal", ["crowd_campaign_id", "at"], unique=False)
    op.create_table(
        "crowd_task",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("crowd_campaign_id", number, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("items", sa.JSON(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("given", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind in ('task', 'practice')", name=op.f("ck_crowd_task_kind")),
        sa.ForeignKeyConstraint(
            ["crowd_campaign_id"],
            ["crowd_campaign.id"],
            name=op.f("fk_crowd_task_crowd_campaign_id_crowd_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_task")),
        sa.UniqueConstraint("crowd_campaign_id", "number", name=op.f("uq_crowd_task_crowd_campaign_id")),
    )
    op.create_index("ix_crowd_task_open", "crowd_task", ["crowd_campaign_id", "kind", "given"], unique=False)
    op.create_table(
        "crowd_worker",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("crowd_campaign_id", number, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("nickname", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("joined_at", sa.Float(precision=53), nullable=False),
        sa.Column("gold_asked", sa.Integer(), nullable=False),
        sa.Column("gold_right", sa.Integer(), nullable=False),
        sa.CheckConstraint("state in ('practice', 'working', 'stopped')", name=op.f("ck_crowd_worker_state")),
        sa.ForeignKeyConstraint(
            ["crowd_campaign_id"],
            ["crowd_campaign.id"],
            name=op.f("fk_crowd_worker_crowd_campaign_id_crowd_campaign"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_worker")),
        sa.UniqueConstraint("crowd_campaign_id", "number", name=op.f("uq_crowd_worker_crowd_campaign_id")),
        sa.UniqueConstraint("secret", name=op.f("uq_crowd_worker_secret")),
    )
    op.create_table(
        "crowd_assignment",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("crowd_task_id", number, nullable=False),
        sa.Column("crowd_worker_id", number, nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("given_at", sa.Float(precision=53), nullable=False),
        sa.Column("due_at", sa.Float(precision=53), nullable=False),
        sa.CheckConstraint("state in ('given', 'lapsed', 'answered')", name=op.f("ck_crowd_assignment_state")),
        sa.ForeignKeyConstraint(
            ["crowd_task_id"],
            ["crowd_task.id"],
            name=op.f("fk_crowd_assignment_crowd_task_id_crowd_task"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["crowd_worker_id"],
            ["crowd_worker.id"],
            name=op.f("fk_crowd_assignment_crowd_worker_id_crowd_worker"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_assignment")),
        sa.UniqueConstraint("crowd_task_id", "crowd_worker_id", name=op.f("uq_crowd_assignment_crowd_task_id")),
        sa.UniqueConstraint("key", name=op.f("uq_crowd_assignment_key")),
    )
    op.create_index("ix_crowd_assignment_due", "crowd_assignment", ["state", "due_at"], unique=False)
    op.create_index("ix_crowd_assignment_worker", "crowd_assignment", ["crowd_worker_id", "state"], unique=False)
    op.create_table(
        "crowd_answer",
        sa.Column("id", number, autoincrement=True, nullable=False),
        sa.Column("assignment_id", number, nullable=False),
        sa.Column("submission", sa.String(length=64), nullable=False),
        sa.Column("groups", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("at", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"],
            ["crowd_assignment.id"],
            name=op.f("fk_crowd_answer_assignment_id_crowd_assignment"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crowd_answer")),
        sa.UniqueConstraint("assignment_id", name=op.f("uq_crowd_answer_assignment_id")),
    )


def downgrade() -> None:
    op.drop_table("crowd_answer")
    op.drop_table("crowd_assignment")
    op.drop_table("crowd_worker")
    op.drop_table("crowd_task")
    op.drop_table("crowd_refusal")
    op.drop_table("crowd_campaign")
