"""A node commits, and the coordinator does not hear of it."""

import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from nodes import find_port
from servers import TestServer

from memsense import MemSense

PATIENCE = 120

SAID = [{"role": "user", "content": "I drink tea."}]


@contextmanager
def commits_unheard(node: str, database: str) -> Generator[None]:
    """Let the node's next commit in the database be written inside, and its connection end then."""
    with psycopg.connect(node, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        connection.execute("SELECT pg_reload_conf()")

        def end_one() -> None:
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                ended = connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE wait_event = 'SyncRep' AND datname = %s",
                    (database,),
                ).fetchall()
                if ended:
                    break
                time.sleep(0.05)
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")

        with ThreadPoolExecutor(1) as threads:
            ending = threads.submit(end_one)
            yield
            ending.result(PATIENCE)


@pytest.mark.parametrize("key", [None, "mine"])
def test_a_score_whose_commit_was_not_heard_is_moved_once(
    server: TestServer, database_url: str, key: str | None
) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        [chunk] = memory.add(SAID, user_id="ada", session_id="s")
        port = find_port(database_url, "default")
        [node] = [node for node in server.workers if urlsplit(node).port == port]
        with commits_unheard(node, urlsplit(database_url).path.removeprefix("/")):
            assert memory.promote(chunk.chunk_id, key=key) == pytest.approx(0.65)
        if key is not None:
            assert memory.promote(chunk.chunk_id, key=key) == pytest.approx(0.65)
        assert memory.get(chunk.chunk_id).memory_score == pytest.approx(0.65)
        assert [event.kind for event in memory.history(chunk.chunk_id)] == ["added", "promoted"]


def test_an_exchange_whose_commit_was_not_heard_is_stored_once(
    server: TestServer, database_url: str
) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        memory.add(SAID, user_id="ada", session_id="s")
        port = find_port(database_url, "default")
        [node] = [node for node in server.workers if urlsplit(node).port == port]
        with commits_unheard(node, urlsplit(database_url).path.removeprefix("/")):
            memory.add(
                [{"role": "user", "content": "I drink mate."}], user_id="ada", session_id="s"
            )
        texts = [chunk.user_text for chunk in memory.recent(user_id="ada")]
        assert sorted(texts) == ["I drink mate.", "I drink tea."]
