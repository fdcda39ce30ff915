"""The pool: connections that outlive the server's restarts, and work that is repeated on them."""

import random
import selectors
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from memsense.db import queries
from memsense.db.address import SETTING, read_address
from memsense.db.calls import held_by_call
from memsense.db.connection import Connection
from memsense.db.failures import database_errors, first_line, is_conflict, is_lost
from memsense.db.pooler import is_pooled, keeps_apart
from memsense.db.rows import find_value
from memsense.db.session import Session, TenantConnection, begun
from memsense.errors import ConnectionFailedError, DatabaseError, OutcomeUnknownError

T = TypeVar("T")
Work = Callable[[Connection], T]
"""What is done over a connection; it may be done again, and must then do the same."""

_LOOK_SECONDS = 1.0
"""How long a call waits for a connection before it looks whether the server answers at all."""

_IDLE_SECONDS = 30.0
"""A connection that nobody used for longer is asked whether it lives: a network may have cut it
without a word."""

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

_CONNECT_SECONDS = 10
_PROBE_SECONDS = 2
_MOST_CONFLICTS = 20
_MOST_LOSSES = 2
_LONGEST_PAUSE = 0.5
_OUTCOME_LOOKS = 50
_OUTCOME_PAUSE = 0.1


class _Place:
    """Where a database is now: its server may come back at another address."""

    def __init__(self, address: str) -> None:
        self.address = address


