"""A user's own names: found in what she says, used for questions about her, gone with it."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from embedders import TokenHashingEmbedder

from memsense import MemSense

OpenMemory = Callable[..., MemSense]

USER = "u-4711"
QUESTION = "Where does Ines live?"


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    memory = open_memory(embedder=TokenHashingEmbedder())
    for number, text in enumerate(["Hi, I'm Ines Castro.", "I live in Leipzig.", "I drink tea."]):
        memory.add(text, user_id=USER, session_id=f"s{number}")
    return memory


def asked_as(memory: MemSense, question: str = QUESTION, **options: Any) -> str:
    """Return the text that a search for the question looked for, by its record."""
    trace_id = memory.search(question, user_id=USER, trace=True, **options).trace_id
    assert trace_id is not None
    return memory.traces.get(trace_id).searched


def test_a_question_about_a_user_by_the_name_she_gave_finds_what_she_said(memory: MemSense) -> None:
    assert asked_as(memory) == "Where do I live?"
    assert memory.search(QUESTION, user_id=USER)[0].chunk.user_text == "I live in Leipzig."


def test_a_name_counts_at_once_and_until_its_memory_is_forgotten(memory: MemSense) -> None:
    other = "Where does Nina live?"
    assert asked_as(memory, other) == other
    (chunk,) = memory.add("By the way, please call me Nina.", user_id=USER, session_id="s9")
    assert asked_as(memory, other) == "Where do I live?"
    memory.forget(chunk.chunk_id)
    assert asked_as(memory, other) == other
    memory.restore(chunk.chunk_id)
    assert asked_as(memory, other) == "Where do I live?"


def test_another_users_name_means_another_person(memory: MemSense) -> None:
    memory.add("I'm Rosa and live in Porto.", user_id="u-12", session_id="s")
    assert asked_as(memory, "Where does Rosa live?") == "Where does Rosa live?"


def test_an_erased_introduction_leaves_no_name(memory: MemSense, conn: psycopg.Connection) -> None:
    memory.erase(user_id=USER, session_id="s0")
    assert asked_as(memory) == QUESTION
    assert conn.execute("SELECT FROM memsense.mentions WHERE kind = 'self'").fetchall() == []


def test_the_name_counts_as_of_moments_after_it_was_told(
    open_memory: OpenMemory, conn: psycopg.Connection
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")
    chunks: list[int] = []
    moments: list[Any] = []
    for text in ("I live in Leipzig.", "I'm Ines.", "I drink tea."):
        chunks.append(memory.add(text, user_id=USER, session_id=text)[0].chunk_id)
        moments.append(conn.execute("SELECT clock_timestamp()").fetchone())
    memory.forget(chunks[1])
    asked = [memory.search(QUESTION, user_id=USER, as_of=moment) for (moment,) in moments]
    plain = [memory.search("Where do I live?", user_id=USER, as_of=at) for (at,) in moments]
    scores = [[[hit.score for hit in result] for result in results] for results in (asked, plain)]
    assert [one == other for one, other in zip(*scores, strict=True)] == [False, True, True]
