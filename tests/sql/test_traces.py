"""Recording searches: complete, exact, never in the way of the answer."""

# pyright: reportPrivateUsage=false

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from traced import fill, random_searches

from memsense import MemSense, SearchResult, Settings
from memsense.engine.tracing import LONGEST_QUEUE, TraceRecorder
from memsense.errors import InvalidInputError, NotFoundError
from memsense.profiles import BALANCED

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def store(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def count(store: psycopg.Connection[Any], table: str) -> int:
    row = store.execute(
        sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("memsense", table))
    ).fetchone()
    assert row
    return row[0]


def test_the_parts_of_200_random_searches_add_up_to_every_score(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory)
    fill(memory, user_id="bob", sessions=4, mode="turn")
    hits = 0
    for asked in random_searches(200):
        result = memory.search(asked.question, **asked.options, trace=True)
        memory.flush_traces()
        assert list(result.notes) == [note for note in result.notes if "traced" not in note]
        for hit in result:
            assert abs(sum(value for _, value in hit.explain.parts()) - hit.score) < 1e-9
            hits += 1
    assert count(store, "traces") == 200
    found = store.execute(
        "SELECT count(*), count(hit_rank), max(abs(final_score - base_score - turn_support"
        " - (SELECT coalesce(sum(value::float8), 0) FROM jsonb_each_text(terms)))),"
        " max(abs(rrf_score - (SELECT sum(part) FROM unnest(contributions) AS part))),"
        " max(abs(base_score - rrf_score)) FILTER (WHERE base_score <> 0)"
        " FROM memsense.trace_candidates"
    ).fetchone()
    assert found is not None
    assert found[1] == hits > 400
    assert found[0] > 2 * hits
    assert max(found[2:]) < 1e-9


def test_a_trace_says_what_the_search_said(memory: MemSense) -> None:
    fill(memory)
    memory.search("warm up", user_id="ada")
    for asked in random_searches(12, seed=8):
        options: dict[str, Any] = {**asked.options, "user_id": "ada"}
        result = memory.search(asked.question, **options, trace=True)
        assert result.trace_id is not None
        trace = memory.trace(str(result.trace_id))
        assert trace.question == asked.question
        assert trace.user_id == "ada"
        assert trace.profile["name"] == trace.profile_name == result.profile
        assert trace.timings_ms == result.timings_ms
        assert [hit.shown_chunk_id for hit in trace.hits()] == [hit.chunk_id for hit in result]
        for recorded, hit in zip(trace.hits(), result, strict=True):
            assert recorded.final_score == hit.score
            assert recorded.parts() == pytest.approx(dict(hit.explain.parts()))
            step = hit.explain.selection
            assert step is not None
            assert recorded.mmr_score == step.mmr_score
            assert recorded.redundant_to == step.against


def test_each_candidate_is_a_hit_or_was_dropped_by_one_step(memory: MemSense) -> None:
    fill(memory)
    profile = BALANCED.override(duplicate_threshold=0.8)
    steps: set[str | None] = set()
    for granularity in ("auto", "turn"):
        result = memory.search(
            "apple river tea", user_id="ada", trace=True, profile=profile, granularity=granularity
        )
        trace = memory.trace(result.trace_id or "")
        assert len(trace.candidates) == trace.candidate_count
        steps |= {item.dropped_by for item in trace.candidates}
        shown = {hit.chunk_id for hit in trace.hits()}
        for item in trace.candidates:
            assert (item.hit_rank is None) == (item.dropped_by is not None)
            if item.dropped_by == "duplicate":
                assert (item.redundancy or 0) >= 0.8
                assert item.lost_to in shown
    assert steps == {None, "duplicate", "mmr", "session"}


