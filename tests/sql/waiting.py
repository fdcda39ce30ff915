"""Waits of connections for locks, on one server or on the nodes of a cluster."""

import time
from typing import LiteralString

import psycopg
from servers import TestServer

PATIENCE = 60


def wait_for_lock(database_url: str, server: TestServer) -> None:
    """Wait until a connection to the database waits for a lock."""
    question: LiteralString = (
        "SELECT count(*) FROM citus_lock_waits"
        if server.is_cluster
        else "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    until = time.monotonic() + PATIENCE
    with psycopg.connect(database_url, autocommit=True) as watcher:
        while watcher.execute(question).fetchone() == (0,):
            assert time.monotonic() < until, "no connection waits for a lock"
            time.sleep(0.02)
