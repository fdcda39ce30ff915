"""Adding exchanges: repeats, races, and the caller's transaction."""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from counting import assert_counted
from embedders import BrokenEmbedder, HashingEmbedder, Vectors

from memsense import MemSense
from memsense.errors import EmbeddingError, InvalidInputError, ModelMismatchError

OpenMemory = Callable[..., MemSense]

# A multiple of ten minutes, so that a window of event time begins here.
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def said(text: str, at: datetime = NOON, **fields: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": text, "at": at, **fields},
        {"role": "assistant", "content": "Noted.", "at": at},
    ]


def add(memory: MemSense, messages: Sequence[dict[str, Any]], **options: Any) -> list[int]:
    given: dict[str, Any] = {"user_id": "ada", "session_id": "one", **options}
    chunks = memory.add(messages, **given)
    return [chunk.chunk_id for chunk in chunks]


def count(memory: MemSense, **options: Any) -> int:
    return len(memory.recent(limit=1000, all_users=True, **options))


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
@pytest.mark.parametrize("seconds", [-599, 0, 1, 599])
def test_the_same_exchange_within_ten_minutes_returns_the_first_chunk(
    memory: MemSense, mode: str, seconds: int
) -> None:
    first = add(memory, said("I moved to Lisbon."), mode=mode)
    later = NOON + timedelta(seconds=seconds)
    assert add(memory, said("I moved to Lisbon.", later), mode=mode) == first
    [kept] = memory.recent(granularity="session" if mode == "session" else "turn", all_users=True)
    assert kept.chunk_id == first[0]
    assert kept.content.count("Lisbon") == 1


@pytest.mark.parametrize("mode", ["turn", "session"])
def test_the_same_exchange_after_ten_minutes_is_stored_again(memory: MemSense, mode: str) -> None:
    granularity = "session" if mode == "session" else "turn"
    add(memory, said("I moved to Lisbon."), mode=mode)
    add(memory, said("I moved to Lisbon.", NOON + timedelta(minutes=10)), mode=mode)
    kept = memory.recent(granularity=granularity, all_users=True)
    assert "".join(chunk.content for chunk in kept).count("Lisbon") == 2


def test_a_window_border_between_two_adds_does_not_part_them(memory: MemSense) -> None:
    before = NOON - timedelta(seconds=1)
    first = add(memory, said("I moved to Lisbon.", before))
    assert (
        add(memory, said("I moved to Lisbon.", before + timedelta(minutes=9, seconds=59))) == first
    )
    assert count(memory) == 1


def test_every_part_of_a_long_repeated_exchange_is_returned(memory: MemSense) -> None:
    messages = said("word " * 2000)
    first = add(memory, messages)
    assert len(first) > 1
    assert add(memory, messages) == first


def test_an_exchange_given_twice_in_one_call_is_stored_once(memory: MemSense) -> None:
    assert len(add(memory, said("I moved.") + said("I moved."))) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "two"},
        {"user_id": "ben"},
    ],
)
def test_another_session_or_user_makes_another_exchange(
    memory: MemSense, other: dict[str, str]
) -> None:
    add(memory, said("I moved to Lisbon."))
    add(memory, said("I moved to Lisbon."), **other)
    assert count(memory) == 2


def test_other_message_ids_make_another_exchange(memory: MemSense) -> None:
    add(memory, said("Thanks!", id="m1"))
    add(memory, said("Thanks!", id="m2"))
    assert add(memory, said("Thanks!", id="m2"))
    assert count(memory) == 2


def test_racing_writers_store_one_chunk(open_memory: OpenMemory, database_url: str) -> None:
    memories = [open_memory() for _ in range(4)]
    barrier = threading.Barrier(len(memories))
    found: list[list[int]] = []

    def race(memory: MemSense) -> None:
        barrier.wait()
        found.append(add(memory, said("I moved to Lisbon.")))

    threads = [threading.Thread(target=race, args=[memory]) for memory in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(memories)
    assert all(ids == found[0] for ids in found)
    assert count(memories[0]) == 1
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)


def test_the_database_itself_refuses_the_same_content_twice(
    memory: MemSense, database_url: str
) -> None:
    add(memory, said("I moved to Lisbon."))
    with psycopg.connect(database_url) as conn, pytest.raises(psycopg.Error, match="duplicate key"):
        conn.execute(
            "INSERT INTO memsense.chunks (tenant_id, scope_id, granularity, session_id, ordinal,"
            " last_ordinal, content_hash, dedup_window)"
            " SELECT tenant_id, scope_id, granularity, session_id, 9, 9, content_hash, dedup_window"
            " FROM memsense.chunks WHERE granularity = 'turn'"
        )


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("begun", [False, True])
def test_add_joins_the_callers_transaction(
    memory: MemSense, database_url: str, autocommit: bool, begun: bool
) -> None:
    with psycopg.connect(database_url, autocommit=autocommit) as conn:
        if begun:
            conn.execute("BEGIN" if autocommit else "SELECT 1")
        add(memory, said("I moved to Lisbon."), connection=conn)
        conn.rollback()
    assert count(memory) == (1 if autocommit and not begun else 0)


def test_add_commits_with_the_callers_own_rows(memory: MemSense, database_url: str) -> None:
    with psycopg.connect(database_url) as conn:
        conn.execute("CREATE TABLE orders (id integer)")
        add(memory, said("I ordered tea."), connection=conn)
        assert count(memory) == 0
        conn.execute("INSERT INTO orders VALUES (1)")
    assert count(memory) == 1
    with psycopg.connect(database_url) as conn:
        assert conn.execute("SELECT id FROM orders").fetchall() == [(1,)]


