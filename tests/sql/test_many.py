"""Several questions or sessions in one call: the results of single calls, in fewer round trips."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder, TokenHashingEmbedder
from test_searching import besides_texts, recorded_statements

from memsense import MemSense
from memsense.errors import ConflictError, InvalidInputError
from memsense.types import Chunk

OpenMemory = Callable[..., MemSense]

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUESTIONS = ["tea in Lisbon", "the harbour", "who plays chess?", "zzz", "the"]


def messages(number: int) -> list[dict[str, Any]]:
    at = NOON + timedelta(days=number)
    topic = ("tea in Lisbon", "the harbour at night", "chess with Ben")[number % 3]
    return [
        {"role": "user", "content": f"Number {number}: {topic}.", "at": at},
        {"role": "assistant", "content": f"Noted {topic} {number}.", "at": at},
    ]


def fill(memory: MemSense, count: int = 9) -> None:
    memory.add_many(
        [{"session_id": f"s{number}", "messages": messages(number)} for number in range(count)],
        user_id="ada",
    )


def shown(found: list[Any]) -> list[Any]:
    def one(result: Any) -> Any:
        fields = result.as_dict()
        fields.pop("timings_ms")
        return fields

    return [one(result) for result in found]


@pytest.mark.parametrize(
    "options",
    [
        {"user_id": "ada"},
        {"all_users": True, "top_k": 3},
        {"user_id": "ada", "granularity": "session"},
        {"user_id": "ada", "tags": ["nothing has it"]},
        {"user_id": "ada", "since": NOON + timedelta(days=4), "profile": "memsense"},
        {"user_id": "nobody"},
    ],
)
def test_many_questions_find_what_each_alone_finds(
    open_memory: OpenMemory, options: dict[str, Any]
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    fill(memory)
    alone = [memory.search(question, asked_at=NOON, **options) for question in QUESTIONS]
    together = memory.search_many(QUESTIONS, asked_at=NOON, **options)
    assert shown(together) == shown(alone)


def test_many_questions_are_two_round_trips(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory)
    questions = QUESTIONS[:3]
    memory.search_many(questions, user_id="ada")
    begun: list[int] = []
    pipeline = psycopg.Connection.pipeline

    def counted(connection: psycopg.Connection[Any]) -> Any:
        begun.append(1)
        return pipeline(connection)

    monkeypatch.setattr(psycopg.Connection, "pipeline", counted)
    with recorded_statements(monkeypatch) as statements:
        found = memory.search_many(questions, user_id="ada")
    assert all(found)
    assert len(besides_texts(statements)) == len(questions) + 1
    assert len(begun) - (len(statements) - len(besides_texts(statements))) == 2


def test_no_question_is_no_result(memory: MemSense) -> None:
    assert memory.search_many([], user_id="ada") == []
    (empty,) = memory.search_many(["tea"], user_id="ada")
    assert empty.notes == ["nothing is stored in this namespace yet"]


def test_traces_of_many_questions_are_each_recorded(memory: MemSense) -> None:
    fill(memory)
    found = memory.search_many(QUESTIONS, user_id="ada", trace=True)
    memory.traces.flush()
    assert {it.trace_id for it in memory.traces.list()} == {it.trace_id for it in found}
    for result in found:
        assert result.trace_id is not None
        moves = memory.traces.replay(result.trace_id).moves
        assert {move.why for move in moves} <= {"unchanged"}


@pytest.mark.parametrize(
    ("queries", "options", "fault"),
    [
        ("tea", {}, "queries must be a list"),
        (["tea", ""], {}, "queries.1 is empty"),
        (["tea", 5], {}, "queries.1 must be a text"),
        (["tea"], {"top": 5}, "top is unknown"),
    ],
)
def test_impossible_questions_are_refused(
    memory: MemSense, queries: Any, options: Any, fault: str
) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        memory.search_many(queries, user_id="ada", **options)
    with pytest.raises(InvalidInputError, match="user_id is missing"):
        memory.search_many(["tea"])


def test_many_sessions_are_what_each_alone_is(open_memory: OpenMemory, database_url: str) -> None:
    one, many = open_memory(), open_memory(namespace="many")
    sessions: list[dict[str, Any]] = [
        {
            "session_id": f"s{number % 4}",
            "user_id": ("ben", "ada", "cy")[number // 4],
            "messages": messages(number),
            "tags": [f"t{number}"],
            "metadata": {"number": number},
        }
        for number in range(10)
    ]
    singly = [one.add(**item) for item in sessions]
    together = many.add_many(sessions)

    def told(chunk: Chunk) -> Any:
        return chunk.user_id, chunk.session_id, chunk.content, chunk.tags, chunk.metadata

    assert [[told(c) for c in added] for added in together] == [
        [told(c) for c in added] for added in singly
    ]
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)


class Counting(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def embed(self, texts: Any) -> Any:
        self.batches.append(len(texts))
        return super().embed(texts)


def test_many_sessions_are_one_batch_and_one_transaction(open_memory: OpenMemory) -> None:
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    fill(memory)
    assert len(embedder.batches) == 1
    sessions = [
        {"session_id": "new", "messages": messages(20)},
        {"session_id": "bad", "messages": [{"role": "user", "content": 5}]},
    ]
    with pytest.raises(InvalidInputError, match=r"^sessions\.1: messages\.0"):
        memory.add_many(sessions, user_id="ada")
    assert len(memory.list(user_id="ada")) == 9


def test_answers_of_many_sessions_complete_their_exchanges(memory: MemSense) -> None:
    asked = [{"session_id": f"s{n}", "messages": messages(n)[:1]} for n in range(3)]
    answered = [{"session_id": f"s{n}", "messages": messages(n)[1:]} for n in range(3)]
    for _ in range(2):
        first = memory.add_many(asked, user_id="ada")
        second = memory.add_many(answered, user_id="ada")
        assert [it[0].chunk_id for it in first] == [it[0].chunk_id for it in second]
    assert all(chunk.assistant_text for chunk in memory.list(user_id="ada"))
    assert len(memory.list(user_id="ada")) == 3


def test_many_sessions_under_a_key_are_stored_once(memory: MemSense) -> None:
    sessions = [{"session_id": f"s{n}", "messages": messages(n)} for n in range(3)]
    first = memory.add_many(sessions, user_id="ada", key="k")
    assert memory.add_many(sessions, user_id="ada", key="k") == first
    with pytest.raises(ConflictError, match="another write"):
        memory.add_many(sessions[:2], user_id="ada", key="k")


UNUSABLE: list[tuple[Any, str]] = [
    ({"session_id": "s"}, "sessions must be a list"),
    ([{"messages": ""}], r"sessions\.0: messages is empty"),
    ([{"messages": "tea"}, {"messages": "mate"}], r"sessions\.1: session .+ of 'ada' came"),
    ([{"session_id": "s", "messages": [], "top": 1}], r"sessions\.0: top is unknown"),
    ([{"session_id": "s", "messages": []}], r"sessions\.0: no message has any text"),
    (
        [{"session_id": "s", "messages": ["x"], "user_id": ""}],
        r"sessions\.0: user_id is empty",
    ),
]


@pytest.mark.parametrize(("sessions", "fault"), UNUSABLE)
def test_sessions_that_cannot_be_used_are_named(
    memory: MemSense, sessions: Any, fault: str
) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        memory.add_many(sessions, user_id="ada")


def test_sessions_are_listed_once_with_their_users(memory: MemSense) -> None:
    session = {"session_id": "s", "messages": messages(0)}
    with pytest.raises(InvalidInputError, match=r"sessions\.0: user_id is missing"):
        memory.add_many([session])
    with pytest.raises(InvalidInputError, match="came before: give all"):
        memory.add_many([session, session], user_id="ada")
    with pytest.raises(InvalidInputError, match="alone"):
        memory.for_user("ada").add_many([{**session, "user_id": "ben"}])
    assert memory.for_user("ada").add_many([session])[0][0].user_id == "ada"
    assert memory.for_user("ada").search_many(["tea"])[0].hits
