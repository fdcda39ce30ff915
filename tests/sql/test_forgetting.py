"""Reads after forgetting, archiving, restoring and promoting."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted

from memsense import MemSense
from memsense.errors import NotFoundError
from memsense.types import IngestMode

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

# What a chunk's row holds, but for when it was written.
CONTENT = (
    "SELECT to_jsonb(c) - 'recorded_at' FROM memsense.chunks AS c WHERE status = 'active'"
    " ORDER BY chunk_id"
)
VECTORS = (
    "SELECT chunk_id, route, previous_chunk_id, embedding::text FROM memsense.embeddings"
    " ORDER BY chunk_id, route"
)
PLACE = "zanzibar"


def remember(
    memory: MemSense, n: int = 5, secret_at: int = 2, session_id: str = "one"
) -> list[int]:
    """Add n turns, one with the place on both sides and in a facet; return their ids."""
    ids: list[int] = []
    for i in range(n):
        word = PLACE if i == secret_at else f"topic{i}"
        chunks = memory.add(
            [
                {"role": "user", "content": f"tell me of {word}", "at": MAY + timedelta(hours=i)},
                {"role": "assistant", "content": f"{word} is far", "at": MAY + timedelta(hours=i)},
            ],
            user_id="ada",
            session_id=session_id,
            facets={"events": f"asked for {word}"},
            tags=[word],
            mode="hybrid",
        )
        ids.append(chunks[0].chunk_id)
    memory.indexes.make_sessions()
    return ids


def snapshot(conn: psycopg.Connection[Any]) -> tuple[Any, ...]:
    queries = (CONTENT, VECTORS, "TABLE memsense.lexemes", "TABLE memsense.scope_statistics")
    return tuple(sorted(map(repr, conn.execute(text).fetchall())) for text in queries)  # pyright: ignore[reportArgumentType, reportCallIssue]


def shown_texts(memory: MemSense, **options: Any) -> str:
    """Return all texts of a search: hits, neighbours, and references between them."""
    chunks = [
        chunk
        for hit in memory.search(f"{PLACE} far topic1 topic3", user_id="ada", **options)
        for chunk in (hit.chunk, *(neighbor.chunk for neighbor in hit.neighbors))
    ]
    assert chunks
    return "\n".join(
        f"{c.content} {c.context} {c.next_user_text} {c.tags} {c.events}" for c in chunks
    )


@pytest.mark.parametrize("operation", ["forget", "archive"])
@pytest.mark.parametrize("secret_at", [0, 2, 4])
def test_forgotten_text_is_shown_by_no_search_and_restored_whole(
    memory: MemSense, database_url: str, operation: str, secret_at: int
) -> None:
    ids = remember(memory, secret_at=secret_at)
    with psycopg.connect(database_url, autocommit=True) as conn:
        before = snapshot(conn)
        assert getattr(memory, operation)(ids[secret_at]) == [ids[secret_at]]
        assert_counted(conn)
        for granularity in (None, "turn", "session"):
            for profile in ("balanced", "memsense", "lexical", "semantic"):
                options = {"granularity": granularity, "profile": profile}
                assert PLACE not in shown_texts(memory, **options)
        assert all(ids[secret_at] != chunk.chunk_id for chunk in memory.recent(user_id="ada"))
        stored = conn.execute(
            "SELECT count(*) FROM memsense.chunks WHERE status = 'active'"
            " AND (tsv @@ to_tsquery('english', %(s)s) OR concat(user_text, assistant_text,"
            " session_text, context, next_user_text, personal_info, preferences, events)"
            " ILIKE '%%' || %(s)s || '%%')",
            {"s": PLACE},
        ).fetchone()
        assert stored == (0,)
        assert memory.restore(ids[secret_at]) == [ids[secret_at]]
        assert_counted(conn)
        assert snapshot(conn) == before
    assert PLACE in shown_texts(memory)


def test_forgetting_a_session_chunk_takes_its_turns_along(
    memory: MemSense, database_url: str
) -> None:
    ids = remember(memory)
    remember(memory, session_id="two", secret_at=9)
    [session] = [
        c for c in memory.recent(granularity="session", all_users=True) if c.session_id == "one"
    ]
    with psycopg.connect(database_url, autocommit=True) as conn:
        before = snapshot(conn)
        assert memory.forget(session.chunk_id) == ids
        assert_counted(conn)
        hits = memory.search(PLACE, user_id="ada")
        assert {hit.session_id for hit in hits} == {"two"}
        assert memory.restore(session.chunk_id) == ids
        assert snapshot(conn) == before


def test_forgetting_everything_and_restoring_it_in_another_order_changes_nothing(
    memory: MemSense, database_url: str
) -> None:
    ids = remember(memory)
    with psycopg.connect(database_url, autocommit=True) as conn:
        before = snapshot(conn)
        for chunk_id in ids:
            memory.forget(chunk_id)
        assert conn.execute("SELECT count(*) FROM memsense.embeddings").fetchone() == (0,)
        assert conn.execute("SELECT count(*) FROM memsense.lexemes").fetchone() == (0,)
        for chunk_id in (ids[3], ids[0], ids[4], ids[1], ids[2]):
            memory.restore(chunk_id)
        assert_counted(conn)
        # Session chunks may have got new ids on the way: their texts are what counts.
        after = snapshot(conn)
        assert len(after[0]) == len(before[0])
        assert after[2:] == before[2:]


def test_an_exchange_added_after_forgetting_continues_behind_the_gap(
    memory: MemSense, database_url: str
) -> None:
    ids = remember(memory, secret_at=4)
    memory.forget(ids[4])
    [chunk] = memory.add(
        [{"role": "user", "content": "and now tea", "at": MAY + timedelta(days=1)}],
        user_id="ada",
        session_id="one",
    )
    assert chunk.ordinal == 5
    assert memory.get(ids[3]).next_user_text == "and now tea"
    assert PLACE not in chunk.context
    memory.restore(ids[4])
    assert memory.get(ids[3]).next_user_text == f"tell me of {PLACE}"
    assert PLACE in memory.get(chunk.chunk_id).context
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)


def test_a_session_mode_chunk_is_forgotten_and_restored(
    memory: MemSense, database_url: str
) -> None:
    [chunk] = memory.add(
        [{"role": "user", "content": f"tell me of {PLACE}", "at": MAY}],
        user_id="ada",
        session_id="one",
        mode="session",
    )
    with psycopg.connect(database_url, autocommit=True) as conn:
        before = snapshot(conn)
        assert memory.forget(chunk.chunk_id) == [chunk.chunk_id]
        assert not memory.search(PLACE, user_id="ada")
        assert memory.restore(chunk.chunk_id) == [chunk.chunk_id]
        assert snapshot(conn) == before


@pytest.mark.parametrize(
    "modes", [("session", "hybrid"), ("hybrid", "session"), ("turn", "session")]
)
def test_forgetting_loses_nothing_else_of_a_session_added_in_two_modes(
    memory: MemSense, database_url: str, modes: tuple[IngestMode, IngestMode]
) -> None:
    ids = [
        memory.add(
            [{"role": "user", "content": f"topic{n}", "at": MAY + timedelta(hours=n)}],
            user_id="ada",
            session_id="one",
            mode=mode,
        )[0].chunk_id
        for n, mode in enumerate(modes)
    ]
    with psycopg.connect(database_url, autocommit=True) as conn:
        assert_counted(conn)
        before = snapshot(conn)
        assert "topic0" in "".join(hit.content for hit in memory.search("topic0", user_id="ada"))
        memory.forget(ids[-1])
        assert_counted(conn)
        hits = memory.search("topic0 topic1", user_id="ada")
        assert ["topic0" in hit.content for hit in hits] == (
            [True] if modes[0] != "session" else []
        )
        memory.restore(ids[-1])
        if modes[0] != "turn":
            assert snapshot(conn) == before


def test_forgetting_or_restoring_twice_changes_nothing_more(memory: MemSense) -> None:
    ids = remember(memory)
    assert memory.forget(ids[1]) == [ids[1]]
    assert memory.forget(ids[1]) == []
    assert memory.archive(ids[1]) == [ids[1]]
    assert memory.restore(ids[1]) == [ids[1]]
    assert memory.restore(ids[1]) == []
    kinds = [event.kind for event in memory.history(ids[1])]
    assert kinds == ["added", "deleted", "archived", "restored"]


def test_the_reason_is_in_the_history(memory: MemSense) -> None:
    ids = remember(memory)
    memory.forget(ids[0], reason="asked to")
    assert memory.history(ids[0])[-1].detail == {"reason": "asked to"}


def test_promoting_and_demoting_move_the_score_within_bounds(memory: MemSense) -> None:
    chunk_id = remember(memory)[0]
    assert memory.get(chunk_id).memory_score == 0.5
    assert memory.promote(chunk_id) == pytest.approx(0.65)
    assert [memory.promote(chunk_id) for _ in range(4)][-1] == 1.0
    assert memory.demote(chunk_id) == pytest.approx(0.85)
    assert [memory.demote(chunk_id) for _ in range(8)][-1] == 0.0


def test_a_promoted_session_chunk_promotes_what_stands_for_it_in_recall(memory: MemSense) -> None:
    remember(memory)
    [hit] = memory.search(PLACE, user_id="ada", granularity="session")
    assert hit.chunk.granularity == "session"
    memory.promote(hit.chunk_id)
    [again] = memory.search(PLACE, user_id="ada", granularity="session")
    assert again.explain.memory_score == pytest.approx(0.65)
    assert again.score == pytest.approx(hit.score + 0.015)


def test_feedback_is_kept_and_scores_nothing(memory: MemSense) -> None:
    chunk_id = remember(memory)[0]
    memory.feedback(chunk_id, helpful=True, question="what?", note="good")
    event = memory.history(chunk_id)[-1]
    assert event.kind == "feedback"
    assert event.detail == {"helpful": True, "question": "what?", "note": "good"}
    assert memory.get(chunk_id).memory_score == 0.5


def test_missing_chunks_cannot_be_changed(memory: MemSense) -> None:
    for operation in (memory.forget, memory.restore, memory.promote, memory.get, memory.history):
        with pytest.raises(NotFoundError):
            operation(17)
    remember(memory)
    with pytest.raises(NotFoundError, match="17"):
        memory.forget(17)


def find_session(memory: MemSense, session_id: str = "one") -> int:
    [found] = [
        c
        for c in memory.recent(granularity="session", all_users=True)
        if c.session_id == session_id
    ]
    return found.chunk_id


@pytest.mark.parametrize("operation", ["forget", "archive"])
def test_a_forgotten_turn_does_not_return_with_its_session(
    memory: MemSense, database_url: str, operation: str
) -> None:
    ids = remember(memory)
    memory.forget(ids[2])
    rest = [chunk_id for chunk_id in ids if chunk_id != ids[2]]
    session = find_session(memory)
    assert getattr(memory, operation)(session) == rest
    assert memory.get(ids[2]).status == "deleted"
    assert memory.restore(session) == rest
    assert memory.get(ids[2]).status == "deleted"
    assert PLACE not in shown_texts(memory)
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)
    assert memory.restore(ids[2]) == [ids[2]]


def test_restoring_a_session_leaves_alone_what_was_archived_before_it(memory: MemSense) -> None:
    ids = remember(memory)
    memory.archive(ids[1])
    session = find_session(memory)
    assert memory.archive(session) == [ids[0], *ids[2:]]
    assert memory.forget(session) == ids
    assert memory.restore(session) == [ids[0], *ids[2:]]
    assert memory.get(ids[1]).status == "deleted"
    assert memory.restore(session) == []


def test_restoring_an_active_session_brings_no_forgotten_turn_back(memory: MemSense) -> None:
    ids = remember(memory)
    memory.forget(ids[2])
    assert memory.restore(find_session(memory)) == []
    assert memory.get(ids[2]).status == "deleted"


def test_no_read_shows_the_text_of_a_forgotten_chunk(memory: MemSense) -> None:
    ids = remember(memory)
    memory.forget(ids[2])
    chunk = memory.get(ids[2])
    assert (chunk.status, chunk.content) == ("deleted", "")
    assert PLACE not in repr(chunk)
    session = find_session(memory)
    memory.forget(session)
    assert (memory.get(session).status, memory.get(session).content) == ("deleted", "")
    memory.restore(session)
    memory.archive(ids[1])
    assert memory.get(ids[1]).content


@pytest.mark.parametrize("mode", ["turn", "session", "hybrid"])
@pytest.mark.parametrize("length", [1, 900])
def test_an_exchange_said_again_after_forgetting_is_stored_again(
    memory: MemSense, database_url: str, mode: IngestMode, length: int
) -> None:
    said = [{"role": "user", "content": f"{PLACE} " * length, "id": "m1", "at": MAY}]

    def say() -> list[int]:
        chunks = memory.add(said, user_id="ada", session_id="one", mode=mode)
        assert {chunk.status for chunk in chunks} == {"active"}
        return [chunk.chunk_id for chunk in chunks]

    first = say()
    assert say() == first
    memory.forget(first[0])
    again = say()
    assert first[0] not in again
    assert say() == again
    assert PLACE in memory.search(PLACE, user_id="ada")[0].content
    assert memory.get(first[0]).content == ""
    # What was said again stands where it is now said: the old one stays away.
    if mode != "session":
        assert memory.restore(first[0]) == []
        assert memory.archive(first[0]) == []
        assert memory.get(first[0]).status == "deleted"
    memory.archive(again[0])
    known = memory.add(said, user_id="ada", session_id="one", mode=mode)
    assert [chunk.chunk_id for chunk in known] == again
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)


def test_a_log_read_again_brings_a_forgotten_message_back_only_if_it_is_said_anew(
    memory: MemSense, tmp_path: Path
) -> None:
    log = tmp_path / "log.json"

    def read(*names: str) -> int:
        rows = [
            {"id": f"{role}-{name}", "role": role, "content": text, "timestamp": MAY.isoformat()}
            for name in names
            for role, text in (("user", f"off to {PLACE}"), ("assistant", "have a good journey"))
        ]
        log.write_text(json.dumps({"messages": rows}))
        return memory.ingest(log, user_id="ada").stored

    assert read("m1") == 1
    [chunk] = memory.recent(user_id="ada")
    memory.forget(chunk.chunk_id)
    assert read("m1") == 0
    assert not memory.recent(user_id="ada")
    assert read("m1", "m2") == 1
    [again] = memory.recent(user_id="ada")
    assert again.chunk_id != chunk.chunk_id
    assert PLACE in again.content
