"""Months of traces, events and history: created ahead, filled, and dropped when they are old."""

import json
import math
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql
from psycopg.types.json import Jsonb
from servers import TestServer
from typer.testing import CliRunner

from memsense import MemSense, load_settings
from memsense.cli.app import root
from memsense.db.partitions import list_partitions, partition
from memsense.doctor.contents import examine_months
from memsense.doctor.findings import Expected
from memsense.errors import (
    ConfigurationError,
    InvalidInputError,
    LockTimeoutError,
    NotFoundError,
)

TABLES = {"packed_candidates", "traces", "events", "past_chunks"}


@pytest.fixture
def database_url(server: TestServer, template_database: str) -> Generator[str]:
    """Yield the URL of a database of the test's own, since partitions stay."""
    with server.new_database(template_database) as url:
        yield url


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url) as memory:
        yield memory


def count(conn: psycopg.Connection[Any], table: str) -> int:
    text = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("memsense", table))
    [(rows,)] = conn.execute(text).fetchall()
    return rows


def begin_of(months: int) -> datetime:
    """Return the beginning of a month, counted from the current one."""
    now = datetime.now(UTC)
    number = 12 * now.year + now.month - 1 + months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def age(conn: psycopg.Connection[Any], days: int) -> None:
    """Make all that is stored in these tables so many days older.

    Each time is a constant of its own statement: a cluster takes no other for these columns.
    """
    for name in TABLES:
        table = sql.Identifier("memsense", name)
        column = sql.Identifier("until" if name == "past_chunks" else "recorded_at")
        read = sql.SQL("SELECT DISTINCT {} FROM {}").format(column, table)
        for (at,) in conn.execute(read).fetchall():
            conn.execute(
                sql.SQL("UPDATE {} SET {} = %s WHERE {} = %s").format(table, column, column),
                [at - timedelta(days=days), at],
            )


def use(memory: MemSense) -> int:
    """Leave a row or more in each of the tables; return the id of the exchange."""
    memory.settings.set(history="on")
    [chunk] = memory.add("The key is under the mat.", user_id="ada", session_id="home")
    memory.update(chunk.chunk_id, content={"user": "The key is under the stone."})
    memory.search("Where is the key?", user_id="ada", trace=True)
    memory.traces.flush()
    return chunk.chunk_id


