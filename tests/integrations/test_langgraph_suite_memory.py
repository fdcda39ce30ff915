"""LangGraph's tests of its store in memory, over memsense's, which fuses vectors and words."""

from typing import Any

import pytest

from memsense import MemSense

pytest.importorskip("langgraph", reason="needs memsense[langgraph]")

from langgraph_suite import in_memory_stand_in, load_suite, select_tests

suite = load_suite("checkpoint/test_store.py")

# Of a function, and of a queue over stores that are made up.
globals().update(
    select_tests(
        suite,
        {
            "test_get_text_at_path",
            "test_async_batch_store",
            "test_async_batch_store_handles_cancellation",
            "test_async_batch_store_deduplication",
        },
    )
)


@pytest.fixture(autouse=True)
def stores(memory: MemSense, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the suite makes a store in memory, memsense's is made."""
    monkeypatch.setattr(suite, "InMemoryStore", in_memory_stand_in(memory))


@pytest.fixture
def fake_embeddings() -> Any:
    """The suite's own: texts are near that have the same characters."""
    return suite.CharacterEmbeddings(dims=500)
