"""Texts and questions in a language that the model doesn't know."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from embedders import AlphabetEmbedder

from memsense import MemSense
from memsense.search.hits import Hit, SearchResult

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, tzinfo=UTC)
ENGLISH = [
    "I left the bicycle pump in the garage.",
    "The yellow helmet hangs in the shed.",
    "My bicycle bell is broken since Monday.",
]
RUSSIAN = ["Жёлтый насос лежит в гараже.", "Красный шлем висит в сарае."]
QUESTION = "Где лежит жёлтый насос?"


@pytest.fixture
def embedder() -> AlphabetEmbedder:
    return AlphabetEmbedder()


@pytest.fixture
def memory(open_memory: OpenMemory, embedder: AlphabetEmbedder) -> MemSense:
    memory = open_memory(embedder=embedder)
    for number, text in enumerate([*ENGLISH, *RUSSIAN]):
        add(memory, number, text)
    return memory


def add(memory: MemSense, number: int, text: str, **options: Any) -> int:
    messages = [{"role": "user", "content": text, "at": MAY + timedelta(hours=number)}]
    options = {"user_id": "ada", "session_id": f"s{number}", **options}
    return memory.add(messages, **options)[0].chunk_id


def search(memory: MemSense, question: str, **options: Any) -> SearchResult:
    return memory.search(question, user_id="ada", **options)


def terms_of(hit: Hit) -> dict[str, float]:
    return {term.name: term.contribution for term in hit.explain.terms if term.contribution}


def rows(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_a_question_that_the_model_does_not_know_is_answered_by_words_alone(
    memory: MemSense, embedder: AlphabetEmbedder
) -> None:
    result = search(memory, QUESTION)
    assert result[0].chunk.user_text == RUSSIAN[0]
    assert {route.route for hit in result for route in hit.explain.routes} == {"lexical"}
    assert not any(hit.explain.matches for hit in result)
    assert embedder.questions == []
    assert result.question["share_known"] == 0
    [note] = [note for note in result.notes if note.kind == "vectors"]
    assert note == "ranked by words alone: alphabet knows 0% of the question"


def test_half_of_a_question_is_enough_to_know_it(
    memory: MemSense, embedder: AlphabetEmbedder
) -> None:
    result = search(memory, "yellow насос")
    assert embedder.questions == ["yellow насос"]
    assert "share_known" not in result.question
    assert not [note for note in result.notes if note.kind == "vectors"]
    assert search(memory, "yellow насос лежит").question["share_known"] == pytest.approx(1 / 3)


def test_a_profile_without_words_compares_what_vectors_the_model_makes(memory: MemSense) -> None:
    result = search(memory, QUESTION, profile="semantic")
    assert result[0].explain.routes
    assert "share_known" not in result.question
