"""The pool: connections that outlive the server's restarts, and work that is repeated on them."""

import logging
import os
import random
import selectors
import time
from collections.abc import Callable, Generator, Mapping
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
from memsense.db.connection import MOST_LOSSES, Connection, use_standard_settings
from memsense.db.failures import (
    database_errors,
    first_line,
    is_conflict,
    is_lost,
    is_read_only,
    telling_losses,
)
from memsense.db.handover import clean_session
from memsense.db.pooler import SEALED_POOLER, is_pooled, keeps_apart
from memsense.db.rows import find_one
from memsense.db.session import Session, TenantConnection, begun
from memsense.deadline import check_deadline, remaining
from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    OutcomeUnknownError,
    TenantSuspendedError,
)
from memsense.forking import renew_in_child

T = TypeVar("T")
Work = Callable[[Connection], T]
"""A function of a connection; it may be called again, and must then do the same."""

_LOOK_SECONDS = 1.0
"""Seconds that a call waits for a connection before it checks whether the server answers."""

_IDLE_SECONDS = 30.0
"""Seconds without use after which a connection is tested: a network may have cut it silently."""

_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)

_CONNECT_SECONDS = 10
_PROBE_SECONDS = 2
_MOST_CONFLICTS = 20
# A connection that was being opened when the others were replaced may still be an old one.
_MOST_REFUSALS = 3
_LONGEST_PAUSE = 0.5
_OUTCOME_LOOKS = 50
_OUTCOME_PAUSE = 0.1

logger = logging.getLogger("memsense.security")


