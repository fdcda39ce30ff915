"""Metering: calls are counted in the process, added up in the database, and reported by tenant."""

import asyncio

# pyright: reportPrivateUsage=false
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from servers import end_connections
from test_row_security import as_app
from waiting import wait_until
from wire import counting_wire

from memsense import MemSense, load_settings
from memsense.client import metering
from memsense.db import migrate, tenants, usage
from memsense.errors import ConnectionFailedError, InvalidInputError, NotFoundError
from memsense.store.items import PutItem

OpenMemory = Callable[..., MemSense]

SAID = [{"role": "user", "content": "I moved to Lisbon."}]

HERE = Path(__file__).parent

Counted = dict[tuple[str, str | None, str], tuple[int, int]]


@pytest.fixture
def open_metered(open_memory: OpenMemory) -> OpenMemory:
    """Return a function that opens memories whose calls are counted."""

    def open_one(**options: Any) -> MemSense:
        chosen = {name: options.pop(name) for name in ("pool_timeout",) if name in options}
        return open_memory(settings=load_settings(metering=True, **chosen), **options)

    return open_one


def read_calls(url: str) -> Counted:
    """Return calls and failures by namespace, user and verb."""
    with psycopg.connect(url) as conn:
        rows = conn.execute(
            "SELECT c.namespace, s.user_id, c.verb, sum(c.calls)::int, sum(c.failures)::int"
            " FROM memsense.calls AS c"
            " LEFT JOIN memsense.scopes AS s"
            "   ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id"
            " GROUP BY 1, 2, 3"
        ).fetchall()
    return {(namespace, user, verb): (n, failed) for namespace, user, verb, n, failed in rows}


def flush(memory: MemSense) -> None:
    meter = memory._context.meter
    assert meter is not None
    meter.flush()


# Counting ----------------------------------------------------------------------------------------


def test_the_counts_are_those_of_the_calls(open_metered: OpenMemory, database_url: str) -> None:
    memory = open_metered()
    [chunk] = memory.add(SAID, user_id="ada", session_id="s")
    memory.add(SAID, user_id="bo", session_id="s")
    for _ in range(3):
        memory.search("Lisbon", user_id="ada")
    memory.search("Lisbon", all_users=True)
    memory.context("Where does Ada live?", user_id="ada")  # searches within count for nothing
    memory.get(chunk.chunk_id)
    with pytest.raises(NotFoundError):
        memory.get(chunk.chunk_id + 100)
    with pytest.raises(InvalidInputError):
        memory.search("", user_id="ada")
    memory.items.run("app", [PutItem(path=["p"], key="k", value={})])
    open_metered(namespace="work").search("tea", user_id="ada")
    memory.close()
    assert read_calls(database_url) == {
        ("default", "ada", "add"): (1, 0),
        ("default", "bo", "add"): (1, 0),
        ("default", "ada", "search"): (4, 1),
        ("default", None, "search"): (1, 0),
        ("default", "ada", "context"): (1, 0),
        ("default", None, "get"): (2, 1),
        ("default", None, "items.run"): (1, 0),
    }


def test_a_call_of_a_users_view_counts_once_and_for_this_user(
    open_metered: OpenMemory, database_url: str
) -> None:
    memory = open_metered()
    ada = memory.for_user("ada")
    [chunk] = ada.add(SAID, session_id="s")
    ada.promote(chunk.chunk_id)  # which first reads whose memory it is
    ada.get(chunk.chunk_id)
    flush(memory)
    assert read_calls(database_url) == {
        ("default", "ada", verb): (1, 0) for verb in ("add", "promote", "get")
    }


def test_asynchronous_calls_count(database_url: str) -> None:
    from memsense import AsyncMemSense

    async def call() -> None:
        settings = load_settings(metering=True)
        async with AsyncMemSense.open(
            database_url, embedder=HashingEmbedder(), settings=settings
        ) as memory:
            await memory.add(SAID, user_id="ada", session_id="s")
            await memory.search("Lisbon", user_id="ada")

    asyncio.run(call())
    assert read_calls(database_url) == {
        ("default", "ada", verb): (1, 0) for verb in ("add", "search")
    }


