"""Searches of the past: they see what was stored then, whatever was written since."""

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from dumping import find_words
from embedders import TokenHashingEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsense import MemSense
from memsense.errors import ConfigurationError, InvalidInputError
from memsense.search.profiles import PROFILES, ROUTES, Profile
from memsense.types import Chunk, IngestMode

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

WORDS = "tea Lisbon harbour violin green door winter bicycle saffron rain Porto Douro".split()

EVERY_ROUTE = PROFILES["balanced"].override(
    **dict.fromkeys([route for route in ROUTES if route != "graph"], 1.0)
)

PROFILES_TRIED: list[tuple[str | Profile, str]] = [
    ("balanced", "turn"),
    ("memsense", "session"),
    ("calibrated", "turn"),
    (EVERY_ROUTE, "session"),
]


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def past_memory(open_memory: OpenMemory) -> MemSense:
    return open_memory(embedder=TokenHashingEmbedder())


def tell(memory: MemSense, number: int, *, mode: IngestMode = "hybrid", **options: Any) -> Chunk:
    said = " ".join(WORDS[(number * step) % len(WORDS)] for step in (1, 3, 5, 7))
    at = MAY + timedelta(hours=number)
    messages = [
        {"role": "user", "content": f"I like the {said} {number}.", "name": "Ada", "at": at},
        {"role": "assistant", "content": f"Noted: {said[::-1]}.", "name": "Bot", "at": at},
    ]
    session_id = f"s{number % 3}"
    return memory.add(messages, user_id="ada", session_id=session_id, mode=mode, **options)[0]


def now(conn: psycopg.Connection[Any]) -> datetime:
    row = conn.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    return row[0]


def record(memory: MemSense) -> list[UUID]:
    """Record searches of several kinds."""
    found = [
        memory.search(question, user_id="ada", profile=profile, granularity=granularity, trace=True)  # pyright: ignore[reportArgumentType]
        for profile, granularity in PROFILES_TRIED
        for question in ("Where does Ada drink tea in Lisbon?", "violin winter Douro")
    ]
    memory.traces.flush()
    return [result.trace_id for result in found if result.trace_id]


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "update", "forget", "archive", "restore", "promote", "demote", "feedback"]
        ),
        st.integers(0, 11),
        st.sampled_from(WORDS),
    ),
    min_size=1,
    max_size=12,
)


def write(memory: MemSense, ids: list[int], operation: tuple[str, int, str]) -> None:
    """Make one later write. Ignore refused ones, such as an update of a forgotten chunk."""
    what, number, word = operation
    chunk_id = ids[number % len(ids)]
    try:
        if what == "add":
            ids.append(tell(memory, 100 + len(ids) * 12 + number).chunk_id)
        elif what == "update":
            memory.update(chunk_id, content={"user": f"Now it is {word}."}, tags=[word])
        elif what == "feedback":
            memory.feedback(chunk_id, helpful=True, note=word)
        else:
            getattr(memory, what)(chunk_id)
    except InvalidInputError:
        pass


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(operations=OPERATIONS, mode=st.sampled_from(["turn", "hybrid", "session"]))
def test_a_trace_as_of_its_own_time_gives_the_same_hits_after_any_later_writes(
    past_memory: MemSense, operations: list[tuple[str, int, str]], mode: IngestMode
) -> None:
    memory = past_memory
    if memory.stats():
        memory.erase(user_id="ada")
    memory.settings.set(history="on")
    ids = list(dict.fromkeys(tell(memory, number, mode=mode).chunk_id for number in range(9)))
    trace_ids = record(memory)
    for operation in operations:
        write(memory, ids, operation)
    memory.indexes.make_sessions()
    for trace_id in trace_ids:
        replay = memory.traces.replay(trace_id, as_of_then=True)
        assert replay.is_unchanged, (replay.moves, operations)


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_memory_is_as_it_stood(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], mode: IngestMode
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")
    ids = [tell(memory, number, mode=mode).chunk_id for number in range(3)]
    memory.indexes.make_sessions()
    before = now(conn)
    shown = {hit.content for hit in memory.search("tea", user_id="ada", top_k=20)}
    if mode != "session":
        memory.update(ids[0], content={"user": "I like Krakatoaword."})
    memory.forget(ids[1])
    tell(memory, 7, mode=mode)
    today = memory.search("Krakatoaword tea", user_id="ada", top_k=20)
    then = memory.search("tea", user_id="ada", top_k=20, as_of=before)
    assert {hit.content for hit in then} == shown
    assert ids[1] in [hit.chunk_id for hit in then]
    assert ids[1] not in [hit.chunk_id for hit in today]
    assert "Krakatoaword" not in repr([hit.as_dict() for hit in then])
    assert any(note.startswith("memory as it stood at") for note in then.notes)
    everybody = memory.search("tea", all_users=True, top_k=20, as_of=before.isoformat())
    assert {hit.content for hit in everybody} == shown
    filtered = memory.search("tea", user_id="ada", top_k=20, as_of=before, session_ids=["s0"])
    assert {hit.content for hit in filtered} == {
        hit.content for hit in then if hit.chunk.session_id == "s0"
    }


