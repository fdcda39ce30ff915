"""LangGraph's tests of its asynchronous PostgreSQL store, over memsense's."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from memsense import MemSense

pytest.importorskip("langgraph", reason="needs memsense[langgraph]")

from langgraph_suite import TTL_MINUTES, Cursors, load_suite, make_index, select_tests

from memsense.integrations.langgraph import AsyncMemSenseStore

suite = load_suite("checkpoint_postgres/test_async_store.py")

# Of how its own connections are borrowed.
globals().update(select_tests(suite, {"test_abatch_uses_single_pool_checkout"}))


class AsyncCursor:
    """A cursor whose calls are awaited, as the suite does."""

    def __init__(self, cursor: psycopg.Cursor[dict[str, Any]]) -> None:
        self._cursor = cursor

    async def execute(self, *given: Any) -> None:
        """Run a statement."""
        self._cursor.execute(*given)

    async def fetchone(self) -> Any:
        """Its first row."""
        return self._cursor.fetchone()


class Store(AsyncMemSenseStore):
    cursors: Cursors

    @asynccontextmanager
    async def _cursor(self) -> AsyncGenerator[AsyncCursor]:
        with self.cursors() as cursor:
            yield AsyncCursor(cursor)


@pytest.fixture
async def store(memory: MemSense, database_url: str) -> AsyncGenerator[Store]:
    """A store without an index, swept while the test runs."""
    ttl: Any = {
        "default_ttl": TTL_MINUTES,
        "refresh_on_read": True,
        "sweep_interval_minutes": TTL_MINUTES / 2,
    }
    store = Store(memory, index=False, ttl=ttl)
    store.cursors = Cursors(database_url)
    await store.start_ttl_sweeper()
    yield store
    await store.stop_ttl_sweeper()


@pytest.fixture
def fake_embeddings() -> Any:
    """The suite's own: texts are near that have the same characters."""
    return suite.CharacterEmbeddings(dims=500)


@pytest.fixture(autouse=True)
def vector_stores(memory: MemSense, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the suite calls to make a store with an index makes memsense's."""

    @asynccontextmanager
    async def create(
        vector_type: str,  # noqa: ARG001 (all of memsense's are halfvec)
        distance_type: str,
        fake_embeddings: Any,
        text_fields: list[str] | None = None,
    ) -> AsyncGenerator[AsyncMemSenseStore]:
        index = make_index(fake_embeddings, distance_type, text_fields)
        yield AsyncMemSenseStore(memory, index=index)

    monkeypatch.setattr(suite, "_create_vector_store", create)


@pytest.fixture(params=["l2", "inner_product", "cosine"])
async def vector_store(request: Any, fake_embeddings: Any) -> AsyncGenerator[AsyncMemSenseStore]:
    """A store with an index, of each kind that the suite knows."""
    async with suite._create_vector_store("halfvec", request.param, fake_embeddings) as store:
        yield store
