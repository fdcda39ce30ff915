"""Use of a tenant: its calls, as processes with MEMSENSE_METERING count them, and its users' bytes.

Run over a connection of the tables' owner or a superuser, as `memsense.db.tenants`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, get_args

from psycopg import sql
from psycopg.rows import dict_row

from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.db.tenants import list_columns, operating, require_tenant
from memsense.errors import InvalidInputError

FILE = "calls.sql"

UsageBy = Literal["user", "verb", "day", "namespace"]

_MOST = 2**31 - 1

_ROW_BYTES = 28
"""Bytes of a row's header and of the pointer to it, in addition to its columns."""

_MEASURED = {
    "chunk_bytes": "chunks",
    "embedding_bytes": "embeddings",
    "token_bytes": "token_vectors",
}
"""Tables whose rows count as a user's bytes, by their hole in the statement."""

_NAMES = {
    "verb": sql.SQL("verb"),
    "day": sql.SQL("day::text"),
    "namespace": sql.SQL("namespace"),
    "all": sql.SQL("'all'::text"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Use of a tenant by one user, verb, day or namespace.

    Attributes:
        name: The user, verb, day or namespace; None for calls of no user, of a user without a
            memory, and of users who were erased.
        calls: Number of calls.
        failures: Number of calls that raised an error.
        mean_ms: Mean duration of a call in ms; None without calls.
        exchanges: Number of a user's active exchanges; None unless by user.
        chunks: Number of a user's chunks of any status and kind; None unless by user.
        bytes: Bytes of a user's chunks, embeddings and token vectors as they are stored, without
            indexes; None unless by user.
    """

    name: str | None
    calls: int
    failures: int
    mean_ms: float | None
    exchanges: int | None = None
    chunks: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantUsage:
    """Use of a tenant since a day, in total and by `by`; `rows` may be fewer than there are."""

    tenant: str
    since: date
    by: UsageBy
    total: Usage
    rows: Sequence[Usage]


def measure_usage(
    url: str, name: str, *, days: int = 30, by: UsageBy = "user", limit: int = 20
) -> TenantUsage:
    """Return the calls of a tenant and, by user, what each stores. Reads all rows for that.

    Args:
        url: Address of the database, as the tables' owner or a superuser.
        name: The tenant.
        days: Number of UTC days whose calls count, today's included.
        by: What to sum by: "user" (most bytes first), "verb" or "namespace" (most calls first), or
            "day" (latest first).
        limit: Maximum number of rows.

    Raises:
        NotFoundError: If there is no tenant of this name.
        InvalidInputError: If `days`, `by` or `limit` can't be used.
    """
    if by not in get_args(UsageBy):
        raise InvalidInputError(f"by: {by!r} is none of {', '.join(get_args(UsageBy))}")
    if not 1 <= limit <= _MOST:
        raise InvalidInputError(f"limit: {limit} is not a number from 1 on")
    since = _first_day(days, least=1)
    with operating(url) as connection:
        tenant = require_tenant(connection, name)
        values = {"tenant_id": tenant.tenant_id, "since": since, "limit": limit}
        total = _sum_calls(connection, "all", values)
        if by == "user":
            bytes_of = {hole: _measure_row(connection, table) for hole, table in _MEASURED.items()}
            rows = _fetch(connection, query("measure_users", FILE).format(**bytes_of), values)
        else:
            rows = _sum_calls(connection, by, values)
    return TenantUsage(
        tenant=name,
        since=since,
        by=by,
        total=total[0] if total else Usage(name="all", calls=0, failures=0, mean_ms=None),
        rows=rows,
    )


def prune_usage(url: str, name: str, *, days: int) -> tuple[date, int]:
    """Delete sums of calls older than `days` UTC days; return the first day left, and how many."""
    since = _first_day(days, least=0)
    with operating(url) as connection:
        tenant = require_tenant(connection, name)
        values = {"tenant_id": tenant.tenant_id, "since": since}
        return since, connection.execute(query("prune_calls", FILE), values).rowcount


def _first_day(days: int, *, least: int) -> date:
    """Return the first of so many days that end today; of none, tomorrow."""
    if not least <= days <= _MOST:
        raise InvalidInputError(f"days: {days} is not a number from {least} on")
    today = datetime.now(UTC).date()
    return max(today - timedelta(days=min(days, today.toordinal()) - 1), date(1, 1, 1))


def _measure_row(connection: Connection, table: str) -> sql.Composable:
    """Return an expression for the stored bytes of a row t of a table.

    Column by column: the size of a whole row would be that of its texts when they are unpacked.
    """
    columns = [
        sql.SQL("coalesce(pg_column_size(t.{}), 0)").format(sql.Identifier(it.name))
        for it in list_columns(connection, table)
    ]
    return sql.SQL(" + ").join([sql.Literal(_ROW_BYTES), *columns])


def _sum_calls(
    connection: Connection,
    by: Literal["verb", "day", "namespace", "all"],
    values: Mapping[str, Any],
) -> list[Usage]:
    order = sql.SQL("1 DESC" if by == "day" else "2 DESC, 1")
    return _fetch(connection, query("sum_calls", FILE).format(name=_NAMES[by], order=order), values)


def _fetch(
    connection: Connection, statement: sql.Composed, values: Mapping[str, Any]
) -> list[Usage]:
    cursor = connection.cursor(row_factory=dict_row)
    usages: list[Usage] = []
    for row in cursor.execute(statement, values):
        milliseconds = row.pop("milliseconds")
        mean_ms = milliseconds / row["calls"] if row["calls"] else None
        usages.append(Usage(**row, mean_ms=mean_ms))
    return usages
