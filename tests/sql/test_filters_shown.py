"""Hits and neighbours of a search pass every filter, character by character."""

import random
from collections.abc import Generator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from filtered import EVERYTHING, PROJECT, SEEDS, Store, filters_at_random, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from traced import WORDS

from memsense import MemSense
from memsense.search.excerpt import ELLIPSIS
from memsense.search.hits import Hit
from memsense.search.request import Filters
from memsense.types import render_exchange

Row = Mapping[str, Any]


@pytest.fixture(scope="module", params=[11, 12, 13])
def store(module_database_url: str, request: pytest.FixtureRequest) -> Generator[Store]:
    with open_store(module_database_url, seed=request.param) as opened:
        yield opened


def place(row: Row) -> tuple[int, int]:
    return row["ordinal"], row["part"]


def passes(store: Store, filters: Filters, row: Row) -> bool:
    """Return whether a chunk passes the filters, in plain Python."""
    own = row["metadata"]
    excluded = filters.exclude
    named = [
        other
        for other in store.chunks.values()
        if other["chunk_id"] in excluded and same_session(row, other)
    ]
    inside = any(
        place(row) >= place(other) and row["ordinal"] <= other["last_ordinal"]
        if other["granularity"] == "session"
        else same_exchange(row, other)
        for other in named
    )
    return (
        (filters.session_ids is None or row["session_id"] in filters.session_ids)
        and (filters.project is None or row["session_id"] in PROJECT)
        and (filters.agent_id is None or row["agent_id"] == filters.agent_id)
        and (filters.since is None or row["occurred_at"] >= filters.since)
        and (filters.until is None or row["occurred_at"] < filters.until)
        and (filters.tags is None or bool({*filters.tags} & {*row["tags"]}))
        and (filters.kinds is None or row["memory_kind"] in filters.kinds)
        and (filters.metadata is None or {**own, **filters.metadata} == own)
        and row["session_id"] not in filters.exclude_sessions
        and row["chunk_id"] not in excluded
        and not {*excluded} & {*row["message_ids"]}
        and not inside
    )


def same_session(one: Row, other: Row) -> bool:
    return (one["scope_id"], one["session_id"]) == (other["scope_id"], other["session_id"])


def same_exchange(one: Row, other: Row) -> bool:
    """Return whether two chunks are turns and parts of the same exchange."""
    places = [(row["granularity"], row["ordinal"]) for row in (one, other)]
    return same_session(one, other) and places == [("turn", one["ordinal"])] * 2


def turns_of(store: Store, row: Row) -> list[Row]:
    """Return the active turns of a chunk's session, in order."""
    found = [
        other
        for other in store.chunks.values()
        if other["granularity"] == "turn"
        and other["status"] == "active"
        and same_session(row, other)
    ]
    return sorted(found, key=place)


def render(row: Row, *, begins: bool = True) -> str:
    """Return the text of a turn, without its opening if the previous part is shown too."""
    sides = row["user_text"][0 if begins else row["opening_length"] :], row["assistant_text"]
    return render_exchange(*sides, row["user_speaker"], row["assistant_speaker"])


def render_all(rows: Sequence[Row]) -> list[str]:
    ordinals = [None, *(row["ordinal"] for row in rows)]
    return [
        render(row, begins=row["ordinal"] != before)
        for before, row in zip(ordinals, rows, strict=False)
    ]


def check_session(store: Store, hit: Hit, allowed: Sequence[Row]) -> None:
    row = store.chunks[hit.chunk_id]
    exchanges = [turn for turn in turns_of(store, row) if turn in allowed]
    if not turns_of(store, row):  # mode "session": it passes itself
        assert row in allowed
        assert hit.content_cut or hit.content == row["session_text"]
        assert all(part in row["session_text"] for part in hit.content.split(ELLIPSIS))
        return
    assert exchanges
    for line in hit.content.split("\n"):
        said = line.strip(ELLIPSIS)
        assert any(said in text for text in (*map(render, exchanges), *render_all(exchanges)))
    names = [name for turn in exchanges for name in turn["message_ids"]]
    assert {*hit.message_ids} <= {*names}
    if not hit.content_cut:
        assert hit.content == "\n".join(render_all(exchanges))
        assert [*hit.message_ids] == [*dict.fromkeys(names)]
    for item in hit.best:
        assert store.chunks[item.chunk.chunk_id] in exchanges
        assert item.chunk.content == render(store.chunks[item.chunk.chunk_id])
    assert [*hit.best] == sorted(hit.best, key=lambda item: -item.score)
    for name in ("agent_id", "occurred_at", "metadata", "tags"):
        known = [getattr(hit.chunk, name) == turn[name] for turn in exchanges]
        assert any(known) or not getattr(hit.chunk, name)


