"""What callers hand over as messages, and what is refused with which words."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memsense.errors import InvalidInputError
from memsense.write.messages import clean_text, read_messages, read_time

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
    ],
)
def test_a_time_without_a_zone_is_utc_and_says_so(at: Any, expected: Any, known: bool) -> None:
    [message] = read({"role": "user", "content": "hi", "at": at}).messages
    assert message.at == (expected or at)
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
        ({"role": "robot", "content": "x"}, "message 0 has role 'robot'"),
        ({"role": "user", "content": None}, "no text in 'content'"),
        ({"role": "user", "content": "x", "time": 1}, "unknown keys time"),
        (
            {"role": "user", "content": "x", "at": "noon"},
            "message 0: at must be an ISO 8601 time, not 'noon'",
        ),
        (
            {"role": "user", "content": "x", "at": 17},
            "must be a datetime or an ISO 8601 text, not 17",
        ),
        ({"role": "user", "content": "  "}, "no message has any text"),
    ],
)
def test_an_unusable_message_is_refused_by_its_place(message: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        read(message)


@pytest.mark.parametrize("messages", ["hello", b"hello", {"role": "user", "content": "x"}])
def test_one_text_or_mapping_is_no_list_of_messages(messages: Any) -> None:
    with pytest.raises(InvalidInputError, match="list"):
        read_messages(messages, session_id="s", now=NOW)


def test_what_postgresql_cannot_hold_is_replaced() -> None:
    assert clean_text("a\x00b\ud800c") == "a\ufffdb\ufffdc"


def test_no_time_is_none() -> None:
    assert read_time(None, "since") is None
