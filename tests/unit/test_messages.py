"""What callers hand over as messages, and what is refused with which words."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memsense.errors import InvalidInputError
from memsense.write.messages import read_messages

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
        ({"role": "user", "content": [{"type": "text"}]}, "messages.0.content must be a text"),
        ({"role": "user"}, "messages.0.content is missing"),
        (
            {"role": "user", "content": "x", "time": 1},
            "messages.0 has unknown keys 'time'; known are role, content, id, at, name",
        ),
        ({"role": "user", "content": "x", 7: 1}, "messages.0 has unknown keys 7"),
        (17, "messages.0 must be a mapping with role and content, not 17"),
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


@pytest.mark.parametrize("messages", ["hello", b"hello", {"role": "user", "content": "x"}, 3, None])
def test_what_is_no_list_is_no_list_of_messages(messages: Any) -> None:
    with pytest.raises(InvalidInputError, match="messages must be a list of mappings"):
        read_messages(messages, session_id="s", now=NOW)


def test_texts_are_cleaned_of_what_postgresql_cannot_hold() -> None:
    [message] = read({"role": "user", "content": "a\x00b\ud800c", "name": "A\x00"}).messages
    assert (message.text, message.speaker) == ("a\ufffdb\ufffdc", "A\ufffd")


def test_a_generator_of_messages_is_taken() -> None:
    messages = ({"role": "user", "content": text} for text in ("one", "two"))
    assert len(read_messages(messages, session_id="s", now=NOW).messages) == 2
