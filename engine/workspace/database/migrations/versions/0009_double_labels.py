"""Add blind second labels: a kind of label event, and a purpose of random draws."""

from alembic import op

from benthoscope.engine.workspace.database.migrations.checks import (
    delete_events,
    replace_event_kinds,
    replace_frame_purposes,
)

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KINDS = "kind in ('label', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
KINDS_AFTER = "kind in ('label', 'opinion', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
PURPOSES = "purpose in ('cover', 'stop', 'audit', 'repeat')"
PURPOSES_AFTER = "purpose in ('cover', 'stop', 'audit', 'repeat', 'double')"
IN_FRAMES = "frame_id in (select id from sampling_frame where purpose = 'double')"


def upgrade() -> None:
    replace_event_kinds(KINDS_AFTER)
    replace_frame_purposes(PURPOSES_AFTER)


def downgrade() -> None:
    op.execute(f"DELETE FROM sampling_answer WHERE draw_id in (select id from sampling_draw where {IN_FRAMES})")
    op.execute(f"DELETE FROM sampling_draw WHERE {IN_FRAMES}")
    op.execute(f"DELETE FROM sampling_wave WHERE {IN_FRAMES}")
    op.execute("DELETE FROM sampling_frame WHERE purpose = 'double'")
    delete_events("opinion")
    replace_frame_purposes(PURPOSES)
    replace_event_kinds(KINDS)
