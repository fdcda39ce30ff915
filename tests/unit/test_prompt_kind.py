"""Prompts are read as questions or requests, and a profile ranks a request by other constants."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.embed import OnnxEmbedder
from memsense.embed.onnx import MODEL
from memsense.search.profiles import BALANCED, PROFILES, TOKEN_WEIGHTS, Profile
from memsense.search.question import analyse_question
from memsense.search.question.kind import read_kind

PROMPTS = Path(__file__).parents[1] / "data" / "prompts.jsonl"


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(threads=1)


def prompts_of(kind: str) -> list[str]:
    """Return the prompts of this kind in the half that no weight was fitted on."""
    with PROMPTS.open(encoding="utf-8") as lines:
        prompts = [json.loads(line) for line in lines]
    return [it["text"] for it in prompts if it["half"] == "test" and it["kind"] == kind]


@pytest.mark.parametrize(
    ("kind", "by_vector", "by_words"),
    [("request", (0.85, 1), (0.4, 1)), ("question", (0, 0.05), (0, 0.04))],
)
def test_prompts_of_somebody_else_are_read_right(
    embedder: OnnxEmbedder, kind: str, by_vector: tuple[float, float], by_words: tuple[float, float]
) -> None:
    prompts = prompts_of(kind)
    assert len(prompts) == 150
    read = [
        read_kind(analyse_question(text), embedder.embed_query(text), MODEL) for text in prompts
    ]
    assert {it.source for it in read} == {"vector"}
    share = sum(it.kind == "request" for it in read) / len(read)
    assert by_vector[0] <= share <= by_vector[1]
    read = [
        read_kind(analyse_question(text), embedder.embed_query(text), "another model")
        for text in prompts
    ]
    assert {it.source for it in read} == {"words"}
    share = sum(it.kind == "request" for it in read) / len(read)
    assert by_words[0] <= share <= by_words[1]


def test_the_caller_decides_over_vector_and_words(embedder: OnnxEmbedder) -> None:
    text = "Any good books on bees?"
    vector = embedder.embed_query(text)
    assert read_kind(analyse_question(text), vector, MODEL).kind == "request"
    assert read_kind(analyse_question(text), vector, MODEL, stated=0.0) == (
        "question",
        0.0,
        0.0,
        "caller",
    )
    assert read_kind(analyse_question(text), stated=1.0) == ("request", 1.0, 1.0, "caller")


def test_a_prompt_that_names_a_speaker_is_a_question(embedder: OnnxEmbedder) -> None:
    text = "Any ideas what Ann would like?"
    vector = embedder.embed_query(text)
    named = analyse_question(text, speakers=["Ann", "Bob"])
    assert read_kind(named, vector, MODEL) == ("question", 0.0, 0.0, "names")
    assert read_kind(named, vector, MODEL, stated=1.0).kind == "request"
    assert read_kind(analyse_question(text), vector, MODEL).kind == "request"
    user = analyse_question("Any ideas what Ada would like?", asker="ada", is_asker_known=True)
    assert user.search_text != user.text
    assert read_kind(user, vector, MODEL).source == "names"


def test_words_decide_over_letters_that_the_model_does_not_know(embedder: OnnxEmbedder) -> None:
    for text, source in (
        ("Посоветуй хорошие книги о пчёлах", "words"),
        ("週末のアイデアはありますか", "words"),
        ("Schöne Bücher über Bienen?", "vector"),
        ("3 + 4", "vector"),
    ):
        assert read_kind(analyse_question(text), embedder.embed_query(text), MODEL).source == source


@given(st.integers(0, 2**32 - 1), st.floats(0, 3))
def test_the_share_grows_evenly_from_a_logit_of_0_to_1(seed: int, length: float) -> None:
    vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
    vector *= np.float32(length / np.linalg.norm(vector))
    reading = read_kind(analyse_question("tea"), vector, MODEL)
    logit = np.log(reading.chance / (1 - reading.chance))
    assert reading.share == pytest.approx(np.clip(logit, 0, 1), abs=1e-6)
    assert reading.kind == ("request" if logit > 0 else "question")


def test_a_question_is_ranked_by_the_profile_as_it_is() -> None:
    plain = BALANCED.for_request(0.0)
    assert not plain.has_requests
    differing = {
        name for name, value in BALANCED.constants().items() if plain.constants()[name] != value
    }
    assert differing == {name for name in BALANCED.constants() if name.startswith("request_")}


def test_a_request_changes_words_tokens_and_similarity() -> None:
    profile = BALANCED.override(request_words=0.25, request_tokens=0.5, request_similarity=0.8)
    for share in (0.5, 1.0):
        ranked = profile.for_request(share)
        assert ranked.name == "balanced"
        words = 1 - 0.75 * share
        assert ranked.weights["lexical"] == pytest.approx(words * profile.weights["lexical"])
        assert ranked.coverage_weight == pytest.approx(words * profile.coverage_weight)
        for name in TOKEN_WEIGHTS:
            halved = (1 - 0.5 * share) * getattr(profile, name)
            assert getattr(ranked, name) == pytest.approx(halved)
        similarity = profile.similarity_weight + 0.8 * share
        assert ranked.similarity_weight == pytest.approx(similarity)
        # Its constants are those in force: a replay of them changes nothing more.
        assert ranked.for_request(1.0).constants() == ranked.constants()


def test_no_allowed_weights_make_a_request_fail() -> None:
    profile = BALANCED.override(similarity_weight=5.0, request_similarity=5.0)
    assert profile.for_request(0.7).similarity_weight == 5.0


def test_all_shipped_profiles_with_vectors_know_requests_but_memsense() -> None:
    assert {name for name, profile in PROFILES.items() if not profile.has_requests} == {
        "memsense",
        "lexical",
    }
    assert not Profile(name="mine").has_requests
