"""Random pairs of scope and filter: searches return what a filter in Python lets through, and no
row of another tenant or user. `make test-leaks` tries 100,000 pairs; the other runs try fewer."""

import os
import random
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from filtered import EVERYTHING, PROJECT, SEEDS, Store, filters_at_random, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from managed import open_managed
from traced import WORDS

from memsense.db.migrate import make_roles, upgrade
from memsense.search.hits import SearchResult
from memsense.search.request import Filters, SearchRequest

PAIRS = int(os.environ.get("LEAK_PAIRS", "600"))
TOGETHER = 40
"""Pairs of one statement, which is planned once, in one round trip; one of them is also searched
for by itself, as callers do."""

TENANTS = {"a": 10_000, "b": 20}
"""Each with the number of chunks from which on a memory is indexed: b's are."""

SERVERS = ("leakproof", "lookups")
"""What a superuser set up, and what nobody is a superuser of."""

EVERY_HIT: Mapping[str, Any] = {
    "query": " ".join(WORDS),
    "granularity": "turn",
    "profile": EVERYTHING,
    "top_k": 1000,
}


@pytest.fixture(scope="module")
def stores(module_database_url: str, server_url: str) -> Generator[Mapping[tuple[str, str], Store]]:
    """Store two tenants with the same names of namespaces, users, sessions, projects and tags."""
    with ExitStack() as stack:
        managed = stack.enter_context(open_managed(server_url))
        upgrade(managed.url)
        make_roles(managed.url)
        urls = (module_database_url, managed.support_url)
        found = {
            (server, tenant): stack.enter_context(
                open_store(url, 31, tenant, index_threshold=threshold)
            )
            for server, url in zip(SERVERS, urls, strict=True)
            for tenant, threshold in TENANTS.items()
        }
        for (server, _), store in found.items():
            session = store.memory._context.pool._session  # pyright: ignore[reportPrivateUsage]
            assert session.lookups == (server == "lookups")
        yield found


def passes(row: Mapping[str, Any], filters: Filters) -> bool:
    """Apply the filters again in Python, to a row of the table."""
    metadata = filters.metadata or {}
    found = row["metadata"]
    return (
        (filters.session_ids is None or row["session_id"] in filters.session_ids)
        and row["session_id"] not in filters.exclude_sessions
        and (filters.project is None or row["session_id"] in PROJECT)
        and (filters.agent_id is None or row["agent_id"] == filters.agent_id)
        and (filters.since is None or row["occurred_at"] >= filters.since)
        and (filters.until is None or row["occurred_at"] < filters.until)
        and (filters.tags is None or bool(set(filters.tags) & set(row["tags"])))
        and (filters.kinds is None or row["memory_kind"] in filters.kinds)
        and all(name in found and found[name] == metadata[name] for name in metadata)
        and not set(row["message_ids"]) & set(filters.parameters().get("exclude_messages", []))
    )


def is_covered(row: Mapping[str, Any], by: Mapping[str, Any]) -> bool:
    """Return whether an excluded chunk also excludes a turn: its session, or a part of its
    exchange.
    """
    if (row["scope_id"], row["session_id"]) != (by["scope_id"], by["session_id"]):
        return False
    if by["granularity"] == "turn":
        return row["ordinal"] == by["ordinal"]
    first, last = (by["ordinal"], by["part"]), by["last_ordinal"]
    return (row["ordinal"], row["part"]) >= first and row["ordinal"] <= last


@settings(
    max_examples=-(-PAIRS // TOGETHER),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=SEEDS,
    place=st.sampled_from([(server, tenant) for server in SERVERS for tenant in TENANTS]),
    user_id=st.sampled_from(["ada", "bob", "nobody", None]),
    guarded=st.booleans(),
)
def test_searches_return_all_and_only_the_scopes_matching_chunks(
    stores: Mapping[tuple[str, str], Store],
    seed: int,
    place: tuple[str, str],
    user_id: str | None,
    guarded: bool,
) -> None:
    store, source = stores[place], random.Random(seed)
    names = filters_at_random(store, source).names
    drawn = [filters_at_random(store, source, names) for _ in range(TOGETHER)]
    given = [{**EVERY_HIT, **filters.values} for filters in drawn]
    requests = [SearchRequest(user_id=user_id, filters=filters, **EVERY_HIT) for filters in drawn]
    results = store.memory._searches.answer(requests, trace=False)  # pyright: ignore[reportPrivateUsage]
    for filters, result in zip(drawn, results, strict=True):
        assert_found(store, user_id, filters, result)
    if user_id is None:
        alone = store.memory.search(all_users=True, **given[0])
    elif guarded and "project" not in names:
        alone = store.memory.for_user(user_id).search(**given[0])
    else:
        alone = store.memory.search(user_id=user_id, **given[0])
    assert [hit.chunk_id for hit in alone] == [hit.chunk_id for hit in results[0]]


def assert_found(store: Store, user_id: str | None, filters: Filters, result: SearchResult) -> None:
    """Fail unless a search of everything found what a filter in Python lets through."""
    allowed = {
        chunk_id
        for chunk_id, row in store.chunks.items()
        if row["granularity"] == "turn"
        and row["status"] == "active"
        and user_id in (None, row["user_id"])
        and passes(row, filters)
        and not any(
            is_covered(row, store.chunks[i]) for i in filters.parameters().get("exclude_chunks", [])
        )
    }
    ordinals = {(store.chunks[i]["session_id"], store.chunks[i]["ordinal"]) for i in allowed}
    assert {hit.chunk_id for hit in result} <= allowed, filters
    assert {(hit.session_id, hit.chunk.ordinal) for hit in result} == ordinals, filters
