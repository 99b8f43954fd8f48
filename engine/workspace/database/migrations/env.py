"""How Alembic reaches the catalogue: over the connection that the workspace hands in, never over one of its own."""

from alembic import context

from engine.workspace.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
