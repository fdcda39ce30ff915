"""Splitting of texts, links between turns, session chunks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.draft.chunking import (
    CONTEXT_AFTER,
    CONTEXT_BEFORE,
    LARGEST_PART,
    LARGEST_SESSION_CHUNK,
    LONGEST_OPENING,
    Turn,
    build_session_chunks,
    dedup_window,
    exchange_hash,
    find_opening,
    link_turns,
    split_exchange,
    split_text,
)
from memsense.types import ChunkDraft

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def turn(ordinal: int, user: str = "", assistant: str = "", part: int = 0) -> Turn:
    return Turn(
        ordinal=ordinal,
        part=part,
        user_text=user,
        assistant_text=assistant,
        user_speaker=None,
        assistant_speaker=None,
        agent_id=None,
        occurred_at=NOON + timedelta(minutes=ordinal),
        occurred_zone_known=True,
        message_ids=(f"m{ordinal}",),
        source="test",
    )


@given(st.text(alphabet="ab .\n", max_size=400), st.integers(2, 60))
def test_pieces_join_to_the_text_and_keep_the_limit(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


def test_an_empty_text_has_no_pieces() -> None:
    assert split_text("") == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 12 + "\n\n" + "b" * 2 + "\n" + "c" * 20, "a" * 12 + "\n\n"),
        ("a" * 12 + "\n" + "b. c" + "d" * 20, "a" * 12 + "\n"),
        ("a" * 12 + ". b " + "c" * 20, "a" * 12 + ". "),
        ("a" * 12 + " b" + "c" * 20, "a" * 12 + " "),
        ("a" * 40, "a" * 20),
        # A border in the first half would leave a sliver.
        ("a\n\n" + "b" * 40, "a\n\n" + "b" * 17),
    ],
)
def test_a_text_is_cut_at_the_best_border_near_the_limit(text: str, first: str) -> None:
    assert split_text(text, 20)[0] == first


def test_an_exchange_that_fits_is_one_chunk() -> None:
    assert split_exchange("u" * 600, "a" * 400) == [("u" * 600, "a" * 400)]


@settings(deadline=None)
@given(st.integers(0, 9000), st.integers(0, 9000))
def test_a_long_exchange_loses_nothing_and_no_part_mixes_its_order(user: int, answer: int) -> None:
    parts = split_exchange("u" * user, "a" * answer)
    assert "".join(one for one, _ in parts) == "u" * user
    assert "".join(other for _, other in parts) == "a" * answer
    opening = len(find_opening("u" * user)) if len(parts) > 1 else 0
    for part, (one, other) in enumerate(parts):
        assert len(one) + len(other) + (opening if part else 0) <= LARGEST_PART
    if user + answer:
        assert all(one or other for one, other in parts)
    # No user text after the first answer text.
    answered = [bool(other) for _, other in parts]
    asked = [bool(one) for one, _ in parts]
    if any(answered):
        assert not any(asked[answered.index(True) + 1 :])


@given(st.text(max_size=2000))
def test_an_opening_is_the_beginning_of_what_the_user_says(text: str) -> None:
    opening = find_opening(text)
    assert len(opening) <= LONGEST_OPENING
    assert text.strip().startswith(opening.rstrip())
    is_whole = opening == f"{text.strip()}\n"
    assert is_whole or not text.strip() or len(text.strip()) >= LONGEST_OPENING
    assert bool(opening) == bool(text.strip())


def test_a_long_opening_is_cut_at_a_border() -> None:
    assert find_opening("One sentence. " * 100) == "One sentence. " * 10 + "One sentence.\n"
    assert find_opening("x" * 1000) == "x" * 159 + "\n"


def test_a_turn_knows_the_end_of_the_one_before_and_the_beginning_of_the_next() -> None:
    long = "".join(chr(97 + n % 26) for n in range(500))
    links = link_turns([turn(0, long, long.upper()), turn(1, "middle"), turn(2, "", long)])
    assert [link.next_user_text for link in links] == ["middle", None, None]
    assert links[0].context == "middle"
    assert links[1].context == "\n".join(
        [long[-CONTEXT_BEFORE:], long.upper()[-CONTEXT_BEFORE:], long[:CONTEXT_AFTER]]
    )
    assert links[2].context == "middle"


def test_a_turn_alone_knows_nothing_of_others() -> None:
    [link] = link_turns([turn(0, "alone")])
    assert (link.next_user_text, link.context) == (None, "")
    assert link_turns([]) == []


TURNS = st.lists(
    st.tuples(st.integers(0, 2600), st.integers(0, 1300)).filter(any), max_size=12
).map(lambda sizes: [turn(n, "u" * u, "a" * a) for n, (u, a) in enumerate(sizes)])


def add_one_by_one(turns: list[Turn]) -> list[ChunkDraft]:
    chunks: list[ChunkDraft] = []
    for item in turns:
        grown = build_session_chunks("s", [item], chunks.pop() if chunks else None)
        chunks += grown
    return chunks


@settings(max_examples=100, deadline=None)
@given(TURNS)
def test_adding_turn_by_turn_gives_the_chunks_of_adding_all_at_once(turns: list[Turn]) -> None:
    assert add_one_by_one(turns) == build_session_chunks("s", turns)


@settings(max_examples=100, deadline=None)
@given(TURNS)
def test_session_chunks_hold_every_turn_once_in_order(turns: list[Turn]) -> None:
    chunks = build_session_chunks("s", turns)
    covered = [n for c in chunks for n in range(c.ordinal, c.last_ordinal + 1)]
    assert covered == [item.ordinal for item in turns]
    assert [key for chunk in chunks for key in chunk.message_ids] == [f"m{n}" for n in covered]
    for chunk in chunks:
        alone = chunk.ordinal == chunk.last_ordinal
        assert alone or len(chunk.session_text) <= LARGEST_SESSION_CHUNK
        assert chunk.granularity == "session"
        assert chunk.occurred_at == turns[chunk.ordinal].occurred_at
    assert len({chunk.content_hash for chunk in chunks}) == len(chunks)


def test_a_session_chunk_names_the_speakers() -> None:
    spoken = replace(turn(0, "hello", "hi"), user_speaker="Ann", assistant_speaker="Bo")
    [chunk] = build_session_chunks("s", [spoken, turn(1, "bye")])
    assert chunk.session_text == "Ann: hello\nBo: hi\nuser: bye"


def test_the_window_is_ten_minutes_of_event_time() -> None:
    assert dedup_window(NOON) == dedup_window(NOON + timedelta(seconds=599))
    assert dedup_window(NOON) + 1 == dedup_window(NOON + timedelta(seconds=600))


def test_the_hash_tells_parts_apart() -> None:
    assert exchange_hash("a", "bc") != exchange_hash("ab", "c")
    assert exchange_hash("a", 1) == exchange_hash("a", 1)
