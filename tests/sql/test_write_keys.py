"""Writes with an idempotency key: a repeated call has no effect, and returns the first result."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import psycopg
import pytest

from memsense import MemSense
from memsense.errors import ConflictError, ConnectionFailedError, OutcomeUnknownError

OpenMemory = Callable[..., MemSense]


def add(memory: MemSense, text: str = "I drink tea.", **options: Any) -> list[int]:
    given: dict[str, Any] = {"user_id": "ada", "session_id": "one", **options}
    said = [{"role": "user", "content": text}]
    return [chunk.chunk_id for chunk in memory.add(said, **given)]


def fetch(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(cast("Any", statement))
        return cursor.fetchall() if cursor.description else []


CHANGES: dict[str, Callable[[MemSense, int, str], object]] = {
    "promote": lambda memory, chunk, key: memory.promote(chunk, key=key),
    "demote": lambda memory, chunk, key: memory.demote(chunk, key=key),
    "feedback": lambda memory, chunk, key: memory.feedback(chunk, helpful=True, key=key),
    "forget": lambda memory, chunk, key: memory.forget(chunk, reason="old", key=key),
    "archive": lambda memory, chunk, key: memory.archive(chunk, key=key),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_done_once_under_its_key_and_gives_the_same(
    memory: MemSense, name: str
) -> None:
    [chunk] = add(memory)
    change = CHANGES[name]
    first = change(memory, chunk, "k1")
    history = memory.history(chunk)
    assert change(memory, chunk, "k1") == first
    assert memory.history(chunk) == history
    if name != "feedback":
        assert first
    change(memory, chunk, "k2")
    assert len(memory.history(chunk)) == len(history) + (name in {"promote", "demote", "feedback"})


def test_restoring_is_done_once_under_its_key(memory: MemSense) -> None:
    [chunk] = add(memory)
    memory.forget(chunk)
    assert memory.restore(chunk, key="k") == memory.restore(chunk, key="k") == [chunk]


def test_an_add_under_its_key_gives_the_same_chunks_whenever_it_is_run(
    memory: MemSense, database_url: str
) -> None:
    first = add(memory, key="k")
    fetch(database_url, "UPDATE memsense.chunks SET occurred_at = '2020-01-01', dedup_window = 1")
    assert add(memory, key="k") == first
    assert add(memory) != first  # without a key, what is ten minutes away is said again


def test_a_key_is_for_one_write(memory: MemSense) -> None:
    [chunk] = add(memory, key="k")
    with pytest.raises(ConflictError, match="another write"):
        add(memory, "I drink mate.", key="k")
    with pytest.raises(ConflictError, match="another write"):
        memory.promote(chunk, key="k")
    memory.promote(chunk, key="p")
    with pytest.raises(ConflictError):
        memory.demote(chunk, key="p")
    assert len(memory.history(chunk)) == 2


def test_a_write_that_failed_leaves_its_key_free(memory: MemSense, database_url: str) -> None:
    [chunk] = add(memory)
    with pytest.raises(Exception, match="no chunk 99"):
        memory.promote(99, key="k")
    fetch(database_url, "DELETE FROM memsense.write_keys")
    assert memory.promote(chunk, key="k") == pytest.approx(0.65)


def test_concurrent_writes_under_one_key_are_done_once(open_memory: OpenMemory) -> None:
    memories = [open_memory() for _ in range(6)]
    [chunk] = add(memories[0])
    together = threading.Barrier(6)

    def promote(memory: MemSense) -> float:
        together.wait(60)
        return memory.promote(chunk, key="k")

    with ThreadPoolExecutor(6) as calls:
        assert {round(score, 4) for score in calls.map(promote, memories)} == {0.65}
    assert [event.kind for event in memories[0].history(chunk)] == ["added", "promoted"]


def test_keys_of_one_namespace_are_not_another_ones(open_memory: OpenMemory) -> None:
    memory, other = open_memory(), open_memory(namespace="other")
    assert add(memory, key="k") != add(other, "I drink mate.", key="k")


def test_keys_are_dropped_after_a_week_and_are_not_readable(
    memory: MemSense, database_url: str
) -> None:
    [chunk] = add(memory, key="ada@example.org 4711")
    stored = "SELECT t::text FROM memsense.write_keys AS t"
    assert not [row for row in fetch(database_url, stored) if "4711" in row[0]]
    fetch(database_url, "UPDATE memsense.write_keys SET recorded_at = now() - interval '8 days'")
    memory.promote(chunk)
    assert len(fetch(database_url, stored)) == 1


def test_an_error_has_the_field_committed() -> None:
    assert ConnectionFailedError("x").committed is False
    assert OutcomeUnknownError("x", key="k").committed is None
    assert OutcomeUnknownError("x", key="k").key == "k"


def test_the_error_of_a_write_without_a_server_says_that_nothing_was_written(
    open_memory: OpenMemory, database_url: str
) -> None:
    from memsense.config import Settings

    settings = Settings(database_url=database_url, pool_timeout=1, pool_max_size=1)
    memory = open_memory(settings=settings)
    [chunk] = add(memory)
    with memory._context.pool.connection():  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(ConnectionFailedError, match="nothing was written") as failed:
            memory.promote(chunk)
    assert failed.value.committed is False


def test_each_user_has_keys_of_their_own(memory: MemSense, database_url: str) -> None:
    """A user can't see another user's key, nor block it by using it first."""
    [adas], [bobs] = (add(memory, user_id=user, key="k") for user in ("ada", "bob"))
    assert adas != bobs
    assert add(memory, user_id="ada", key="k") == [adas]
    for chunk in (adas, bobs):
        once = memory.promote(chunk, key="p")
        assert memory.promote(chunk, key="p") == once
        memory.update(chunk, tags=["tea"], key="u")
    said = [{"role": "user", "content": "I drink mate."}]
    both = [{"messages": said, "user_id": user, "session_id": "two"} for user in ("bob", "ada")]
    first = memory.add_many(both, key="k")
    assert memory.add_many(both, key="k") == first
    assert fetch(database_url, "SELECT count(*) FROM memsense.write_keys") == [(7,)]
