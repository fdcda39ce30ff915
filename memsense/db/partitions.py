"""Partitions by month of the tables that only grow, and the removal of old months."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from psycopg import sql

from memsense.db import citus
from memsense.db.connection import Connection
from memsense.db.migrate import require_current, securing
from memsense.db.queries import as_sql, query
from memsense.db.tenants import operating
from memsense.errors import InvalidInputError

FILE = "partitions.sql"

Growing = Literal["traces", "events", "history"]

MOST_AHEAD = 60
"""Months that one call may prepare."""

MOST_DAYS = 36_500
"""The largest age, in days, above which rows may go: a century."""


class _Table(NamedTuple):
    """A partitioned table, and the column of the time that decides on the partition."""

    name: str
    column: str


# Candidates before their traces, so that none is ever there without its trace.
_TABLES: Mapping[Growing, Sequence[_Table]] = {
    "traces": (_Table("packed_candidates", "recorded_at"), _Table("traces", "recorded_at")),
    "events": (_Table("events", "recorded_at"),),
    "history": (_Table("past_chunks", "until"),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition: the rows from `begins_at` to before `ends_at`; the default one has neither."""

    table: str
    name: str
    begins_at: datetime | None
    ends_at: datetime | None


@dataclass(slots=True, kw_only=True)
class PartitionReport:
    """Partitions created, dropped and there now, and rows deleted from default ones."""

    created: list[Partition] = field(default_factory=list[Partition])
    dropped: list[Partition] = field(default_factory=list[Partition])
    deleted: dict[str, int] = field(default_factory=dict[str, int])
    partitions: list[Partition] = field(default_factory=list[Partition])


def list_partitions(connection: Connection) -> list[Partition]:
    """Return the partitions of all tables that have them by month."""
    return [
        partition
        for tables in _TABLES.values()
        for table in tables
        for partition in _list_of(connection, table)
    ]


def list_ending(connection: Connection) -> list[Partition]:
    """Return the last month of each table that has months, but none after the current one."""
    [next_month] = _list_months(_find_now(connection), 1)
    # The default partition is listed first, so that a table's month takes its place.
    last = {it.table: it for it in list_partitions(connection)}
    return [it for it in last.values() if it.ends_at is not None and it.ends_at <= next_month]


def partition(
    url: str, *, ahead: int = 3, keep: Mapping[Growing, float] | None = None
) -> PartitionReport:
    """Create the partitions of the coming months, and remove what is older than it may be.

    The first call makes partitions from the next month on. If the default partition has rows of a
    month already, that month gets none. Each kind is removed in one transaction, and all months are
    created in one. Of two calls at once, the second waits for the first.

    Args:
        url: Address of the database, as the tables' owner or a superuser.
        ahead: Number of months after the current one that have partitions afterwards, 0 to 60.
        keep: Age in days, 0 to 36,500, above which rows of a kind go. A partition is dropped when
            its whole month is older; rows of the default partition are deleted. Default: everything
            stays.

    Raises:
        InvalidInputError: If a number is outside its range or a kind is unknown; nothing was done.
        ConfigurationError: If the user may see one tenant only.
        LockTimeoutError: If others held a table's lock, or another call went on, for 5 s; run the
            call again.
    """
    if not 0 <= ahead <= MOST_AHEAD:
        raise InvalidInputError(f"ahead: {ahead} is not a number from 0 to {MOST_AHEAD}")
    for kind, days in (keep or {}).items():
        if kind not in _TABLES:
            raise InvalidInputError(f"keep: {kind!r} is none of {', '.join(get_args(Growing))}")
        if not 0 <= days <= MOST_DAYS:
            raise InvalidInputError(
                f"keep {kind}: {days:g} is not a number of days from 0 to {MOST_DAYS:,}"
            )
    report = PartitionReport()
    for kind, days in (keep or {}).items():
        with operating(url) as connection:
            _begin(connection)
            _remove(connection, kind, days, report)
    with operating(url) as connection:
        _begin(connection)
        months = _list_months(_find_now(connection), ahead + 1)
        for tables in _TABLES.values():
            for table in tables:
                report.created += _create(connection, table, months)
        if report.created:
            connection.execute(as_sql(securing()))
        report.partitions = list_partitions(connection)
    return report


def _begin(connection: Connection) -> None:
    require_current(connection)
    connection.execute(query("limit_waiting", FILE))
    connection.execute(query("wait_for_turn", FILE))
    if citus.is_spread(connection):
        connection.execute(query("prepare_session", citus.FILE))


def _list_of(connection: Connection, table: _Table) -> list[Partition]:
    rows = connection.execute(query("list_partitions", FILE), {"table": table.name}).fetchall()
    return [
        Partition(table=table.name, name=name, begins_at=begins_at, ends_at=ends_at)
        for name, begins_at, ends_at in rows
    ]


def _find_now(connection: Connection) -> datetime:
    [(now,)] = connection.execute(query("find_now", FILE)).fetchall()
    return now


def _remove(connection: Connection, kind: Growing, days: float, report: PartitionReport) -> None:
    cutoff = _find_now(connection) - timedelta(days=days)
    deleted = 0
    old: list[Partition] = []
    # Rows first: dropping a partition locks its table until the transaction ends.
    for table in _TABLES[kind]:
        [default, *months] = _list_of(connection, table)
        old += [it for it in months if it.ends_at is not None and it.ends_at <= cutoff]
        statement = query("delete_older", FILE).format(
            partition=sql.Identifier(default.name), column=sql.Identifier(table.column)
        )
        count = connection.execute(statement, {"cutoff": cutoff}).rowcount
        report.deleted[table.name] = count
        deleted += count
    for it in old:
        statement = query("drop_partition", FILE).format(partition=sql.Identifier(it.name))
        connection.execute(statement)
    report.dropped += old
    if kind == "history" and (deleted or old):
        connection.execute(query("set_past_since", FILE), {"cutoff": cutoff})


def _create(connection: Connection, table: _Table, months: Sequence[datetime]) -> list[Partition]:
    """Create the partitions from each beginning of a month to the next, as far as they can be."""
    [default, *existing] = _list_of(connection, table)
    months_in_use = {it.begins_at for it in existing}
    statement = query("list_taken_months", FILE).format(
        partition=sql.Identifier(default.name), column=sql.Identifier(table.column)
    )
    rows = connection.execute(statement, {"begins_at": months[0]}).fetchall()
    months_in_use |= {month for (month,) in rows}
    properties = connection.execute(
        query("list_default_properties", FILE), {"partition": default.name}
    ).fetchall()
    created: list[Partition] = []
    for begins_at, ends_at in pairwise(months):
        if begins_at in months_in_use:
            continue
        name = f"{table.name}_{begins_at:%Y_%m}"
        statement = query("create_partition", FILE).format(
            partition=sql.Identifier(name),
            table=sql.Identifier(table.name),
            begins_at=sql.Literal(begins_at),
            ends_at=sql.Literal(ends_at),
        )
        connection.execute(statement)
        for (text,) in properties:
            statement = query("set_property", FILE).format(
                partition=sql.Identifier(name), property=as_sql(text)
            )
            connection.execute(statement)
        created.append(Partition(table=table.name, name=name, begins_at=begins_at, ends_at=ends_at))
    return created


def _list_months(now: datetime, count: int) -> list[datetime]:
    """Return the beginnings, in UTC, of the `count` months after that of `now`."""
    now = now.astimezone(UTC)
    numbers = [12 * now.year + now.month + number for number in range(count)]
    return [datetime(it // 12, it % 12 + 1, 1, tzinfo=UTC) for it in numbers]
