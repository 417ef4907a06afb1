"""Run by Alembic: bring a database to this version's tables, on the connection that was handed over."""

from alembic import context

from outlay.campaign.stores.db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
