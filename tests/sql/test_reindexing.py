"""Re-indexing: a few chunks at a time beside searches and writes, and into another language."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from counting import assert_counted, kept_frequencies, kept_statistics
from psycopg.types.json import Jsonb
from servers import TestServer
from traced import fill
from waiting import wait_for_lock

from memsense import MemSense
from memsense.errors import ConnectionFailedError, InvalidInputError, NotFoundError

OpenMemory = Callable[..., MemSense]

QUESTION = "Wo schliefen die Katzen?"
INDEX = (
    "SELECT chunk_id, tsv::text, user_length, assistant_length, tag_length, context_length"
    " FROM memsense.chunks ORDER BY chunk_id"
)


@pytest.fixture
def filled(memory: MemSense, database_url: str) -> Generator[psycopg.Connection[Any]]:
    """Yield a connection to a filled store, two users and one retired chunk in it."""
    fill(memory, sessions=3)
    fill(memory, user_id="bob", sessions=2, mode="turn")
    remember(memory, "s-german", "Die Katze schlief auf dem Sofa.")
    forgotten = remember(memory, "s-forgotten", "Die Katzen sind fort.")
    memory.forget(forgotten)
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def remember(memory: MemSense, session_id: str, text: str, user_id: str = "ada") -> int:
    message = {"role": "user", "content": text}
    stored = memory.add([message], user_id=user_id, session_id=session_id, tags=["Haustiere"])
    return stored[0].chunk_id


def found(memory: MemSense, question: str = QUESTION) -> list[tuple[int, float]]:
    hits = memory.search(question, user_id="ada", profile="lexical")
    return [(hit.chunk_id, round(hit.score, 9)) for hit in hits]


def state(connection: psycopg.Connection[Any]) -> tuple[object, object, object, object]:
    """Return the whole text index, as it is stored."""
    return (
        connection.execute(INDEX).fetchall(),
        kept_statistics(connection),
        {key: count for key, count in kept_frequencies(connection).items() if count},
        connection.execute("SELECT language FROM memsense.namespaces").fetchall(),
    )


@contextmanager
def held_up(memory: MemSense, language: str | None = None) -> Generator[Callable[[], object]]:
    """Yield while a re-index has written its first batch and waits.

    It yields a function that lets the re-index continue and returns at its end, or raises its
    error.
    """
    began, go = threading.Event(), threading.Event()

    def wait(_: int) -> None:
        began.set()
        assert go.wait(30)

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(memory.indexes.rebuild, language, on_chunks=wait)
        assert began.wait(30)

        def finish() -> object:
            go.set()
            return work.result(30)

        try:
            yield finish
        finally:
            go.set()


def test_re_indexing_in_the_same_language_changes_nothing(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    memory.indexes.rebuild()
    assert_counted(filled)
    remember(memory, "s-chinese", "我上个月在杭州买了一辆自行车。")
    before = state(filled)
    questions = [QUESTION, "自行车是在哪里买的？", "the trip to the sea"]
    hits = [found(memory, question) for question in questions]
    done = memory.indexes.rebuild()
    assert (done.language, done.scopes) == ("auto", 2)
    row = filled.execute("SELECT count(*) FROM memsense.chunks WHERE status = 'active'").fetchone()
    assert row == (done.chunks,)
    assert state(filled) == before
    assert [found(memory, question) for question in questions] == hits
    assert hits[0]
    assert hits[1]


def test_re_indexing_mends_an_index_that_went_wrong(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    before = state(filled)
    filled.execute("UPDATE memsense.chunks SET tsv = 'nonsense:1A' WHERE status = 'active'")
    filled.execute("UPDATE memsense.scope_statistics SET user_length = 1, chunk_count = 7")
    filled.execute("DELETE FROM memsense.lexemes WHERE lexeme < 'm'")
    assert state(filled) != before
    memory.indexes.rebuild()
    assert state(filled) == before


def test_another_language_stems_stored_words_and_questions_its_own_way(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    memory.indexes.rebuild("en")
    assert memory.search("Katzen", user_id="ada", profile="lexical").question["lexemes"] == [
        "katzen"
    ]
    done = memory.indexes.rebuild("german")
    assert done.language == "de"
    hits = memory.search("Wo schläft die Katze?", user_id="ada", profile="lexical")
    assert "katz" in hits.question["lexemes"]
    assert hits[0].content == "user: Die Katze schlief auf dem Sofa."
    assert any(word.startswith("'katz':") for word in entries(filled))
    memory.indexes.rebuild("english")
    assert_counted(filled)


def entries(connection: psycopg.Connection[Any]) -> list[str]:
    rows = connection.execute("SELECT tsv::text FROM memsense.chunks WHERE tsv IS NOT NULL")
    return [word for (text,) in rows for word in text.split()]


def test_a_process_that_knew_the_old_language_writes_in_the_new_one(
    memory: MemSense, open_memory: OpenMemory, filled: psycopg.Connection[Any]
) -> None:
    other = open_memory()
    assert found(other)  # knows the namespace from here on
    chunk_id = remember(other, "s-early", "Zwei Vögel sangen.")
    memory.indexes.rebuild("german")
    remember(other, "s-late", "Alle Katzen schnurrten.")
    other.forget(chunk_id)
    other.restore(chunk_id)
    index = {number: tsv for number, tsv, *_ in filled.execute(INDEX).fetchall()}
    memory.indexes.rebuild("german")
    assert index == {number: tsv for number, tsv, *_ in filled.execute(INDEX).fetchall()}


def test_re_indexing_into_another_language_notifies_the_processes(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    version = "SELECT settings_version FROM memsense.namespaces"
    before = filled.execute(version).fetchone()
    assert before is not None
    memory.indexes.rebuild("auto")
    assert filled.execute(version).fetchone() == before
    memory.indexes.rebuild("german")
    assert filled.execute(version).fetchone() == (before[0] + 1,)


def test_an_unknown_language_is_refused_and_changes_nothing(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    before = state(filled)
    with pytest.raises(InvalidInputError, match="klingon.*auto, ar, .*de"):
        memory.indexes.rebuild("klingon")
    assert state(filled) == before


def test_a_re_indexing_that_fails_half_way_loses_nothing_and_can_be_run_again(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    memory.indexes.rebuild("en")

    def fail(_: int) -> None:
        raise ConnectionFailedError("the connection is gone")

    with pytest.raises(ConnectionFailedError):
        memory.indexes.rebuild("german", on_chunks=fail)
    assert_counted(filled)
    assert found(memory)
    memory.indexes.rebuild()
    assert_counted(filled)
    languages = filled.execute(
        "SELECT DISTINCT language FROM memsense.chunks WHERE tsv IS NOT NULL"
    )
    assert languages.fetchall() == [("de",)]


def test_searches_and_writes_beside_a_re_indexing_do_not_wait(
    memory: MemSense, open_memory: OpenMemory, filled: psycopg.Connection[Any]
) -> None:
    memory.indexes.rebuild("en")
    other = open_memory()
    found(other)
    with held_up(memory, "german") as finish:
        # Both would time out if they waited: the test holds the other up.
        assert found(other)
        chunk_id = remember(other, "s-beside", "Alle Katzen schnurrten.")
        finish()
    row = filled.execute(
        "SELECT tsv::text FROM memsense.chunks WHERE chunk_id = %s", [chunk_id]
    ).fetchone()
    assert row is not None
    assert "'katz':" in row[0]
    before = state(filled)
    memory.indexes.rebuild()
    assert state(filled) == before


def test_re_indexing_waits_for_a_user_who_is_being_added(
    memory: MemSense,
    open_memory: OpenMemory,
    filled: psycopg.Connection[Any],
    database_url: str,
    server: TestServer,
) -> None:
    other = open_memory()
    found(other)
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(database_url) as caller:
            message = {"role": "user", "content": "Alle Katzen schnurrten."}
            other.add([message], user_id="somebody new", session_id="s", connection=caller)
            work = pool.submit(memory.indexes.rebuild, "german")
            wait_for_lock(database_url, server)
            assert not work.done()
        assert work.result(30).scopes == 3
    before = state(filled)
    memory.indexes.rebuild()
    assert state(filled) == before
    assert any(word.startswith("'schnurrt':") for word in entries(filled))


def test_writes_and_re_indexings_at_once_lose_nothing(
    memory: MemSense, open_memory: OpenMemory, filled: psycopg.Connection[Any]
) -> None:
    others = [open_memory() for _ in range(2)]

    def write(number: int) -> int:
        user_id = ("ada", "bob", f"new{number}")[number % 3]
        return remember(others[number % 2], f"s{number}", f"Note {number} on cats.", user_id)

    with ThreadPoolExecutor(3) as pool:
        indexing = pool.submit(lambda: [memory.indexes.rebuild() for _ in range(5)])
        written = list(pool.map(write, range(30)))
        indexing.result(60)
    rows = filled.execute(
        "SELECT chunk_id FROM memsense.chunks WHERE chunk_id = ANY (%s) AND tsv IS NOT NULL",
        [written],
    ).fetchall()
    assert len(rows) == len(set(written)) == 30
    assert_counted(filled)


def test_another_namespace_is_left_alone(
    memory: MemSense, open_memory: OpenMemory, filled: psycopg.Connection[Any]
) -> None:
    other = open_memory(namespace="work")
    chunk_id = remember(other, "s", "Alle Katzen schnurrten.")
    entry = "SELECT tsv::text FROM memsense.chunks WHERE chunk_id = %s"
    before = filled.execute(entry, [chunk_id]).fetchone()
    memory.indexes.rebuild("german")
    assert filled.execute(entry, [chunk_id]).fetchone() == before
    assert found(other)


def test_nothing_can_be_re_indexed_before_anything_is_stored(memory: MemSense) -> None:
    with pytest.raises(NotFoundError, match="nothing is stored"):
        memory.indexes.rebuild("german")


def test_a_re_indexed_chunk_is_the_one_that_a_write_would_make(
    memory: MemSense, filled: psycopg.Connection[Any]
) -> None:
    """write_entries stores the same index entries as upsert_chunks."""
    memory.add(
        [
            {"role": "user", "content": "Where is ticket ABC-123 and v1.2.3?", "name": "Ann"},
            {"role": "assistant", "content": "In src/main.py, “at the top”, 我在東京."},
        ],
        user_id="ada",
        session_id="s-rich",
        task_tag="bugs and fixes",
        tags=["python", "two words"],
        facets={"events": "Ann asked"},
        metadata={"a": [1, {"b": 2}]},
    )
    before = state(filled)
    filled.execute("UPDATE memsense.chunks SET metadata = %s", [Jsonb({})])
    memory.indexes.rebuild()
    assert state(filled) == before
