"""Add label events for parts of images: points, boxes, outlines."""

from benthoscope.engine.workspace.database.migrations.checks import delete_events, replace_event_kinds

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BEFORE = "kind in ('label', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"
AFTER = "kind in ('label', 'part', 'clear', 'refuse', 'audit', 'arrange', 'revert', 'undo')"


def upgrade() -> None:
    replace_event_kinds(AFTER)


def downgrade() -> None:
    delete_events("part")
    replace_event_kinds(BEFORE)
