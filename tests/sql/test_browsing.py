"""Pages of traces, the growth of a memory, and matching words in a text."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from memsense import MemSense
from memsense.errors import InvalidInputError

OpenMemory = Callable[..., MemSense]
START = datetime(2026, 5, 1, 12, tzinfo=UTC)


def fill(memory: MemSense, user_id: str = "ada", sessions: int = 4) -> None:
    for number in range(sessions):
        at = START + timedelta(hours=number)
        said = [
            {"role": role, "content": f"{text} {number} of {turn}.", "at": at}
            for turn in range(3)
            for role, text in (("user", "Tea"), ("assistant", "Milk"))
        ]
        memory.add(said, user_id=user_id, session_id=f"s{number}", tags=[f"tag{number}"])


def test_pages_of_traces_hold_each_of_them_once_and_empty_or_slow_ones_alone(
    memory: MemSense,
) -> None:
    assert memory.traces.statistics().searches == 0
    fill(memory)
    for number in range(5):
        memory.search(f"tea {number}", user_id="ada", trace=True)
    memory.search("tea", user_id="ada", min_score=100, trace=True)
    every = memory.traces.list()
    paged: list[Any] = []
    cursor = None
    while cursor is not None or not paged:
        page = memory.traces.list(limit=4, cursor=cursor)
        paged += page
        cursor = page.next_cursor
    assert paged == every
    assert len(every) == 6
    assert [trace.hit_count for trace in memory.traces.list(empty=True)] == [0]
    assert memory.traces.list(slower_than=1e6) == []
    assert len(memory.traces.list(slower_than=0)) == 6
    for wrong in ("", "x", memory.list(user_id="ada", limit=2).next_cursor):
        with pytest.raises(InvalidInputError, match="cursor must be"):
            memory.traces.list(cursor=wrong)
    told = memory.traces.statistics()
    assert (told.searches, told.empty) == (6, 1)
    assert told.p50_ms is not None
    assert told.p95_ms is not None
    assert 0 < told.p50_ms <= told.p95_ms
    assert memory.for_user("bob").traces.statistics().searches == 0


def test_growth_counts_what_each_day_has_stored(memory: MemSense, database_url: str) -> None:
    assert memory.growth() == []
    fill(memory)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "UPDATE memsense.chunks SET recorded_at = recorded_at - interval '1 day'"
            " WHERE session_id = 's0'"
        )
    assert [day.exchanges for day in memory.growth()] == [9, 3]
    assert memory.growth()[0].day == datetime.now(UTC).date()


def test_words_of_a_text_are_matched_as_the_index_matches_them(memory: MemSense) -> None:
    assert memory.matching_words(["teas"], ["tea"]) == set()
    fill(memory)
    words = ["Teas", "tea", "tee", "drinking", "<b>", "drinks"]
    lexemes = memory.search("tea drinks", user_id="ada").question["lexemes"]
    assert memory.matching_words(words, lexemes) == {"Teas", "tea", "drinking", "drinks"}


def test_many_memories_are_fetched_at_once_without_those_that_do_not_exist(
    memory: MemSense,
) -> None:
    assert memory.get_many([1]) == {}
    fill(memory, sessions=2)
    ids = [chunk.chunk_id for chunk in memory.list(user_id="ada")]
    memory.forget(ids[0])
    chunks = memory.get_many([*ids, 10**9])
    assert chunks == {chunk_id: memory.get(chunk_id) for chunk_id in ids}
    assert chunks[ids[0]].content == ""
    assert memory.get_many([]) == {}
    assert memory.for_user("bob").get_many(ids) == {}
    assert memory.for_user("ada").get_many(ids) == chunks
