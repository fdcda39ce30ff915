"""The life of a user: sessions by week, and lanes of facts from the changes that answers show."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest

from memsense import MemSense
from memsense.store.life import Lane

START = datetime(2026, 5, 4, 9, tzinfo=UTC)  # a Monday
HOMES = ("I live in Berlin.", "I live in Lisbon now.", "I live in Faro, since June.")


def say(memory: MemSense, text: str, day: int, user_id: str = "ada", session: str = "") -> int:
    at = START + timedelta(days=day)
    messages = [{"role": "user", "content": text, "at": at}]
    [chunk] = memory.add(messages, user_id=user_id, session_id=session or f"s{day}")
    return chunk.chunk_id


@pytest.fixture
def memory(open_memory: Callable[..., MemSense]) -> MemSense:
    return open_memory()


def texts(lanes: list[Lane]) -> list[list[str]]:
    return [[span.text for span in lane.spans] for lane in lanes]


def test_lanes_join_the_changes_that_answers_show(memory: MemSense) -> None:
    berlin, lisbon, faro = (say(memory, text, 10 * n) for n, text in enumerate(HOMES))
    tea, coffee = say(memory, "I drink tea.", 3), say(memory, "I drink coffee.", 5)
    cat, dog = say(memory, "I have a cat.", 3), say(memory, "I have a dog.", 5)
    memory.decide_change(berlin, lisbon, decision="set", reason="moved")
    memory.decide_change(lisbon, faro, decision="confirmed")
    memory.decide_change(cat, dog, decision="rejected")
    memory.decide_change(tea, coffee, decision="set", reason="likes it better")
    say(memory, "I live in Rome.", 3, user_id="bo")
    life = memory.life(user_id="ada")
    assert texts([*life.lanes]) == [[*HOMES], ["I drink tea.", "I drink coffee."]]
    homes, drinks = life.lanes
    assert (homes.subject, drinks.subject) == ("live", "drink")
    assert [(it.chunk_id, it.since, it.until) for it in homes.spans] == [
        (berlin, START, START + timedelta(days=10)),
        (lisbon, START + timedelta(days=10), START + timedelta(days=20)),
        (faro, START + timedelta(days=20), None),
    ]
    assert [it.reason for it in drinks.spans] == ["likes it better", None]
    # As in answers, and no statement comes back that was forgotten.
    memory.forget(coffee)
    memory.decide_change(lisbon, faro, decision="rejected")
    assert texts([*memory.life(user_id="ada").lanes]) == [[*HOMES[:2]]]
    assert memory.life(user_id="bo").lanes == []


def test_weeks_count_sessions_and_exchanges(memory: MemSense) -> None:
    for number, (day, session) in enumerate([(0, "a"), (6, "b"), (6, "b"), (7, "c"), (21, "c")]):
        say(memory, f"Thing number {number}", day, session=session)
    say(memory, "Something else", 0, user_id="bo")
    weeks = memory.life(user_id="ada").weeks
    assert [(it.week, it.sessions, it.exchanges) for it in weeks] == [
        (date(2026, 5, 4), 2, 3), (date(2026, 5, 11), 1, 1), (date(2026, 5, 25), 1, 1),
    ]  # fmt: skip
    assert memory.for_user("bo").life().weeks[0].exchanges == 1


def test_nobody_has_a_life_in_an_empty_store(memory: MemSense) -> None:
    life = memory.life(user_id="ada")
    assert (life.weeks, life.lanes) == ((), ())


def test_at_most_forty_lanes(memory: MemSense) -> None:
    for number in range(42):
        older, newer = (say(memory, f"The {it} of door {number}.", 2 * number + n)
                        for n, it in enumerate(("old code", "new code")))  # fmt: skip
        memory.decide_change(older, newer, decision="set")
    lanes = memory.life(user_id="ada").lanes
    assert len(lanes) == 40
    assert lanes[0].spans[0].text == "The old code of door 41."
