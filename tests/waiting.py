"""Waits for conditions: the only module of the quick tests that reads a clock or sleeps.

A wait ends as soon as its condition holds. Its limit is far above what a busy machine takes: it is
reached only where the product hangs.
"""

import asyncio
import time
from collections.abc import Callable
from typing import LiteralString, TypeVar

import psycopg
from servers import TestServer

PATIENCE = 120
"""Seconds after which a test gives up."""

PAUSE = 0.01
"""Seconds between two looks."""

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str) -> T:
    """Return the first true value of the condition; `what` says in the error what did not come."""
    until = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < until, f"did not come within {PATIENCE} s: {what}"
        time.sleep(PAUSE)
    return value


async def wait_in_task(condition: Callable[[], T], what: str) -> T:
    """Do the same in a task, while others run."""
    until = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < until, f"did not come within {PATIENCE} s: {what}"
        await asyncio.sleep(PAUSE)
    return value


async def let_tasks_run() -> None:
    """Let every other task go on until it waits for something else than its turn."""
    for _ in range(20):
        await asyncio.sleep(0)


def wait_for_lock(database_url: str, server: TestServer) -> None:
    """Wait until a connection to the database waits for a lock."""
    question: LiteralString = (
        "SELECT count(*) FROM citus_lock_waits"
        if server.is_cluster
        else "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with psycopg.connect(database_url, autocommit=True) as watcher:
        wait_until(
            lambda: watcher.execute(question).fetchone() != (0,),
            "a connection that waits for a lock",
        )
