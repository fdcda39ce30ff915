"""How messages become exchanges."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.ingest import pair_exchanges
from memsense.ingest.pairing import EXCHANGE_GAP
from memsense.types import Conversation, Message, Role


def conversation(*said: tuple[Role, str], participants: Sequence[str] = ()) -> Conversation:
    messages = [Message(role=role, text=text) for role, text in said]
    return Conversation(
        session_id="s", messages=messages, format="x", source="x", participants=participants
    )


def people(*said: tuple[str, str], participants: Sequence[str] = ("Ana", "Bo")) -> Conversation:
    messages = [Message(role="other", speaker=name, text=text) for name, text in said]
    return Conversation(
        session_id="s", messages=messages, format="x", source="x", participants=participants
    )


def texts(talk: Conversation, user_speaker: str | None = None) -> list[tuple[str, str]]:
    return [
        (" ".join(m.text for m in one.user), " ".join(m.text for m in one.assistant))
        for one in pair_exchanges(talk, user_speaker=user_speaker)
    ]


def test_consecutive_messages_of_a_role_share_a_side() -> None:
    talk = conversation(
        ("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e")
    )
    assert texts(talk) == [("a b", "c d"), ("e", "")]


def test_a_greeting_is_an_exchange_without_a_user_side() -> None:
    assert texts(conversation(("assistant", "hi"), ("user", "a"))) == [("", "hi"), ("a", "")]


def test_a_single_message_is_an_exchange() -> None:
    assert texts(conversation(("user", "a"))) == [("a", "")]


def test_system_and_tool_messages_are_in_no_exchange() -> None:
    talk = conversation(("system", "x"), ("user", "a"), ("tool", "y"), ("assistant", "b"))
    assert texts(talk) == [("a", "b")]


def test_an_answer_is_not_cut_however_long() -> None:
    answer: tuple[Role, str] = ("assistant", "b" * 1000)
    talk = conversation(("user", "a"), *([answer] * 20))
    assert len(pair_exchanges(talk)) == 1


def test_ordinals_count_from_zero() -> None:
    talk = conversation(("user", "a"), ("assistant", "b"), ("user", "c"))
    assert [one.ordinal for one in pair_exchanges(talk)] == [0, 1]


def test_the_first_participant_is_on_the_users_side() -> None:
    talk = people(("Bo", "hi"), ("Ana", "hello"), ("Bo", "news?"), ("Cy", "me too"))
    assert texts(talk) == [("", "hi"), ("hello", "news? me too")]


def test_the_callers_choice_of_the_users_side_comes_first() -> None:
    talk = people(("Bo", "hi"), ("Ana", "hello"), ("Bo", "news?"))
    assert texts(talk, user_speaker="Bo") == [("hi", "hello"), ("news?", "")]


def test_a_long_run_without_the_user_is_cut_after_eight_messages() -> None:
    talk = people(("Ana", "q"), *((("Bo", str(i))) for i in range(10)))
    assert [len(one.assistant) for one in pair_exchanges(talk)] == [8, 2]


def test_a_long_run_without_the_user_is_cut_at_four_thousand_characters() -> None:
    talk = people(("Ana", "q"), *([("Bo", "x" * 1500)] * 4), ("Bo", "y" * 9000))
    assert [len(one.assistant) for one in pair_exchanges(talk)] == [2, 2, 1]


def test_a_monologue_of_the_user_is_cut_too() -> None:
    talk = people(*([("Ana", "x")] * 20))
    assert [len(one.user) for one in pair_exchanges(talk)] == [8, 8, 4]


def timed(*said: tuple[Role, float | None]) -> Conversation:
    """Return a conversation of roles and hours at which they speak; None for an unknown time."""
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    messages = [
        Message(role=role, text="x", at=None if hour is None else begin + timedelta(hours=hour))
        for role, hour in said
    ]
    return Conversation(session_id="s", messages=messages, format="x", source="x")


def lengths(talk: Conversation, gap: timedelta = EXCHANGE_GAP) -> list[int]:
    """Return the number of messages of each exchange."""
    exchanges = pair_exchanges(talk, exchange_gap=gap)
    return [len(one.user) + len(one.assistant) for one in exchanges]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([("user", 0), ("user", 6)], [2]),
        ([("user", 0), ("user", 6.01)], [1, 1]),
        ([("user", 0), ("user", 5), ("user", 10)], [3]),
        ([("user", 0), ("user", 24), ("user", 48)], [1, 1, 1]),
        ([("user", 0), ("assistant", 24)], [2]),
        ([("user", 0), ("assistant", 0), ("assistant", 24)], [2, 1]),
        ([("user", 0), ("user", None), ("user", 24)], [3]),
        ([("user", 24), ("user", 0)], [2]),
        ([("other", 0), ("other", 24)], [1, 1]),
    ],
)
def test_a_silence_within_a_side_ends_the_exchange(
    said: list[tuple[Role, float | None]], expected: list[int]
) -> None:
    assert lengths(timed(*said)) == expected
    assert lengths(timed(*said), timedelta(0)) == [len(said)]
    assert lengths(timed(*said), timedelta(days=2)) == [len(said)]


def test_an_exchange_knows_whether_only_a_silence_ended_the_one_before() -> None:
    talk = timed(("user", 0), ("assistant", 0), ("assistant", 24), ("user", 48), ("user", 72))
    assert [one.follows_gap for one in pair_exchanges(talk)] == [False, True, False, True]


@given(
    st.lists(st.tuples(st.sampled_from(("Ana", "Bo", "Cy")), st.text(max_size=3000)), max_size=30)
)
@settings(deadline=None)
def test_every_message_is_in_one_exchange_in_order(said: list[tuple[str, str]]) -> None:
    talk = people(*said)
    exchanges = pair_exchanges(talk)
    flat = [m for one in exchanges for side in (one.user, one.assistant) for m in side]
    assert flat == list(talk.messages)
    assert all(one.user or one.assistant for one in exchanges)
    assert all(len(one.user) <= 8 and len(one.assistant) <= 8 for one in exchanges)
