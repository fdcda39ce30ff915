"""A search takes two statements, however many hits it returns and whatever it shows with them."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Literal

import pytest
from test_searching import besides_texts, recorded_statements

from memsense import MemSense

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
SESSIONS, TURNS = 52, 3


@pytest.fixture
def memory(memory: MemSense) -> MemSense:
    """Return a memory with 52 sessions of three exchanges about tea, with session chunks."""
    for session in range(SESSIONS):
        messages: list[dict[str, Any]] = []
        for turn in range(TURNS):
            at = START + timedelta(days=session, hours=turn)
            tea = f"Tea number {session * TURNS + turn}, please."
            messages += [
                {"role": "user", "content": tea, "at": at},
                {"role": "assistant", "content": f"Here is cup {turn}.", "at": at},
            ]
        memory.add(messages, user_id="ada", session_id=f"s{session}", mode="hybrid")
    memory.search("tea", user_id="ada", granularity="session")
    return memory


def test_one_hit_or_fifty_are_two_statements(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    granularities: list[Literal["turn", "session"]] = ["turn", "session"]
    for granularity, top_k in product(granularities, (1, 10, 50)):
        with recorded_statements(monkeypatch) as statements:
            result = memory.search(
                "a cup of tea", user_id="ada", top_k=top_k, granularity=granularity
            )
        assert (len(result), len(besides_texts(statements))) == (top_k, 2)
        assert {hit.chunk.granularity for hit in result} == {granularity}


def test_neighbours_come_with_the_hits(memory: MemSense, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded_statements(monkeypatch) as statements:
        result = memory.search("a cup of tea", user_id="ada", top_k=50, granularity="turn")
    assert len(besides_texts(statements)) == 2
    inner = [hit for hit in result if 0 < hit.chunk.ordinal < TURNS - 1]
    assert inner
    for hit in inner:
        assert [item.relation for item in hit.neighbors] == ["previous", "next"]
        assert all(item.chunk.session_id == hit.session_id for item in hit.neighbors)


BOOSTS = {"phrase_boost": 0.5, "identifier_boost": 0.5, "quoted": "must"}
CASES: list[dict[str, Any]] = [
    {"user_id": None, "all_users": True},
    {"since": "2026-05-03", "until": "2026-06-20"},
    {"exclude": [1, 2, 3]},
    {"overrides": {"max_per_session": 2, "min_sessions": 10}},
    {"overrides": {"graph": 1.0}},
    {"query": 'Is "Tea number" here, at v1.2.3?', "overrides": BOOSTS},
]


def test_filters_limits_and_boosts_cost_no_further_statement(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The languages of all users' memories are looked up once.
    memory.search("a cup of tea", all_users=True)
    for options in CASES:
        given: dict[str, Any] = {"query": "a cup of tea", "user_id": "ada", "top_k": 50, **options}
        with recorded_statements(monkeypatch) as statements:
            result = memory.search(**given, granularity="turn")
        assert (len(result), len(besides_texts(statements))) == (50, 2)


def test_a_result_and_its_explanations_are_read_without_the_database(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = memory.search("a cup of tea", user_id="ada", top_k=50)
    with recorded_statements(monkeypatch) as statements:
        fields = result.as_dict()
    assert len(fields["hits"]) == 50
    assert statements == []
