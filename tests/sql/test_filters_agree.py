"""why-not and recall agree on every filter: random filters over a random store, chunk by chunk."""

# pyright: reportPrivateUsage=false

import random
from collections.abc import Generator
from typing import Any

import pytest
from filtered import EVERYTHING, SEEDS, SESSION_ONLY, Store, filters_at_random, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traced import WORDS

from memsense.search.recall.run import query_values, run_recall, shape_of
from memsense.search.recall.statement import CONDITIONS
from memsense.search.request import SearchRequest
from memsense.store.traces import fetch_standing

QUOTED = ("river", "tea market", "apple")


@pytest.fixture(scope="module")
def store(module_database_url: str) -> Generator[Store]:
    with open_store(module_database_url, seed=11) as opened:
        yield opened


@pytest.mark.parametrize("user_id", ["ada", None])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=SEEDS,
    quoted=st.sampled_from(["", *(f'"{text}"' for text in QUOTED)]),
    granularity=st.sampled_from(["turn", "session"]),
)
def test_a_chunk_is_recalled_just_if_why_not_says_that_it_passes_every_filter(
    store: Store, user_id: str | None, seed: int, quoted: str, granularity: Any
) -> None:
    filters = filters_at_random(store, random.Random(seed))
    query = f"{' '.join(WORDS)} {quoted}"
    memory = store.memory
    request = SearchRequest(
        query=query, user_id=user_id, granularity=granularity, profile=EVERYTHING, filters=filters
    )
    with memory._context.pool.connection() as connection:
        namespace = memory._context.require_namespace(connection)
        asked = memory._searches.run(namespace, request).recall_request
        _, candidates = run_recall(connection, asked)
        used, values = shape_of(asked).filters, query_values(asked)
        standings = {
            chunk_id: fetch_standing(connection, chunk_id, used, values)
            for chunk_id in store.chunks
        }
    assert set(used) <= set(CONDITIONS)
    recalled = set(candidates.chunk_ids.tolist())
    for chunk_id, standing in standings.items():
        assert standing is not None
        passes = all(standing.passes.values()) and standing.status == "active"
        assert passes == (chunk_id in recalled), (chunk_id, standing.passes)


def test_the_exchange_of_an_excluded_session_is_said_to_be_excluded(store: Store) -> None:
    [session, *_] = [
        row
        for row in store.chunks.values()
        if row["granularity"] == "session"
        and row["status"] == "active"
        and row["session_id"] != SESSION_ONLY
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
