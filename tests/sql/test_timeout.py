"""Time limit of recall: nothing else is limited, and no session state stays behind."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from servers import TestServer
from waiting import wait_for_lock

from memsense import MemSense
from memsense.config import Settings
from memsense.db import Pool, database_errors
from memsense.db.session import limit_recall
from memsense.errors import DatabaseError, RecallTimeoutError

OpenMemory = Callable[..., MemSense]


def add(memory: MemSense) -> None:
    memory.add([{"role": "user", "content": "I drink tea."}], user_id="ada", session_id="one")


LIMIT = 1.5
"""Seconds: on a busy machine, too, a search that waits for nothing is done by then."""


@contextmanager
def chunks_locked(url: str) -> Generator[None]:
    """Lock the chunks against all other reads and writes."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE memsense.chunks IN ACCESS EXCLUSIVE MODE")
        yield


def open_limited(open_memory: OpenMemory, url: str, **settings: Any) -> MemSense:
    given = {"database_url": url, "pool_max_size": 1, **settings}
    memory = open_memory(settings=Settings.model_validate(given))
    add(memory)
    assert memory.search("tea", user_id="ada")
    return memory


def test_a_recall_that_takes_too_long_fails_naming_the_setting(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_limited(open_memory, database_url, recall_timeout=LIMIT)
    with chunks_locked(database_url), pytest.raises(RecallTimeoutError) as failed:
        memory.search("tea", user_id="ada")
    assert "longer than 1.5 seconds; raise MEMSENSE_RECALL_TIMEOUT" in str(failed.value)
    assert isinstance(failed.value.__cause__, psycopg.errors.QueryCanceled)
    assert memory.search("tea", user_id="ada")


def test_a_write_may_take_longer_than_a_recall(
    open_memory: OpenMemory, database_url: str, server: TestServer
) -> None:
    memory = open_limited(open_memory, database_url, recall_timeout=LIMIT)
    other = open_limited(open_memory, database_url, recall_timeout=LIMIT)
    adding = threading.Thread(target=add, args=(memory,))
    with chunks_locked(database_url):
        adding.start()
        wait_for_lock(database_url, server)
        # It begins after the write and ends at the limit, which the write has passed by then.
        with pytest.raises(RecallTimeoutError):
            other.search("tea", user_id="ada")
        assert adding.is_alive()
    adding.join()
    assert len(memory.search("tea", user_id="ada")) == 1


def test_nothing_of_the_limit_stays_on_the_connection(database_url: str) -> None:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with pool, pool.connection() as connection:
        for seconds in (0.05, 20):
            with pytest.raises(psycopg.errors.DivisionByZero), limit_recall(connection, seconds):
                connection.execute("SELECT 1 / 0").fetchone()
            with limit_recall(connection, seconds):
                assert connection.execute("SHOW statement_timeout").fetchone() != ("0",)
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize(
    ("stricter", "seconds", "in_force"),
    [("0", 20, "20s"), ("1500ms", 20, "1500ms"), ("1min", 20, "20s"), ("7s", 0, "7s")],
)
def test_a_stricter_limit_stays(
    database_url: str, stricter: str, seconds: float, in_force: str
) -> None:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with pool, pool.connection() as connection:
        connection.execute("SELECT set_config('statement_timeout', %s, false)", (stricter,))
        with limit_recall(connection, seconds):
            assert connection.execute("SHOW statement_timeout").fetchone() == (in_force,)


def test_a_cancel_by_another_client_is_no_timeout(database_url: str) -> None:
    def sleep() -> None:
        with database_errors(), pool.connection() as connection:
            connection.execute("SET statement_timeout = 100")
            with limit_recall(connection, 20):
                connection.execute("SELECT pg_sleep(10)").fetchone()

    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with pool, pytest.raises(DatabaseError, match="cancelled") as failed:
        sleep()
    assert not isinstance(failed.value, RecallTimeoutError)
