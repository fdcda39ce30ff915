"""Lists in pages: every item once and in order, whatever is written in between; valid and invalid
cursors.
"""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense import MemSense
from memsense.client.cursors import read_cursor, write_cursor
from memsense.errors import InvalidInputError
from memsense.types import Chunk, Page

START = datetime(2025, 3, 1, 9, tzinfo=UTC)


def say(memory: MemSense, number: int, *, user: str = "ada", session: str = "one") -> Chunk:
    text = f"Fact number {number}."
    message = {"role": "user", "content": text, "at": START + timedelta(hours=number // 2)}
    return memory.add([message], user_id=user, session_id=session, tags=[f"t{number % 3}"])[0]


def pages(memory: MemSense, **options: Any) -> Iterator[Page[Chunk]]:
    page = memory.list(**options)
    yield page
    while page.next_cursor:
        page = memory.list(**options, cursor=page.next_cursor)
        yield page


def undate(url: str, chunk_ids: list[int]) -> None:
    with psycopg.connect(url) as conn:
        conn.execute(
            "UPDATE memsense.chunks SET occurred_at = NULL WHERE chunk_id = ANY (%s)", [chunk_ids]
        )


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_pages_hold_everything_once_in_order(
    memory: MemSense, database_url: str, order: str, limit: int
) -> None:
    ids = [say(memory, number).chunk_id for number in range(7)]
    say(memory, 90, user="ben")
    undate(database_url, [ids[1], ids[4]])
    found = list(pages(memory, user_id="ada", limit=limit, order=order))
    expected = [ids[6], ids[5], ids[3], ids[2], ids[0], ids[4], ids[1]]
    listed = [chunk.chunk_id for page in found for chunk in page]
    assert listed == (expected if order == "newest" else expected[::-1])
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert found[-1], "the last page is not empty"


def test_writes_between_pages_neither_repeat_nor_hide_items(memory: MemSense) -> None:
    old = [say(memory, number).chunk_id for number in range(6)]
    first = memory.list(user_id="ada", limit=3)
    say(memory, 50)
    second = memory.list(user_id="ada", limit=3, cursor=first.next_cursor)
    assert [chunk.chunk_id for chunk in [*first, *second]] == old[::-1]


def test_filters_and_statuses(memory: MemSense) -> None:
    made = [say(memory, number, session=f"s{number % 2}") for number in range(6)]
    gone, put_away = made[0], made[3]
    memory.forget(gone.chunk_id)
    memory.archive(put_away.chunk_id)

    def ids(**options: Any) -> list[int]:
        return [chunk.chunk_id for chunk in memory.list(user_id="ada", **options)]

    left = [chunk.chunk_id for chunk in made if chunk not in (gone, put_away)][::-1]
    assert ids() == left
    assert ids(statuses=["archived"]) == [put_away.chunk_id]
    assert ids(statuses=["active", "archived", "deleted"]) == [c.chunk_id for c in made[::-1]]
    (forgotten,) = memory.list(user_id="ada", statuses=["deleted"])
    assert (forgotten.content, forgotten.tags) == ("", ())
    assert ids(tags=["t1"]) == [made[4].chunk_id, made[1].chunk_id]
    assert ids(session_ids=["s1"]) == [made[5].chunk_id, made[1].chunk_id]
    assert ids(since=START + timedelta(hours=2)) == [made[5].chunk_id, made[4].chunk_id]
    memory.projects.create("half", ["s0"])
    assert ids(project="half") == [made[4].chunk_id, made[2].chunk_id]


def test_sessions_are_listed_by_their_last_exchange(memory: MemSense) -> None:
    for number in range(9):
        say(memory, number, session=f"s{number % 3}", user="ada" if number % 3 else "ben")
    memory.add([{"role": "user", "content": "x", "at": START}], user_id="cy", session_id="one")
    page = memory.sessions(all_users=True, limit=3)
    rest = memory.sessions(all_users=True, limit=3, cursor=page.next_cursor)
    assert [(s.user_id, s.session_id, s.exchanges) for s in [*page, *rest]] == [
        ("ada", "s2", 3),
        ("ada", "s1", 3),
        ("ben", "s0", 3),
        ("cy", "one", 1),
    ]
    assert rest.next_cursor is None
    assert page[0].opening == "Fact number 2."
    assert (page[0].first_at, page[0].last_at) == (
        START + timedelta(hours=1),
        START + timedelta(hours=4),
    )


def test_sessions_are_filtered_and_count_what_passes(memory: MemSense) -> None:
    for number in range(8):
        say(memory, number, session=f"s{number % 2}")
    memory.projects.create("half", ["s0"])

    def found(**options: Any) -> list[tuple[str, int]]:
        return [(s.session_id, s.exchanges) for s in memory.sessions(user_id="ada", **options)]

    assert found(tags=["t0"]) == [("s0", 2), ("s1", 1)]
    assert found(tags=["t0"], project="half") == [("s0", 2)]
    assert found(kinds=["stable"]) == []


def test_a_session_that_is_one_chunk_counts_its_exchanges(memory: MemSense) -> None:
    said = [
        message
        for number in range(4)
        for message in (
            {"role": "user", "content": f"Question {number}?"},
            {"role": "assistant", "content": f"Answer {number}."},
        )
    ]
    memory.add(said, user_id="ada", session_id="whole", mode="session")
    memory.add(said, user_id="ada", session_id="both", mode="hybrid")
    assert {s.session_id: s.exchanges for s in memory.sessions(user_id="ada")} == {
        "whole": 4,
        "both": 4,
    }


def test_a_forgotten_chunk_is_not_the_opening_of_its_session(memory: MemSense) -> None:
    first = say(memory, 0)
    say(memory, 1)
    memory.forget(first.chunk_id)
    (session,) = memory.sessions(user_id="ada")
    assert (session.exchanges, session.opening) == (1, "Fact number 1.")


def test_users_are_listed_by_their_ids(memory: MemSense) -> None:
    for number, user in enumerate(["eve", "ada", "Zoë", "ben"]):
        say(memory, number, user=user)
    page = memory.users(limit=3)
    rest = memory.users(limit=3, cursor=page.next_cursor)
    listed = [user.user_id for user in [*page, *rest]]
    assert listed == [user.user_id for user in memory.stats()]
    assert (len(page), len(rest), rest.next_cursor) == (3, 1, None)
    assert page[0].turns == 1


def test_nothing_stored_is_an_empty_page(memory: MemSense) -> None:
    for page in (memory.list(user_id="ada"), memory.sessions(user_id="ada"), memory.users()):
        assert (list(page), page.next_cursor) == ([], None)


def test_a_user_alone_lists_what_is_theirs(memory: MemSense) -> None:
    for number, user in enumerate(["ada", "ben", "ada"]):
        say(memory, number, user=user)
    cursor = memory.list(user_id="ben", limit=1, order="oldest").next_cursor
    assert cursor is None
    foreign = memory.list(all_users=True, limit=2).next_cursor
    ada = memory.for_user("ada")
    assert [chunk.user_id for chunk in ada.list(cursor=foreign)] == ["ada"]
    assert [session.user_id for session in ada.sessions()] == ["ada"]
    with pytest.raises(InvalidInputError, match="alone"):
        ada.list(user_id="ben")  # pyright: ignore[reportCallIssue]


@given(
    text=st.one_of(
        st.text(max_size=200),
        st.text(alphabet="abcdefABCDEF0123456789-_=", max_size=80),
        st.lists(st.one_of(st.none(), st.integers(), st.text(), st.floats()), max_size=5).map(
            lambda values: base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
        ),
    ),
    kind=st.sampled_from(["newest", "oldest", "sessions", "users"]),
)
@settings(max_examples=300)
def test_a_cursor_of_any_other_making_is_refused(text: str, kind: str) -> None:
    with pytest.raises(InvalidInputError, match="^cursor must be the next_cursor of a page"):
        read_cursor(kind, text)


@given(days=st.none() | st.floats(-600_000, 2_000_000), chunk_id=st.integers(1, 2**63 - 1))
def test_a_cursor_is_read_as_it_was_written(days: float | None, chunk_id: int) -> None:
    moment = None if days is None else START + timedelta(days=days)
    assert read_cursor("newest", write_cursor("newest", moment, chunk_id)) == (moment, chunk_id)


def test_a_cursor_of_another_list_is_refused(memory: MemSense) -> None:
    for number in range(3):
        say(memory, number)
    cursor = memory.list(user_id="ada", limit=1).next_cursor
    for call in (
        lambda: memory.list(user_id="ada", order="oldest", cursor=cursor),
        lambda: memory.sessions(user_id="ada", cursor=cursor),
        lambda: memory.users(cursor=cursor),
    ):
        with pytest.raises(InvalidInputError, match="the same list"):
            call()
