"""Errors of the driver: which of memsense's errors each becomes, and which a repetition cures."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolClosed

from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    DataRefusedError,
    DiskFullError,
    LockTimeoutError,
    PoolerError,
    ReadOnlyServerError,
    SchemaError,
    StatementTimeoutError,
    TransactionConflictError,
)

_CONFLICTS = (pg.SerializationFailure, pg.DeadlockDetected)
_LOST = (
    pg.AdminShutdown,
    pg.CrashShutdown,
    pg.CannotConnectNow,
    pg.DatabaseDropped,
    pg.IdleInTransactionSessionTimeout,
    pg.IdleSessionTimeout,
    pg.ConnectionException,
    pg.ConnectionDoesNotExist,
    pg.ConnectionFailure,
    pg.SqlclientUnableToEstablishSqlconnection,
    pg.SqlserverRejectedEstablishmentOfSqlconnection,
)
_NODE_LOST = (
    "failed to connect to ",
    "failed to copy to ",
    "failed to send ",
    "failure on connection marked as essential",
    "execution cannot recover from multiple connection failures",
    "postmaster was shut down",
    # What a node or libpq said, passed on without a context.
    "terminating connection due to ",
    "server closed the connection unexpectedly",
    "ssl syscall error",
    "could not receive data from server",
    "could not send data to server",
    "connection not open",
    "no connection to the server",
)
"""The starts of a coordinator's messages about a node it has lost, or about its own end, in lower
case. Citus translates none; nodes and libpq do, in a server with another lc_messages.
"""

_NODE_COMMAND = "while executing command on "
"""The context that a coordinator gives to an error it met while a node worked."""

_OTHER_SCHEMA = (
    pg.UndefinedTable,
    pg.InvalidSchemaName,
    pg.UndefinedFunction,
    pg.UndefinedColumn,
)
_MISPLACED = pg.DuplicatePreparedStatement, pg.InvalidSqlStatementName
_TOO_LARGE = pg.ProgramLimitExceeded, pg.StatementTooComplex

_STATEMENT = '"_pg3_'
"""The start of the driver's names of prepared statements, in a server's message of any language."""

_POOLER = (
    "{message}: a pooler gives this client's statements to other connections than they were"
    " prepared on; set MEMSENSE_PREPARED_STATEMENTS=false, or leave it unset"
)

_MEANINGS: tuple[tuple[tuple[type[psycopg.Error], ...], type[DatabaseError], str], ...] = (
    (_OTHER_SCHEMA, SchemaError, "{message}; run 'memsense db upgrade'"),
    (
        _CONFLICTS,
        TransactionConflictError,
        "other transactions were in the way: {message}; nothing was written, run it again",
    ),
    (
        (pg.LockNotAvailable,),
        LockTimeoutError,
        "a lock was held for too long: {message}; try again, or raise lock_timeout of the role",
    ),
    (
        (pg.DiskFull,),
        DiskFullError,
        "the server's disk is full: {message}; nothing was written, free space and try again",
    ),
    (
        (psycopg.DataError, *_TOO_LARGE),
        DataRefusedError,
        "PostgreSQL refused a value: {message}; shorten it, or correct it",
    ),
    (
        (pg.ReadOnlySqlTransaction,),
        ReadOnlyServerError,
        "the server takes no writes (a standby, or default_transaction_read_only): {message}",
    ),
    (
        (pg.InsufficientPrivilege,),
        DatabaseError,
        "the database refuses this to its user: {message}; only the owner of a table may change it",
    ),
    (_MISPLACED, PoolerError, _POOLER),
    ((PoolClosed,), ConnectionFailedError, "this memory is closed; open it again"),
)


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone, or that of a Citus coordinator to its node."""
    # Neither is cured by another connection, though psycopg files both under OperationalError.
    if isinstance(error, pg.PipelineAborted | PoolClosed):
        return False
    by_libpq = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return by_libpq or isinstance(error, _LOST) or _is_of_lost_node(error)


def _is_of_lost_node(error: psycopg.Error) -> bool:
    """Return whether a Citus coordinator tells that it has lost a node, or ends itself.

    It has no error code for that. It uses the one of an internal error or of a failed file
    operation, and what libpq wrote about the lost connection as the message.
    """
    if not isinstance(error, pg.InternalError_ | pg.IoError):
        return False
    context = error.diag.context or ""
    return first_line(error).lower().startswith(_NODE_LOST) or context.startswith(_NODE_COMMAND)


def is_read_only(error: psycopg.Error) -> bool:
    """Return whether the server takes no writes: it is a standby, or was set to read-only."""
    return isinstance(error, pg.ReadOnlySqlTransaction)


@contextmanager
def telling_losses(connection: psycopg.Connection[Any]) -> Generator[None]:
    """Raise an error that `is_lost` knows for any error of a broken connection.

    psycopg has several classes for it: at the end of a pipeline, a plain DatabaseError.
    """
    try:
        yield
    except psycopg.Error as error:
        if connection.broken and not is_lost(error):
            raise psycopg.OperationalError(first_line(error)) from error
        raise


def is_conflict(error: psycopg.Error) -> bool:
    """Return whether the server rolled a transaction back because of other transactions."""
    return isinstance(error, _CONFLICTS)


@contextmanager
def database_errors() -> Generator[None]:
    """Turn driver errors inside the block into memsense's, chained."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(error) from error


def explain(error: psycopg.Error) -> DatabaseError:
    """Return memsense's error for an error of the driver."""
    message = first_line(error)
    for kinds, meaning, text in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(text.format(message=message))
    if isinstance(error, pg.ProtocolViolation) and _STATEMENT in message:
        return PoolerError(_POOLER.format(message=message))
    if isinstance(error, pg.QueryCanceled):
        # Only the text says who cancelled it, and lc_messages may translate that.
        if "statement timeout" in message:
            return StatementTimeoutError(
                f"a statement was cancelled: {message}; try again, or raise statement_timeout of"
                " the role or the database"
            )
        return DatabaseError(f"a statement was cancelled: {message}")
    if is_lost(error):
        return ConnectionFailedError(f"database connection failed: {message}")
    return DatabaseError(f"database error: {message}")


def first_line(error: psycopg.Error) -> str:
    """Return the first line of the error's text, or the error's name if it has none."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