def test_a_failing_trace_loses_no_answer_and_is_told(
    memory: MemSense, store: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    fill(memory, sessions=2)
    before = memory.search("apple river", user_id="ada")
    store.execute("ALTER TABLE memsense.trace_candidates RENAME TO gone")
    try:
        with caplog.at_level(logging.WARNING, logger="memsense.traces"):
            result = memory.search("apple river", user_id="ada", trace=True)
            memory.flush_traces()
    finally:
        store.execute("ALTER TABLE memsense.gone RENAME TO trace_candidates")
    assert [hit.chunk_id for hit in result] == [hit.chunk_id for hit in before]
    assert len(result) > 0
    assert any("was not traced" in note for note in result.notes)
    assert str(result.trace_id) in caplog.text
    assert count(store, "traces") == 0


def test_too_many_waiting_traces_are_given_up_not_waited_for(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory, sessions=2)
    taken: list[Any] = []
    monkeypatch.setattr(memory._recorder, "submit", taken.append)
    memory.search("apple", user_id="ada", trace=True)
    release = threading.Event()

    @contextmanager
    def stuck() -> Generator[psycopg.Connection[Any]]:
        release.wait(30)
        with memory._pool.connection() as connection, connection.transaction():
            yield connection

    recorder = TraceRecorder(stuck)
    recordings = [replace(taken[0], trace_id=uuid4(), notes=[]) for _ in range(LONGEST_QUEUE + 5)]
    taken_over = [recorder.submit(recording) for recording in recordings]
    release.set()
    recorder.close()
    assert taken_over[0]
    assert not taken_over[-1]
    assert recorder.failed == taken_over.count(False) > 0
    assert recorder.written == taken_over.count(True)
    assert "waiting" in recordings[-1].notes[0]


def test_the_sampling_rate_decides_unless_the_search_does(
    open_memory: OpenMemory, store: psycopg.Connection[Any]
) -> None:
    for share, searches, expected in ((1.0, 5, 5), (0.0, 5, 0)):
        memory = open_memory(settings=Settings.model_validate({"trace_sample": share}))
        fill(memory, sessions=1)
        store.execute("DELETE FROM memsense.traces")
        for _ in range(searches):
            memory.search("apple", user_id="ada")
        memory.search("apple", user_id="ada", trace=False)
        memory.flush_traces()
        assert count(store, "traces") == expected


def test_closing_writes_what_waits(open_memory: OpenMemory, store: psycopg.Connection[Any]) -> None:
    memory = open_memory()
    fill(memory, sessions=1)
    for _ in range(5):
        memory.search("apple", user_id="ada", trace=True)
    memory.close()
    assert count(store, "traces") == 5


def test_pruning_takes_the_old_traces_with_their_candidates(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=1)
    old, new = (memory.search("apple", user_id="ada", trace=True) for _ in range(2))
    memory.flush_traces()
    store.execute(
        "UPDATE memsense.traces SET recorded_at = now() - interval '31 days' WHERE trace_id = %s",
        [old.trace_id],
    )
    assert memory.prune_traces(30) == 1
    assert [item.trace_id for item in memory.traces()] == [new.trace_id]
    row = store.execute("SELECT count(DISTINCT trace_id) FROM memsense.trace_candidates").fetchone()
    assert row == (1,)
    assert memory.prune_traces(0) == 1
    assert count(store, "trace_candidates") == 0
    with pytest.raises(InvalidInputError):
        memory.prune_traces(-1)


def test_a_users_questions_go_with_the_user(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=1)
    fill(memory, user_id="bob", sessions=1)
    memory.search("the secret apple", user_id="ada", trace=True)
    memory.search("bob's river", user_id="bob", trace=True)
    memory.flush_traces()
    for table in (
        "embeddings",
        "events",
        "chunks",
        "ingested_messages",
        "lexemes",
        "scope_statistics",
        "scopes",
    ):
        store.execute(
            sql.SQL(
                "DELETE FROM {} WHERE scope_id ="
                " (SELECT scope_id FROM memsense.scopes WHERE user_id = 'ada')"
            ).format(sql.Identifier("memsense", table))
        )
    assert [item.question for item in memory.traces()] == ["bob's river"]
    assert count(store, "trace_candidates") > 0


def test_candidates_hold_no_text_of_the_question_or_the_chunks(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    memory.add(
        [{"role": "user", "content": "quincunx on 3 May 2026"}], user_id="ada", session_id="zebra"
    )
    memory.search("what about quincunx on 3 May 2026", user_id="ada", trace=True)
    memory.flush_traces()
    rows = store.execute("SELECT c::text FROM memsense.trace_candidates AS c").fetchall()
    assert rows
    for (row,) in rows:
        assert "quincunx" not in row
        assert "zebra" not in row
        assert "May" not in row


def test_a_trace_is_seen_in_its_own_namespace_only(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    fill(memory, sessions=1)
    result = memory.search("apple", user_id="ada", trace=True)
    memory.flush_traces()
    for place in ({"namespace": "work"}, {"tenant": "other"}):
        other = open_memory(**place)
        fill(other, sessions=1)
        assert other.traces() == []
        with pytest.raises(NotFoundError, match="no trace"):
            other.trace(result.trace_id or "")
    with pytest.raises(InvalidInputError, match="no trace id"):
        memory.trace("not-an-id")


def test_nothing_is_recorded_unless_asked(memory: MemSense, store: psycopg.Connection[Any]) -> None:
    fill(memory, sessions=1)
    result: SearchResult = memory.search("apple", user_id="ada")
    assert result.trace_id is None
    assert result.as_dict()["trace_id"] is None
    assert count(store, "traces") == 0
