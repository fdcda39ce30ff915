"""AsyncMemSense over a real server: results, concurrency, and cancelled calls."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import psycopg
import pytest
from embedders import HashingEmbedder
from waiting import let_tasks_run, wait_in_task

from memsense import AsyncMemSense, load_settings
from memsense.errors import InvalidInputError, NotFoundError

MESSAGES = [{"role": "user", "content": "I drink tea in Lisbon."}]


def open_one(url: str, **settings: Any) -> AsyncMemSense:
    return AsyncMemSense.open(url, embedder=HashingEmbedder(), settings=load_settings(**settings))


def run(url: str, work: Callable[[AsyncMemSense], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        async with open_one(url, **settings) as memory:
            await work(memory)

    anyio.run(main)


def test_a_memory_is_used_from_a_loop(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        (chunk,) = await memory.add(MESSAGES, user_id="ada", session_id="monday")
        found = await memory.search("tea", user_id="ada")
        assert [hit.chunk_id for hit in found] == [chunk.chunk_id]
        assert "tea in Lisbon" in found.to_prompt()
        ada = memory.for_user("ada")
        assert ada.user_id == "ada"
        assert (await ada.get(chunk.chunk_id)).content == chunk.content
        with pytest.raises(NotFoundError):
            await memory.for_user("bob").get(chunk.chunk_id)
        assert await ada.traces.list() == await memory.traces.list()
        assert (await memory.jobs.count()).waiting == 0

    run(database_url, work)


def test_a_memory_may_be_awaited_and_must_be_opened(database_url: str) -> None:
    async def main() -> None:
        closed = open_one(database_url)
        with pytest.raises(InvalidInputError, match="not open: `async with AsyncMemSense"):
            await closed.stats()
        memory = await open_one(database_url)
        try:
            assert await memory.stats() == []
        finally:
            await memory.close()

    asyncio.run(main())


def test_errors_are_those_of_the_blocking_memory(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        with pytest.raises(InvalidInputError, match="user_id is missing"):
            await memory.search("tea")
        with pytest.raises(InvalidInputError, match="tags must be a list, not 'abc'"):
            await memory.add(MESSAGES, user_id="a", session_id="b", tags="abc")
        with pytest.raises(InvalidInputError, match="user_id must be .*, not None"):
            await memory.add(MESSAGES, user_id=None, session_id="b")  # pyright: ignore[reportArgumentType]

    run(database_url, work)


def test_fifty_tasks_share_few_connections_and_all_are_answered(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        await memory.add(MESSAGES, user_id="ada", session_id="monday")
        found = await asyncio.gather(*(memory.search("tea", user_id="ada") for _ in range(50)))
        assert [len(one) for one in found] == [1] * 50

    run(database_url, work, pool_max_size=2)


def waiting(watch: psycopg.Connection[Any]) -> int:
    row = watch.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND state <> 'idle' AND wait_event_type = 'Lock'"
    ).fetchone()
    assert row is not None
    return row[0]


def active(watch: psycopg.Connection[Any]) -> int:
    row = watch.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'"
    ).fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("what", ["search", "add"])
def test_a_cancelled_call_leaves_no_active_backend_and_a_free_connection(
    database_url: str, what: str
) -> None:
    async def work(memory: AsyncMemSense) -> None:
        await memory.add(MESSAGES, user_id="ada", session_id="monday")
        calls: dict[str, Callable[[], Any]] = {
            "search": lambda: memory.search("tea", user_id="ada"),
            "add": lambda: memory.add(
                [{"role": "user", "content": "And coffee."}], user_id="ada", session_id="monday"
            ),
        }
        await calls["search"]()
        with (
            psycopg.connect(database_url) as holder,
            psycopg.connect(database_url, autocommit=True) as watch,
        ):
            holder.execute("LOCK TABLE memsense.chunks IN ACCESS EXCLUSIVE MODE")
            task = asyncio.create_task(calls[what]())
            await wait_in_task(lambda: waiting(watch) == 1, "one that waits for the lock")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert active(watch) == 1  # who holds the lock
            holder.rollback()
        assert len(await memory.search("tea", user_id="ada")) == 1
        (stats,) = await memory.stats()
        assert stats.turns == 1

    run(database_url, work, pool_max_size=1)


def test_a_call_that_waits_for_its_turn_is_cancelled_before_it_begins(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        await memory.add(MESSAGES, user_id="ada", session_id="monday")
        with psycopg.connect(database_url) as holder:
            holder.execute("LOCK TABLE memsense.chunks IN ACCESS EXCLUSIVE MODE")
            tasks = [asyncio.create_task(memory.search("tea", user_id="ada")) for _ in range(5)]
            await let_tasks_run()
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(one) for one in ended] == [asyncio.CancelledError] * 5
            holder.rollback()
        assert len(await memory.search("tea", user_id="ada")) == 1

    run(database_url, work, pool_max_size=1)


async def connect(url: str) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(url)


def test_a_write_joins_the_transaction_of_an_asynchronous_connection(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        who: dict[str, Any] = {"user_id": "ada", "session_id": "monday"}
        async with await connect(database_url) as own:
            await own.execute("CREATE TABLE orders (number integer)")
            await own.commit()
            await own.execute("INSERT INTO orders VALUES (1)")
            await memory.add(MESSAGES, **who, connection=own)
            assert await memory.list(user_id="ada") == []
            await own.rollback()
            assert await memory.list(user_id="ada") == []
            async with own.transaction():
                await own.execute("INSERT INTO orders VALUES (2)")
                added = await memory.for_user("ada").add(
                    MESSAGES, session_id="monday", connection=own
                )
            found = await memory.list(user_id="ada")
            assert [chunk.chunk_id for chunk in found] == [chunk.chunk_id for chunk in added]
            rows = await (await own.execute("SELECT number FROM orders")).fetchall()
            assert rows == [(2,)]

    run(database_url, work)


def test_a_write_that_fails_leaves_the_joined_transaction_usable(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        async with await connect(database_url) as own:
            for text in ("SELECT 1", "SELECT 2") * 6:  # the driver prepares what comes often
                await own.execute(text)
            with pytest.raises(InvalidInputError, match="no message has any text"):
                await memory.add([], user_id="ada", session_id="one", connection=own)
            await memory.add(MESSAGES, user_id="ada", session_id="one", connection=own)
            for text in ("SELECT 1", "SELECT 2") * 6:
                await own.execute(text)
        assert len(await memory.list(user_id="ada")) == 1

    run(database_url, work)


def test_tasks_wait_for_a_connection_that_memory_has_joined(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        async with await connect(database_url) as own:
            writes = [
                memory.add(MESSAGES, user_id="ada", session_id=f"s{number}", connection=own)
                for number in range(5)
            ]
            reads = [own.execute("SELECT 1") for _ in range(5)]
            await asyncio.gather(*writes, *reads)
        assert len(await memory.sessions(user_id="ada")) == 5

    run(database_url, work)


def test_a_pipeline_is_not_joined(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        async with await connect(database_url) as own, own.pipeline():
            with pytest.raises(InvalidInputError, match="in a pipeline"):
                await memory.add(MESSAGES, user_id="ada", session_id="one", connection=own)

    run(database_url, work)


def test_a_cancelled_write_ends_its_statement_in_the_joined_transaction(database_url: str) -> None:
    async def work(memory: AsyncMemSense) -> None:
        await memory.add(MESSAGES, user_id="ada", session_id="one")
        async with await connect(database_url) as own, await connect(database_url) as other:
            await other.execute("SELECT FROM memsense.scopes FOR UPDATE")
            with anyio.move_on_after(0.5) as scope:
                more = [{"role": "user", "content": "More tea."}]
                await memory.add(more, user_id="ada", session_id="one", connection=own)
            assert scope.cancelled_caught
            await other.rollback()
            await own.execute("SELECT 1")
        assert len(await memory.list(user_id="ada")) == 1

    run(database_url, work)