def test_erased_and_expired_memories_are_deleted_from_the_past_too(
    open_memory: OpenMemory, conn: psycopg.Connection[Any]
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")

    def say(text: str, **options: Any) -> Chunk:
        messages = [{"role": "user", "content": text, "at": MAY}]
        messages.append({"role": "assistant", "content": f"noted: {len(text)}", "at": MAY})
        return memory.add(messages, user_id="ada", session_id="s", mode="hybrid", **options)[0]

    say("tea of the first")
    secret = say("tea in Zanzibarword")
    say("tea of the third")
    expiring = say("tea in Xylophoneword", ttl="1h")
    memory.indexes.make_sessions()
    before = now(conn)
    memory.update(secret.chunk_id, content={"user": "tea in Quentinella"})
    memory.update(expiring.chunk_id, content={"user": "tea in Vesuviusword"})
    say("tea of the fifth")
    memory.indexes.make_sessions()
    found = memory.search("tea", user_id="ada", as_of=before)
    assert "Zanzibarword" in repr(found)
    assert "Xylophoneword" in repr(found)
    conn.execute("UPDATE memsense.chunks SET expires_at = now() WHERE expires_at IS NOT NULL")
    for granularity in ("turn", "session"):
        for as_of in (before, None):
            told = repr(memory.search("tea", user_id="ada", as_of=as_of, granularity=granularity))
            assert "Xylophoneword" not in told
            assert "Vesuviusword" not in told
    memory.ttl.sweep()
    assert find_words(conn, "Xylophoneword", "Vesuviusword") == set()
    receipt = memory.delete(secret.chunk_id)
    assert receipt.counts["past_chunks"] > 0
    assert find_words(conn, "Zanzibarword", "Quentinella") == set()
    then = memory.search("tea", user_id="ada", as_of=before)
    assert {hit.chunk.user_text for hit in then} == {"tea of the first", "tea of the third"}
    memory.erase(user_id="ada")
    assert not list(memory.search("tea", user_id="ada", as_of=before))


def test_without_a_recorded_past_the_error_names_the_remedy(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    tell(memory, 1)
    with pytest.raises(ConfigurationError, match="'memsense settings set history=on' keeps it"):
        memory.search("tea", user_id="ada", as_of=now(conn))
    before = now(conn)
    memory.settings.set(history="on")
    assert memory.search("tea", user_id="ada", as_of=now(conn))
    with pytest.raises(ConfigurationError, match="kept since 20.*nothing is known of"):
        memory.search("tea", user_id="ada", as_of=before)
    with pytest.raises(InvalidInputError, match="as_of must be an ISO 8601 time"):
        memory.search("tea", user_id="ada", as_of="yesterday")
    result = memory.search("tea", user_id="ada", trace=True)
    memory.traces.flush()
    conn.execute("UPDATE memsense.traces SET recalled_at = NULL")
    assert result.trace_id
    with pytest.raises(InvalidInputError, match="does not know as of when"):
        memory.traces.replay(result.trace_id, as_of_then=True)
    memory.settings.set(history="off")
    tell(memory, 2)
    with pytest.raises(ConfigurationError, match="is not kept"):
        memory.search("tea", user_id="ada", as_of=now(conn))


def test_without_history_no_version_is_kept(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    ids = [tell(memory, number).chunk_id for number in range(4)]
    memory.update(ids[0], tags=["x"])
    memory.promote(ids[1])
    memory.forget(ids[2])
    assert conn.execute("SELECT count(*) FROM memsense.past_chunks").fetchone() == (0,)


def test_a_log_that_is_edited_is_searched_as_it_was(
    memory: MemSense, conn: psycopg.Connection[Any], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"

    def ingest(text: str) -> None:
        line = {"session_id": "s", "id": "m1", "role": "user", "content": text}
        log.write_text(json.dumps(line))
        memory.ingest(log, user_id="ada")

    memory.settings.set(history="on")
    times: list[datetime] = []
    for name in ("Zanzibarword", "Xylophoneword", "Krakatoaword"):
        ingest(f"We met in {name}.")
        times.append(now(conn))
    said = [memory.search("met", user_id="ada", as_of=time)[0].content for time in times]
    assert said == [
        "user: We met in Zanzibarword.",
        "user: We met in Xylophoneword.",
        "user: We met in Krakatoaword.",
    ]
