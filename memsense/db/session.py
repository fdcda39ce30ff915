"""The session of a statement: its role, its tenant and its planner mode, sent ahead of it.

The session lasts until the end of the transaction and is sent in the same round trip, so a
connection that a pooler lends to others keeps nothing of it.
"""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import RawCursor
from psycopg import errors as pg
from psycopg.abc import PQGen
from psycopg.generators import send
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow

from memsense.db import queries
from memsense.db.seals import sign_tenant
from memsense.errors import RecallTimeoutError

FILE = "session.sql"

TENANT_SECONDS = 30.0
"""Seconds after which a tenant is looked up again: it may have been suspended meanwhile."""

GENERIC = "force_generic_plan"
"""The planner mode of a search: planned once, not anew for each search's values."""


@dataclass(slots=True, kw_only=True)
class Session:
    """Role, tenant and look-ups of a connection's statements.

    `tenant_id` is None until the tenant is stored. With a `role`, statements have its rights and no
    others that the connection's user may have. With `lookups`, they reach the GIN indexes through
    the functions of `sql/lookups.sql`.
    """

    tenant: str | None = None
    tenant_id: int | None = None
    role: str | None = None
    lookups: bool = False
    seal_key: str | None = None
    looked_up_at: float = 0.0
    is_suspended: bool = False

    @property
    def needs_look_up(self) -> bool:
        """True if the number of the tenant, and whether it is suspended, must be read first."""
        # It is looked up until it is stored, since before its first write it has no number.
        if self.tenant is None:
            return False
        is_recent = time.monotonic() < self.looked_up_at + TENANT_SECONDS
        return self.tenant_id is None or self.is_suspended or not is_recent

    def token(self) -> str | None:
        """Return the token that names the tenant where tenants are sealed."""
        if self.seal_key is None:
            return None
        return sign_tenant(self.seal_key, self.tenant or "", self.tenant_id)

    def announcement(self, *, plans: str | None, seconds: float) -> dict[str, Any]:
        """Return the parameters of the statement `announce`."""
        return {
            "tenant": self.tenant or "",
            "tenant_id": "" if self.tenant_id is None else str(self.tenant_id),
            "role": self.role,
            "token": self.token(),
            "plan_cache_mode": plans,
            "timeout": f"{1000 * seconds:.0f}ms" if seconds else None,
        }


class TenantConnection(psycopg.Connection[TupleRow]):
    """A pool's connection, with its session, last use, and whether the database has Citus."""

    session: Session = Session()
    lent_to: str | None = None
    """Tenant of the session's statements so far, where tenants are sealed; empty for a tenant that
    is known by its number alone, and None for a new session."""

    has_citus: bool = False
    idle_since: float = 0.0
    search_path: str | None = None
    """What to search instead of the database's search_path, which lacks the schema of pgvector."""

    has_transaction_timeout: bool = False


def uses_lookups(connection: psycopg.Connection[Any]) -> bool:
    """Return whether statements over the connection reach the GIN indexes through functions."""
    return isinstance(connection, TenantConnection) and connection.session.lookups


@contextmanager
def announced(connection: psycopg.Connection[Any], seconds: float = 0.0) -> Generator[None]:
    """Run one statement inside with the connection's session, in one round trip.

    Within a transaction, which announced its session when it began, and on connections of no pool,
    it does nothing but limit the statement's time, if `seconds` are given.
    """
    session = getattr(connection, "session", None)
    if session is None and seconds:
        session = Session()
    is_open = connection.info.transaction_status is not TransactionStatus.IDLE
    if session is None or (is_open and not seconds) or connection.pgconn.pipeline_status:
        yield
        return
    with one_round_trip(connection):
        announce(connection, session, plans=GENERIC, seconds=seconds)
        yield


@contextmanager
def begun(connection: TenantConnection, *, plans: str | None = None) -> Generator[None]:
    """Open a transaction and announce the session in the round trip of its BEGIN."""
    with ExitStack() as stack:
        with one_round_trip(connection):
            # Not connection.transaction(): that would keep the pipeline until the end.
            stack.enter_context(psycopg.Transaction(connection))
            announce(connection, connection.session, plans=plans)
        yield


@contextmanager
def one_round_trip(connection: psycopg.Connection[Any]) -> Generator[None]:
    """Send the statements inside together, and nothing after them."""
    with connection.lock:
        if connection._pipeline is None:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            connection._pipeline = _Pipeline(connection)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    with connection.pipeline():
        yield


class _Pipeline(psycopg.Pipeline):
    """A pipeline whose last message is its Sync."""

    # psycopg's own sends a Flush after it. Where a pooler has taken the server's connection back in
    # between, it lends the client one more for the Flush, which nothing answers, and so never ends.
    def _exit_gen(self) -> PQGen[None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
            # A statement of two megabytes is not sent yet: without this, both sides would wait.
            yield from send(self.pgconn)
        finally:
            yield from self._fetch_gen(flush=False)


def announce(
    connection: psycopg.Connection[Any],
    session: Session,
    *,
    plans: str | None = None,
    seconds: float = 0.0,
) -> None:
    """Announce a session to a transaction that has begun, or begins within a pipeline.

    `plans` is the planner mode: `GENERIC` for a search, None for the server's own choice. With
    `seconds`, no statement may take longer.
    """
    if isinstance(connection, TenantConnection) and connection.has_citus:
        plans = None  # with generic plans, Citus doesn't know which shard a statement is for
    statement = queries.numbered_query("announce", FILE)
    values = session.announcement(plans=plans, seconds=seconds)
    is_own = isinstance(connection, TenantConnection)
    values["search_path"] = connection.search_path if is_own else None
    values["is_limited"] = is_own and connection.has_transaction_timeout
    arguments = statement.arguments(values)
    RawCursor(connection).execute(statement.text, arguments, prepare=True)


@contextmanager
def limit_recall(connection: psycopg.Connection[Any], seconds: float) -> Generator[None]:
    """Limit the time of statements inside; raise RecallTimeoutError beyond it. 0 means no limit."""
    started = time.monotonic()
    try:
        with announced(connection, seconds):
            yield
    except pg.QueryCanceled as error:
        if not seconds or time.monotonic() - started < seconds:
            raise  # cancelled by others, or by a stricter limit of the server
        raise RecallTimeoutError(
            f"recall took longer than {seconds:g} seconds; raise MEMSENSE_RECALL_TIMEOUT,"
            " or search with filters, or with a shorter question"
        ) from error
