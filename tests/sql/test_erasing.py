"""Erasing: no trace of the text is left in the database, and the receipt counts what was erased."""

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from dumping import count_rows, find_words
from embedders import HashingEmbedder, TokenHashingEmbedder

from memsense import MemSense
from memsense.errors import (
    DatabaseError,
    EmbeddingError,
    ErasureError,
    InvalidInputError,
    NotFoundError,
)
from memsense.store.erasing import TABLES_OF_CHUNKS, TABLES_OF_SCOPES
from memsense.types import Chunk, IngestMode

OpenMemory = Callable[..., MemSense]


class Failing(HashingEmbedder):
    """Embedder whose server is down."""

    def embed(self, texts: Any) -> Any:
        """Raise EmbeddingError."""
        raise EmbeddingError(f"can't embed {len(texts)} texts")


MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

SECRET = ("zanzibarword", "xylophoneword", "Quentinella", "krakatoatag", "vesuviuskey")
"""Words that only what is erased holds: on both sides, a speaker, a tag, metadata."""

NO_TEXT = {
    # What a namespace is called, and set to: names that an operator gave.
    "tenants": {"name"},
    "models": {"name"},
    "seals": {"inner_key", "outer_key"},
    "namespace_models": {"state", "embedder", "languages"},
    "namespaces": {"name", "language"},
    "settings": {"name", "value", "changed_by"},
    "profiles": {"name", "constants", "created_by"},
    "settings_history": {"kind", "name", "before", "after", "changed_by"},
    "projects": {"name"},
    # Hashes, counts, and numbers of chunks.
    "write_keys": {"key_hash", "asked_hash", "result"},
    # Its user_id goes with its row, as the test of an erased user says.
    "access_keys": {"key_id", "key_hash", "name", "scopes", "user_id", "namespace", "created_by"},
    # Names of profiles and of filters, none of what a filter asks for.
    "slow_searches": {"profile", "filters"},
    "erasures": {"kind", "salt", "user_hash", "subject_hash", "counts", "erased_by"},
}
"""Columns of tables that hold nothing of a user's; all others go with their rows."""

WITH_ROWS = {"traces", "packed_candidates", "project_sessions", "items", "item_vectors"}
"""Tables without a chunk's or a scope's number as such, whose rows `erase` finds another way."""

COLUMNS = """
SELECT c.relname, array_agg(a.attname ORDER BY a.attnum),
    array_agg(a.attname ORDER BY a.attnum) FILTER (WHERE format_type(a.atttypid, NULL) IN
        ('text', 'text[]', 'jsonb', 'json', 'bytea', 'tsvector', 'halfvec', 'vector'))
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
  AND c.relname <> 'alembic_version'
GROUP BY c.relname
"""
"""Each table with the names of its columns, and of those that may hold a text."""


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def tell_secret(
    memory: MemSense,
    user_id: str = "ada",
    session_id: str = "secrets",
    mode: IngestMode = "hybrid",
    at: datetime = MAY,
) -> Chunk:
    place, thing, name, tag, key = SECRET
    [chunk] = memory.add(
        [
            {"role": "user", "content": f"I hid it in {place}.", "id": "m-secret", "at": at},
            {"role": "assistant", "content": f"The {thing} is safe.", "name": name, "at": at},
        ],
        user_id=user_id,
        session_id=session_id,
        mode=mode,
        tags=[tag],
        facets={"events": f"hid a {thing}"},
        metadata={key: place},
    )
    return chunk


def tell_trifles(
    memory: MemSense,
    user_id: str = "ada",
    session_id: str = "secrets",
    n: int = 3,
    at: datetime = MAY,
    mode: IngestMode = "hybrid",
) -> list[Chunk]:
    return [
        memory.add(
            [
                {
                    "role": "user",
                    "content": f"trifle {i} of tea",
                    "id": f"{user_id}{at}{i}",
                    "at": at,
                },
                {"role": "assistant", "content": f"tea {i}, then", "at": at},
            ],
            user_id=user_id,
            session_id=session_id,
            mode=mode,
        )[0]
        for i, at in enumerate((at + timedelta(minutes=n) for n in range(n)), start=1)
    ]


