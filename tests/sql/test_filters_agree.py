"""why-not and recall agree on every filter: random filters over a random store, chunk by chunk."""

# pyright: reportPrivateUsage=false

import random
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import psycopg
import pytest
from embedders import HashingEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row
from traced import START, WORDS, some_text

from memsense import MemSense, Profile
from memsense.search.profiles import BALANCED
from memsense.search.recall.run import query_values, run_recall, shape_of
from memsense.search.recall.statement import FILTER_NAMES
from memsense.search.request import Filters, SearchRequest
from memsense.store.traces import fetch_standing
from memsense.types import MemoryKind

EVERYTHING: Profile = BALANCED.override(
    least_candidates=10_000, least_route_limit=10_000, quoted="must"
)
QUOTED = ("river", "tea market", "apple")


@dataclass(frozen=True)
class Store:
    """A memory that nobody changes, and what its chunks hold."""

    memory: MemSense
    chunks: Mapping[int, Mapping[str, Any]]
    message_ids: list[str]


@pytest.fixture(scope="module")
def store(module_database_url: str) -> Generator[Store]:
    with closing(MemSense.open(module_database_url, embedder=HashingEmbedder())) as memory:
        fill_at_random(memory, random.Random(11))
        with psycopg.connect(module_database_url) as conn:
            cursor = conn.cursor(row_factory=dict_row)
            cursor.execute("SELECT * FROM memsense.chunks JOIN memsense.scopes USING (scope_id)")
            chunks = {row["chunk_id"]: row for row in cursor}
        ids: set[str] = {name for row in chunks.values() for name in row["message_ids"]}
        yield Store(memory, chunks, sorted(ids))


def fill_at_random(memory: MemSense, source: random.Random) -> None:
    for user_id in ("ada", "bob"):
        for session in range(6):
            for part in range(2):
                at = START + timedelta(days=session, hours=part)
                messages = [
                    {
                        "id": f"{role}{session}-{part}-{turn}",
                        "role": role,
                        "content": some_text(source),
                        "at": at + timedelta(minutes=turn),
                    }
                    for turn in range(3)
                    for role in ("user", "assistant")
                ]
                memory.add(
                    messages,
                    user_id=user_id,
                    session_id=f"s{session}",
                    agent_id=source.choice([None, "sales", "tech"]),
                    mode="hybrid",
                    tags=source.choice([(), ("river",), ("winter", "tea")]),
                    memory_kind=source.choice([None, *get_args(MemoryKind)]),
                    metadata=source.choice([{}, {"colour": "green"}, {"colour": "red", "n": 1}]),
                )
    memory.projects.create("kitchen", ["s1", "s4"])
    for chunk in memory.recent(user_id="ada", limit=3):
        memory.forget(chunk.chunk_id)


TIMES = st.integers(0, 6 * 24).map(lambda hours: START + timedelta(hours=hours))


@st.composite
def filters_of(draw: st.DrawFn, store: Store) -> Filters:
    """Each filter set or not, with values of which some chunks pass and some don't."""

    def maybe(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.one_of(st.none(), strategy))

    def some(*values: Any) -> st.SearchStrategy[list[Any]]:
        return st.lists(st.sampled_from(values), max_size=3, unique=True)

    return Filters(
        session_ids=maybe(some(*(f"s{n}" for n in range(7)))),
        project=maybe(st.sampled_from(["kitchen"])),
        agent_id=maybe(st.sampled_from(["sales", "tech", "nobody"])),
        since=maybe(TIMES),
        until=maybe(TIMES),
        tags=maybe(some("river", "tea", "none")),
        kinds=maybe(some(*get_args(MemoryKind))),
        metadata=maybe(st.sampled_from([{}, {"colour": "green"}, {"n": 1}, {"n": 2}])),
        exclude=maybe(some(*store.chunks, *store.message_ids)),
    )


@pytest.mark.parametrize("user_id", ["ada", None])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_chunk_is_recalled_just_if_why_not_says_that_it_passes_every_filter(
    store: Store, user_id: str | None, data: st.DataObject
) -> None:
    filters = data.draw(filters_of(store))
    quoted = data.draw(st.sampled_from(["", *(f'"{text}"' for text in QUOTED)]))
    granularity: Any = data.draw(st.sampled_from(["turn", "auto"]))
    query = f"{' '.join(WORDS)} {quoted}"
    memory = store.memory
    request = SearchRequest(
        query=query, user_id=user_id, granularity=granularity, profile=EVERYTHING, filters=filters
    )
    with memory._context.pool.connection() as connection:
        namespace = memory._context.require_namespace(connection)
        asked = memory._searches.run(connection, namespace, request).asked
        _, candidates = run_recall(connection, asked)
        used, values = shape_of(asked).filters, query_values(asked)
        standings = {
            chunk_id: fetch_standing(connection, chunk_id, used, values)
            for chunk_id in store.chunks
        }
    assert set(used) <= set(FILTER_NAMES)
    recalled = set(candidates.chunk_ids.tolist())
    for chunk_id, standing in standings.items():
        assert standing is not None
        passes = all(standing.passes.values()) and standing.status == "active"
        assert passes == (chunk_id in recalled), (chunk_id, standing.passes)


def test_the_exchange_of_an_excluded_session_is_said_to_be_excluded(store: Store) -> None:
    [session, *_] = [
        row
        for row in store.chunks.values()
        if row["granularity"] == "session" and row["status"] == "active"
    ]
    inside = [
        row
        for row in store.chunks.values()
        if row["granularity"] == "turn"
        and row["status"] == "active"
        and (row["scope_id"], row["session_id"]) == (session["scope_id"], session["session_id"])
        and session["ordinal"] <= row["ordinal"] <= session["last_ordinal"]
    ]
    assert inside
    for row in inside:
        word = (row["user_text"] or row["assistant_text"]).split()[0]
        verdict = store.memory.why_not(
            word, row["chunk_id"], user_id=row["user_id"], exclude=[session["chunk_id"]]
        )
        assert (verdict.step, verdict.numbers) == ("scope", {"filters": ["exclude"]})
