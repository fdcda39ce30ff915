"""Single connections, and the versions that a server must have."""

from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg.rows import TupleRow

from memsense.db.address import SETTING, read_address
from memsense.db.failures import first_line
from memsense.errors import ConnectionFailedError, SchemaError, ServerTooOldError

T = TypeVar("T")

Connection = psycopg.Connection[TupleRow]

MOST_LOSSES = 2
"""How many lost connections work outlives."""

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8)


def connect(url: str) -> Connection:
    """Open one connection in autocommit mode, outside any pool.

    Raises ConfigurationError for a malformed address, and ConnectionFailedError.
    """
    return _connect(read_address(url))


def connect_beside(connection: Connection) -> Connection:
    """Open another connection to the server and database of this one, in autocommit mode.

    Raises ConnectionFailedError.
    """
    return _connect(connection.info.dsn, password=connection.info.password)


def repeat_lost(work: Callable[[], T]) -> T:
    """Return the result of `work`, called again, up to twice, if its connection was lost.

    For work outside any pool. A host that doesn't answer at all is not asked again.
    """
    for _ in range(MOST_LOSSES):
        try:
            return work()
        except ConnectionFailedError as error:
            if isinstance(error.__cause__, psycopg.errors.ConnectionTimeout):
                raise
    return work()


def _connect(address: str, password: str | None = None) -> Connection:
    try:
        # No prepared statements: a pooler would leave them to the next client.
        connection = psycopg.connect(
            address,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",
            connect_timeout=10,
            password=password,
        )
        use_standard_settings(connection)
    except psycopg.Error as error:
        raise ConnectionFailedError(
            f"cannot connect to the database: {first_line(error)}; check {SETTING}"
        ) from error
    return connection


def use_standard_settings(connection: Connection) -> None:
    """Set what the driver and the statements rely on, if the database or the role set it otherwise.

    The server reports these settings, so that to look costs nothing. PgBouncer keeps them apart for
    each of its clients.
    """
    info = connection.info
    if not (info.parameter_status("DateStyle") or "ISO").startswith("ISO"):
        connection.execute("SET DateStyle TO 'ISO'")  # the driver reads no other form of times
    if info.parameter_status("standard_conforming_strings") == "off":
        connection.execute("SET standard_conforming_strings TO on")


def check_server(connection: Connection) -> None:
    """Check that memsense can work with this server and database.

    Raises ServerTooOldError unless this is PostgreSQL 15 or newer with pgvector 0.8 or newer, and
    SchemaError for a database whose encoding can't hold every text.
    """
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise ServerTooOldError(
            f"PostgreSQL {version // 10000} is too old: memsense needs 15 or newer"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise SchemaError(
            f"database {connection.info.dbname} has the encoding {encoding}, which can't hold every"
            " text; create another one: CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8'"
        )
    row = connection.execute(
        "SELECT coalesce(installed_version, default_version)"
        " FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if row is None:
        raise ServerTooOldError(
            "the server has no pgvector: install it (https://github.com/pgvector/pgvector),"
            " or use the image pgvector/pgvector:pg18"
        )
    if tuple(int(part) for part in row[0].split(".")[:2]) < OLDEST_PGVECTOR:
        raise ServerTooOldError(
            f"pgvector {row[0]} is too old: memsense needs 0.8 or newer;"
            " run 'ALTER EXTENSION vector UPDATE' after installing it"
        )
