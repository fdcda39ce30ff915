"""The pool limits the connections; a call waits for a free one, then fails with a clear error."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from servers import TestServer
from waiting import wait_for_lock

from memsense import MemSense
from memsense.config import Settings
from memsense.db import Pool, transaction
from memsense.db.session import one_round_trip
from memsense.errors import ConnectionFailedError

OpenMemory = Callable[..., MemSense]
LOCK = "SELECT FROM memsense.scopes WHERE tenant_id = 1 AND user_id = 'ada' FOR UPDATE"


def test_an_exhausted_pool_waits_its_time_and_then_fails_naming_the_remedy(
    database_url: str,
) -> None:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=0.3)
    with pool, pool.connection():
        with (
            pytest.raises(ConnectionFailedError, match="MEMSENSE_POOL_MAX_SIZE"),
            pool.connection(),
        ):
            pass


def test_a_call_that_waits_goes_on_when_a_connection_becomes_free(database_url: str) -> None:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=20)
    taken, got = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction(pool):
            taken.set()
            assert not got.wait(0.3)

    with pool, ThreadPoolExecutor(1) as other:
        holding = other.submit(hold)
        assert taken.wait(20)
        with pool.connection() as connection:
            got.set()
            assert connection.execute("SELECT 1").fetchone() == (1,)
        holding.result()


def test_a_pool_recovers_after_having_been_exhausted(database_url: str) -> None:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=0.2)
    with pool:
        with pool.connection(), pytest.raises(ConnectionFailedError), pool.connection():
            pass
        with pool.connection() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_writes_that_wait_for_one_memory_leave_the_connections_to_searches(
    open_memory: OpenMemory, database_url: str, server: TestServer
) -> None:
    settings = Settings(database_url=database_url, pool_max_size=2, pool_timeout=60)
    memory = open_memory(settings=settings)
    memory.add("I drink tea", user_id="ada", session_id="s")

    def add(number: int) -> int:
        return len(memory.add(f"I drink coffee {number}", user_id="ada", session_id=f"s{number}"))

    with ThreadPoolExecutor(6) as clients, psycopg.connect(database_url) as other:
        other.execute(LOCK)
        adds = [clients.submit(add, number) for number in range(6)]
        wait_for_lock(database_url, server)
        # Without a queue before the pool, two of the adds would hold both connections.
        assert memory.search("tea", user_id="ada", timeout=20).hits
        assert not any(each.done() for each in adds)
        other.rollback()
        assert [each.result() for each in adds] == [1] * 6


def test_writes_to_other_memories_do_not_wait(
    open_memory: OpenMemory, database_url: str, server: TestServer
) -> None:
    settings = Settings(database_url=database_url, pool_max_size=3, pool_timeout=60)
    memory = open_memory(settings=settings)
    for user in ("ada", "ben"):
        memory.add("I drink tea", user_id=user, session_id="s")
    with ThreadPoolExecutor(1) as client, psycopg.connect(database_url) as other:
        other.execute(LOCK)
        waiting = client.submit(memory.add, "I drink milk", user_id="ada", session_id="t")
        wait_for_lock(database_url, server)
        assert memory.add("I drink milk", user_id="ben", session_id="t", timeout=20)
        other.rollback()
        assert waiting.result()


def test_many_threads_share_a_bounded_number_of_connections(
    open_memory: OpenMemory, database_url: str
) -> None:
    settings = Settings(database_url=database_url, pool_max_size=3, pool_timeout=60)
    memory = open_memory(settings=settings)
    memory.add([{"role": "user", "content": "tea"}], user_id="ada", session_id="s")
    seen: list[int] = []

    def work(number: int) -> int:
        if number % 4 == 0:
            message = {"role": "user", "content": f"tea and cake {number}"}
            memory.add([message], user_id="ada", session_id=f"s{number}")
        seen.append(count_connections(database_url))
        return len(memory.search("tea", user_id="ada").hits)

    with ThreadPoolExecutor(12) as clients:
        found = list(clients.map(work, range(60)))
    assert all(found)
    assert max(seen) <= 3


def count_connections(url: str) -> int:
    """Return the number of connections to the database, without those of this function."""
    with psycopg.connect(url, application_name="asking") as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND application_name <> 'asking'"
            " AND application_name NOT LIKE 'citus%'"  # those of a cluster's nodes
        ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_statement_of_megabytes_is_sent_whole_in_one_round_trip(database_url: str) -> None:
    keys = [number.to_bytes(16) for number in range(60_000)]
    with (
        Pool(database_url, min_size=1, max_size=1, timeout=20) as pool,
        pool.connection() as connection,
    ):
        with one_round_trip(connection):
            connection.execute("SELECT 1")
            counted = connection.execute("SELECT cardinality(%s::bytea[])", [keys])
        assert counted.fetchone() == (60_000,)