def test_a_duration_is_that_of_the_call(
    open_metered: OpenMemory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elapsed = 0.0

    class Clock:
        time = staticmethod(metering.time.time)

        @staticmethod
        def perf_counter() -> float:
            return 1_000 + elapsed

    class Slow(HashingEmbedder):
        def embed(self, texts: Any) -> Any:
            nonlocal elapsed
            elapsed += 0.2
            return super().embed(texts)

    monkeypatch.setattr(metering, "time", Clock)

    memory = open_metered(embedder=Slow())
    memory.add(SAID, user_id="ada", session_id="s")
    flush(memory)
    [row] = usage.measure_usage(database_url, "default", by="verb").rows
    assert row.mean_ms == pytest.approx(200)


def test_threads_lose_no_call(open_metered: OpenMemory, database_url: str) -> None:
    memory = open_metered()
    [chunk] = memory.add(SAID, user_id="ada", session_id="s")

    def call(number: int) -> None:
        memory.get(chunk.chunk_id)
        if number % 50 == 0:
            flush(memory)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(400)))
    flush(memory)
    assert read_calls(database_url)["default", None, "get"] == (400, 0)


PROCESS = """
import os, sys
from memsense import MemSense
from embedders import HashingEmbedder
with MemSense.open(os.environ["URL"], embedder=HashingEmbedder()) as memory:
    for number in range(60):
        memory.get_many([1])
        memory.stats(user_id="ada")
        if number % 6 == 0:
            memory._context.meter.flush()
"""


