"""Types of the asynchronous classes and of the views of one user, as type checkers see them.

No test calls this: `make lint-types` checks it with pyright and mypy. A wrong call ignores its
error, and both fail for a comment that ignores none.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Sequence
from typing import Any, assert_type
from uuid import UUID

from psycopg import AsyncConnection

from memsense import AsyncMemSense, Chunk, MemSense, SearchResult
from memsense.client.aio import AsyncUserMemory
from memsense.client.profiles import KnownProfile
from memsense.explain.replay import Replay
from memsense.store.jobs import JobCounts
from memsense.types import Added, Page


async def check_results(memory: AsyncMemSense, trace_id: UUID, own: AsyncConnection[Any]) -> None:
    assert_type(AsyncMemSense.open("postgresql://", tenant="acme"), AsyncMemSense)
    assert_type(await memory.search("tea", user_id="ada", top_k=3), SearchResult)
    assert_type(await memory.search_many(["tea"], user_id="ada"), list[SearchResult])
    assert_type(await memory.list(user_id="ada"), Page[Chunk])
    assert_type(await memory.promote(1), float)
    assert_type(await memory.add("I like tea", user_id="ada", connection=own), Added)
    assert_type(await memory.profiles.list(), Sequence[KnownProfile])
    assert_type(await memory.traces.replay(trace_id), Replay)
    assert_type(await memory.jobs.count(), JobCounts)
    assert_type(await memory.feedback(1, helpful=True), None)


async def check_one_user(memory: AsyncMemSense) -> None:
    ada = memory.for_user("ada")
    assert_type(ada, AsyncUserMemory)
    assert_type(await ada.search("tea", top_k=3), SearchResult)
    assert_type(await ada.get(1), Chunk)
    assert_type(await ada.traces.replay("0"), Replay)
    await ada.search("tea", user_id="bob")  # type: ignore[call-arg]
    await ada.search("tea", tpo_k=3)  # type: ignore[call-arg]
    await ada.entities.list(all_users=True)  # type: ignore[call-arg]


async def check_wrong_calls(memory: AsyncMemSense) -> None:
    AsyncMemSense.open(tenent="acme")  # type: ignore[call-arg]
    await memory.search("tea", user_id="ada", tpo_k=3)  # type: ignore[call-arg]
    await memory.search("tea", user_id="ada", top_k="three")  # type: ignore[arg-type]
    await memory.search(user_id="ada")  # type: ignore[call-arg]
    await memory.list("ada")  # type: ignore[call-arg]
    await memory.add("I like tea")  # type: ignore[call-arg]
    await memory.traces.replay()  # type: ignore[call-arg]


def check_one_user_blocking(memory: MemSense) -> None:
    ada = memory.for_user("ada")
    assert_type(ada.search("tea", top_k=3), SearchResult)
    assert_type(ada.search_many(["tea"]), list[SearchResult])
    assert_type(ada.list(), Page[Chunk])
    ada.search("tea", user_id="bob")  # type: ignore[call-arg]
    ada.search("tea", top_k="three")  # type: ignore[arg-type]
    ada.recent(all_users=True)  # type: ignore[call-arg]
    ada.users()  # type: ignore[attr-defined]
