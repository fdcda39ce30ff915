"""Replaying recorded searches: exact when nothing changed, explained when something did."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg.types.json import Jsonb
from traced import fill, random_searches

from memsense import MemSense
from memsense.errors import ConfigurationError, InvalidInputError, NotFoundError
from memsense.search.profiles import PROFILES

OpenMemory = Callable[..., MemSense]


def test_random_searches_are_reproduced_exactly(memory: MemSense, is_long: bool) -> None:
    fill(memory)
    fill(memory, user_id="bob", sessions=4, mode="turn")
    for asked in random_searches(200 if is_long else 80, seed=21):
        result = memory.search(asked.question, **asked.options, trace=True)
        found = memory.traces.replay(result.trace_id or "")
        assert found.is_unchanged
        assert [hit.chunk_id for hit in found.new] == [hit.chunk_id for hit in result]
        assert [hit.score for hit in found.old] == [hit.score for hit in result]
        assert found.changed == {}
        assert {move.why for move in found.moves} <= {"unchanged"}
        assert found.overlap == 1.0


def test_changes_of_a_replay_are_named_and_explain_the_score(memory: MemSense) -> None:
    fill(memory)
    result = memory.search("apple river tea garden", user_id="ada", trace=True, top_k=5)
    found = memory.traces.replay(result.trace_id or "", overrides={"lexical": 0.5, "vec_user": 0.0})
    shipped = PROFILES["balanced"].weights
    assert found.changed == {
        "lexical": (shipped["lexical"], 0.5),
        "vec_user": (shipped["vec_user"], 0.0),
    }
    assert not found.is_unchanged
    assert {move.chunk_id for move in found.moves if move.new_rank} == {
        hit.chunk_id for hit in found.new
    }
    assert {move.chunk_id for move in found.moves if move.old_rank} == {
        hit.chunk_id for hit in found.old
    }
    both = [move for move in found.moves if move.old_score and move.new_score]
    assert both
    for move in both:
        assert move.new_score is not None
        assert move.old_score is not None
        change = move.new_score - move.old_score
        assert sum(move.changes.values()) == pytest.approx(change, abs=1e-9)
        assert "lexical -" in move.why


def test_a_trace_with_a_constant_that_left_memsense_is_shown_and_replayed(
    memory: MemSense, database_url: str
) -> None:
    fill(memory)
    result = memory.search("apple river tea garden", user_id="ada", trace=True)
    memory.traces.flush()
    with psycopg.connect(database_url) as conn:
        older = Jsonb({"neighbour_weight": 0.07, "request_neighbours": 0.0})
        conn.execute("UPDATE memsense.traces SET profile = profile || %s", [older])
    trace = memory.traces.get(result.trace_id or "")
    assert trace.profile["neighbour_weight"] == 0.07
    replayed = memory.traces.replay(trace.trace_id)
    assert replayed.is_unchanged
    assert replayed.changed == {}


def test_another_profile_replaces_all_constants(memory: MemSense) -> None:
    fill(memory)
    result = memory.search("apple river tea garden", user_id="ada", trace=True)
    found = memory.traces.replay(result.trace_id or "", profile="memsense")
    direct = memory.search("apple river tea garden", user_id="ada", profile="memsense")
    assert found.new_profile == "memsense"
    assert [hit.chunk_id for hit in found.new] == [hit.chunk_id for hit in direct]
    assert found.changed["relevance"] == ("normalised", "raw")


def test_a_replay_lists_hits_that_left_and_that_came(memory: MemSense) -> None:
    fill(memory)
    result = memory.search(
        "apple river tea", user_id="ada", trace=True, top_k=4, granularity="turn"
    )
    found = memory.traces.replay(
        result.trace_id or "", profile="semantic", overrides={"mmr_lambda": 0.3}
    )
    left = [move for move in found.moves if move.new_rank is None]
    came = [move for move in found.moves if move.old_rank is None]
    assert left
    assert came
    reasons = ("outranked", "dropped by MMR", "duplicates")
    assert all(any(reason in move.why for reason in reasons) for move in left)
    assert all("before: " in move.why for move in came)


def test_a_forgotten_hit_is_no_candidate_any_more(memory: MemSense) -> None:
    fill(memory)
    result = memory.search("apple river tea", user_id="ada", trace=True, granularity="turn")
    memory.forget(result[0].chunk_id)
    found = memory.traces.replay(result.trace_id or "")
    assert not found.is_unchanged
    gone = next(move for move in found.moves if move.chunk_id == result[0].chunk_id)
    assert gone.new_rank is None
    assert gone.why == "is no candidate any more"


def test_relative_dates_count_from_when_the_question_was_asked(memory: MemSense) -> None:
    fill(memory)
    result = memory.search(
        "apple last week",
        user_id="ada",
        trace=True,
        asked_at="2026-01-12T00:00:00Z",
        profile="balanced",
    )
    assert any(term.name == "date" for hit in result for term in hit.explain.terms)
    assert memory.traces.replay(result.trace_id or "").is_unchanged


def test_filters_are_replayed(memory: MemSense) -> None:
    fill(memory)
    result = memory.search(
        "apple river tea",
        user_id="ada",
        trace=True,
        since="2026-01-03",
        until="2026-01-06",
        tags=["tea", "river"],
        session_ids=["s2", "s3", "s4"],
        exclude=[1, "m7"],
        metadata={},
    )
    found = memory.traces.replay(result.trace_id or "")
    assert found.is_unchanged
    assert len(found.old) == len(result)


def test_the_last_traces_are_compared(memory: MemSense) -> None:
    fill(memory)
    for question in ("apple", "river tea", "the violin lesson", "bridge"):
        memory.search(question, user_id="ada", trace=True)
    memory.search("apple", user_id="bob", trace=True)
    same = memory.traces.compare(3, user_id="ada")
    assert [replay.question for replay in same.replays] == [
        "bridge",
        "the violin lesson",
        "river tea",
    ]
    assert (same.unchanged, same.same_first, same.mean_overlap) == (3, 3, 1.0)
    other = memory.traces.compare(10, profile="memsense")
    assert len(other.replays) == 5
    assert other.unchanged < 5
    assert other.as_dict()["mean_overlap"] == other.mean_overlap


def test_traces_that_cannot_be_replayed_are_refused(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    fill(memory, sessions=1)
    result = memory.search("apple", user_id="ada", trace=True)
    with pytest.raises(NotFoundError, match="no trace"):
        memory.traces.replay("00000000-0000-0000-0000-000000000000")
    with pytest.raises(InvalidInputError, match="must be the id of a trace"):
        memory.traces.replay("yesterday")
    with pytest.raises(ConfigurationError, match="no constant or route"):
        memory.traces.replay(result.trace_id or "", overrides={"lexcal": 1})
    with pytest.raises(NotFoundError):
        open_memory(namespace="empty").traces.replay(result.trace_id or "")
