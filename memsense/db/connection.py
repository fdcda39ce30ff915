"""Single connections: how one is opened, what it may take, and what its server must offer."""

import time
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import RawCursor
from psycopg import errors as pg
from psycopg.rows import TupleRow

from memsense.db import queries
from memsense.db.address import SETTING, read_address
from memsense.db.failures import first_line
from memsense.errors import (
    ConnectionFailedError,
    RecallTimeoutError,
    ServerTooOldError,
)

Connection = psycopg.Connection[TupleRow]

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8)


def connect(url: str) -> Connection:
    """One connection in autocommit mode, outside any pool.

    Raises ConfigurationError for what is no address, and ConnectionFailedError.
    """
    address = read_address(url)
    try:
        return psycopg.connect(address, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise ConnectionFailedError(
            f"cannot connect to the database: {first_line(error)}; check {SETTING}"
        ) from error


@contextmanager
def limit_recall(connection: Connection, seconds: float) -> Generator[None]:
    """Let a statement inside take so long, then raise RecallTimeoutError; 0 sets no limit.

    The limit travels with the statement, and holds until the end of its transaction: a connection
    in autocommit keeps nothing of it.
    """
    if not seconds:
        yield
        return
    limit = queries.numbered_query("limit_statement", "timeout.sql")
    started = time.monotonic()
    try:
        with connection.pipeline():
            values = limit.arguments({"recall_timeout": f"{1000 * seconds:.0f}ms"})
            RawCursor(connection).execute(limit.text, values, prepare=True)
            yield
    except pg.QueryCanceled as error:
        if time.monotonic() - started < seconds:
            raise  # by somebody else, or a stricter limit
        raise RecallTimeoutError(
            f"recall took longer than {seconds:g} seconds; raise MEMSENSE_RECALL_TIMEOUT,"
            " or ask with filters or a shorter question"
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
