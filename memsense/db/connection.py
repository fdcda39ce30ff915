"""The pool, one way to run a transaction, and the one place where driver errors are renamed."""

import time
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from pgvector.psycopg import register_vector
from psycopg import RawCursor
from psycopg import errors as pg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from memsense.db import queries
from memsense.db.address import SETTING, read_address
from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    RecallTimeoutError,
    SchemaError,
    ServerTooOldError,
)

Connection = psycopg.Connection[TupleRow]
Pool = ConnectionPool[Connection]

OLDEST_SERVER = 150000
_OTHER_SCHEMA = (
    pg.UndefinedTable,
    pg.InvalidSchemaName,
    pg.UndefinedFunction,
    pg.UndefinedColumn,
)
OLDEST_PGVECTOR = (0, 8)


@contextmanager
def database_errors() -> Generator[None]:
    """Turn driver errors inside the block into memsense's, chained."""
    try:
        yield
    except PoolTimeout as error:
        raise ConnectionFailedError(
            f"no database connection became free: {error}; raise MEMSENSE_POOL_MAX_SIZE"
            " or MEMSENSE_POOL_TIMEOUT, or lower the number of concurrent calls"
        ) from error
    except _OTHER_SCHEMA as error:
        raise SchemaError(f"{_first_line(error)}; run 'memsense db upgrade'") from error
    except pg.QueryCanceled as error:
        raise DatabaseError(f"a statement was cancelled: {_first_line(error)}") from error
    except psycopg.OperationalError as error:
        raise ConnectionFailedError(f"database connection failed: {_first_line(error)}") from error
    except psycopg.Error as error:
        raise DatabaseError(f"database error: {_first_line(error)}") from error


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _configure(connection: Connection) -> None:
    if connection.execute("SELECT to_regtype('halfvec')").fetchone() != (None,):
        register_vector(connection)
    connection.execute(queries.script("session.sql"))


def connect(url: str) -> Connection:
    """One connection in autocommit mode, outside any pool.

    Raises ConfigurationError for what is no address, and ConnectionFailedError.
    """
    address = read_address(url)
    try:
        return psycopg.connect(address, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise ConnectionFailedError(
            f"cannot connect to the database: {_first_line(error)}; check {SETTING}"
        ) from error


def open_pool(url: str, *, min_size: int, max_size: int, timeout: float) -> Pool:
    """A pool of autocommit connections with `sql/session.sql` applied; the caller closes it."""
    return ConnectionPool(
        read_address(url),
        connection_class=Connection,
        kwargs={"autocommit": True},
        configure=_configure,
        min_size=min(min_size, max_size),
        max_size=max_size,
        timeout=timeout,
        open=True,
    )


@contextmanager
def read(pool: Pool) -> Generator[Connection]:
    """A pooled connection for statements that each stand alone."""
    with database_errors(), pool.connection() as connection:
        yield connection


@contextmanager
def transaction(pool: Pool, joined: Connection | None = None) -> Generator[Connection]:
    """One transaction: a pooled connection's own, or a savepoint in the caller's `joined` one."""
    if joined is not None:
        with database_errors(), joined.transaction():
            register_vector(joined)
            yield joined
        return
    with database_errors(), pool.connection() as connection, connection.transaction():
        yield connection


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
