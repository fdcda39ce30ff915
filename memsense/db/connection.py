"""Single connections, and the versions that a server must have."""

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from memsense.db.address import SETTING, read_address
from memsense.db.failures import first_line, is_lost
from memsense.errors import ConnectionFailedError, SchemaError, ServerTooOldError

T = TypeVar("T")

Connection = psycopg.Connection[TupleRow]

MOST_LOSSES = 2
"""How many lost connections work outlives."""

_CONNECT_SECONDS = 10
_PING_SECONDS = 2
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0

OLDEST_SERVER = 150000
OLDEST_PGVECTOR = (0, 8)


def connect(url: str, *, seconds: float = _CONNECT_SECONDS) -> Connection:
    """Open one connection in autocommit mode, outside any pool; raise ConnectionFailedError."""
    return _connect(read_address(url), seconds=seconds)


def connect_beside(connection: Connection) -> Connection:
    """Open another connection to this one's database; raise ConnectionFailedError."""
    return _connect(connection.info.dsn, password=connection.info.password)


def repeat_lost(work: Callable[[float], T], seconds: float, *, url: str | None = None) -> T:
    """Return the result of `work`, called again while the server is away, as during a restart.

    For work outside any pool. It is not repeated after a refused login, for a database or a host
    that doesn't exist, or for a host that doesn't answer at all.

    Args:
        work: Function of the seconds that are left.
        seconds: Time after which the last error is raised, with the time that was waited.
        url: Address that is asked whether its server is away; without one it is taken to be away
            after any lost connection.

    Raises:
        ConnectionFailedError: If the server stays away, or the error will not pass.
    """
    started, pause, refusals = time.monotonic(), _FIRST_PAUSE, 0
    while True:
        try:
            return work(max(seconds - (time.monotonic() - started), 1.0))
        except ConnectionFailedError as error:
            cause = error.__cause__
            # A server that answers has refused the login, or was starting up a moment ago.
            state = pq.Ping.NO_RESPONSE
            may_pass = is_lost if url is None else _may_pass
            if not isinstance(cause, psycopg.Error) or not may_pass(cause):
                state = pq.Ping.NO_ATTEMPT
            elif cause.sqlstate is None and url is not None:
                ping = make_conninfo(read_address(url), connect_timeout=_PING_SECONDS)
                state = pq.PGconn.ping(ping.encode())
                refusals += state == pq.Ping.OK
            waited = time.monotonic() - started
            if state == pq.Ping.NO_ATTEMPT or refusals > 1 or waited + pause > seconds:
                if waited < _FIRST_PAUSE:
                    raise
                raise ConnectionFailedError(f"{error}; waited {waited:.1f} s") from cause
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _may_pass(error: psycopg.Error) -> bool:
    """Return whether a lost or refused connection may be had later."""
    if error.sqlstate is not None:
        return is_lost(error)
    # Without a connection in the error, the driver has not found the host.
    return not isinstance(error, psycopg.errors.ConnectionTimeout) and error.pgconn is not None


def _connect(
    address: str, password: str | None = None, seconds: float = _CONNECT_SECONDS
) -> Connection:
    try:
        # No prepared statements: a pooler would leave them to the next client.
        connection = psycopg.connect(
            address,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",
            connect_timeout=max(1, min(_CONNECT_SECONDS, int(seconds))),
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
    """Raise ServerTooOldError or SchemaError if memsense can't work with this database."""
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
            "the server has no pgvector: install it (on Debian and Ubuntu the package"
            f" postgresql-{version // 10000}-pgvector, else https://github.com/pgvector/pgvector),"
            " or use the image pgvector/pgvector:pg18"
        )
    if tuple(int(part) for part in row[0].split(".")[:2]) < OLDEST_PGVECTOR:
        raise ServerTooOldError(
            f"pgvector {row[0]} is too old: memsense needs 0.8 or newer;"
            " run 'ALTER EXTENSION vector UPDATE' after installing it"
        )
