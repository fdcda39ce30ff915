"""Memories with two models: each text is compared by the model of its language."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from embedders import AlphabetEmbedder, HashingEmbedder

from memsense import MemSense
from memsense.config import load_settings
from memsense.doctor.checkup import check_up
from memsense.embed.multilingual import MODEL, is_installed
from memsense.search.hits import SearchResult
from memsense.types import ENGLISH_MODEL

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, tzinfo=UTC)
ENGLISH = [
    "The bicycle pump hangs in the garage of my sister.",
    "My yellow helmet is on the shelf in the kitchen.",
    "We sold the old bicycle to the man from the market.",
]
GERMAN = [
    "Die Fahrradpumpe von Martin liegt jetzt in der Garage.",
    "Der gelbe Helm von Sofia ist noch in der Werkstatt.",
]
RUSSIAN = ["Жёлтый насос лежит в гараже у моей сестры."]
WIDE = "wide"


class AskedEmbedder(HashingEmbedder):
    """Hashing embedder that keeps the questions it was asked."""

    def __init__(self) -> None:
        super().__init__(32, WIDE)
        self.questions: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.questions.append(text)
        return super().embed_query(text)


@pytest.fixture
def wide() -> AskedEmbedder:
    return AskedEmbedder()


@pytest.fixture
def open_two(open_memory: OpenMemory, wide: AskedEmbedder) -> OpenMemory:
    """Return a function that stores texts in a memory of two models."""

    def open_one(texts: Sequence[str], **options: Any) -> MemSense:
        english = AlphabetEmbedder(384, ENGLISH_MODEL)
        memory = open_memory(embedder=english, other_embedders=[wide], **options)
        for number, text in enumerate(texts):
            at = MAY + timedelta(days=number)
            message = {"role": "user", "content": text, "at": at}
            memory.add([message], user_id="ada", session_id=f"s{number}")
        memory.models.add(wide, languages="*")
        return memory

    return open_one


def search(memory: Any, question: str, **options: Any) -> SearchResult:
    given: dict[str, Any] = {"user_id": "ada", "profile": "balanced", **options}
    return memory.search(question, **given)


def models_of(result: SearchResult) -> dict[str, str]:
    return {hit.content.removeprefix("user: "): hit.explain.model for hit in result}


def test_an_english_question_reads_the_first_model_alone_in_an_english_memory(
    open_two: OpenMemory, wide: AskedEmbedder
) -> None:
    memory = open_two(ENGLISH)
    result = search(memory, "Where does the bicycle pump hang?")
    assert models_of(result) == dict.fromkeys(ENGLISH, ENGLISH_MODEL)
    assert wide.questions == []


@pytest.mark.parametrize("texts", [ENGLISH, [*ENGLISH, *GERMAN], GERMAN])
def test_a_question_in_another_language_reads_the_second_model_alone(
    open_two: OpenMemory, texts: Sequence[str]
) -> None:
    result = search(open_two(texts), "Wo liegt denn jetzt die Fahrradpumpe in the garage?")
    assert set(models_of(result).values()) == {WIDE}
    assert len(result) == len(texts)
    assert not {term.name for hit in result for term in hit.explain.terms} & {
        "tokens",
        "tokens_around",
        "current",
        "second_model",
    }


def test_an_english_question_reads_each_text_by_the_model_of_its_language(
    open_two: OpenMemory,
) -> None:
    memory = open_two([*ENGLISH, *GERMAN, *RUSSIAN])
    result = search(memory, "Is the yellow helmet of Sofia on the shelf?")
    by_first = dict.fromkeys(ENGLISH, ENGLISH_MODEL)
    assert models_of(result) == {**by_first, **dict.fromkeys([*GERMAN, *RUSSIAN], WIDE)}
    for hit in result:
        parts = dict(hit.explain.parts())
        assert sum(parts.values()) == pytest.approx(hit.score)
        assert ("second_model" in parts) == (hit.explain.model == WIDE)
        assert hit.explain.similarity > 0 or hit.explain.model == WIDE
    assert any(f" of {WIDE}" in hit.explain.table() for hit in result)


def test_in_a_memory_without_english_an_english_question_reads_the_second_model_alone(
    open_two: OpenMemory,
) -> None:
    result = search(open_two(GERMAN), "Where is the bicycle pump of Martin?")
    assert models_of(result) == dict.fromkeys(GERMAN, WIDE)
    assert result[0].content.endswith(GERMAN[0])


def test_a_trial_asks_one_model_whatever_the_language(open_two: OpenMemory) -> None:
    memory = open_two([*ENGLISH, *GERMAN])
    for name in (ENGLISH_MODEL, WIDE):
        for question in ("Where is the bicycle pump?", "Wo ist denn die Fahrradpumpe von Martin?"):
            result = search(memory.models.trial(name), question)
            assert set(models_of(result).values()) == {name}


def test_vectors_of_two_models_are_never_redundant_to_each_other(open_two: OpenMemory) -> None:
    twins = ["Martin Sofia Garage: der Schlüssel ist in der Garage und nicht im Haus."]
    memory = open_two([*ENGLISH, *twins])
    result = search(memory, "Where is the bicycle pump of my sister?")
    models = {hit.chunk_id: hit.explain.model for hit in result}
    assert set(models.values()) == {ENGLISH_MODEL, WIDE}
    for hit in result:
        step = hit.explain.selection
        assert step is not None
        if step.against is not None and models[step.against] != hit.explain.model:
            assert step.max_redundancy == 0


QUESTION = "Is the yellow helmet of Sofia in the garage of my sister?"


def scores(result: SearchResult) -> list[tuple[int, str, float]]:
    return [(hit.chunk_id, hit.explain.model, round(hit.score, 6)) for hit in result]


def test_filters_and_the_past_read_both_models(open_two: OpenMemory) -> None:
    memory = open_two([*ENGLISH, *GERMAN, *RUSSIAN])
    whole = scores(search(memory, QUESTION))
    # Few chunks pass a filter here, so that their vectors are looked up one by one.
    assert scores(search(memory, QUESTION, since=MAY)) == whole
    assert {model for _, model, _ in whole} == {ENGLISH_MODEL, WIDE}
    memory.settings.set(history="on")
    now = datetime.now(UTC)
    assert scores(search(memory, QUESTION, as_of=now)) == whole
    german = search(memory, QUESTION, since=MAY + timedelta(days=3), until=MAY + timedelta(days=5))
    assert set(models_of(german)) == set(GERMAN)


def test_an_indexed_memory_finds_what_an_exact_search_finds(
    open_two: OpenMemory, database_url: str
) -> None:
    settings = load_settings(index_threshold=1)
    memory = open_two([*ENGLISH, *GERMAN, *RUSSIAN], settings=settings)
    exact = scores(search(memory, QUESTION))
    memory.indexes.optimise()
    with psycopg.connect(database_url) as connection:
        stored = connection.execute("SELECT indexed FROM memsense.scopes").fetchall()
    assert stored == [(True,)]
    assert scores(search(memory, QUESTION)) == exact
    assert scores(search(memory, QUESTION, since=MAY)) == exact


def test_a_memory_of_all_users_reads_both_models(open_two: OpenMemory) -> None:
    memory = open_two([*ENGLISH, *GERMAN])
    result = search(memory, QUESTION, user_id=None, all_users=True)
    assert set(models_of(result).values()) == {ENGLISH_MODEL, WIDE}


def test_why_not_and_replay_know_the_second_model(open_two: OpenMemory) -> None:
    memory = open_two([*ENGLISH, *GERMAN, *RUSSIAN])
    traced = search(memory, QUESTION, trace=True, top_k=2)
    assert traced.trace_id is not None
    assert memory.traces.replay(traced.trace_id).is_unchanged
    everything = search(memory, QUESTION)
    (last,) = [hit.chunk_id for hit in everything[-1:]]
    verdict = memory.why_not(QUESTION, last, user_id="ada", top_k=2, profile="balanced")
    assert verdict.step == "outranked"


STORED = """
SELECT c.user_text, m.name, to_jsonb(e)
FROM memsense.embeddings AS e
JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
JOIN memsense.models AS m USING (model_id)
WHERE e.route = 'full'
"""


def read_beside(database_url: str) -> dict[tuple[str, str], bool]:
    with psycopg.connect(database_url) as connection:
        return {(text, name): row["beside"] for text, name, row in connection.execute(STORED)}


def test_a_vector_is_marked_where_the_other_model_compares_its_text(
    open_two: OpenMemory, database_url: str
) -> None:
    open_two([*ENGLISH, *GERMAN, *RUSSIAN])
    beside = read_beside(database_url)
    for text in ENGLISH:
        assert (beside[text, ENGLISH_MODEL], beside[text, WIDE]) == (False, True)
    for text in GERMAN:
        assert (beside[text, ENGLISH_MODEL], beside[text, WIDE]) == (True, False)
    # The first model knows no letter of it.
    assert (RUSSIAN[0], ENGLISH_MODEL) not in beside
    assert beside[RUSSIAN[0], WIDE] is False


def test_a_process_without_the_second_model_searches_by_the_first_alone(
    open_two: OpenMemory, open_memory: OpenMemory
) -> None:
    open_two([*ENGLISH, *GERMAN])
    alone = open_memory(embedder=AlphabetEmbedder(384, ENGLISH_MODEL))
    result = search(alone, "Wo liegt denn jetzt die Fahrradpumpe von Martin?")
    assert set(models_of(result).values()) == {ENGLISH_MODEL}


def test_a_profile_without_meaning_ranks_as_without_a_second_model(open_two: OpenMemory) -> None:
    memory = open_two([*ENGLISH, *GERMAN])
    result = search(memory, "Wo liegt denn jetzt die Fahrradpumpe von Martin?", profile="lexical")
    assert [hit.content.removeprefix("user: ") for hit in result[:1]] == [GERMAN[0]]
    assert result[0].explain.rrf_score > 0


@pytest.mark.skipif(not is_installed(), reason="needs memsense[multilingual]: make setup-dev")
def test_a_new_namespace_has_both_models_where_the_second_is_installed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_MULTILINGUAL", "auto")
    with MemSense.open(database_url) as memory:
        memory.add(GERMAN[0], user_id="ada")
        memory.add(GERMAN[1], user_id="ada")
        names = [(model.name, model.state, model.lacking) for model in memory.models.status()]
        assert names == [(ENGLISH_MODEL, "in use", 0), (MODEL, "ready", 0)]
        result = search(memory, "Wo ist denn die Luftpumpe von Martin?")
        assert result[0].content.endswith(GERMAN[0])
        assert result[0].explain.model == MODEL
    # Another process opens the second model by itself.
    with MemSense.open(database_url) as memory:
        assert search(memory, "Wo ist denn der Helm?")[0].explain.model == MODEL


@pytest.mark.skipif(not is_installed(), reason="needs memsense[multilingual]: make setup-dev")
def test_no_note_asks_for_token_vectors_of_a_model_that_makes_none(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_MULTILINGUAL", "auto")
    with MemSense.open(database_url) as memory:
        memory.add(ENGLISH[0], user_id="ada")
        memory.add(GERMAN[1], user_id="ada", metadata={"owner": "Sofia"})
        result = search(memory, "Where is the helmet?", metadata={"owner": "Sofia"})
        assert [hit.explain.model for hit in result] == [MODEL]
        assert result.notes == []


def test_no_second_model_is_made_where_it_is_turned_off(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSENSE_MULTILINGUAL", "off")
    with MemSense.open(database_url) as memory:
        memory.add(ENGLISH[0], user_id="ada")
        assert [model.name for model in memory.models.status()] == [ENGLISH_MODEL]


def test_doctor_says_what_to_install_for_texts_in_other_languages(
    open_memory: OpenMemory, database_url: str, wide: AskedEmbedder
) -> None:
    english = AlphabetEmbedder(384, ENGLISH_MODEL)
    memory = open_memory(embedder=english, other_embedders=[wide])
    for text in (*ENGLISH, *GERMAN, *RUSSIAN):
        memory.add(text, user_id="ada")

    def find_remedies() -> list[str]:
        report = check_up(database_url, settings=load_settings(), embedder=english)
        return [it.text for it in report.findings if "memsense[multilingual]" in (it.remedy or "")]

    (text,) = find_remedies()
    assert text.startswith("3 chunks of default/default are in de, ru: words find them")
    memory.models.add(wide, languages="*")
    assert find_remedies() == []