class _Connections:
    """This process's connections, which the pools of all tenants share, and their address.

    The server may come back at another address. A process that is forked from this one opens
    connections of its own at its first call.
    """

    def __init__(
        self,
        address: str,
        revive: Callable[[], str] | None,
        open_pool: Callable[[Callable[[], str]], "ConnectionPool[TenantConnection]"],
    ) -> None:
        self.address = address
        self.commits = 0
        self.foreign_sessions = 0
        self._revive = revive
        self._open_pool = open_pool
        self._lock = Lock()
        self._pool: ConnectionPool[TenantConnection] | None = open_pool(lambda: self.address)
        self._is_closed = False
        renew_in_child(self._leave_to_parent)

    @property
    def pool(self) -> "ConnectionPool[TenantConnection]":
        """The pool of this process, opened if a fork has left it none."""
        pool = self._pool
        if pool is not None:
            return pool
        with self._lock:
            if self._pool is None:
                if self._revive is not None:
                    self.address = self._revive()  # which counts this process as a client, too
                self._pool = self._open_pool(lambda: self.address)
                if self._is_closed:
                    self._pool.close()
            return self._pool

    def revive(self) -> bool:
        """Start an embedded server that has ended; return False if the server is another's."""
        if self._revive is None:
            return False
        with self._lock:
            self.address = self._revive()
        return True

    def sizes(self) -> dict[str, int]:
        """Return the statistics of the pool, none if this process has not opened it."""
        return {} if self._pool is None else self._pool.get_stats()

    def close(self) -> None:
        """Close the connections of this process."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.close()

    def _leave_to_parent(self) -> None:
        if self._pool is not None:
            # Its finalizer would wait for a lock that a thread of the parent may have held.
            self._pool._closed = True  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        self._pool = None
        self._lock = Lock()


class Pool:
    """Connections to one database, each checked before it is lent.

        with Pool(url, min_size=1, max_size=8, timeout=10) as pool:
            chunks = run_read(pool, fetch_chunks)

    A call waits `timeout` seconds for a connection, also while the server is away. `revive` starts
    a server that has ended and returns its address; without it, the server must be started by
    others. Statements see the rows of one `tenant` and have the rights of `role`, without one those
    of the address's user; with `lookups`, they reach the GIN indexes through functions.
    `find_standing` says which role a user may take, and whether its statements need `lookups`.
    `seal_key` signs the tenant where tenants are sealed; sessions are then cleaned between tenants.
    They search `search_path` even if the role has another one; no pooler may be in between then,
    because it would share them with other clients. `prepares` says whether statements are prepared
    on the server; None finds out whether a pooler in between allows it. `setting` is what errors
    name as the place of the address.
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
        seal_key: str | None = None,
        search_path: str | None = None,
        prepares: bool | None = None,
        setting: str = SETTING,
    ) -> None:
        self.timeout = timeout
        self._setting = setting
        self._is_lent = False
        self._session = Session(tenant=tenant, role=role, lookups=lookups, seal_key=seal_key)
        address = read_address(url, setting)
        parts = conninfo_to_dict(address)
        connect_timeout = parts.get("connect_timeout")
        options: dict[str, str] = {}
        if search_path is not None:
            # Values of the client win over those of the role, which the role itself may change.
            escaped = search_path.replace("\\", "\\\\").replace(" ", "\\ ")
            others = parts.get("options") or os.environ.get("PGOPTIONS") or ""
            options["options"] = f"{others} -c search_path={escaped}".strip()

        def open_connections(find_address: Callable[[], str]) -> ConnectionPool[TenantConnection]:
            return ConnectionPool(
                find_address,
                connection_class=TenantConnection,
                kwargs={
                    "autocommit": True,
                    "client_encoding": "utf8",
                    "connect_timeout": int(connect_timeout or _CONNECT_SECONDS),
                    **({"prepare_threshold": None} if prepares is False else {}),
                    **options,
                },
                configure=partial(
                    _configure,
                    detects_pooler=prepares is None,
                    refuses_pooler=search_path is not None,
                ),
                min_size=min(min_size, max_size),
                max_size=max_size,
                timeout=timeout,
                reconnect_timeout=_LOOK_SECONDS,  # then the next call that waits connects at once
                open=True,
            )

        self._connections = _Connections(address, revive, open_connections)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Return the address at which connections are opened now."""
        return self._connections.address

    @property
    def tenant_id(self) -> int | None:
        """The number of the pool's tenant, None until it is known to be stored."""
        return self._session.tenant_id

    @property
    def commits(self) -> int:
        """The number of transactions that this process has ended, for all tenants."""
        return self._connections.commits

    @property
    def foreign_sessions(self) -> int:
        """The number of sessions that were closed because SQL of others left something."""
        return self._connections.foreign_sessions

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The number of connections, of those that are free, and of calls that wait for one."""
        stats = self._connections.sizes()
        names = ("pool_size", "pool_available", "requests_waiting")
        size, available, waiting = (stats.get(name, 0) for name in names)
        return size, available, waiting

    def for_tenant(self, tenant: str | None = None, *, tenant_id: int | None = None) -> "Pool":
        """Return a pool of the same connections for another tenant; closing it does nothing."""
        other = copy(self)
        other.__dict__ |= {
            "_session": replace(self._session, tenant=tenant, tenant_id=tenant_id),
            "_is_lent": True,
        }
        return other

    def count_commit(self) -> None:
        """Note that a transaction was committed, or may have been: a replica may lack it yet."""
        self._connections.commits += 1

    def reconnect(self) -> None:
        """Replace all connections: those in use when they are given back."""
        self._connections.pool.drain()

    def close(self) -> None:
        """Close all connections; calls that still wait for one get ConnectionFailedError."""
        if not self._is_lent:
            self._connections.close()

    @contextmanager
    def connection(self) -> Generator[TenantConnection]:
        """Lend a connection in autocommit mode that was alive a moment ago; raise
        ConnectionFailedError.

        Work goes through `run_read` and `run_transaction`, which repeat it if its connection is
        lost.
        """
        pool = self._connections.pool
        looks_up = self._session.needs_look_up
        connection = self._take(pool, looks_up=looks_up)
        connection.session = self._session
        try:
            with telling_losses(connection), connection, held_by_call(connection):
                if looks_up and self._session.needs_look_up:
                    self._look_up_tenant(connection)
                yield connection
        finally:
            connection.idle_since = time.monotonic()
            pool.putconn(connection)

    def _look_up_tenant(self, connection: TenantConnection) -> None:
        """Read the number of the session's tenant; raise TenantSuspendedError."""
        session = self._session
        row = find_one(connection, "find_tenant_state", {"name": session.tenant})
        session.looked_up_at = time.monotonic()
        session.tenant_id, suspended_at = row or (None, None)
        session.is_suspended = suspended_at is not None
        if session.is_suspended:
            raise TenantSuspendedError(
                f"tenant {session.tenant!r} has been suspended since {suspended_at:%Y-%m-%d %H:%M}"
                " UTC; an operator can resume it: memsense tenant resume"
            )

    def _hand_over(self, connection: TenantConnection, *, looks_up: bool) -> bool:
        """Return whether the session may serve this pool's tenant, cleaned of what others left."""
        if self._session.seal_key is None:
            return True
        tenant = self._session.tenant or ""
        # An answer that decides for which tenant this process signs, a tenant's number or the
        # row of an access key, is trusted only on a clean session, even of the same tenant.
        decides = looks_up or not tenant
        if connection.lent_to is None or (connection.lent_to == tenant and not decides):
            connection.lent_to = tenant
            return True
        try:
            left = clean_session(connection)
        except psycopg.Error as error:
            if is_lost(error) or connection.broken:
                return False
            left = f"something that can't be removed ({first_line(error)})"
        if left is None:
            connection.lent_to = tenant
            return True
        self._connections.foreign_sessions += 1
        logger.warning(
            "a session of tenant %r left %s: SQL other than memsense's ran there; it was closed",
            connection.lent_to,
            left,
        )
        return False

    def _take(self, pool: ConnectionPool[TenantConnection], *, looks_up: bool) -> TenantConnection:
        check_deadline()
        seconds = remaining()
        patience = self.timeout if seconds is None else min(self.timeout, seconds)
        deadline = time.monotonic() + patience
        failures_before = _failures(pool)
        while True:
            left = deadline - time.monotonic()
            try:
                connection = pool.getconn(timeout=max(min(_LOOK_SECONDS, left), 0.001))
            except PoolTimeout as error:
                # No connection so far: because the server is away, or because the pool is busy?
                if _failures(pool) > failures_before or time.monotonic() >= deadline:
                    deadline = self._look_after(error, deadline)
                continue
            if _is_alive(connection) and self._hand_over(connection, looks_up=looks_up):
                return connection
            connection.close()
            pool.putconn(connection)  # which opens another one in its place

    def _look_after(self, waited: PoolTimeout, deadline: float) -> float:
        """Return the new deadline of a call without a connection; raise ConnectionFailedError."""
        fault: psycopg.OperationalError | None = None
        try:
            psycopg.connect(self._connections.address, connect_timeout=_PROBE_SECONDS).close()
        except psycopg.OperationalError as error:
            fault = error
        if fault is not None and self._connections.revive():
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
            f" check that its server runs, and check {self._setting}"
        ) from fault


