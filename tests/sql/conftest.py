"""Memory over an empty database, with a fast embedder."""

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from memsense import MemSense

# The tests of this folder, and processes that they start, import the modules beside them.
sys.path.append(str(Path(__file__).parent))

pytest.register_assert_rewrite("counting")

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def database_url(shared_database_url: str) -> Generator[str]:
    """Yield the URL of a migrated, empty database. Tests may write: it is emptied afterwards.

    It takes a tenth of the time of a new database.
    """
    yield shared_database_url
    with psycopg.connect(shared_database_url, autocommit=True) as conn:
        tables = conn.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'memsense'"
            " AND tablename <> 'alembic_version' AND tablename NOT LIKE 'embeddings\\_%'"
            " AND tablename NOT LIKE '%\\_default'"
        ).fetchall()
        names = sql.SQL(", ").join(sql.Identifier("memsense", name) for (name,) in tables)
        conn.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names))
        conn.execute("DROP TABLE IF EXISTS orders")
        indexes = conn.execute(
            "SELECT indexname FROM pg_indexes"
            " WHERE schemaname = 'memsense' AND indexdef LIKE '%USING hnsw%'"
        ).fetchall()
        for (name,) in indexes:
            conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("memsense", name)))


@pytest.fixture
def open_memory(database_url: str) -> Generator[OpenMemory]:
    """Yield a function that opens memories over the test's database; all are closed at the end."""
    from embedders import HashingEmbedder

    with ExitStack() as stack:

        def open_one(**options: object) -> MemSense:
            given = {"embedder": HashingEmbedder(), **options}
            return stack.enter_context(partial(MemSense.open, database_url)(**given))  # pyright: ignore[reportArgumentType]

        yield open_one


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    """Return a memory over the test's database."""
    return open_memory()