def check_turn(store: Store, hit: Hit, allowed: Sequence[Row], row: Row) -> None:
    assert row in allowed
    assert hit.content_cut or hit.content == render(row)
    assert all(part in render(row) for part in hit.content.split(ELLIPSIS))
    around = [other for other in turns_of(store, row) if other in allowed]
    at = around.index(row)
    expected = [
        other["chunk_id"] for other in (*around[max(at - 1, 0) : at], *around[at + 1 : at + 2])
    ]
    assert [neighbor.chunk.chunk_id for neighbor in hit.neighbors] in (expected, [])


@pytest.mark.parametrize("user_id", ["ada", None])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=SEEDS,
    granularity=st.sampled_from(["turn", "session"]),
    top_k=st.sampled_from([3, 500]),
    budget=st.sampled_from([1, 70, 700, 5000, 1_000_000]),
)
def test_every_returned_character_is_of_an_exchange_that_passes(
    store: Store, user_id: str | None, seed: int, granularity: Any, top_k: int, budget: int
) -> None:
    filters = filters_at_random(store, random.Random(seed))
    hits = store.memory.search(
        " ".join(WORDS),
        user_id=user_id,
        all_users=user_id is None,
        top_k=top_k,
        granularity=granularity,
        profile=EVERYTHING,
        content_budget=budget,
        **filters.values,
    )
    allowed = [
        row
        for row in store.chunks.values()
        if row["status"] == "active" and passes(store, filters, row)
    ]
    strict = {*filters.names} - {"session_ids"}
    for hit in hits:
        row = store.chunks[hit.chunk_id]
        assert row["status"] == "active"
        assert len(hit.content) <= budget
        assert hit.chunk.granularity == granularity
        if granularity == "session":
            check_session(store, hit, allowed)
        else:
            check_turn(store, hit, allowed, row)
        shown = [hit.chunk, *(neighbor.chunk for neighbor in hit.neighbors)]
        shown += [item.chunk for item in hit.best]
        if strict:
            assert not any(chunk.context or chunk.next_user_text for chunk in shown)
        for neighbor in hit.neighbors:
            beside = store.chunks[neighbor.chunk.chunk_id]
            told_once = same_exchange(row, beside)
            assert neighbor.chunk.content == render(beside, begins=not told_once)
    if hits or user_id != "ada" or granularity == "session":
        return
    assert not [row for row in allowed if row["user_id"] == "ada" and row["granularity"] == "turn"]


SECRET, OPEN = "zanzibar", "lisbon"


@pytest.mark.parametrize("mode", ["turn", "hybrid"])
@pytest.mark.parametrize("granularity", ["turn", "session", None])
@pytest.mark.parametrize(
    "filters",
    [
        {"agent_id": "tech"},
        {"since": "2026-01-05"},
        {"until": "2026-01-05", "exclude": ["m1"]},
        {"tags": ["work"]},
        {"kinds": ["stable"]},
        {"metadata": {"n": 10}},
        {"exclude": ["m1"]},
    ],
    ids="-".join,
)
def test_no_filter_lets_the_other_exchange_of_a_session_through(
    memory: MemSense, filters: dict[str, Any], granularity: Any, mode: Any
) -> None:
    for day, word, agent, kind in ((1, SECRET, "sales", "episodic"), (10, OPEN, "tech", "stable")):
        memory.add(
            [
                {
                    "id": f"m{day}",
                    "role": "user",
                    "content": f"a journey to {word}",
                    "at": datetime(2026, 1, day, tzinfo=UTC),
                }
            ],
            user_id="ada",
            session_id="one",
            agent_id=agent,
            tags=["work"] if agent == "tech" else ["home"],
            memory_kind=kind,  # pyright: ignore[reportArgumentType]
            metadata={"n": day},
            mode=mode,
        )
    hits = memory.search("journey", user_id="ada", granularity=granularity, **filters)
    shown = "".join(f"{hit.as_dict()} {hit.chunk} {hit.neighbors} {hit.best}" for hit in hits)
    assert SECRET not in shown
    assert "sales" not in shown
    assert (OPEN in shown) == ("until" not in filters)
    both = memory.search("journey", user_id="ada", granularity=granularity)
    assert SECRET in f"{both.hits}"
    assert OPEN in f"{both.hits}"