def _failures(pool: ConnectionPool[TenantConnection]) -> int:
    """Return how many attempts of the pool to connect have failed."""
    return pool.get_stats().get("connections_errors", 0)


def _configure(connection: TenantConnection, *, detects_pooler: bool, refuses_pooler: bool) -> None:
    use_standard_settings(connection)
    has_vectors, has_citus, process, search_path, limit = _ask(connection, "fetch_extensions")
    connection.has_citus = has_citus
    connection.search_path = search_path
    connection.has_transaction_timeout = limit not in {None, "0"}
    if refuses_pooler and is_pooled(connection, process):
        raise psycopg.OperationalError(SEALED_POOLER)
    # A pooler that mixes up its clients' prepared statements must get none.
    if detects_pooler and is_pooled(connection, process) and not keeps_apart(connection):
        connection.prepare_threshold = None
    if has_vectors:
        with connection.transaction():
            if search_path is not None:
                _ask(connection, "set_search_path", {"search_path": search_path})
            register_vector(connection)
    if has_citus:
        connection.execute(queries.script("citus_session.sql"))
    # Overrides the database's default: at a higher level, adds that run at once would fail.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED


def _is_alive(connection: TenantConnection) -> bool:
    """Return whether the connection can be used, in most cases by a look at its socket alone."""
    if connection.closed:
        return False
    idle = time.monotonic() - connection.idle_since if connection.idle_since else 0.0
    if idle < _IDLE_SECONDS:
        # Unasked, a server sends nothing but its farewell: no news means that it is there. So a
        # round trip is needed only if there is something to read, or after a long silence.
        with _Selector() as selector:  # one that asks the system once
            selector.register(connection, selectors.EVENT_READ)
            if not selector.select(timeout=0):
                return True
    try:
        connection.execute("")
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def transaction(pool: Pool) -> Generator[Connection]:
    """Open one transaction that is not repeated when its connection is lost.

    It is for a caller that has used part of the result before the end, such as an export's lines.
    """
    try:
        with database_errors(), pool.connection() as connection, begun(connection):
            yield connection
    finally:
        pool.count_commit()


@contextmanager
def savepoint(connection: Connection) -> Generator[Connection]:
    """Open a savepoint in a caller's transaction, whose connection may not know vectors yet."""
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
        return _repeat(pool, attempt)


def run_autocommit(pool: Pool, work: Callable[[TenantConnection], T]) -> T:
    """Run statements that no transaction takes; a repetition must do only what is left to do."""
    return run_read(pool, work)


