"""Accepted messages of `add`, and errors for others."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from memsense.draft.messages import read_messages
from memsense.errors import InvalidInputError
from memsense.ingest import pair_exchanges

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def read(*messages: Any) -> Any:
    return read_messages(messages, session_id="s", now=NOW)


def test_a_message_without_a_time_happened_now() -> None:
    [message] = read({"role": "user", "content": "hi"}).messages
    assert (message.at, message.at_zone_known) == (NOW, True)


@pytest.mark.parametrize(
    ("at", "expected", "known"),
    [
        ("2026-05-01T10:00:00+02:00", datetime(2026, 5, 1, 8, tzinfo=UTC), True),
        ("2026-05-01T10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC), False),
        (datetime(2026, 5, 1, 10, tzinfo=timezone(timedelta(hours=1))), None, True),
        (datetime(2026, 5, 1, 10), datetime(2026, 5, 1, 10, tzinfo=UTC), False),  # noqa: DTZ001
        (datetime(2026, 5, 1, 10, tzinfo=timezone(timedelta(hours=23, minutes=59))), None, True),
    ],
)
def test_a_time_without_a_zone_is_utc_and_says_so(at: Any, expected: Any, known: bool) -> None:
    [message] = read({"role": "user", "content": "hi", "at": at}).messages
    assert message.at == (expected or at)
    assert message.at.utcoffset() == timedelta(0)
    assert message.at_zone_known == known


def test_blank_messages_are_left_out_and_names_are_participants() -> None:
    conversation = read(
        {"role": "other", "content": "hi", "name": "Ann", "id": 7},
        {"role": "other", "content": " \n"},
        {"role": "other", "content": "ho", "name": "Bo"},
    )
    assert [message.text for message in conversation.messages] == ["hi", "ho"]
    assert conversation.messages[0].external_id == "7"
    assert conversation.participants == ("Ann", "Bo")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            {"role": "robot", "content": "x"},
            "messages.0.role: input should be 'user', .*, not 'robot'",
        ),
        ({"role": "user", "content": None}, "messages.0.content must be a text, not None"),
        ({"role": "user", "content": [{"type": "text"}]}, "no message has any text"),
        ({"role": "user", "content": [7]}, "messages.0 content.0 must be a text or a part"),
        ({"role": "user", "content": {}}, "messages.0.content must be a text"),
        ({"role": "user", "content": "x", "timestamp": "noon"}, "messages.0 timestamp must be"),
        ({"role": "user", "content": "x", "created_at": True}, "messages.0 created_at must be"),
        ({"role": "user"}, "messages.0.content is missing"),
        (
            {"role": "user", "content": "x", "time": 1},
            "messages.0 has unknown keys 'time'; known are role, content, id, at, name, timestamp",
        ),
        ({"role": "user", "content": "x", 7: 1}, "messages.0 has unknown keys 7"),
        (17, "messages.0 must be a mapping or an object with role and content, not 17"),
        (
            {"role": "user", "content": "x", "at": "noon"},
            "messages.0.at must be an ISO 8601 time, not 'noon'",
        ),
        (
            {"role": "user", "content": "x", "at": 17},
            "must be a datetime or an ISO 8601 text, not 17",
        ),
        (
            {"role": "user", "content": "x", "at": "0001-01-01T00:00:00+01:00"},
            "messages.0.at must lie in the years 100 to 9899, not '0001",
        ),
        ({"role": "user", "content": "x", "id": "a\x00"}, "messages.0.id holds a NUL character"),
        ({"role": "user", "content": "x", "id": True}, "messages.0.id must be a text or a whole"),
        ({"role": "user", "content": "x", "name": 3}, "messages.0.name must be a text, not 3"),
        ({"role": "user", "content": "  "}, "no message has any text"),
    ],
)
def test_an_unusable_message_is_refused_by_its_place(message: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        read(message)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (b"hello", "messages must be a text, or a list of messages"),
        (3, "messages must be a text, or a list of messages"),
        (None, "messages must be a text, or a list of messages"),
        ("", "messages is empty: pass what was said, such as"),
        (" \n", "messages is empty: pass what was said, such as"),
        ([], "no message has any text"),
        (["I like tea"], "messages.0 must be a mapping or an object with role and content"),
    ],
)
def test_a_value_that_holds_no_messages_is_refused(messages: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        read_messages(messages, session_id="s", now=NOW)


def test_a_text_is_a_message_of_the_user_and_one_message_is_a_list_of_one() -> None:
    text = "I like tea"
    pydantic_message = Said(role="user", content=text)
    for form in (text, {"role": "user", "content": text}, pydantic_message):
        [message] = read_messages(form, session_id="s", now=NOW).messages
        assert (message.role, message.text) == ("user", text)


@pytest.mark.parametrize(
    ("at", "session"),
    [
        (None, f"{NOW:%Y-%m-%d}"),
        ("2024-02-29", "2024-02-29"),
        ("2024-03-01T00:30:00+01:00", "2024-02-29"),  # in UTC still the day before
    ],
)
def test_without_a_session_the_session_is_the_day_of_the_first_message(
    at: str | None, session: str
) -> None:
    messages = [{"role": "user", "content": "x", "at": at}, {"role": "assistant", "content": "y"}]
    assert read_messages(messages, session_id=None, now=NOW).session_id == session


def test_texts_are_cleaned_of_what_postgresql_cannot_hold() -> None:
    [message] = read({"role": "user", "content": "a\x00b\ud800c", "name": "A\x00"}).messages
    assert (message.text, message.speaker) == ("a\ufffdb\ufffdc", "A\ufffd")


def test_a_generator_of_messages_is_taken() -> None:
    messages = ({"role": "user", "content": text} for text in ("one", "two"))
    assert len(read_messages(messages, session_id="s", now=NOW).messages) == 2


AT = datetime(2026, 5, 1, 10, tzinfo=UTC)


@dataclass
class Note:
    role: str
    content: Any
    timestamp: datetime | None = None


class Said(BaseModel):
    role: str
    content: str


class Block(BaseModel):
    type: str
    text: str | None = None


class Answer(BaseModel):
    role: str = "assistant"
    content: list[Block]
    stop_reason: str = "end_turn"


class Human(BaseModel):
    """Message like LangChain's, whose type is the speaker's role."""

    content: str
    type: str = "human"
    id: str | None = None


TOOL_USE = {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Lisbon"}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "sunny"}
CALL = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


FOREIGN: list[tuple[Any, str, str]] = [
    ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, "user", "hi"),
    (
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, TOOL_USE]},
        "assistant",
        "Let me see.",
    ),
    (
        {"role": "user", "content": [TOOL_RESULT, {"type": "text", "text": "so?"}]},
        "user",
        "so?",
    ),
    ({"role": "assistant", "content": "Sure.", "tool_calls": [CALL]}, "assistant", "Sure."),
    ({"role": "assistant", "content": None, "refusal": "I can't."}, "assistant", "I can't."),
    (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        "user",
        "hi",
    ),
    (
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hello", "annotations": []}],
        },
        "assistant",
        "hello",
    ),
    ({"type": "human", "content": "hi", "example": False}, "user", "hi"),
    ({"type": "ai", "data": {"content": "hello", "type": "ai"}}, "assistant", "hello"),
    (
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "HumanMessage"],
            "kwargs": {"content": "hi", "type": "human"},
        },
        "user",
        "hi",
    ),
    (("human", "hi"), "user", "hi"),
    (Human(content="hi"), "user", "hi"),
    (Note("user", "hi"), "user", "hi"),
    (Note("assistant", [Block(type="text", text="hello")]), "assistant", "hello"),
    (
        Answer(content=[Block(type="thinking"), Block(type="text", text="hello")]),
        "assistant",
        "hello",
    ),
    (SimpleNamespace(role="user", content="hi"), "user", "hi"),
    ({"role": "model", "content": "hello"}, "assistant", "hello"),
]


@pytest.mark.parametrize(("message", "role", "text"), FOREIGN)
def test_messages_of_other_libraries_are_read(message: Any, role: str, text: str) -> None:
    [found] = read(message).messages
    assert (found.role, found.text) == (role, text)


@pytest.mark.parametrize(
    "silent",
    [
        {"role": "user", "content": [TOOL_RESULT]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
        {"type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sunny"},
        {"type": "reasoning", "summary": []},
        {"role": "user", "content": "<memsense-context>\nwhat was recalled\n</memsense-context>"},
    ],
)
def test_calls_results_and_what_was_injected_are_left_out(silent: Any) -> None:
    said = {"role": "user", "content": "hi"}
    assert [message.text for message in read(silent, said, silent).messages] == ["hi"]


def test_a_results_role_is_a_tools_and_becomes_no_exchange() -> None:
    found = read(
        {"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
        {"role": "developer", "content": "Be kind."},
    )
    assert [message.role for message in found.messages] == ["user", "tool", "system"]
    assert [len(one.user) for one in pair_exchanges(found)] == [1]


def test_text_that_hooks_put_before_a_question_is_not_stored() -> None:
    recalled = "<memsense-context>\nMemory 1\n</memsense-context>\n\nWhere do I live?"
    assert read({"role": "user", "content": recalled}).messages[0].text == "Where do I live?"


@pytest.mark.parametrize("name", ["timestamp", "created_at"])
@pytest.mark.parametrize("given", [AT, AT.isoformat(), AT.timestamp(), 1000 * int(AT.timestamp())])
def test_a_time_may_have_the_name_that_libraries_give_it(name: str, given: Any) -> None:
    [found] = read({"role": "user", "content": "hi", name: given}).messages
    assert (found.at, found.at_zone_known) == (AT, True)
    [other] = read({"role": "user", "content": "hi", name: "2026-05-01T10:00:00"}).messages
    assert (other.at, other.at_zone_known) == (AT, False)
    [none] = read({"role": "user", "content": "hi", name: None}).messages
    assert none.at == NOW
    [noted] = read(Note("user", "hi", AT)).messages
    assert noted.at == AT
