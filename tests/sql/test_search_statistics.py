"""Statistics of searches: counted in the process, added up by minute, without texts and users."""

# pyright: reportPrivateUsage=false
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg import sql

from memsense import MemSense, load_settings
from memsense.client import metering
from memsense.errors import DatabaseError, InvalidInputError, NotFoundError
from memsense.store.statistics import BOUNDS, SearchSum, SlowSearch, add_searches

OpenMemory = Callable[..., MemSense]
SAID = [{"role": "user", "content": "I moved to Lisbon."}]


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    memory = open_memory()
    memory.add(SAID, user_id="ada", session_id="s")
    return memory


def read_rows(url: str, table: str) -> list[Any]:
    name = sql.Identifier("memsense", table)
    with psycopg.connect(url) as conn:
        return conn.execute(sql.SQL("SELECT * FROM {}").format(name)).fetchall()


def test_searches_are_counted_with_tracing_off(memory: MemSense, database_url: str) -> None:
    for _ in range(17):
        memory.search("Lisbon", user_id="ada", kinds=["stable", "episodic"])
    memory.search_many(["Lisbon", "tea"], user_id="ada")
    memory.context("Where does Ada live?", user_id="ada")
    memory.search("Lisbon", user_id="nobody")
    with pytest.raises(NotFoundError):
        memory.search("Lisbon", user_id="ada", profile="absent")
    assert memory.traces.statistics().searches == 0
    found = memory.statistics()
    total = found.total
    assert (total.searches, total.empty, total.failed) == (22, 1, 1)
    assert total.mean_ms
    assert 0 < (total.p50_ms or 0) <= (total.p95_ms or 0) <= (total.p99_ms or 0)
    assert sum(item.searches for item in found.periods) == 22
    assert len(found.slowest) == 10
    times = [item.ms for item in found.slowest]
    assert times == sorted(times, reverse=True)
    assert {(item.length, item.profile, *item.filters) for item in found.slowest} <= {
        (6, "balanced", "kinds"), (6, "balanced"), (3, "balanced"), (20, "balanced"),
    }  # fmt: skip
    stored = str(
        read_rows(database_url, "slow_searches") + read_rows(database_url, "search_minutes")
    )
    assert "isbon" not in stored
    assert "ada" not in stored


def test_labelled_questions_and_a_second_look_count_for_nothing(memory: MemSense) -> None:
    [chunk] = memory.list(user_id="ada")
    memory.questions.label("Where?", chunk.chunk_id, right=True, user_id="ada")
    memory.questions.compare()
    assert memory.statistics().total.searches == 0


def test_processes_add_up_and_close_writes(memory: MemSense, open_memory: OpenMemory) -> None:
    other = open_memory()
    for each in (memory, other):
        each.search("Lisbon", user_id="ada")
    other.close()
    memory._context.search_meter.flush()
    memory.search("Lisbon", user_id="ada")
    found = memory.statistics()
    assert found.total.searches == 3
    assert len(found.slowest) == 3


def test_tenants_and_namespaces(memory: MemSense, open_memory: OpenMemory) -> None:
    open_memory(tenant="acme").add(SAID, user_id="bo", session_id="s")
    acme = open_memory(tenant="acme", namespace="work")
    acme.search("tea", all_users=True)
    assert acme.statistics().total.searches == 1
    assert memory.statistics().total.searches == 0
    assert acme.statistics().slowest[0].length == 3