def run_transaction(pool: Pool, work: Work[T], *, is_idempotent: bool = False) -> T:
    """Return the result of `work`, run in one transaction that is committed once.

    `work` runs again after a deadlock, a failure to serialise, or the loss of its connection. If
    that is lost during the commit, the server is asked what became of the transaction. If it can't
    tell, as after a crash, work that `is_idempotent` runs again; any other, or if that fails too,
    raises OutcomeUnknownError. After every other error nothing is written.
    """
    doubts: list[psycopg.Error] = []

    def attempt() -> T:
        done: tuple[T, _Number] | None = None
        has_citus = False
        try:
            with pool.connection() as connection, begun(connection):
                has_citus = connection.has_citus
                result = work(connection)
                done = result, _Number(*_ask(connection, "fetch_transaction"))
        except psycopg.Error as error:
            if done is None or not (is_lost(error) or has_citus):
                raise
            # On a cluster, a node may have committed its part already, after any kind of error.
            lost = error if is_lost(error) else psycopg.OperationalError(first_line(error))
            outcome = _was_committed(
                pool, done[1], lost, is_idempotent=is_idempotent, has_citus=has_citus
            )
            if outcome is None:
                doubts.append(lost)
            if not outcome:
                raise lost from error
            return done[0]
        return result

    try:
        with database_errors():
            return _repeat(pool, attempt)
    except OutcomeUnknownError:
        raise
    except DatabaseError as error:
        # A caller that catches it must know whether the write is stored.
        explained = error
        if doubts:
            reason = f"{first_line(doubts[0])}, and then {error}"
            explained = OutcomeUnknownError(_unknown_outcome(reason))
        elif type(error) is ConnectionFailedError:
            explained = ConnectionFailedError(f"{error}; nothing was written")
        raise explained from error.__cause__
    finally:
        pool.count_commit()


class _Number(NamedTuple):
    """A transaction's number, and the start of its server, which forgets it in a crash."""

    number: int
    life: datetime | None


def _ask(connection: Connection, name: str, values: Mapping[str, Any] | None = None) -> TupleRow:
    """Return the one row of a statement of transactions.sql, without announcing a session."""
    row = connection.execute(queries.query(name, "transactions.sql"), values).fetchone()
    assert row is not None
    return row


def _repeat(pool: Pool, attempt: Callable[[], T]) -> T:
    """Call `attempt` until it succeeds, after conflicts, lost connections and a change of roles."""
    conflicts = losses = refusals = 0
    while True:
        try:
            return attempt()
        except psycopg.Error as error:
            if is_conflict(error) and conflicts < _MOST_CONFLICTS:
                conflicts += 1
                # Longer each time, and less up to all of it by chance: two that met once would
                # otherwise meet again.
                time.sleep(random.uniform(0, min(0.01 * 2**conflicts, _LONGEST_PAUSE)))  # noqa: S311
            elif is_lost(error) and losses < MOST_LOSSES:
                losses += 1
            elif is_read_only(error) and refusals < _MOST_REFUSALS:
                # After a failover the pool's connections may lead to a server that is a standby
                # now; new ones lead to the one that the address names today.
                refusals += 1
                pool.reconnect()
            else:
                raise


def _was_committed(
    pool: Pool, number: _Number, lost: psycopg.Error, *, is_idempotent: bool, has_citus: bool
) -> bool | None:
    """Return whether a transaction was committed; None if the server no longer knows."""
    outcome = None
    try:
        for _ in range(_OUTCOME_LOOKS):
            (outcome,) = run_read(pool, lambda it: _ask(it, "fetch_outcome", number._asdict()))
            # A node of a cluster commits before its coordinator, which may then have aborted.
            if outcome == "aborted" and has_citus:
                outcome = "aborted on the coordinator, not for certain on its node"
                break
            if outcome in {"committed", "aborted"}:
                return outcome == "committed"
            if outcome == "crashed":
                break
            time.sleep(_OUTCOME_PAUSE)
    except DatabaseError as error:
        raise OutcomeUnknownError(
            _unknown_outcome(f"{first_line(lost)}, and then {error}")
        ) from error
    if is_idempotent and (outcome == "crashed" or has_citus):
        return None
    state = "the server crashed" if outcome == "crashed" else f"it is {outcome}"
    raise OutcomeUnknownError(_unknown_outcome(f"{first_line(lost)}; {state}")) from lost


def _unknown_outcome(reason: str) -> str:
    """Return the text of an error for a write that may be stored or not."""
    return (
        f"the connection was lost while a write was committed ({reason}): check whether it is"
        " stored. An add or an ingest may be run again: stored messages are recognised by their"
        " content or their ids"
    )
