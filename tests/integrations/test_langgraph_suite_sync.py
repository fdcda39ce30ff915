"""LangGraph's tests of its PostgreSQL store, over memsense's: its fixtures are replaced."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from memsense import MemSense

pytest.importorskip("langgraph", reason="needs memsense[langgraph]")

from langgraph_suite import TTL_MINUTES, Cursors, load_suite, make_index, select_tests

from memsense.integrations.langgraph import MemSenseStore

suite = load_suite("checkpoint_postgres/test_store.py")

# Of its own SQL: patterns, LIKE and migrations.
globals().update(
    select_tests(
        suite,
        {"test_escape_like_literal", "test_namespace_match_pattern", "test_nonnull_migrations"},
    )
)


class Store(MemSenseStore):
    cursors: Cursors

    def _cursor(self) -> Any:
        return self.cursors()


@pytest.fixture
def store(memory: MemSense, database_url: str) -> Generator[Store]:
    """A store without an index, swept while the test runs."""
    ttl: Any = {
        "default_ttl": TTL_MINUTES,
        "refresh_on_read": True,
        "sweep_interval_minutes": TTL_MINUTES / 2,
    }
    store = Store(memory, index=False, ttl=ttl)
    store.cursors = Cursors(database_url)
    store.start_ttl_sweeper()
    yield store
    store.stop_ttl_sweeper()


@pytest.fixture
def fake_embeddings() -> Any:
    """The suite's own: texts are near that have the same characters."""
    return suite.CharacterEmbeddings(dims=500)


@pytest.fixture(autouse=True)
def vector_stores(memory: MemSense, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the suite calls to make a store with an index makes memsense's."""

    @contextmanager
    def create(
        vector_type: str,  # noqa: ARG001 (all of memsense's are halfvec)
        distance_type: str,
        fake_embeddings: Any,
        text_fields: list[str] | None = None,
        enable_ttl: bool = True,
    ) -> Generator[MemSenseStore]:
        yield MemSenseStore(
            memory,
            index=make_index(fake_embeddings, distance_type, text_fields),
            ttl={"default_ttl": 2, "refresh_on_read": True} if enable_ttl else None,
        )

    monkeypatch.setattr(suite, "_create_vector_store", create)


@pytest.fixture(params=suite._vector_params, ids=str)
def vector_store(request: Any, fake_embeddings: Any) -> Generator[MemSenseStore]:
    """A store with an index, of each kind that the suite knows."""
    vector_type, distance_type, enable_ttl = request.param
    with suite._create_vector_store(
        vector_type, distance_type, fake_embeddings, enable_ttl=enable_ttl
    ) as store:
        yield store