def test_processes_add_up(open_memory: OpenMemory, database_url: str) -> None:
    open_memory().add(SAID, user_id="ada", session_id="s")
    variables = {"URL": database_url, "MEMSENSE_METERING": "1", "PYTHONPATH": str(HERE)}
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS], env={**os.environ, **variables})
        for _ in range(2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert read_calls(database_url) == {
        ("default", None, "get_many"): (120, 0),
        ("default", "ada", "stats"): (120, 0),
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_process_writes_its_own_calls_and_not_those_of_its_parent(
    open_metered: OpenMemory, database_url: str
) -> None:
    memory = open_metered()
    memory.add(SAID, user_id="ada", session_id="s")
    for _ in range(3):
        memory.search("Lisbon", user_id="ada")

    def run() -> None:
        memory.search("Lisbon", user_id="ada")
        memory.close()

    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert read_calls(database_url) == {("default", "ada", "search"): (1, 0)}
    memory.close()
    assert read_calls(database_url)["default", "ada", "search"] == (4, 0)


# What it costs -----------------------------------------------------------------------------------


def test_without_the_setting_nothing_is_counted(memory: MemSense, database_url: str) -> None:
    memory.add(SAID, user_id="ada", session_id="s")
    assert memory._context.meter is None
    memory.close()
    assert read_calls(database_url) == {}


def test_a_counted_call_takes_the_statements_of_any_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metering, "FLUSH_SECONDS", 600.0)

    def count_search(*, is_metered: bool) -> dict[str, int]:
        settings = load_settings(metering=is_metered, pool_max_size=1)
        with (
            counting_wire(database_url) as (url, wire),
            MemSense.open(url, embedder=HashingEmbedder(), settings=settings) as memory,
        ):
            memory.add(SAID, user_id="ada", session_id="s")
            for _ in range(8):  # until its statements are prepared
                memory.search("Lisbon", user_id="ada")
            before = wire.counts
            memory.search("Lisbon", user_id="ada")
            return wire.counts.since(before)

    found, expected = count_search(is_metered=True), count_search(is_metered=False)
    for name in ("statements", "round_trips", "parsed"):
        assert found[name] == expected[name]


def test_sums_are_written_in_the_background(
    open_metered: OpenMemory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metering, "FLUSH_SECONDS", 0.05)
    open_metered().add(SAID, user_id="ada", session_id="s")
    wait_until(lambda: read_calls(database_url), "the written sums")
    assert read_calls(database_url) == {("default", "ada", "add"): (1, 0)}


# Failing flushes ---------------------------------------------------------------------------------


def test_calls_wait_while_the_server_is_away(
    open_metered: OpenMemory, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_metered(pool_timeout=3)
    memory.add(SAID, user_id="ada", session_id="s")
    name = conninfo_to_dict(database_url)["dbname"]
    admin_url = make_conninfo(database_url, dbname="postgres")
    change = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(change.format(sql.Identifier(str(name)), sql.SQL("false")))
        try:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                [name],
            )
            with pytest.raises(ConnectionFailedError):
                memory.search("Lisbon", user_id="ada")
            flush(memory)
        finally:
            admin.execute(change.format(sql.Identifier(str(name)), sql.SQL("true")))
    assert "wait to be written" in caplog.text
    assert read_calls(database_url) == {}
    memory.search("Lisbon", user_id="ada")
    flush(memory)
    assert read_calls(database_url) == {
        ("default", "ada", "add"): (1, 0),
        ("default", "ada", "search"): (2, 1),
    }


def test_a_restart_between_two_flushes_costs_no_call(
    open_metered: OpenMemory, database_url: str
) -> None:
    memory = open_metered()
    memory.add(SAID, user_id="ada", session_id="s")
    assert end_connections(database_url)
    flush(memory)
    assert read_calls(database_url) == {("default", "ada", "add"): (1, 0)}


def test_sums_that_find_no_room_are_counted_as_lost(
    open_metered: OpenMemory, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_metered()
    memory.add(SAID, user_id="ada", session_id="s")
    monkeypatch.setattr(metering, "MOST_SUMS", 1)
    memory.stats()
    memory.add(SAID, user_id="ada", session_id="s")
    assert memory._context.meter is not None
    assert memory._context.meter.lost == 1
    flush(memory)
    assert read_calls(database_url) == {("default", "ada", "add"): (2, 0)}


def test_calls_of_a_suspended_tenant_wait_until_it_is_resumed(
    open_metered: OpenMemory, database_url: str
) -> None:
    memory = open_metered()
    memory.add(SAID, user_id="ada", session_id="s")
    tenants.suspend_tenant(database_url, "default")
    flush(memory)
    assert read_calls(database_url) == {}
    tenants.suspend_tenant(database_url, "default", resume=True)
    flush(memory)
    assert read_calls(database_url) == {("default", "ada", "add"): (1, 0)}


def test_calls_of_a_tenant_that_stores_nothing_are_not_kept(
    open_metered: OpenMemory, database_url: str
) -> None:
    memory = open_metered(tenant="nothing")
    memory.search("Lisbon", user_id="ada")
    flush(memory)
    assert memory._context.meter is not None
    assert not memory._context.meter._sums
    assert read_calls(database_url) == {}


@pytest.mark.one_server("its nodes use no policies")
def test_sums_are_written_with_the_rights_of_memsense_app(database_url: str) -> None:
    migrate.make_roles(database_url)
    settings = load_settings(metering=True, require_policies=True)
    for tenant in ("acme", "other"):
        with MemSense.open(
            as_app(database_url), embedder=HashingEmbedder(), tenant=tenant, settings=settings
        ) as memory:
            memory.add(SAID, user_id="ada", session_id="s")
            flush(memory)
            memory.search("Lisbon", user_id="ada")
    for tenant in ("acme", "other"):
        rows = usage.measure_usage(database_url, tenant, by="verb").rows
        assert [(it.name, it.calls) for it in rows] == [("add", 1), ("search", 1)]


# Erasure, and whole tenants ----------------------------------------------------------------------


def test_an_erased_users_calls_are_nobodys_afterwards(
    open_metered: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    memory, other = open_metered(), open_metered()
    for user_id in ("ada", "bo"):
        memory.add(SAID, user_id=user_id, session_id="s")
    memory.search("Lisbon", user_id="ada")
    memory.search("Lisbon", all_users=True)
    flush(memory)
    memory.search("Lisbon", user_id="ada")
    other.search("Lisbon", user_id="ada")  # another process, which writes it after the erasure
    receipt = memory.erase(user_id="ada")
    assert receipt.counts["calls"] == 2
    flush(memory)
    flush(other)
    assert read_calls(database_url) == {
        ("default", "bo", "add"): (1, 0),
        ("default", None, "add"): (1, 0),
        ("default", None, "search"): (4, 0),
        ("default", None, "erase"): (1, 0),
    }
    scopes = conn.execute("SELECT DISTINCT scope_id FROM memsense.calls ORDER BY 1").fetchall()
    assert scopes[0] == (0,)
    assert len(scopes) == 2
    total = usage.measure_usage(database_url, "default").total
    assert (total.calls, total.failures) == (7, 0)


def test_calls_go_with_their_tenant_and_come_back_with_its_archive(
    open_metered: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    for tenant in ("acme", "other"):
        memory = open_metered(tenant=tenant)
        memory.add(SAID, user_id="ada", session_id="s")
        memory.stats()
        memory.close()
    before = usage.measure_usage(database_url, "acme")
    tenants.back_up_tenant(database_url, "acme", tmp_path / "acme")
    tenants.suspend_tenant(database_url, "acme")
    receipt = tenants.drop_tenant(database_url, "acme")
    assert receipt.rows["calls"] == 2
    assert read_calls(database_url) == {
        ("default", "ada", "add"): (1, 0),
        ("default", None, "stats"): (1, 0),
    }
    tenants.restore_tenant(database_url, tmp_path / "acme")
    after = usage.measure_usage(database_url, "acme")
    assert after.total == before.total
    assert [it.name for it in after.rows] == ["ada", None]
    # On a Citus cluster the restored rows took 1,219 bytes where the original ones took 1,210.
    assert after.rows[0].bytes == pytest.approx(before.rows[0].bytes, rel=0.02)
    assert [replace(it, bytes=0) for it in after.rows] == [
        replace(it, bytes=0) for it in before.rows
    ]


# Reports -----------------------------------------------------------------------------------------


def store_days(conn: psycopg.Connection[Any], days: int) -> None:
    """Store a call of nobody for each of the last days."""
    conn.execute(
        "INSERT INTO memsense.calls"
        " (tenant_id, scope_id, day, namespace, verb, calls, failures, milliseconds)"
        " SELECT 1, 0, day, 'default', 'search', 1, 0, 10"
        " FROM unnest(%s::date[]) AS day",
        [[datetime.now(UTC).date() - timedelta(days=number) for number in range(days)]],
    )
    conn.commit()


def test_usage_by_user_lists_those_without_calls_and_the_largest_first(
    memory: MemSense, open_metered: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    for number in range(12):
        said = [{"role": "user", "content": f"My lucky number is {number}, and I like tea."}]
        memory.add(said, user_id="quiet", session_id="s")
    metered = open_metered()
    [chunk, *_] = metered.add(SAID, user_id="ada", session_id="s", mode="hybrid")
    work = open_metered(namespace="work")
    work.add(SAID, user_id="ada", session_id="s")
    metered.forget(chunk.chunk_id)
    flush(metered)
    flush(work)
    result = usage.measure_usage(database_url, "default")
    assert [it.name for it in result.rows] == ["quiet", "ada", None]
    quiet, ada, nobody = result.rows
    assert (quiet.calls, quiet.mean_ms, quiet.exchanges, quiet.chunks) == (0, None, 12, 12)
    # A forgotten exchange has a row, and so has a session.
    assert (ada.exchanges, nobody.calls, nobody.exchanges, nobody.bytes) == (1, 1, 0, 0)
    for row in (quiet, ada):
        counted = 0
        for table in ("chunks", "embeddings", "token_vectors"):
            columns = conn.execute(
                "SELECT column_name::text FROM information_schema.columns"
                " WHERE table_schema = 'memsense' AND table_name = %s",
                [table],
            ).fetchall()
            sizes = sql.SQL(", ").join(
                sql.SQL("pg_column_size(t.{})").format(sql.Identifier(name)) for (name,) in columns
            )
            found = conn.execute(
                sql.SQL(
                    "SELECT {} FROM memsense.{} AS t JOIN memsense.scopes AS s"
                    " ON s.tenant_id = t.tenant_id AND s.scope_id = t.scope_id"
                    " WHERE s.user_id = %s"
                ).format(sizes, sql.Identifier(table)),
                [row.name],
            ).fetchall()
            counted += sum(28 + sum(size or 0 for size in sizes) for sizes in found)
        assert row.bytes == counted
    assert [it.name for it in usage.measure_usage(database_url, "default", limit=1).rows] == [
        "quiet"
    ]


@pytest.mark.one_server("the size of a distributed table is that of its shards")
def test_the_bytes_of_all_users_are_those_of_the_tables(
    memory: MemSense, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    for user_id in ("ada", "bo"):
        for number in range(0, 40, 4):
            text = " ".join(f"word{number * 7 + n * n % 1009}" for n in range(20 + 15 * number))
            said = [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}]
            memory.add(said, user_id=user_id, session_id=f"s{number}")
    row = conn.execute(
        "SELECT sum(pg_table_size(c.oid)) FROM pg_class AS c"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'r'"
        "   AND (c.relname IN ('chunks', 'token_vectors') OR c.relname LIKE 'embeddings\\_%')"
    ).fetchone()
    assert row is not None
    measured = sum(it.bytes or 0 for it in usage.measure_usage(database_url, "default").rows)
    # Pages have free space and dead rows, and each table a map of it.
    assert 0.4 * float(row[0]) < measured < 1.05 * float(row[0])


def test_usage_by_day_verb_and_namespace(
    open_metered: OpenMemory, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    memory = open_metered()
    memory.add(SAID, user_id="ada", session_id="s")
    memory.close()
    store_days(conn, 40)
    today = datetime.now(UTC).date()
    by_day = usage.measure_usage(database_url, "default", by="day", days=7)
    assert [it.name for it in by_day.rows] == [
        str(today - timedelta(days=number)) for number in range(7)
    ]
    assert by_day.total.calls == 8
    assert by_day.since == today - timedelta(days=6)
    by_verb = usage.measure_usage(database_url, "default", by="verb")
    assert [(it.name, it.calls) for it in by_verb.rows] == [("search", 30), ("add", 1)]
    assert by_verb.rows[0].mean_ms == pytest.approx(10)
    by_namespace = usage.measure_usage(database_url, "default", by="namespace", days=10**9)
    assert [(it.name, it.calls) for it in by_namespace.rows] == [("default", 41)]


def test_old_sums_are_pruned(
    memory: MemSense, database_url: str, conn: psycopg.Connection[Any]
) -> None:
    memory.add(SAID, user_id="ada", session_id="s")
    store_days(conn, 40)
    since, count = usage.prune_usage(database_url, "default", days=30)
    assert (since, count) == (datetime.now(UTC).date() - timedelta(days=29), 10)
    assert usage.measure_usage(database_url, "default", days=400).total.calls == 30
    assert usage.prune_usage(database_url, "default", days=0)[1] == 30
    total = usage.measure_usage(database_url, "default").total
    assert (total.calls, total.mean_ms) == (0, None)


def test_what_a_report_cannot_be_made_of_is_refused(database_url: str) -> None:
    with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
        usage.measure_usage(database_url, "nobody")
    with pytest.raises(NotFoundError, match="no tenant 'nobody'"):
        usage.prune_usage(database_url, "nobody", days=3)
    for options in ({"by": "hour"}, {"days": 0}, {"limit": 0}):
        with pytest.raises(InvalidInputError, match=next(iter(options))):
            usage.measure_usage(database_url, "default", **options)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInputError, match="days"):
        usage.prune_usage(database_url, "default", days=-1)