def test_a_failed_add_leaves_the_callers_transaction_usable(
    open_memory: OpenMemory, database_url: str
) -> None:
    open_memory().add(said("tea"), user_id="ada", session_id="one")
    other = open_memory(embedder=HashingEmbedder(model="other"))
    with psycopg.connect(database_url) as conn:
        conn.execute("CREATE TABLE orders (id integer)")
        with pytest.raises(ModelMismatchError):
            add(other, said("I ordered tea."), connection=conn)
        conn.execute("INSERT INTO orders VALUES (1)")
    with psycopg.connect(database_url) as conn:
        assert conn.execute("SELECT id FROM orders").fetchall() == [(1,)]


def test_a_writer_that_rolled_back_leaves_a_usable_memory(
    memory: MemSense, database_url: str
) -> None:
    with psycopg.connect(database_url) as conn:
        add(memory, said("I moved to Lisbon."), connection=conn)
        conn.rollback()
    add(memory, said("I moved to Porto."))
    assert [hit.content for hit in memory.search("Porto Lisbon", user_id="ada")] == [
        "user: I moved to Porto.\nassistant: Noted."
    ]


def with_nan(vectors: Vectors) -> Vectors:
    vectors[0, 0] = np.nan
    return vectors


SPOILS: dict[str, Callable[[Vectors], Vectors]] = {
    "nan": with_nan,
    "too short": lambda vectors: vectors[:, 1:],
    "zero": lambda vectors: vectors * 0,
    "too few": lambda vectors: vectors[:-1],
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("mode", ["hybrid", "session"])
def test_unusable_vectors_store_nothing(
    open_memory: OpenMemory, database_url: str, spoil: Callable[[Vectors], Vectors], mode: str
) -> None:
    memory = open_memory(embedder=BrokenEmbedder(spoil))
    with pytest.raises(EmbeddingError):
        add(memory, said("I moved to Lisbon."), mode=mode, embed="strict")
    with psycopg.connect(database_url) as conn:
        assert conn.execute("SELECT count(*) FROM memsense.chunks").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "embedder", [HashingEmbedder(model="other"), HashingEmbedder(dimension=32)], ids=["model", "d"]
)
def test_another_model_than_the_stores_is_refused(
    open_memory: OpenMemory, embedder: HashingEmbedder
) -> None:
    add(open_memory(), said("I moved to Lisbon."))
    other = open_memory(embedder=embedder)
    with pytest.raises(ModelMismatchError, match="hashing"):
        add(other, said("I moved to Porto."))
    with pytest.raises(ModelMismatchError, match="hashing"):
        other.search("Lisbon", user_id="ada")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": "  "}],
        [{"role": "user"}],
        [{"role": "robot", "content": "x"}],
        [{"role": "user", "content": "x", "at": "yesterday"}],
        [{"role": "user", "content": "x", "when": "now"}],
        "",
    ],
)
def test_unusable_messages_are_refused(memory: MemSense, messages: Any) -> None:
    with pytest.raises(InvalidInputError):
        add(memory, messages)


def test_turns_added_one_by_one_make_what_all_at_once_make(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory()
    exchanges = [said(f"fact {n}: " + "lorem ipsum " * (n * 20), NOON) for n in range(12)]
    for exchange in exchanges:
        add(memory, exchange, user_id="slowly", mode="hybrid")
        memory.indexes.make_sessions()
    messages = [message for exchange in exchanges for message in exchange]
    add(memory, messages, user_id="at once", mode="hybrid")
    memory.indexes.make_sessions()
    slowly, at_once = (
        [chunk.next_user_text for chunk in memory.recent(limit=99, user_id=user)]
        for user in ("slowly", "at once")
    )
    assert slowly == at_once
    slowly, at_once = (
        [
            (chunk.ordinal, chunk.last_ordinal, chunk.part, chunk.content, chunk.context)
            for granularity in ("session", "turn")
            for chunk in memory.recent(limit=99, user_id=user, granularity=granularity)
        ]
        for user in ("slowly", "at once")
    )
    assert slowly == at_once
    assert len([item for item in slowly if item[0] < item[1]]) > 1


def test_words_alone_are_stored_and_found(memory: MemSense) -> None:
    [tea] = memory.add("I like tea", user_id="ada")
    [cats] = memory.add("My cats are Mia and Mo", user_id="ada")
    assert (tea.user_text, tea.assistant_text) == ("I like tea", "")
    # One session for a day; two sentences in a row are two memories.
    assert tea.session_id == cats.session_id == f"{tea.occurred_at:%Y-%m-%d}"
    hit = memory.search("Which cats?", user_id="ada")[0]
    assert hit.chunk.chunk_id == cats.chunk_id
    assert not memory.search("Which cats?", user_id="bob")


def test_an_answer_alone_completes_the_last_words_of_the_day(memory: MemSense) -> None:
    [asked] = memory.add("Which train to Porto?", user_id="ada")
    [answered] = memory.add({"role": "assistant", "content": "The 10:40."}, user_id="ada")
    assert answered.chunk_id == asked.chunk_id
    assert answered.assistant_text == "The 10:40."


def test_a_call_without_a_session_is_done_once_under_its_key_on_either_side_of_midnight(
    memory: MemSense,
) -> None:
    late, early = (
        datetime(2026, 5, day, tzinfo=UTC) + timedelta(hours=hour)
        for day, hour in ((4, 23.9), (5, 0.1))
    )
    first = add(memory, said("I moved to Lisbon.", late), session_id=None, key="k")
    assert add(memory, said("I moved to Lisbon.", early), session_id=None, key="k") == first
    assert count(memory) == 1
