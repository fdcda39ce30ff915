"""Runs the revisions in one transaction, with the views dropped before and created after."""

from alembic import context
from sqlalchemy import create_engine, pool, text

from memsense.migrate import load_views, run_text

LOCK_KEY = 7_305_771_461  # one migration at a time per database; any fixed number serves


def run() -> None:
    """Drop the views, migrate, create the views again: all or nothing."""
    url = context.config.get_main_option("sqlalchemy.url")
    assert url is not None
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK_KEY})
        run_text(connection, "CREATE SCHEMA IF NOT EXISTS memsense")
        views = connection.execute(
            text("SELECT viewname FROM pg_views WHERE schemaname = 'memsense'")
        ).scalars()
        for view in list(views):
            run_text(connection, f'DROP VIEW IF EXISTS memsense."{view}" CASCADE')
        context.configure(
            connection=connection, version_table_schema="memsense", transactional_ddl=True
        )
        context.run_migrations()
        if context.get_context().get_current_revision() is not None:
            run_text(connection, load_views())


run()
