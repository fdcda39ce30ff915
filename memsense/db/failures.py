"""What the driver's errors mean: which of memsense's each becomes, and which a repetition cures."""

from collections.abc import Generator
from contextlib import contextmanager

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
_OTHER_SCHEMA = (
    pg.UndefinedTable,
    pg.InvalidSchemaName,
    pg.UndefinedFunction,
    pg.UndefinedColumn,
)
_MISPLACED = pg.DuplicatePreparedStatement, pg.InvalidSqlStatementName
_TOO_LARGE = pg.ProgramLimitExceeded, pg.StatementTooComplex

_STATEMENT = '"_pg3_'
"""How the driver's names of prepared statements begin, in a server's message of any language."""

_POOLER = (
    "{said}: a pooler gives this client's statements to other connections than they were prepared"
    " on; set MEMSENSE_PREPARED_STATEMENTS=false, or leave it unset"
)

_MEANINGS: tuple[tuple[tuple[type[psycopg.Error], ...], type[DatabaseError], str], ...] = (
    (_OTHER_SCHEMA, SchemaError, "{said}; run 'memsense db upgrade'"),
    (
        _CONFLICTS,
        TransactionConflictError,
        "other transactions were in the way: {said}; nothing was written, run it again",
    ),
    (
        (pg.LockNotAvailable,),
        LockTimeoutError,
        "a lock was held for too long: {said}; try again, or raise lock_timeout of the role",
    ),
    (
        (pg.DiskFull,),
        DiskFullError,
        "the server's disk is full: {said}; nothing was written, free space and try again",
    ),
    (
        (psycopg.DataError, *_TOO_LARGE),
        DataRefusedError,
        "PostgreSQL refused a value: {said}; shorten it, or mend it",
    ),
    (
        (pg.InsufficientPrivilege,),
        DatabaseError,
        "the database refuses this to its user: {said}; tables are changed as their owner alone",
    ),
    (_MISPLACED, PoolerError, _POOLER),
    ((PoolClosed,), ConnectionFailedError, "this memory is closed; open it again"),
)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, and with it whatever its transaction had not committed."""
    if isinstance(error, pg.PipelineAborted | PoolClosed):
        return False
    by_libpq = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return by_libpq or isinstance(error, _LOST)


def is_conflict(error: psycopg.Error) -> bool:
    """Whether the server rolled a transaction back because of what others did."""
    return isinstance(error, _CONFLICTS)


@contextmanager
def database_errors() -> Generator[None]:
    """Turn driver errors inside the block into memsense's, chained."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(error) from error


def explain(error: psycopg.Error) -> DatabaseError:
    """What a driver's error means."""
    said = first_line(error)
    for kinds, meaning, text in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(text.format(said=said))
    if isinstance(error, pg.ProtocolViolation) and _STATEMENT in said:
        return PoolerError(_POOLER.format(said=said))
    if isinstance(error, pg.QueryCanceled):
        return _explain_cancelling(said)
    if is_lost(error):
        return ConnectionFailedError(f"database connection failed: {said}")
    return DatabaseError(f"database error: {said}")


def _explain_cancelling(said: str) -> DatabaseError:
    """The server tells who cancels by the text alone, which its lc_messages may translate."""
    if "statement timeout" in said:
        return StatementTimeoutError(
            f"a statement was cancelled: {said}; try again, or raise statement_timeout of the role"
            " or the database"
        )
    return DatabaseError(f"a statement was cancelled: {said}")


def first_line(error: psycopg.Error) -> str:
    """The first line of what the error says; its name if it says nothing."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
