"""Detection of a pooler, such as PgBouncer, in front of the server."""

import uuid

from psycopg import sql

from memsense.db import queries
from memsense.db.connection import Connection
from memsense.db.rows import fetch_value

FILE = "transactions.sql"

SEALED_POOLER = (
    "tenants are sealed, and a pooler shares sessions between clients: connect without it, or give"
    " each tenant a pool of its own with server_reset_query_always, and set"
    " MEMSENSE_SEALED_POOLER=true"
)
"""Text of the refusal of a pooler that could hand a session of one tenant to another client."""


def is_pooled(connection: Connection, process: int | None = None) -> bool:
    """Return whether another process serves the connection than the one first reported."""
    if process is None:
        process = fetch_value(connection, "fetch_process", file=FILE)
    return connection.info.backend_pid != process


def keeps_apart(connection: Connection) -> bool:
    """Return whether the pooler renames prepared statements, so that clients share none."""
    name = f"memsense_{uuid.uuid4().hex}"
    # PgBouncer has names of its own from 1.21 on, with max_prepared_statements. Without them, two
    # clients' statements of one name meet on a connection that is lent to both: an error, or
    # another statement than was meant.
    # In one transaction, since a pooler lends a connection for no longer; and past the driver,
    # which would remember the name.
    with connection.transaction():
        connection.pgconn.prepare(name.encode(), b"SELECT 1")
        if not fetch_value(connection, "has_statement", {"name": name}, FILE):
            return True
        connection.execute(queries.query("deallocate", FILE).format(name=sql.Identifier(name)))
    return False
