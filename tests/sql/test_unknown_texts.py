"""Texts and questions in a language that the model doesn't know."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from embedders import AlphabetEmbedder, TokenHashingEmbedder

from memsense import MemSense, Settings
from memsense.doctor.checkup import check_up
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


STORED = """
    SELECT c.user_text,
        (SELECT count(*) FROM memsense.embeddings AS e
         WHERE e.chunk_id = c.chunk_id AND e.route IN ('full', 'user')),
        (SELECT count(*) FROM memsense.token_vectors AS t WHERE t.chunk_id = c.chunk_id),
        (SELECT array_agg(m.name) FROM memsense.models AS m WHERE m.model_id = ANY (c.unknown_to))
    FROM memsense.chunks AS c ORDER BY c.chunk_id
"""


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


def test_an_unknown_text_has_neither_vectors_nor_tokens_and_no_job(
    memory: MemSense, database_url: str
) -> None:
    stored = rows(database_url, STORED)
    assert stored == [
        *((text, 2, 1, None) for text in ENGLISH),
        *((text, 0, 0, ["alphabet"]) for text in RUSSIAN),
    ]
    assert memory.jobs.list() == []
    assert rows(database_url, "SELECT * FROM memsense.pending_embeddings") == []
    assert memory.models.status()[0].lacking == 0
    report = check_up(database_url, settings=Settings(), embedder=AlphabetEmbedder())
    assert {item.check for item in report.findings}.isdisjoint({"vectors", "tokens"})


def test_an_exchange_with_one_known_side_has_all_its_vectors(
    memory: MemSense, database_url: str
) -> None:
    texts = ("Is the pump there?", "Да, жёлтый насос лежит в гараже.")
    messages = [
        {"role": role, "content": text, "at": MAY}
        for role, text in zip(("user", "assistant"), texts, strict=True)
    ]
    memory.add(messages, user_id="ada", session_id="both")
    assert rows(database_url, STORED)[-1] == (texts[0], 2, 1, None)


def test_a_job_decides_what_is_unknown_if_vectors_are_made_later(
    memory: MemSense, database_url: str
) -> None:
    add(memory, 10, "Синий фонарь стоит в подвале.", embed="later")
    assert [job.kind for job in memory.jobs.list()] == ["embed"]
    memory.jobs.run()
    assert memory.jobs.list() == []
    assert rows(database_url, STORED)[-1][1:] == (0, 0, ["alphabet"])


@pytest.mark.usefixtures("memory")
def test_an_added_model_makes_vectors_of_what_only_it_knows(
    open_memory: OpenMemory, database_url: str
) -> None:
    other = open_memory(
        embedder=AlphabetEmbedder(), other_embedders=[TokenHashingEmbedder(32, "all")]
    )
    assert other.models.add(TokenHashingEmbedder(32, "all")).state == "ready"
    counted = (
        "SELECT count(DISTINCT chunk_id) FROM memsense.embeddings GROUP BY model_id ORDER BY 1"
    )
    assert rows(database_url, counted) == [(len(ENGLISH),), (len(ENGLISH) + len(RUSSIAN),)]


def test_a_text_that_becomes_known_gets_its_vectors(memory: MemSense, database_url: str) -> None:
    chunk_id = search(memory, QUESTION)[0].chunk_id
    memory.update(chunk_id, content="The yellow pump lies in the garage.")
    assert rows(database_url, STORED)[-2][1:] == (2, 1, None)
    memory.update(chunk_id, content=RUSSIAN[0])
    assert rows(database_url, STORED)[-2][1:] == (0, 0, ["alphabet"])


def test_an_unknown_text_has_the_place_that_words_give_it(memory: MemSense) -> None:
    mixed = add(memory, 20, "Где bicycle pump, желтый и старый?")
    hits = {hit.chunk_id: hit for hit in search(memory, "Where is the bicycle pump?")}
    assert "words_alone" in terms_of(hits[mixed])
    assert not any("words_alone" in terms_of(hit) for key, hit in hits.items() if key != mixed)
    selection = hits[mixed].explain.selection
    assert selection is not None
    assert selection.max_redundancy == 0


@pytest.mark.parametrize("is_known", [True, False])
def test_unknown_texts_supersede_nothing(
    open_memory: OpenMemory, database_url: str, is_known: bool
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder() if is_known else AlphabetEmbedder())
    fillers = [f"The {place} was painted on day {place}." for place in ("hall", "attic", "roof")]
    texts = [
        *fillers,
        "My car is a Volvo estate. Она синяя, старая, надёжная и очень большая машина.",
        "I sold the Volvo estate, my car is a Fiat. Она красная, новая, очень маленькая, моя.",
    ]
    for number, text in enumerate(texts):
        add(memory, number, text)
    [(links,)] = rows(database_url, "SELECT count(*) FROM memsense.supersessions")
    assert (links > 0) == is_known
