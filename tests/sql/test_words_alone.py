"""Memories whose vectors are not made yet, among others that have theirs."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.search.hits import Hit, SearchResult

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, tzinfo=UTC)
QUESTION = "Where did I leave the yellow bicycle pump?"
WITHOUT = {"words_alone_weight": 0}
PLACES = ("garage", "shed", "cellar", "kitchen", "attic", "office", "hall", "car")
THINGS = ("bicycle", "pump", "helmet", "bell", "lamp")


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    """Return a memory of 40 exchanges that share words with the question."""
    memory = open_memory(embedder=TokenHashingEmbedder())
    for number in range(40):
        thing, place = THINGS[number % 5], PLACES[number % 8]
        add(memory, number, f"Did I leave the {thing} in the {place} on day {number}?")
    return memory


def add(memory: MemSense, number: int, text: str, **options: object) -> int:
    at = MAY + timedelta(hours=number)
    messages = [
        {"role": "user", "content": text, "at": at},
        {"role": "assistant", "content": "Noted.", "at": at},
    ]
    session_id = f"s{number // 8}"
    added = memory.add(messages, user_id="ada", session_id=session_id, mode="turn", **options)  # pyright: ignore[reportArgumentType]
    return added[0].chunk_id


def search(memory: MemSense, question: str = QUESTION, **options: object) -> SearchResult:
    return memory.search(question, user_id="ada", top_k=100, **options)  # pyright: ignore[reportArgumentType]


def scores(result: SearchResult, *, without: int = 0) -> dict[int, float]:
    return {hit.chunk_id: hit.score for hit in result if hit.chunk_id != without}


def rise_of(hit: Hit) -> list[tuple[str, float]]:
    return [
        (term.because, term.contribution)
        for term in hit.explain.terms
        if term.name == "words_alone"
    ]


def place_of(result: SearchResult, chunk_id: int) -> int:
    return [hit.chunk_id for hit in result].index(chunk_id) + 1


def test_a_memory_without_vectors_that_holds_the_very_words_is_among_the_first(
    memory: MemSense,
) -> None:
    words = "I did leave the yellow bicycle pump behind the old door."
    chunk_id = add(memory, 50, words, embed="later")
    before, now = search(memory, overrides=WITHOUT), search(memory)
    # The fault: first by words, and behind what has fewer of them.
    assert place_of(before, chunk_id) > 10
    assert place_of(now, chunk_id) <= 2
    hit = now[place_of(now, chunk_id) - 1]
    [(because, rise)] = rise_of(hit)
    assert because == "it has no vectors; by words it is number 1"
    assert rise == pytest.approx(hit.score - scores(before)[chunk_id], abs=1e-9)
    assert hit.score == pytest.approx(sum(part for _, part in hit.explain.parts()), abs=1e-9)


def test_the_rise_changes_no_score_of_a_memory_that_has_vectors(memory: MemSense) -> None:
    # In the session of others, so that it is a neighbour of one.
    chunk_id = add(memory, 39, "I did leave the yellow bicycle pump behind.", embed="later")
    before, now = search(memory, overrides=WITHOUT), search(memory)
    assert scores(now)[chunk_id] > scores(before)[chunk_id]
    assert scores(now, without=chunk_id) == scores(before, without=chunk_id)


@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_where_every_memory_has_vectors_nothing_rises(memory: MemSense, granularity: str) -> None:
    before = search(memory, overrides=WITHOUT, granularity=granularity)
    now = search(memory, granularity=granularity)
    parts = [[(hit.chunk_id, *hit.explain.parts()) for hit in result] for result in (before, now)]
    assert parts[0] == parts[1]
    assert not any(rise_of(hit) for hit in now)


def test_no_memory_rises_above_its_place_by_words(memory: MemSense) -> None:
    waiting = [
        add(memory, 50, "The yellow car is sold.", embed="later"),
        add(memory, 51, "A yellow pump is not a yellow bicycle.", embed="later"),
        add(memory, 52, "I leave tomorrow.", embed="later"),
    ]
    result = search(memory)
    others = sorted(scores(result).items(), key=lambda item: -item[1])
    embedded = [score for chunk_id, score in others if chunk_id not in waiting]
    for hit in result:
        if hit.chunk_id in waiting:
            [place] = [route.rank for route in hit.explain.routes if route.route == "lexical"]
            assert not rise_of(hit) or hit.score <= embedded[place - 1] + 1e-9


def test_a_memory_with_its_vectors_made_rises_no_more(memory: MemSense) -> None:
    words = "I did leave the yellow bicycle pump behind the old door."
    chunk_id = add(memory, 50, words, embed="later")
    memory.jobs.run()
    hit = search(memory)[0]
    assert hit.chunk_id == chunk_id
    assert not rise_of(hit)


def test_where_nothing_has_vectors_words_alone_decide_as_before(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    for number in range(6):
        add(memory, number, f"Pump {number} is yellow." + " Bicycle." * (number % 2), embed="later")
    assert scores(search(memory)) == scores(search(memory, overrides=WITHOUT))
