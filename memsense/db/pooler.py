"""Tells whether a pooler, such as PgBouncer, stands before the server, and what it allows."""

import uuid

from psycopg import sql

from memsense.db import queries
from memsense.db.connection import Connection
from memsense.db.rows import fetch_value

FILE = "transactions.sql"


def is_pooled(connection: Connection, process: int | None = None) -> bool:
    """Whether another process serves the connection than it was told when it began.

    A pooler gives its clients numbers of its own. `process` is the one that serves, if known.
    """
    if process is None:
        process = fetch_value(connection, "fetch_process", file=FILE)
    return connection.info.backend_pid != process


def keeps_apart(connection: Connection) -> bool:
    """Whether the pooler gives prepared statements names of its own on the server's connections.

    PgBouncer does from 1.21 on, with max_prepared_statements. Where it does not, two clients'
    statements of one name meet on a connection that is lent to both: an error, or another
    statement than was meant.
    """
    name = f"memsense_{uuid.uuid4().hex}"
    # In one transaction, and past the driver, which would remember it.
    with connection.transaction():
        connection.pgconn.prepare(name.encode(), b"SELECT 1")
        if not fetch_value(connection, "has_statement", {"name": name}, FILE):
            return True
        connection.execute(queries.query("deallocate", FILE).format(name=sql.Identifier(name)))
    return False