def test_an_empty_store_has_empty_statistics(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.search("tea", all_users=True)
    assert memory.statistics().total.searches == 0


def test_a_failing_write_fails_no_search_and_waits(
    memory: MemSense, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(metering, "add_searches", fail)
        assert memory.search("Lisbon", user_id="ada")
        assert memory.statistics().total.searches == 0
    assert read_rows(database_url, "search_minutes") == []
    assert memory.statistics().total.searches == 1


def plan_minutes(*counts: int, start: datetime, hits: int = 1) -> dict[datetime, SearchSum]:
    """Return a sum for each minute, with so many searches."""
    sums: dict[datetime, SearchSum] = {}
    for place, count in enumerate(counts):
        item = sums[start + timedelta(minutes=place)] = SearchSum()
        for _ in range(count):
            item.count_search(hits, 15.0)
    return sums


def test_periods_cover_the_time_also_without_searches(memory: MemSense) -> None:
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    write(memory, plan_minutes(3, 0, 5, 7, start=start))
    found = memory.statistics(since=start, until=start + timedelta(minutes=7), step=2)
    assert [item.searches for item in found.periods] == [3, 12, 0, 0]
    assert [item.at for item in found.periods][1] == start + timedelta(minutes=2)
    assert found.periods[1].p50_ms == 15.0
    assert found.periods[2].p50_ms is None
    for wrong in ({"since": start, "until": start}, {"since": start, "step": 1}):
        with pytest.raises(InvalidInputError):
            memory.statistics(**wrong)  # pyright: ignore[reportArgumentType]


def write(memory: MemSense, sums: dict[datetime, SearchSum]) -> None:
    from memsense.db import run_transaction

    pool = memory._context.pool
    run_transaction(pool, lambda it: add_searches(it, pool.tenant_id or 0, sums))


def test_a_day_keeps_its_ten_slowest(memory: MemSense) -> None:
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    for day in range(2):
        at = start + timedelta(days=day)
        slow = [
            SlowSearch(asked_at=at + timedelta(seconds=ms), ms=ms, length=3, profile="", filters=())
            for ms in range(15 + 10 * day)
        ]
        for part in (slow[::2], slow[1::2]):
            write(memory, {at: SearchSum(slow=part)})
    found = memory.statistics(since=start, until=start + timedelta(days=1))
    assert [item.ms for item in found.slowest] == [*range(14, 4, -1)]
    assert found.slowest[0].filters == []
    found = memory.statistics(since=start, until=start + timedelta(days=2))
    assert [item.ms for item in found.slowest] == [*range(24, 14, -1)]


def test_old_statistics_are_dropped(open_memory: OpenMemory, memory: MemSense) -> None:
    start = datetime.now(UTC) - timedelta(days=91)
    slow = SlowSearch(asked_at=start, ms=5.0, length=3, profile="", filters=())
    for at in (start, start + timedelta(days=2)):
        write(memory, {at: SearchSum(searches=1, slow=[slow])})
    memory.search("Lisbon", user_id="ada")
    found = memory.statistics(since=start - timedelta(days=1))
    assert found.total.searches == 2
    assert slow.asked_at not in {item.asked_at for item in found.slowest}
    other = open_memory(settings=load_settings(statistics_days=1))
    other.search("Lisbon", user_id="ada")
    assert other.statistics(since=start).total.searches == 2


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95, 0.99, 1.0])
def test_a_percentile_lies_in_the_right_bucket(share: float) -> None:
    durations = [0.5 * 1.1**n for n in range(100)]
    total = SearchSum()
    for ms in durations:
        total.count_search(1, ms)
    exact = durations[max(round(share * len(durations)), 1) - 1]
    start, end = (
        max((it for it in BOUNDS if it < exact), default=0),
        min((it for it in BOUNDS if it >= exact), default=BOUNDS[-1]),
    )
    found = total.percentile(share)
    assert found is not None
    assert start <= found <= end


def test_asynchronous_searches_are_counted(database_url: str) -> None:
    import asyncio

    from memsense import AsyncMemSense

    async def call() -> int:
        async with AsyncMemSense.open(database_url, embedder=HashingEmbedder()) as memory:
            await memory.add(SAID, user_id="ada", session_id="s")
            await memory.search("Lisbon", user_id="ada")
            return (await memory.statistics()).total.searches

    assert asyncio.run(call()) == 1