def test_the_coming_months_get_partitions_once(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    use(memory)
    report = partition(database_url, ahead=2)
    months = {(it.table, it.begins_at, it.ends_at) for it in report.created}
    assert months == {
        (table, begin_of(number), begin_of(number + 1)) for table in TABLES for number in (1, 2)
    }
    assert partition(database_url, ahead=2).created == []
    assert {it.begins_at for it in partition(database_url, ahead=3).created} == {begin_of(3)}
    assert report.partitions != list_partitions(conn)
    assert len(list_partitions(conn)) == 4 * (1 + 3)


def test_rows_of_a_month_go_into_its_partition_and_are_found(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    partition(database_url, ahead=2)
    chunk_id = use(memory)
    before = len(memory.history(chunk_id))
    assert {count(conn, f"{table}_default") > 0 for table in TABLES} == {True}
    age(conn, -35)
    assert {count(conn, f"{table}_default") for table in TABLES} == {0}
    assert {count(conn, table) > 0 for table in TABLES} == {True}
    assert len(memory.history(chunk_id)) == before
    [trace] = memory.traces.list()
    assert memory.traces.get(trace.trace_id).candidates
    memory.erase(user_id="ada")
    assert {count(conn, table) for table in TABLES} == {0}


def test_a_month_without_room_waits_for_the_next(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    use(memory)
    ahead = (begin_of(1) - datetime.now(UTC)).days + 2
    conn.execute(
        "UPDATE memsense.events SET recorded_at = %s", [datetime.now(UTC) + timedelta(days=ahead)]
    )
    report = partition(database_url, ahead=2)
    assert {it.begins_at for it in report.created if it.table == "events"} == {begin_of(2)}
    assert {it.begins_at for it in report.created if it.table == "traces"} == {
        begin_of(1),
        begin_of(2),
    }


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"ahead": -1}, "ahead: -1 is not a number from 0 to 60"),
        ({"ahead": 61}, "ahead: 61 is not a number from 0 to 60"),
        ({"keep": {"events": -1}}, "keep events: -1 is not a number of days from 0 to 36,500"),
        ({"keep": {"events": math.nan}}, "keep events: nan is not a number of days"),
        ({"keep": {"events": 1e9}}, r"keep events: 1e\+09 is not a number of days"),
        ({"keep": {"chunks": 30}}, "keep: 'chunks' is none of traces, events, history"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(
    database_url: str, conn: psycopg.Connection[Any], asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidInputError, match=told):
        partition(database_url, **asked)
    assert {it.begins_at for it in list_partitions(conn)} == {None}


def test_calls_at_once_take_turns(database_url: str, memory: MemSense) -> None:
    use(memory)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(partition, database_url, keep={"events": 0}) for _ in range(4)]
        reports = [call.result() for call in calls]
    assert sorted(len(report.created) for report in reports) == [0, 0, 0, 3 * len(TABLES)]
    assert sum(report.deleted["events"] > 0 for report in reports) == 1


def make_old_months(conn: psycopg.Connection[Any], *numbers: int) -> None:
    """Create partitions of past months, as a call at that time would have."""
    for table in TABLES:
        for number in numbers:
            begins_at = begin_of(number)
            conn.execute(
                sql.SQL(
                    "CREATE TABLE memsense.{} PARTITION OF memsense.{} FOR VALUES FROM ({}) TO ({})"
                ).format(
                    sql.Identifier(f"{table}_{begins_at:%Y_%m}"),
                    sql.Identifier(table),
                    sql.Literal(begins_at),
                    sql.Literal(begin_of(number + 1)),
                )
            )


def test_only_whole_months_beyond_the_limit_are_dropped(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    make_old_months(conn, -3, -2, -1)
    use(memory)
    age(conn, (datetime.now(UTC) - begin_of(-2)).days)
    days = (datetime.now(UTC) - begin_of(-1)).total_seconds() / 86400
    kept = partition(database_url, keep={"traces": days + 1})
    assert {(it.table, it.begins_at) for it in kept.dropped} == {
        (table, begin_of(-3)) for table in ("packed_candidates", "traces")
    }
    assert len(memory.traces.list()) == 1
    gone = partition(database_url, keep={"traces": days - 0.001})
    assert {it.begins_at for it in gone.dropped} == {begin_of(-2)}
    assert memory.traces.list() == []
    assert count(conn, "packed_candidates") == 0
    assert count(conn, "events") > 0


def test_old_rows_without_a_month_are_deleted(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    use(memory)
    old = count(conn, "events")
    age(conn, 40)
    use(memory)
    new = count(conn, "events") - old
    report = partition(database_url, keep={"events": 30, "history": 30, "traces": 30})
    assert report.dropped == []
    assert report.deleted["events"] == old
    assert count(conn, "events") == new > 0
    assert report.deleted["traces"] == report.deleted["packed_candidates"] == 1
    assert len(memory.search("Where is the key?", user_id="ada")) > 0


def test_no_search_claims_to_know_a_past_that_was_dropped(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    use(memory)
    long_ago = datetime.now(UTC) - timedelta(days=80)
    conn.execute("UPDATE memsense.settings SET changed_at = %s", [long_ago - timedelta(days=10)])
    conn.execute("UPDATE memsense.chunks SET recorded_at = %s", [long_ago])
    conn.execute(
        "UPDATE memsense.past_chunks SET chunk = chunk || %s",
        [Jsonb({"recorded_at": long_ago.isoformat()})],
    )
    age(conn, 50)
    then = datetime.now(UTC) - timedelta(days=60)
    assert "mat" in memory.search("Where is the key?", user_id="ada", as_of=then)[0].content
    partition(database_url, keep={"history": 100})
    assert "mat" in memory.search("Where is the key?", user_id="ada", as_of=then)[0].content
    partition(database_url, keep={"history": 40})
    with pytest.raises(ConfigurationError, match="kept since .* older history was dropped"):
        memory.search("Where is the key?", user_id="ada", as_of=then)
    now = datetime.now(UTC) - timedelta(days=10)
    assert "stone" in memory.search("Where is the key?", user_id="ada", as_of=now)[0].content


def test_a_partition_has_what_its_table_has(
    database_url: str, conn: psycopg.Connection[Any]
) -> None:
    partition(database_url, ahead=1)
    rows = conn.execute(
        "SELECT i.inhparent::regclass::text, c.relname LIKE '%%_default', c.relrowsecurity,"
        " c.relowner, array_to_string(c.reloptions, ','), c.relacl::text,"
        " ARRAY(SELECT pg_get_constraintdef(k.oid) FROM pg_constraint AS k"
        "       WHERE k.conrelid = c.oid AND k.contype IN ('f', 'p') ORDER BY 1),"
        " ARRAY(SELECT p.polname FROM pg_policy AS p WHERE p.polrelid = c.oid)"
        " FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
        " WHERE i.inhparent = ANY (%s::regclass[])",
        [[f"memsense.{table}" for table in TABLES]],
    ).fetchall()
    defaults = {row[0]: row[2:] for row in rows if row[1]}
    months = {row[0]: row[2:] for row in rows if not row[1]}
    assert len(months) == len(TABLES)
    assert months == defaults


def test_a_table_in_use_is_left_after_five_seconds(
    database_url: str, conn: psycopg.Connection[Any]
) -> None:
    with conn.transaction():
        conn.execute("LOCK TABLE memsense.events IN SHARE MODE")
        with pytest.raises(LockTimeoutError):
            partition(database_url)
    assert {it.begins_at for it in list_partitions(conn)} == {None}
    assert partition(database_url).created


def test_the_doctor_warns_before_a_month_has_no_partition(
    database_url: str, conn: psycopg.Connection[Any]
) -> None:
    expected = Expected.of(load_settings(), HashingEmbedder())
    assert list(examine_months(conn, expected)) == []
    partition(database_url, ahead=1)
    assert list(examine_months(conn, expected)) == []
    for table in sorted(TABLES):
        conn.execute(
            sql.SQL("DROP TABLE {}").format(
                sql.Identifier("memsense", f"{table}_{begin_of(1):%Y_%m}")
            )
        )
    make_old_months(conn, 0)
    found = list(examine_months(conn, expected))
    assert [item.severity for item in found] == ["warning"] * len(TABLES)
    assert {f"{begin_of(1):%Y-%m-%d}" in item.text for item in found} == {True}


def test_the_command_asks_first_and_lists_what_it_did(
    database_url: str, memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    use(memory)
    age(conn, 40)
    arguments = ["--database-url", database_url, "db", "partition", "--keep-events", "30"]
    refused = CliRunner().invoke(root, arguments, input="n\n")
    assert refused.exit_code == 1
    assert "Drop events older than 30 days, of all tenants?" in refused.output
    assert count(conn, "events") > 0
    done = CliRunner().invoke(root, [*arguments, "--yes"])
    assert done.exit_code == 0
    assert f"events_{begin_of(1):%Y_%m}" in done.output
    assert "rows of events from before the first month" in done.output
    assert count(conn, "events") == 0
    report = json.loads(CliRunner().invoke(root, [*arguments, "--yes", "--json"]).stdout)
    assert report["created"] == report["dropped"] == []
    assert report["deleted"] == {"events": 0}
    assert len(report["partitions"]) == 4 * len(TABLES)


def test_a_trace_that_was_dropped_is_reported_as_unknown(
    database_url: str, conn: psycopg.Connection[Any], memory: MemSense
) -> None:
    use(memory)
    [trace] = memory.traces.list()
    age(conn, 10)
    partition(database_url, keep={"traces": 9})
    with pytest.raises(NotFoundError):
        memory.traces.get(trace.trace_id)
