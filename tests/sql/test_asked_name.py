"""Names that a question asks for: an exchange that has one counts more."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import as_file, files

import pytest
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.embed import OnnxEmbedder
from memsense.search.profiles import PROFILES

OpenMemory = Callable[..., MemSense]
QUESTION = "Who is my dentist?"
SAID = {
    "asks": "Is my dentist open on Monday?",
    "names": "Frau Okonjo is the dentist in our street.",
    "question": "My dentist is on holiday, says Who Magazine.",
}


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    opened = open_memory(embedder=TokenHashingEmbedder())
    opened.settings.set(history="on")
    for session, text in SAID.items():
        message = {"role": "user", "content": text, "at": datetime(2026, 3, 1, tzinfo=UTC)}
        opened.add([message], user_id="ada", session_id=session)
    return opened


def asked_names(memory: MemSense, question: str, **options: object) -> dict[str, str]:
    """Return the reason of the term by session, of the hits that have it."""
    hits = memory.search(question, user_id="ada", **options)  # pyright: ignore[reportArgumentType]
    assert len(hits) == len(SAID)
    return {
        hit.chunk.session_id: term.because
        for hit in hits
        for term in hit.explain.terms
        if term.name == "asked_name" and term.contribution == pytest.approx(0.08)
    }


def test_an_exchange_with_a_name_that_the_question_lacks_counts_more(memory: MemSense) -> None:
    reason = "the question asks for a name, such as Frau Okonjo"
    assert asked_names(memory, QUESTION)["names"] == reason
    assert "asks" not in asked_names(memory, QUESTION)


def test_a_name_in_the_question_is_no_answer(memory: MemSense) -> None:
    assert "names" not in asked_names(memory, "Who says that Frau Okonjo is my dentist?")


def test_a_question_for_anything_else_has_no_such_term(memory: MemSense) -> None:
    assert asked_names(memory, "When is my dentist open?") == {}


def test_without_the_weight_there_is_no_term(memory: MemSense) -> None:
    assert asked_names(memory, QUESTION, overrides={"asked_name_weight": 0}) == {}


def test_without_tokens_the_term_would_outweigh_the_words(memory: MemSense) -> None:
    without: dict[str, object] = {
        name: 0.0
        for name in PROFILES["balanced"].constants()
        if name.startswith(("tokens_", "when_time", "current_weight")) and name.endswith("_weight")
    }
    assert asked_names(memory, QUESTION, overrides=without) == {}


def test_memory_of_an_earlier_moment_is_ranked_by_the_names_of_then(memory: MemSense) -> None:
    then = datetime.now(UTC)
    before = asked_names(memory, QUESTION)
    (chunk,) = memory.list(user_id="ada", session_ids=["names"])
    memory.update(chunk.chunk_id, content="The dentist is in our street.")
    assert "names" not in asked_names(memory, QUESTION)
    assert asked_names(memory, QUESTION, as_of=then) == before


def test_of_two_exchanges_about_a_thing_the_one_with_its_name_comes_first(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory(embedder=OnnxEmbedder())
    log = files("memsense") / "data" / "sample_conversation.jsonl"
    with as_file(log) as path:
        memory.ingest(path, user_id="ines")
    for question, name in [
        ("What is the name of my dog?", "Pixel"),
        ("Who is her new landlord?", "Herr Zschau"),
    ]:
        assert name in memory.search(question, user_id="ines")[0].content
