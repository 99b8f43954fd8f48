"""Run Alembic on the connection that the workspace passes in, never on another one."""

from alembic import context

from benthoscope.engine.workspace.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
