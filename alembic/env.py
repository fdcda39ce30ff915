"""Environment of the migrations: runs the revisions in one transaction.

Views and functions are dropped first, and created again at the newest revision.
"""

from sqlalchemy import create_engine, pool, text

from alembic import context
from memsense.db.migrate import (
    LOCK_KEY,
    drop_policies,
    lift_policies,
    load_views,
    note_maker,
    run_text,
    secure,
)
from memsense.search.recall.statement import load_functions

VIEWS = "SELECT viewname FROM pg_views WHERE schemaname = 'memsense'"

# Independent of search_path: the extension is created in public, or is found where it is.
FIND_VECTORS = """
    SELECT set_config('search_path', concat_ws(', ',
        nullif(current_setting('search_path'), ''),
        coalesce((
            SELECT quote_ident(n.nspname)
            FROM pg_extension AS e
            JOIN pg_namespace AS n ON n.oid = e.extnamespace
            WHERE e.extname = 'vector'), 'public')), true)
"""

# Functions that an index or a table depends on belong to a revision, and stay.
FUNCTIONS = """
    SELECT p.oid::regprocedure::text
    FROM pg_proc AS p
    WHERE p.pronamespace = 'memsense'::regnamespace
      AND NOT EXISTS (
          SELECT FROM pg_depend AS d
          WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid AND d.deptype = 'n'
      )
"""


def run() -> None:
    """Migrate in one transaction, and create all views, functions and policies again."""
    url = context.config.get_main_option("sqlalchemy.url")
    assert url is not None
    # No prepared statements: a pooler would leave them to its next client.
    engine = create_engine(
        url,
        poolclass=pool.NullPool,
        connect_args={"prepare_threshold": None, "client_encoding": "utf8"},
    )
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK_KEY})
        run_text(connection, "SET LOCAL standard_conforming_strings = on")
        run_text(connection, FIND_VECTORS)
        run_text(connection, "CREATE SCHEMA IF NOT EXISTS memsense")
        lift_policies(connection)
        for view in list(connection.execute(text(VIEWS)).scalars()):
            run_text(connection, f'DROP VIEW IF EXISTS memsense."{view}" CASCADE')
        for function in list(connection.execute(text(FUNCTIONS)).scalars()):
            run_text(connection, f"DROP FUNCTION {function}")
        context.configure(
            connection=connection, version_table_schema="memsense", transactional_ddl=True
        )
        context.run_migrations()
        if context.get_context().get_current_revision() == context.get_head_revision():
            run_text(connection, load_views())
            run_text(connection, load_functions())
            secure(connection)
            note_maker(connection)
        else:  # an older memsense sets no tenant, so its reads would see no rows
            drop_policies(connection)


run()
