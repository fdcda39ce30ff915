"""Recorded searches: complete, exact, and never a reason for a search to fail."""

# pyright: reportPrivateUsage=false

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from psycopg import sql
from traced import fill, random_searches
from waiting import wait_until

from memsense import MemSense, SearchResult, Settings
from memsense.db import run_transaction
from memsense.db.connection import Connection
from memsense.db.wire import register_types
from memsense.errors import InvalidInputError, NotFoundError
from memsense.explain import recorder as tracing
from memsense.explain.outcomes import Outcome, trace_outcomes
from memsense.explain.recorder import LONGEST_QUEUE, Recording, TraceRecorder
from memsense.search.explanation import SessionSupport
from memsense.search.profiles import BALANCED, PROFILES
from memsense.store.traces import TraceCandidate

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


def test_the_parts_of_random_searches_add_up_to_every_score(
    memory: MemSense, store: psycopg.Connection[Any], is_long: bool
) -> None:
    searches = 200 if is_long else 80
    fill(memory)
    fill(memory, user_id="bob", sessions=4, mode="turn")
    hits = 0
    for asked in random_searches(searches):
        result = memory.search(asked.question, **asked.options, trace=True)
        memory.traces.flush()
        assert list(result.notes) == [note for note in result.notes if "traced" not in note]
        for hit in result:
            assert abs(sum(value for _, value in hit.explain.parts()) - hit.score) < 1e-9
            hits += 1
    assert count(store, "traces") == searches
    found = store.execute(
        "SELECT count(*), count(hit_rank), max(abs(final_score - base_score - turn_support"
        " - (SELECT coalesce(sum(value::float8), 0) FROM jsonb_each_text(terms)))),"
        " max(abs(rrf_score - (SELECT sum(part) FROM unnest(contributions) AS part))),"
        " max(abs(base_score - rrf_score)) FILTER (WHERE base_score <> 0)"
        " FROM memsense.trace_candidates"
    ).fetchone()
    assert found is not None
    assert found[1] == hits > 2 * searches
    assert found[0] > 2 * hits
    assert max(found[2:]) < 1e-9


def test_a_trace_says_what_the_search_said(memory: MemSense) -> None:
    fill(memory)
    memory.search("warm up", user_id="ada")
    for asked in random_searches(12, seed=8):
        options: dict[str, Any] = {**asked.options, "user_id": "ada", "all_users": False}
        result = memory.search(asked.question, **options, trace=True)
        assert result.trace_id is not None
        trace = memory.traces.get(str(result.trace_id))
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


