"""A message and its answer, added by two calls, become the same exchange as by one call."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.types import Chunk

OpenMemory = Callable[..., MemSense]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WHO: dict[str, Any] = {"user_id": "ada", "session_id": "one"}

CONTENTS = """
SELECT to_jsonb(c) - ARRAY['chunk_id', 'scope_id', 'recorded_at', 'tsv'] AS chunk, c.tsv::text,
    ARRAY(SELECT e.route || e.embedding::text FROM memsense.embeddings AS e
          WHERE e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id ORDER BY e.route),
    ARRAY(SELECT t.pieces::text || t.signs::text FROM memsense.token_vectors AS t
          WHERE t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id),
    (SELECT p.ordinal FROM memsense.embeddings AS e
     JOIN memsense.chunks AS p ON p.scope_id = e.scope_id AND p.chunk_id = e.previous_chunk_id
     WHERE e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id AND e.route = 'user')
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (scope_id)
JOIN memsense.namespaces AS n USING (namespace_id)
WHERE n.name = %s
ORDER BY c.session_id, c.granularity, c.ordinal, c.part
"""


def user(text: str, minute: int = 0, **more: Any) -> Mapping[str, Any]:
    return {"role": "user", "content": text, "at": NOON + timedelta(minutes=minute), **more}


def assistant(text: str, minute: int = 0, **more: Any) -> Mapping[str, Any]:
    return {"role": "assistant", "content": text, "at": NOON + timedelta(minutes=minute), **more}


def contents(url: str, namespace: str = "default") -> list[str]:
    with psycopg.connect(url) as conn:
        return [repr(row) for row in conn.execute(CONTENTS, [namespace]).fetchall()]  # pyright: ignore[reportArgumentType, reportCallIssue]


TALKS = {
    "short": [
        user("I moved to Lisbon in March.", id="m1", name="Ada"),
        assistant("Lisbon is lovely in spring.", 1, id="m2"),
        user("I like the tea there.", 2, id="m3", name="Ada"),
        assistant("Noted.", 3, id="m4"),
    ],
    "long": [
        user("Before.", -20),
        assistant("Yes?", -19),
        user("A long question about the harbour. " * 300),
        assistant("A long answer about the harbour. " * 300, 1),
        user("Thanks.", 20),
        assistant("Gladly.", 20),
    ],
}


@pytest.mark.parametrize("mode", ["turn", "hybrid"])
@pytest.mark.parametrize("talk", TALKS)
def test_two_calls_store_what_one_call_stores(
    open_memory: OpenMemory, database_url: str, talk: str, mode: Any
) -> None:
    one = open_memory(embedder=TokenHashingEmbedder())
    two = open_memory(embedder=TokenHashingEmbedder(), namespace="two")
    messages = TALKS[talk]
    for number in range(0, len(messages), 2):
        pair = messages[number : number + 2]
        one.add(pair, **WHO, tags=["a", "b"], mode=mode)
        (asked,) = two.add(pair[:1], **WHO, tags=["a"], mode=mode)[:1]
        (answered, *_) = two.add(pair[1:], **WHO, tags=["b"], mode=mode)
        assert answered.chunk_id == asked.chunk_id
        assert answered.assistant_text or answered.part_count > 1
    for memory in (one, two):
        memory.indexes.make_sessions()
    assert contents(database_url, "two") == contents(database_url)
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)


def texts(memory: MemSense) -> list[tuple[str, str]]:
    chunks = memory.list(user_id="ada", order="oldest")
    return [(chunk.user_text, chunk.assistant_text) for chunk in chunks]


def test_each_call_may_be_made_again(memory: MemSense) -> None:
    question, answer = [user("What is the code?")], [assistant("It is 4711.")]
    (first,) = memory.add(question, **WHO)
    memory.add(answer, **WHO)
    for messages in (question, answer, [*question, *answer]):
        (again,) = memory.add(messages, **WHO)
        assert again.chunk_id == first.chunk_id
    memory.add([user("And the door?", 1)], **WHO)
    (late,) = memory.add(answer, **WHO)
    assert late.chunk_id == first.chunk_id
    assert texts(memory) == [("What is the code?", "It is 4711."), ("And the door?", "")]


def test_each_call_may_be_made_again_under_its_key(memory: MemSense) -> None:
    calls = [([user("What is the code?")], "q"), ([assistant("It is 4711.")], "a")]
    for messages, key in [*calls, *calls]:
        memory.add(messages, **WHO, key=key)
    assert texts(memory) == [("What is the code?", "It is 4711.")]


def test_messages_after_the_answer_in_a_call_are_stored_after_it(memory: MemSense) -> None:
    memory.add([user("One?")], **WHO)
    added = memory.add([assistant("One."), user("Two?", 1), assistant("Two.", 1)], **WHO)
    assert len(added) == 2
    assert texts(memory) == [("One?", "One."), ("Two?", "Two.")]


def test_an_answer_to_nothing_stands_alone(memory: MemSense) -> None:
    memory.add([assistant("Welcome.")], **WHO)
    memory.add([assistant("How are you?", 1)], **WHO)
    memory.add([user("Fine.", 2), assistant("Good.", 2)], **WHO)
    memory.add([assistant("By the way.", 3)], **WHO)
    assert texts(memory) == [
        ("", "Welcome."),
        ("", "How are you?"),
        ("Fine.", "Good."),
        ("", "By the way."),
    ]


@pytest.mark.parametrize("nothing", ["\u200b", " \u200b\n", "\u2060"])
def test_an_answer_to_an_invisible_message_answers_no_earlier_question(
    memory: MemSense, nothing: str
) -> None:
    memory.add([user("One?")], **WHO)
    memory.add([user(nothing, 1), assistant("Of nothing.", 2)], **WHO)
    assert texts(memory) == [("One?", ""), ("", "Of nothing.")]
    memory.add([user("Two?", 3)], **WHO)
    memory.add([assistant(nothing, 4), user(nothing, 5), assistant("Of naught.", 6)], **WHO)
    assert texts(memory)[2:] == [("Two?", ""), ("", "Of naught.")]


def test_an_answer_reaches_no_other_session_or_user(memory: MemSense) -> None:
    memory.add([user("One?")], **WHO)
    memory.add([assistant("Two.")], user_id="ada", session_id="two")
    memory.add([assistant("Three.")], user_id="ben", session_id="one")
    assert sorted(texts(memory)) == [("", "Two."), ("One?", "")]


def test_an_answer_does_not_complete_a_forgotten_exchange(memory: MemSense) -> None:
    (asked,) = memory.add([user("One?")], **WHO)
    memory.forget(asked.chunk_id)
    memory.add([assistant("One.")], **WHO)
    assert texts(memory) == [("", "One.")]


def test_annotations_of_both_calls_are_kept(memory: MemSense) -> None:
    memory.add(
        [user("I am allergic to peanuts.")],
        **WHO,
        agent_id="bot",
        tags=["food", "x"],
        facets={"events": "told of an allergy"},
        memory_kind="stable",
        confidence=0.5,
        metadata={"a": 1, "b": 1},
    )
    (chunk,) = memory.add(
        [assistant("Noted: no peanuts.")],
        **WHO,
        tags=["x", "safe"],
        task_tag="diet",
        metadata={"b": 2},
    )

    def told(chunk: Chunk) -> tuple[Any, ...]:
        return chunk.agent_id, chunk.tags, chunk.task_tag, chunk.events, chunk.metadata

    assert told(chunk) == (
        "bot",
        ["food", "x", "safe"],
        "diet",
        "told of an allergy",
        {"a": 1, "b": 2},
    )
    assert "peanuts" in (chunk.personal_info or chunk.preferences or "")
    (hit, *_) = memory.search("peanuts", user_id="ada")
    assert "no peanuts" in hit.content


def test_within_a_callers_transaction_the_answer_finds_its_question(
    memory: MemSense, database_url: str
) -> None:
    with psycopg.connect(database_url) as conn:
        memory.add([user("One?")], **WHO, connection=conn)
        memory.add([assistant("One.")], **WHO, connection=conn)
        assert texts(memory) == []
        conn.rollback()
        memory.add([user("Two?")], **WHO, connection=conn)
        memory.add([assistant("Two.")], **WHO, connection=conn)
    assert texts(memory) == [("Two?", "Two.")]


def test_of_many_answers_at_once_one_completes_the_exchange(memory: MemSense) -> None:
    memory.add([user("Which?")], **WHO)
    answers = [[assistant(f"This one: {number}.", number)] for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(memory.add, **WHO), answers))
    found = texts(memory)
    assert [text for text, _ in found if text] == ["Which?"]
    assert len(found) == 8
    assert len({answer for _, answer in found}) == 8


def test_the_question_alone_is_a_version_where_history_is_kept(memory: MemSense) -> None:
    memory.settings.set(history="on")
    memory.add([user("One?")], **WHO)
    (chunk,) = memory.add([assistant("One.")], **WHO)
    (version,) = memory.versions(chunk.chunk_id)
    assert (version.content["user_text"], version.content["assistant_text"]) == ("One?", "")
    assert [event.kind for event in memory.history(chunk.chunk_id)] == ["added", "replaced"]
