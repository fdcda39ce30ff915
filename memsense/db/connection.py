"""Single connections: how one is opened, what it may take, and what its server must offer."""

import psycopg
from psycopg.rows import TupleRow

from memsense.db.address import SETTING, read_address
from memsense.db.failures import first_line
from memsense.errors import ConnectionFailedError, ServerTooOldError

Connection = psycopg.Connection[TupleRow]

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8)


def connect(url: str) -> Connection:
    """One connection in autocommit mode, outside any pool.

    Raises ConfigurationError for what is no address, and ConnectionFailedError.
    """
    return _connect(read_address(url))


def connect_beside(connection: Connection) -> Connection:
    """Another connection to where this one goes, in autocommit mode, outside any pool.

    Raises ConnectionFailedError.
    """
    return _connect(connection.info.dsn, password=connection.info.password)


def _connect(address: str, password: str | None = None) -> Connection:
    try:
        # Prepared is nothing: a pooler would leave it to the next client.
        return psycopg.connect(
            address,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=10,
            password=password,
        )
    except psycopg.Error as error:
        raise ConnectionFailedError(
            f"cannot connect to the database: {first_line(error)}; check {SETTING}"
        ) from error


def check_server(connection: Connection) -> None:
    """Raise ServerTooOldError unless this is PostgreSQL 15 or newer with pgvector 0.8 or newer."""
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise ServerTooOldError(
            f"PostgreSQL {version // 10000} is too old: memsense needs 15 or newer"
        )
    found = connection.execute(
        "SELECT coalesce(installed_version, default_version)"
        " FROM pg_available_extensions WHERE name = 'vector'"
    ).fetchone()
    if found is None:
        raise ServerTooOldError(
            "the server has no pgvector: install it (https://github.com/pgvector/pgvector),"
            " or use the image pgvector/pgvector:pg18"
        )
    if tuple(int(part) for part in found[0].split(".")[:2]) < OLDEST_PGVECTOR:
        raise ServerTooOldError(
            f"pgvector {found[0]} is too old: memsense needs 0.8 or newer;"
            " run 'ALTER EXTENSION vector UPDATE' after installing it"
        )