def test_a_trace_holds_the_outcome_of_every_candidate(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_memory(reranker=LengthReranker())
    fill(memory)
    fill(memory, user_id="bob", sessions=4, mode="turn")
    for profile in PROFILES.values():
        for asked in random_searches(12, seed=len(profile.name)):
            changes = {"duplicate_threshold": 0.8, "max_per_session": len(asked.question) % 3}
            options: dict[str, Any] = {**asked.options, "profile": profile.override(**changes)}
            recording = record(memory, asked.question, options, monkeypatch)
            trace = memory.traces.get(recording.trace_id)
            outcomes = trace_outcomes(recording.search)
            assert len(trace.candidates) == len(outcomes)
            for item, outcome in zip(trace.candidates, outcomes, strict=True):
                assert_same(item, outcome, recording.hit_chunks)
            if asked.options["granularity"] == "turn" and outcomes:
                assert any("reranker" in item.terms for item in trace.candidates)


def record(
    memory: MemSense, question: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Recording:
    """Search and return the arguments of the recorder."""
    taken: list[Recording] = []
    submit = memory._context.recorder.submit
    with monkeypatch.context() as patch:

        def keep(recording: Recording) -> bool:
            taken.append(recording)
            return submit(recording)

        patch.setattr(memory._context.recorder, "submit", keep)
        memory.search(question, **options, trace=True)
    memory.traces.flush()
    assert memory.traces.failures == 0
    return taken[0]


def assert_same(item: TraceCandidate, outcome: Outcome, shown: Mapping[int, int]) -> None:
    """Compare every column of a candidate's row, to the last bit unless it is a sum."""
    candidate, routes, step = outcome.candidate, outcome.routes, outcome.selection
    is_hit, support = outcome.hit_rank is not None, outcome.session
    rrf_score = sum(route.contribution for route in routes)
    assert item.rrf_score == pytest.approx(rrf_score, abs=1e-12)
    assert item.base_score == pytest.approx(outcome.base_score, abs=1e-12)
    assert replace(item, rrf_score=0.0, base_score=0.0) == TraceCandidate(
        position=outcome.position,
        scope_id=candidate.scope_id,
        chunk_id=candidate.chunk_id,
        granularity=candidate.granularity,
        routes=[route.route for route in routes],
        ranks=[route.rank for route in routes],
        scores=[route.score for route in routes],
        weights=[route.weight for route in routes],
        contributions=[route.contribution for route in routes],
        rrf_score=0.0,
        memory_score=candidate.memory_score,
        base_score=0.0,
        turn_support=support.turn_support if support else 0.0,
        terms={term.name: term.contribution for term in outcome.terms},
        session=session_numbers(support),
        final_score=outcome.final_score,
        score_rank=outcome.score_rank,
        relevance=step.relevance if step else None,
        redundancy=step.max_redundancy if step else None,
        redundant_to=step.against if step else None,
        mmr_score=step.mmr_score if step else None,
        hit_rank=outcome.hit_rank,
        shown_chunk_id=shown.get(candidate.chunk_id) if is_hit else None,
        dropped_by=outcome.dropped_by,
        lost_to=outcome.lost_to,
    )


def session_numbers(support: SessionSupport | None) -> dict[str, Any] | None:
    if support is None:
        return None
    return {
        "session_rrf_score": support.session_rrf_score,
        "turn_support": support.turn_support,
        "supporting_turn_count": support.supporting_turn_count,
        "best_turn": support.best_turn,
        "best_turn_rrf_score": support.best_turn_rrf_score,
    }


class LengthReranker:
    """Reranker that prefers short texts."""

    name = "length"

    def rerank(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        del query
        return [-float(len(text)) for text in documents]


def test_a_search_without_candidates_is_recorded_too(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=1)
    result = memory.search("apple", user_id="nobody", trace=True)
    assert memory.traces.get(result.trace_id or "").candidates == []
    assert memory.traces.failures == 0
    assert count(store, "packed_candidates") == 1


@pytest.mark.one_server("its coordinator's plan does not show how a node runs its part")
def test_the_candidates_of_a_trace_are_one_row_found_by_its_key(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory)
    results = [memory.search("apple river", user_id="ada", trace=True) for _ in range(3)]
    memory.traces.flush()
    assert count(store, "packed_candidates") == 3
    assert count(store, "trace_candidates") > 60
    store.execute("SET enable_seqscan = off")
    plan = store.execute(
        "EXPLAIN (ANALYZE, FORMAT JSON)"
        " SELECT * FROM memsense.trace_candidates WHERE tenant_id = 1 AND trace_id = %s",
        [results[1].trace_id],
    ).fetchone()
    assert plan
    (scan,) = [
        node
        for node in walk(plan[0][0]["Plan"])
        if node.get("Relation Name") == "packed_candidates_default"
    ]
    assert scan["Index Name"] == "packed_candidates_default_pkey"
    assert scan["Actual Rows"] * scan["Actual Loops"] == 1


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from walk(child)


@given(
    arrays(
        st.sampled_from([np.bool_, np.int16, np.int32, np.int64, np.float64]),
        array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_array_is_stored_as_it_is(store: psycopg.Connection[Any], array: Any) -> None:
    cursor = psycopg.RawCursor(store)
    register_types(cursor)
    found = cursor.execute("SELECT $1, pg_typeof($1)::text", [array]).fetchone()
    assert found
    names = {
        "?": "boolean",
        "h": "smallint",
        "i": "integer",
        "l": "bigint",
        "d": "double precision",
    }
    assert found[1] == f"{names[array.dtype.char]}[]"
    assert repr(found[0]) == repr(array.tolist() if array.size else [])


def test_why_not_distinguishes_a_session_limit_from_a_low_rank(memory: MemSense) -> None:
    fill(memory)
    profile = BALANCED.override(max_per_session=1, duplicate_threshold=2.0)
    result = memory.search(
        "apple river tea", user_id="ada", trace=True, profile=profile, granularity="turn", top_k=4
    )
    sessions = {
        chunk.chunk_id: chunk.session_id for chunk in memory.recent(user_id="ada", limit=500)
    }
    barred = {hit.session_id for hit in result[:-1]}
    assert len(barred) == 3
    dropped = [
        item for item in memory.traces.get(result.trace_id or "").candidates if not item.hit_rank
    ]
    for item in dropped:
        assert (item.dropped_by == "limit") == (sessions[item.chunk_id] in barred)
    assert {item.dropped_by for item in dropped} == {"limit", "outranked"}
    verdict = memory.why_not(
        "apple river tea",
        next(item.chunk_id for item in dropped if item.dropped_by == "limit"),
        user_id="ada",
        profile=profile,
        granularity="turn",
        top_k=4,
    )
    assert verdict.step == "limit"
    assert "barred" in verdict.text


def test_waiting_traces_hold_no_vectors(memory: MemSense, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory, sessions=2)
    recording = record(memory, "apple", {"user_id": "ada"}, monkeypatch)
    assert recording.search.candidates.embeddings.size > 0
    release = threading.Event()

    def stuck(write: Callable[[Connection], None]) -> None:
        release.wait(120)
        run_transaction(memory._context.pool, write)

    recorder = TraceRecorder(stuck)
    recorder._start()
    for _ in range(3):
        recorder.submit(replace(recording, trace_id=uuid4()))
    waiting = [item[1].search for item in list(recorder._waiting.queue) if item]
    release.set()
    recorder.close()
    assert len(waiting) >= 2
    assert all(search.candidates.embeddings.size == 0 for search in waiting)
    assert all(search.ranking.candidates is search.candidates for search in waiting)
    assert recorder.written == 3


def test_traces_wait_for_a_pause_but_not_too_long_nor_too_many(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory, sessions=2)
    recording = record(memory, "apple", {"user_id": "ada"}, monkeypatch)
    recorder = TraceRecorder(partial(run_transaction, memory._context.pool))

    def submit(count: int) -> None:
        for _ in range(count):
            assert recorder.submit(replace(recording, trace_id=uuid4()))

    monkeypatch.setattr(tracing, "LONGEST_DELAY", 600)
    looks = 0
    is_due = recorder._is_due

    def count_looks(submitted_at: float) -> bool:
        nonlocal looks
        looks += 1
        return is_due(submitted_at)

    def let_it_look() -> None:
        seen = looks
        wait_until(lambda: looks >= seen + 5, "looks of the recorder at its queue")

    monkeypatch.setattr(recorder, "_is_due", count_looks)
    with recorder.search_running():
        submit(3)
        let_it_look()
        assert recorder.written == 0
        submit(LONGEST_QUEUE // 2)
        await_written(recorder, LONGEST_QUEUE // 2 + 3)
        submit(2)
        let_it_look()
        assert recorder.written == LONGEST_QUEUE // 2 + 3
        monkeypatch.setattr(tracing, "LONGEST_DELAY", 0)
        await_written(recorder, LONGEST_QUEUE // 2 + 5)
    monkeypatch.setattr(tracing, "LONGEST_DELAY", 600)
    submit(1)
    await_written(recorder, LONGEST_QUEUE // 2 + 6)
    recorder.close()


def await_written(recorder: TraceRecorder, count: int) -> None:
    wait_until(lambda: recorder.written >= count, f"{count} written traces")
    assert recorder.written == count


def test_asynchronous_commit_of_traces_applies_to_no_other_statement(memory: MemSense) -> None:
    fill(memory, sessions=1)
    memory.search("apple", user_id="ada", trace=True)
    memory.traces.flush()
    with memory._context.pool.connection() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_every_candidate_is_a_hit_or_was_dropped_by_one_step(memory: MemSense) -> None:
    fill(memory)
    profile = BALANCED.override(duplicate_threshold=0.8)
    steps: set[str | None] = set()
    for granularity in ("session", "turn"):
        result = memory.search(
            "apple river tea", user_id="ada", trace=True, profile=profile, granularity=granularity
        )
        trace = memory.traces.get(result.trace_id or "")
        assert len(trace.candidates) == trace.candidate_count
        steps |= {item.dropped_by for item in trace.candidates}
        shown = {hit.chunk_id for hit in trace.hits()}
        for item in trace.candidates:
            assert (item.hit_rank is None) == (item.dropped_by is not None)
            if item.dropped_by == "duplicate":
                assert (item.redundancy or 0) >= 0.8
                assert item.lost_to in shown
    assert steps - {"mmr"} == {None, "duplicate", "outranked", "session"}


def test_a_failing_trace_is_reported_and_loses_no_answer(
    memory: MemSense, store: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    fill(memory, sessions=2)
    before = memory.search("apple river", user_id="ada")
    store.execute("ALTER TABLE memsense.packed_candidates RENAME TO gone")
    try:
        with caplog.at_level(logging.WARNING, logger="memsense.traces"):
            result = memory.search("apple river", user_id="ada", trace=True)
            memory.traces.flush()
    finally:
        store.execute("ALTER TABLE memsense.gone RENAME TO packed_candidates")
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
    monkeypatch.setattr(memory._context.recorder, "submit", taken.append)
    memory.search("apple", user_id="ada", trace=True)
    release = threading.Event()

    def stuck(write: Callable[[Connection], None]) -> None:
        release.wait(120)
        run_transaction(memory._context.pool, write)

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
        memory.traces.flush()
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
    memory.traces.flush()
    store.execute(
        "UPDATE memsense.traces SET recorded_at = now() - interval '31 days' WHERE trace_id = %s",
        [old.trace_id],
    )
    assert memory.traces.prune(30) == 1
    assert [item.trace_id for item in memory.traces.list()] == [new.trace_id]
    row = store.execute("SELECT count(DISTINCT trace_id) FROM memsense.trace_candidates").fetchone()
    assert row == (1,)
    assert memory.traces.prune(0) == 1
    assert count(store, "trace_candidates") == 0
    with pytest.raises(InvalidInputError):
        memory.traces.prune(-1)


def test_a_users_questions_go_with_the_user(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=1)
    fill(memory, user_id="bob", sessions=1)
    memory.search("the secret apple", user_id="ada", trace=True)
    memory.search("bob's river", user_id="bob", trace=True)
    memory.traces.flush()
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
    assert [item.question for item in memory.traces.list()] == ["bob's river"]
    assert count(store, "trace_candidates") > 0


def test_candidates_hold_no_text_of_the_question_or_the_chunks(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    memory.add(
        [{"role": "user", "content": "quincunx on 3 May 2026"}], user_id="ada", session_id="zebra"
    )
    memory.search("what about quincunx on 3 May 2026", user_id="ada", trace=True)
    memory.traces.flush()
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
    memory.traces.flush()
    for place in ({"namespace": "work"}, {"tenant": "other"}):
        other = open_memory(**place)
        fill(other, sessions=1)
        assert other.traces.list() == []
        with pytest.raises(NotFoundError, match="no trace"):
            other.traces.get(result.trace_id or "")
    with pytest.raises(InvalidInputError, match="must be the id of a trace, not 'not-an-id'"):
        memory.traces.get("not-an-id")


def test_nothing_is_recorded_unless_asked(memory: MemSense, store: psycopg.Connection[Any]) -> None:
    fill(memory, sessions=1)
    result: SearchResult = memory.search("apple", user_id="ada")
    assert result.trace_id is None
    assert result.as_dict()["trace_id"] is None
    assert count(store, "traces") == 0