class Pool:
    """Connections to one database, each looked at before it is lent.

        with Pool(url, min_size=1, max_size=8, timeout=10) as pool:
            chunks = run_read(pool, fetch_chunks)

    A call waits `timeout` seconds for a connection, also while the server is away. `revive` starts
    a server that has ended and returns its address; without one, somebody else does. What runs
    over its connections sees the rows of one `tenant`, may do what `role` may, and asks the GIN
    indexes through functions if `lookups` says so.
    """

    def __init__(
        self,
        url: str,
        *,
        min_size: int,
        max_size: int,
        timeout: float,
        revive: Callable[[], str] | None = None,
        tenant: str | None = None,
        role: str | None = None,
        lookups: bool = False,
        prepares: bool | None = None,
    ) -> None:
        self.timeout = timeout
        self._is_lent = False
        self._session = Session(tenant=tenant, role=role, lookups=lookups)
        self._place = _Place(read_address(url))
        self._revive = revive
        self._reviving = Lock()
        self._pool = ConnectionPool(
            lambda: self._place.address,
            connection_class=TenantConnection,
            kwargs={
                "autocommit": True,
                "connect_timeout": self._connect_timeout(),
                **({"prepare_threshold": None} if prepares is False else {}),
            },
            configure=partial(_configure, finds_out=prepares is None),
            min_size=min(min_size, max_size),
            max_size=max_size,
            timeout=timeout,
            reconnect_timeout=_LOOK_SECONDS,  # then the next call that waits connects at once
            open=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tenant_id(self) -> int | None:
        """The number of the pool's tenant, None until it is known to be stored."""
        return self._session.tenant_id

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many connections there are, how many of them nobody uses, and how many calls wait."""
        found = self._pool.get_stats()
        names = ("pool_size", "pool_available", "requests_waiting")
        size, available, waiting = (found.get(name, 0) for name in names)
        return size, available, waiting

    def for_tenant(self, tenant: str | None = None, *, tenant_id: int | None = None) -> "Pool":
        """The same connections, lent to see another tenant's rows, whose name or number is given.

        They are closed with this pool; closing what it gives does nothing.
        """
        other = copy(self)
        other.__dict__ |= {
            "_session": replace(self._session, tenant=tenant, tenant_id=tenant_id),
            "_is_lent": True,
        }
        return other

    def close(self) -> None:
        """Close all connections; who still waits for one gets ConnectionFailedError."""
        if not self._is_lent:
            self._pool.close()

    @contextmanager
    def connection(self) -> Generator[TenantConnection]:
        """A connection in autocommit mode, which lives as far as can be known.

        Raises ConnectionFailedError, which tells a busy pool from a server that doesn't answer.
        """
        connection = self._take()
        connection.session = self._session
        try:
            with connection, held_by_call(connection):
                self._number_tenant(connection)
                yield connection
        finally:
            connection.idle_since = time.monotonic()
            self._pool.putconn(connection)

    def _number_tenant(self, connection: TenantConnection) -> None:
        """Look once which number the tenant has; before anything is stored it has none."""
        session = self._session
        if session.tenant is not None and session.tenant_id is None:
            values = {"name": session.tenant}
            session.tenant_id = find_value(connection, "find_tenant", values)

    def _take(self) -> TenantConnection:
        deadline = time.monotonic() + self.timeout
        known = self._failures()
        while True:
            remaining = deadline - time.monotonic()
            try:
                connection = self._pool.getconn(timeout=max(min(_LOOK_SECONDS, remaining), 0.001))
            except PoolTimeout as error:
                if self._failures() > known or time.monotonic() >= deadline:
                    deadline = self._look_after(error, deadline)
                continue
            if _lives(connection):
                return connection
            connection.close()
            self._pool.putconn(connection)  # which opens another one in its place

    def _failures(self) -> int:
        return self._pool.get_stats().get("connections_errors", 0)

    def _look_after(self, waited: PoolTimeout, deadline: float) -> float:
        """Until when to wait for a connection now that none came so far."""
        fault = self._find_fault()
        if fault is not None and self._revive is not None:
            with self._reviving:
                self._place.address = self._revive()
            return time.monotonic() + self.timeout
        if time.monotonic() < deadline:
            return deadline
        if fault is None:
            raise ConnectionFailedError(
                f"no database connection became free in {self.timeout:g} s; raise"
                " MEMSENSE_POOL_MAX_SIZE or MEMSENSE_POOL_TIMEOUT, or lower the number of"
                " concurrent calls"
            ) from waited
        raise ConnectionFailedError(
            f"the database did not answer for {self.timeout:g} s: {first_line(fault)};"
            f" see whether its server runs, and check {SETTING}"
        ) from fault

    def _find_fault(self) -> psycopg.OperationalError | None:
        """Why the server takes no connection, None if it does."""
        try:
            psycopg.connect(self._place.address, connect_timeout=_PROBE_SECONDS).close()
        except psycopg.OperationalError as error:
            return error
        return None

    def _connect_timeout(self) -> int:
        given = conninfo_to_dict(self._place.address).get("connect_timeout")
        return int(given) if given is not None else _CONNECT_SECONDS


def _configure(connection: Connection, *, finds_out: bool) -> None:
    has_vectors, has_citus, process = _ask(connection, "fetch_extensions")
    if finds_out and is_pooled(connection, process) and not keeps_apart(connection):
        connection.prepare_threshold = None
    if has_vectors:
        register_vector(connection)
    if has_citus:
        connection.execute(queries.script("citus_session.sql"))
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED


def _lives(connection: TenantConnection) -> bool:
    """Whether the connection can be used, by a look at its socket.

    Where nobody has asked, a server has nothing to say but farewell: only where there is
    something to read, or nothing was heard for long, it costs a round trip.
    """
    if connection.closed:
        return False
    idle = time.monotonic() - connection.idle_since if connection.idle_since else 0.0
    if idle < _IDLE_SECONDS and not _has_news(connection):
        return True
    try:
        connection.execute("")
    except psycopg.OperationalError:
        return False
    return True


def _has_news(connection: Connection) -> bool:
    with _Selector() as selector:  # one that asks the system once
        selector.register(connection, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))


def open_pool(
    url: str,
    *,
    min_size: int,
    max_size: int,
    timeout: float,
    revive: Callable[[], str] | None = None,
    tenant: str | None = None,
    role: str | None = None,
    lookups: bool = False,
    prepares: bool | None = None,
) -> Pool:
    """A pool of autocommit connections for one tenant's rows; the caller closes it.

    Without a `role`, statements run as the user of the address; `find_standing` says which, and
    whether they need `lookups`. `prepares` says whether statements
    are prepared on the server; None finds out whether a pooler between allows it.
    """
    return Pool(
        url,
        min_size=min_size,
        max_size=max_size,
        timeout=timeout,
        revive=revive,
        tenant=tenant,
        role=role,
        lookups=lookups,
        prepares=prepares,
    )


@contextmanager
def transaction(pool: Pool) -> Generator[Connection]:
    """Open one transaction that is not repeated when its connection is lost.

    Use it only where a caller has seen part of the result before the end, such as an export that
    writes rows to a file as they come: running that again would write them twice. Everything else
    goes through `run_read` and `run_transaction`.
    """
    with database_errors(), pool.connection() as connection, begun(connection):
        yield connection


@contextmanager
def savepoint(connection: Connection) -> Generator[Connection]:
    """A savepoint in the transaction of a caller, whose connection may know no vectors yet."""
    with database_errors(), held_by_call(connection), connection.transaction():
        register_vector(connection)
        yield connection


def run_read(pool: Pool, work: Callable[[TenantConnection], T]) -> T:
    """Return what `work` reads, by statements that each are a transaction of their own.

    If the connection is lost, `work` runs again from its start on another one, up to twice: a
    restart of the server delays a read and does not fail it.
    """

    def attempt() -> T:
        with pool.connection() as connection:
            return work(connection)

    with database_errors():
        return _repeat(attempt)


def run_autocommit(pool: Pool, work: Callable[[TenantConnection], T]) -> T:
    """Run statements that no transaction takes, such as CREATE INDEX CONCURRENTLY.

    They are repeated as `run_read` repeats, so `work` must do only what is left to do when it is
    called again.
    """
    return run_read(pool, work)


def run_transaction(pool: Pool, work: Work[T], *, is_idempotent: bool = False) -> T:
    """What `work` gives, in one transaction that is committed once.

    It is run again after a deadlock, a failure to serialise, or the loss of its connection. If
    that is lost while it commits, the server is asked what became of the transaction. Where that
    can't be found out, as after a crash of the server, work that `is_idempotent` is run again;
    else, or where that fails, this raises OutcomeUnknownError. After any other error nothing is
    written.
    """
    doubts: list[psycopg.OperationalError] = []

    def attempt() -> T:
        done: tuple[T, _Number] | None = None
        try:
            with pool.connection() as connection, begun(connection):
                result = work(connection)
                done = result, _Number(*_ask(connection, "fetch_transaction"))
        except psycopg.OperationalError as error:
            if done is None or not is_lost(error):
                raise
            if (was := _was_committed(pool, done[1], error, is_idempotent=is_idempotent)) is None:
                doubts.append(error)
            if not was:
                raise
            return done[0]
        return result

    try:
        with database_errors():
            return _repeat(attempt)
    except DatabaseError as error:
        raise _tell_outcome(error, doubts) from error.__cause__


def _tell_outcome(
    error: DatabaseError, doubts: Sequence[psycopg.OperationalError]
) -> DatabaseError:
    """The error that ends a transaction, saying what became of it."""
    if isinstance(error, OutcomeUnknownError):
        return error
    if doubts:
        return OutcomeUnknownError(_unknown(f"{first_line(doubts[0])}, and then {error}"))
    if type(error) is ConnectionFailedError:
        return ConnectionFailedError(f"{error}; nothing was written")
    return error


class _Number(NamedTuple):
    """A transaction's number, and since when the memory of the server lives that gave it."""

    number: int
    life: datetime | None


def _ask(connection: Connection, name: str, values: Mapping[str, Any] | None = None) -> TupleRow:
    found = connection.execute(queries.query(name, "transactions.sql"), values).fetchone()
    assert found is not None
    return found


def _repeat(attempt: Callable[[], T]) -> T:
    conflicts = losses = 0
    while True:
        try:
            return attempt()
        except psycopg.Error as error:
            if is_conflict(error) and conflicts < _MOST_CONFLICTS:
                conflicts += 1
                time.sleep(random.uniform(0, min(0.01 * 2**conflicts, _LONGEST_PAUSE)))  # noqa: S311
            elif is_lost(error) and losses < _MOST_LOSSES:
                losses += 1
            else:
                raise


def _was_committed(
    pool: Pool, number: _Number, lost: psycopg.OperationalError, *, is_idempotent: bool
) -> bool | None:
    """What became of a transaction whose connection was lost while it committed; None if nobody
    knows and it may be run again."""
    outcome = None
    try:
        for _ in range(_OUTCOME_LOOKS):
            (outcome,) = run_read(pool, lambda it: _ask(it, "fetch_outcome", number._asdict()))
            if outcome in {"committed", "aborted"}:
                return outcome == "committed"
            if outcome == "crashed":
                break
            time.sleep(_OUTCOME_PAUSE)
    except DatabaseError as error:
        raise OutcomeUnknownError(_unknown(f"{first_line(lost)}, and then {error}")) from error
    if outcome == "crashed" and is_idempotent:
        return None
    what = "the server crashed" if outcome == "crashed" else f"it is {outcome}"
    raise OutcomeUnknownError(_unknown(f"{first_line(lost)}; {what}")) from lost


def _unknown(reason: str) -> str:
    return (
        f"the connection was lost while a write was committed ({reason}): look whether it is"
        " stored. An add or an ingest may simply be run again: what is stored is known by its"
        " content or its message ids"
    )
