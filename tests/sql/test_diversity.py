"""Limits on sessions in a search, its traces and its verdicts."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memsense import MemSense

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
CLOSE = {"mmr_lambda": 1.0, "duplicate_threshold": 2.0}


@pytest.fixture
def memory(memory: MemSense) -> MemSense:
    """Return a memory with one session all about tea, and three others that mention it."""
    for session, texts in {
        "tea": [f"I drink green tea with {n} biscuits." for n in range(8)],
        "trip": ["We took green tea along.", "Porto was lovely."],
        "work": ["The office has tea.", "The printer is broken again."],
        "home": ["My sister prefers coffee to tea.", "The cat sleeps."],
    }.items():
        for number, text in enumerate(texts):
            message = {"role": "user", "content": text, "at": START + timedelta(hours=number)}
            memory.add([message], user_id="ada", session_id=session, mode="turn")
    return memory


def ask(memory: MemSense, **options: Any) -> Any:
    overrides = {**CLOSE, **options.pop("overrides", {})}
    return memory.search(
        "green tea with biscuits", user_id="ada", top_k=6, overrides=overrides, **options
    )


def counts(result: Any) -> Counter[str]:
    return Counter(hit.session_id for hit in result)


def test_without_limits_one_session_may_give_every_hit(memory: MemSense) -> None:
    assert counts(ask(memory)) == {"tea": 6}


def test_at_most_a_number_of_hits_per_session_is_returned(memory: MemSense) -> None:
    result = ask(memory, overrides={"max_per_session": 2})
    assert len(result) == 6
    assert max(counts(result).values()) == 2
    limited = [hit.explain.selection for hit in result if hit.explain.selection.limited_by]
    assert {step.limited_by for step in limited} == {"max_per_session"}
    assert limited[0].passed_over not in {hit.chunk_id for hit in result}


def test_at_least_a_number_of_sessions_are_among_the_hits(memory: MemSense) -> None:
    result = ask(memory, overrides={"min_sessions": 3})
    assert sorted(counts(result).values()) == [1, 1, 4]
    steps = [hit.as_dict()["explain"]["selection"]["limited_by"] for hit in result]
    assert steps.count("min_sessions") == 2
    assert len({hit.session_id for hit in result[:3]}) == 3


def test_two_users_sessions_of_one_name_are_two_sessions(memory: MemSense) -> None:
    message = {"role": "user", "content": "Green tea with biscuits for Ben.", "at": START}
    memory.add([message], user_id="ben", session_id="tea", mode="turn")
    overrides = {**CLOSE, "max_per_session": 1}
    result = memory.search("green tea with biscuits", top_k=6, overrides=overrides, all_users=True)
    assert Counter((hit.chunk.user_id, hit.session_id) for hit in result) == {
        ("ada", "tea"): 1,
        ("ada", "trip"): 1,
        ("ada", "work"): 1,
        ("ada", "home"): 1,
        ("ben", "tea"): 1,
    }


def test_why_not_reports_chunks_that_a_limit_excluded(memory: MemSense) -> None:
    overrides = {**CLOSE, "max_per_session": 1}
    result = ask(memory, overrides={"max_per_session": 1}, trace=True)
    shown = {hit.chunk_id for hit in result}
    trace = memory.traces.get(result.trace_id)
    dropped = {item.chunk_id: item.dropped_by for item in trace.candidates}
    barred = [chunk_id for chunk_id, step in dropped.items() if step == "limit"]
    assert len(barred) >= 7
    assert not shown & set(barred)
    verdict = memory.why_not(
        "green tea with biscuits", barred[0], user_id="ada", top_k=6, overrides=overrides
    )
    assert verdict.step == "limit"
    assert "max_per_session" in verdict.text


def test_a_replay_with_a_limit_says_what_it_barred(memory: MemSense) -> None:
    before = ask(memory, trace=True)
    replay = memory.traces.replay(before.trace_id, overrides={"max_per_session": 1})
    gone = [move for move in replay.moves if move.new_rank is None]
    assert gone
    assert all("max_per_session" in move.why for move in gone)


def test_limits_may_be_settings(memory: MemSense) -> None:
    memory.settings.set(max_per_session=1, mmr_lambda=1.0, duplicate_threshold=2.0)
    result = memory.search("green tea with biscuits", user_id="ada", top_k=6)
    assert set(counts(result).values()) == {1}