def use(memory: MemSense, chunk: Chunk) -> None:
    """Search for the secret as itself and as everybody, rate it, and put it into a project."""
    place, thing, *_ = SECRET
    memory.indexes.make_sessions()
    memory.search(f"Where is the {thing}?", user_id=chunk.user_id, trace=True)
    memory.search(f"{place} tea", all_users=True, trace=True, granularity="session")
    memory.search("tea", user_id=chunk.user_id, session_ids=[chunk.session_id], trace=True)
    memory.feedback(chunk.chunk_id, helpful=True, question=f"what of {place}?", note=thing)
    memory.projects.create("kitchen", [chunk.session_id, "elsewhere"])
    memory.traces.flush()


def test_nothing_of_an_erased_user_is_in_the_database_and_the_receipt_counts_every_row(
    open_memory: OpenMemory, conn: psycopg.Connection[Any]
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    tell_trifles(memory, user_id="bo")
    memory.search("trifle", user_id="bo", trace=True)
    tell_trifles(memory, user_id="adalovelace")
    chunk = tell_secret(memory, user_id="adalovelace", at=MAY + timedelta(hours=1))
    use(memory, chunk)
    memory.forget(chunk.chunk_id, reason=f"{SECRET[0]} was wrong")
    memory.access_keys.create(user_id="adalovelace")
    memory.access_keys.create(user_id="bo")
    assert find_words(conn, *SECRET, "adalovelace")
    before = count_rows(conn)
    receipt = memory.erase(user_id="adalovelace", by="the officer")
    after = count_rows(conn)
    assert find_words(conn, *SECRET, "adalovelace") == set()
    gone = {name: before[name] - after[name] for name in before if before[name] != after[name]}
    assert gone.pop("erasures") == -1
    assert dict(receipt.counts) == gone
    assert {"chunks", "embeddings", "traces", "events", "lexemes", "scopes"} <= set(gone)
    assert gone["access_keys"] == 1
    assert receipt.kind == "user"
    assert receipt.erased_by == "the officer"
    assert_counted(conn)
    assert [hit.chunk.user_id for hit in memory.search("trifle of tea", all_users=True)] == [
        "bo"
    ] * 3
    assert not list(memory.search("trifle of tea", user_id="adalovelace"))
    [kept] = memory.erasures.list(about="adalovelace")
    assert kept == receipt
    assert memory.erasures.list(about="bo") == []


def test_an_erased_memory_is_stored_again_when_it_is_added_again(
    memory: MemSense, tmp_path: Path, conn: psycopg.Connection[Any]
) -> None:
    log = tmp_path / "log.jsonl"
    line = {"session_id": "s", "id": "m1", "role": "user", "content": f"Off to {SECRET[0]}."}
    log.write_text(json.dumps(line))
    each: list[dict[str, Any]] = [{"user_id": "ada"}, {"session_id": "s"}, {"message_id": "m1"}]
    for erased in each:
        assert memory.ingest(log, user_id="ada").stored == 1
        assert memory.ingest(log, user_id="ada").stored == 0
        memory.erase(**erased)
        assert find_words(conn, SECRET[0]) == set()
        first = tell_secret(memory, session_id="t")
        other: dict[str, Any] = {"user_id": "ada"}
        if "session_id" in erased:
            other = {**erased, "session_id": "t"}
        memory.erase(**other)
        again = tell_secret(memory, session_id="t")
        assert again.chunk_id != first.chunk_id
        memory.erase(user_id="ada")


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_an_erased_session_leaves_nothing_but_the_others(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], mode: IngestMode
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    tell_trifles(memory, session_id="others", at=MAY - timedelta(days=1), mode=mode)
    tell_trifles(memory, mode=mode)
    chunk = tell_secret(memory, mode=mode, at=MAY + timedelta(hours=1))
    use(memory, chunk)
    before = count_rows(conn)
    receipt = memory.erase(session_id="secrets")
    after = count_rows(conn)
    assert find_words(conn, *SECRET, "secrets") == set()
    gone = {name: before[name] - after[name] for name in before if before[name] != after[name]}
    assert gone.pop("erasures") == -1
    assert dict(receipt.counts) == gone
    assert_counted(conn) if mode != "session" else None
    assert {chunk.session_id for chunk in memory.recent(user_id="ada", limit=99)} <= {"others"}
    assert memory.search("trifle of tea", user_id="ada")
    assert receipt.is_about("secrets")
    assert receipt.is_about("ada")
    assert not receipt.is_about("others")


@pytest.mark.parametrize("how", ["delete", "message", "session chunk"])
@pytest.mark.parametrize("mode", ["turn", "hybrid"])
@pytest.mark.parametrize("retired", [None, "archive", "forget"])
def test_an_erased_exchange_leaves_no_neighbour_that_knows_of_it(
    open_memory: OpenMemory,
    conn: psycopg.Connection[Any],
    how: str,
    mode: IngestMode,
    retired: str | None,
) -> None:
    if how == "session chunk" and mode == "turn":
        pytest.skip("there is no session chunk")
    memory = open_memory(embedder=TokenHashingEmbedder())
    early = tell_trifles(memory, mode=mode)
    chunk = tell_secret(memory, mode=mode, at=MAY + timedelta(hours=1))
    late = tell_trifles(memory, mode=mode, at=MAY + timedelta(hours=2))
    use(memory, chunk)
    archived = late[0].chunk_id
    memory.archive(archived)  # it keeps what stood beside it
    if retired is not None:
        getattr(memory, retired)(chunk.chunk_id)
    assert find_words(conn, *SECRET)
    if how == "message":
        receipt = memory.erase(message_id="m-secret")
    elif how == "delete":
        receipt = memory.delete(chunk.chunk_id)
    else:
        sessions = memory.recent(user_id="ada", granularity="session", limit=9)
        receipt = memory.delete(sessions[0].chunk_id)
    assert find_words(conn, *SECRET) == set()
    assert_counted(conn)
    with pytest.raises(NotFoundError):
        memory.get(chunk.chunk_id)
    if how == "session chunk":
        assert receipt.counts["chunks"] > 7
        return
    sessions = [s.chunk_id for s in memory.recent(user_id="ada", granularity="session", limit=9)]
    assert len(sessions) == (mode == "hybrid")
    assert memory.restore(archived) == [archived]
    assert_counted(conn)
    assert [item.chunk_id for item in memory.recent(user_id="ada", limit=99)][::-1] == [
        item.chunk_id for item in (*early, *late)
    ]
    expected = {
        "delete": str(chunk.chunk_id),
        "message": "m-secret",
    }
    assert receipt.is_about(expected[how])


def test_a_long_exchange_goes_with_all_its_parts_and_a_forgotten_copy(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    said = [
        {"role": "user", "content": f"{SECRET[0]} " * 400, "at": MAY},
        {"role": "assistant", "content": f"{SECRET[1]} " * 400, "at": MAY},
    ]
    first = memory.add(said, user_id="ada", session_id="one")
    assert len(first) > 1
    memory.forget(first[1].chunk_id)
    again = memory.add(said, user_id="ada", session_id="one")
    assert {chunk.chunk_id for chunk in again}.isdisjoint(chunk.chunk_id for chunk in first)
    receipt = memory.delete(again[-1].chunk_id)
    assert find_words(conn, *SECRET) == set()
    assert receipt.counts["chunks"] == len(first) + len(again)


def test_an_erased_memory_is_stored_again_under_the_key_of_its_write(memory: MemSense) -> None:
    said = [{"role": "user", "content": "The key is under the mat.", "at": MAY}]
    whose: dict[str, Any] = {"user_id": "ada", "session_id": "s", "key": "once"}
    [first] = memory.add(said, **whose)
    [again] = memory.add(said, **whose)
    assert again.chunk_id == first.chunk_id
    assert memory.delete(first.chunk_id).counts["write_keys"] == 1
    [third] = memory.add(said, **whose)
    assert third.chunk_id != first.chunk_id
    assert memory.erase(user_id="ada").counts["write_keys"] == 1
    assert memory.add(said, **whose)


def test_equal_session_names_of_two_users_are_distinguished(memory: MemSense) -> None:
    for user_id in ("ada", "bo"):
        tell_trifles(memory, user_id=user_id, session_id="monday")
    with pytest.raises(InvalidInputError, match="2 users have a session 'monday'.*user_id"):
        memory.erase(session_id="monday")
    memory.erase(session_id="monday", user_id="ada")
    assert {chunk.user_id for chunk in memory.recent(all_users=True, limit=99)} == {"bo"}
    memory.erase(session_id="monday")
    assert memory.recent(all_users=True) == []


@pytest.mark.parametrize(
    "nothing",
    [
        {"user_id": "bo"},
        {"session_id": "tuesday"},
        {"user_id": "ada", "session_id": "tuesday"},
        {"user_id": "bo", "session_id": "monday"},
        {"message_id": "m9"},
        {"user_id": "ada", "message_id": "m9"},
    ],
)
def test_erasing_something_missing_raises_not_found_and_leaves_no_receipt(
    memory: MemSense, conn: psycopg.Connection[Any], nothing: dict[str, Any]
) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        memory.erase(**nothing)
    tell_trifles(memory, session_id="monday")
    before = count_rows(conn)
    with pytest.raises(NotFoundError, match="nothing"):
        memory.erase(**nothing)
    with pytest.raises(NotFoundError, match="no chunk 99"):
        memory.delete(99)
    assert count_rows(conn) == before
    with pytest.raises(InvalidInputError, match="user_id, a session_id or a message_id"):
        memory.erase()


@pytest.fixture
def unerasable(conn: psycopg.Connection[Any]) -> Generator[None]:
    """Make deleting the history of chunks fail."""
    conn.execute("CREATE RULE spare AS ON DELETE TO memsense.events DO INSTEAD NOTHING")
    yield
    conn.execute("DROP RULE spare ON memsense.events")


@pytest.mark.usefixtures("unerasable")
def test_an_erasure_that_would_leave_a_row_erases_nothing(
    memory: MemSense, conn: psycopg.Connection[Any]
) -> None:
    chunk = tell_secret(memory)
    before = count_rows(conn)
    with pytest.raises(ErasureError, match="1 in events"):
        memory.erase(session_id="secrets")
    with pytest.raises(ErasureError, match="1 in events"):
        memory.delete(chunk.chunk_id)
    with pytest.raises(DatabaseError):
        memory.erase(user_id="ada")
    assert count_rows(conn) == before


def test_erasing_works_while_the_embedder_is_down(
    open_memory: OpenMemory, conn: psycopg.Connection[Any]
) -> None:
    memory = open_memory()
    tell_trifles(memory)
    chunk = tell_secret(memory, at=MAY + timedelta(hours=1))
    tell_trifles(memory, at=MAY + timedelta(hours=2))
    memory.indexes.make_sessions()
    open_memory(embedder=Failing()).delete(chunk.chunk_id)
    assert find_words(conn, *SECRET) == set()


def test_every_column_that_may_hold_a_text_goes_with_its_row_or_holds_nothing_of_a_users(
    conn: psycopg.Connection[Any],
) -> None:
    """A new column or table fails here until its erasure is decided and listed."""
    rows = conn.execute(COLUMNS).fetchall()
    columns = {table: set(names) for table, names, _ in rows}
    texts = {table: set(names or ()) for table, _, names in rows}
    of_chunks = {table for table, names in columns.items() if {"scope_id", "chunk_id"} <= names}
    of_scopes = {table for table, names in columns.items() if "scope_id" in names}
    assert set(TABLES_OF_CHUNKS) == of_chunks
    assert set(TABLES_OF_SCOPES) == of_scopes - WITH_ROWS
    undecided = {
        table: names - NO_TEXT.get(table, set())
        for table, names in texts.items()
        if table not in of_scopes | WITH_ROWS
    }
    assert {table: names for table, names in undecided.items() if names} == {}


def test_a_user_is_erased_in_every_namespace_with_a_receipt_in_each(
    open_memory: OpenMemory,
) -> None:
    memories = {name: open_memory(namespace=name) for name in ("home", "work", "empty")}
    for name in ("home", "work"):
        for user_id in ("ada", "ben"):
            said = [{"role": "user", "content": f"{user_id} says {SECRET[0]} at {name}."}]
            memories[name].add(said, user_id=user_id, session_id="s")
    memories["empty"].settings.set(lexical=1.5)
    receipts = memories["empty"].erasures.everywhere("ada", by="data protection")
    assert len(receipts) == 2
    for name in ("home", "work"):
        assert [it.user_id for it in memories[name].stats()] == ["ben"]
        [receipt] = memories[name].erasures.list(about="ada")
        assert receipt in receipts
        assert receipt.erased_by == "data protection"
    assert memories["empty"].erasures.list() == []
    with pytest.raises(NotFoundError, match="nothing of user 'ada'"):
        memories["home"].erasures.everywhere("ada")
