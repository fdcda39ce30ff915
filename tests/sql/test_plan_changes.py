"""Hits depend on the question and the memory only, whatever plan PostgreSQL chooses."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from embedders import TokenHashingEmbedder
from psycopg import sql

from memsense import MemSense

OpenMemory = Callable[..., MemSense]
Found = tuple[str, str, int, float]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUESTIONS = ("tea with Ada", "topic 3 and the harbour", "what of the green door?")


def fill(memory: MemSense) -> None:
    """Add two users with nearly the same texts, so that many scores are equal."""
    for user_id in ("ada", "bo"):
        for number in range(10):
            at = MAY + timedelta(days=number // 5, hours=number % 5)
            said = f"topic {number % 5} by {user_id} at the harbour" + " and tea" * number
            answer = f"the green door {number % 5}" * (150 if number % 5 == 2 else 1)
            memory.add(
                [
                    {"role": "user", "content": said, "at": at, "name": "Ada"},
                    {"role": "assistant", "content": answer, "at": at},
                ],
                user_id=user_id,
                session_id=f"s{number // 5}",
                mode="hybrid",
                tags=[f"topic{number % 5}"],
                facets={"preferences": f"likes door {number % 5}"},
            )
    memory.indexes.make_sessions()


@contextmanager
def without(connection: psycopg.Connection[Any], kind: str) -> Generator[None]:
    """Make new connections avoid a kind of plan node where they can."""
    database = sql.Identifier(connection.info.dbname)
    setting = sql.Identifier(f"enable_{kind}")
    connection.execute(sql.SQL("ALTER DATABASE {} SET {} = off").format(database, setting))
    yield
    connection.execute(sql.SQL("ALTER DATABASE {} RESET {}").format(database, setting))


def answers(memory: MemSense) -> list[list[Found]]:
    found: list[list[Found]] = []
    for question in QUESTIONS:
        for user_id in ("ada", None):
            result = memory.search(
                question, user_id=user_id, all_users=user_id is None, asked_at=MAY, top_k=50
            )
            found.append(
                [(h.chunk.user_id, h.session_id, h.chunk.ordinal, h.score) for h in result]
            )
    return found


def test_another_plan_gives_the_same_hits_in_the_same_order(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    fill(memory)
    usual = answers(memory)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        for kind in ("hashagg", "sort", "nestloop"):
            with without(connection, kind):
                assert answers(open_memory(embedder=TokenHashingEmbedder())) == usual, kind
