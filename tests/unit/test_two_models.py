"""Choice of models by language, and the common ranking of texts of two models."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.embed import multilingual
from memsense.search.plan import (
    ChosenModels,
    SearchPlan,
    analyse,
    choose_models,
    find_asked_language,
)
from memsense.search.profiles import BALANCED, PROFILES, SECOND_MODEL, TOKEN_WEIGHTS
from memsense.search.question import analyse_question
from memsense.search.rank.choose import rank_candidates
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.search.request import SearchRequest
from memsense.store.scopes import KnownScope
from memsense.types import ENGLISH_MODEL, EmbeddingModel

FIRST = EmbeddingModel(model_id=1, name=ENGLISH_MODEL, dimension=384, languages=["en"])
SECOND = EmbeddingModel(
    model_id=2, name=multilingual.MODEL, dimension=multilingual.DIMENSION, languages=["*"]
)
GERMAN_ALONE = EmbeddingModel(model_id=2, name="german", dimension=64, languages=["de"])
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def known_scope(languages: tuple[str, ...]) -> KnownScope:
    return KnownScope(
        scope_id=1,
        speakers=(),
        introduced=(),
        indexed=False,
        has_sessions=False,
        languages=languages,
    )


def make_plan(question: str, second: EmbeddingModel | None = SECOND) -> SearchPlan:
    return SearchPlan(
        request=SearchRequest(query=question),
        tenant_id=1,
        namespace="default",
        model=FIRST,
        second=second,
        profile=BALANCED,
        asked_at=NOW,
    )


def choose(
    question: str,
    languages: tuple[str, ...] | None,
    second: EmbeddingModel | None = SECOND,
) -> ChosenModels:
    state = None if languages is None else known_scope(languages)
    return choose_models(make_plan(question, second), state)


ENGLISH = ("en",)
MIXED = ("en", "de")
GERMAN = ("de",)


@pytest.mark.parametrize(
    ("question", "languages", "chosen"),
    [
        ("Where does Ada keep her bicycle?", ENGLISH, (FIRST, None)),
        ("Where does Ada keep her bicycle?", MIXED, (FIRST, SECOND)),
        ("Where does Ada keep her bicycle?", GERMAN, (SECOND, None)),
        ("Where does Ada keep her bicycle?", (), (FIRST, None)),
        ("Where does Ada keep her bicycle?", None, (FIRST, SECOND)),
        ("Wo hat Ada denn ihr Fahrrad?", ENGLISH, (SECOND, None)),
        ("Wo hat Ada denn ihr Fahrrad?", MIXED, (SECOND, None)),
        ("Wo hat Ada denn ihr Fahrrad?", None, (SECOND, None)),
        ("自行车在哪里?", ENGLISH, (SECOND, None)),
        ("Где велосипед?", MIXED, (SECOND, None)),
        # Names and nouns are no language; too short a question is in the memory's usual one.
        ("Convert 72 Fahrenheit to Celsius", ENGLISH, (FIRST, None)),
        ("deploy key rotation staging", ENGLISH, (FIRST, None)),
        ("Has Jolene tried surfing?", ENGLISH, (FIRST, None)),
        ("Fahrrad?", ENGLISH, (FIRST, None)),
        ("Fahrrad?", ("de", "en"), (SECOND, None)),
    ],
)
def test_the_languages_of_question_and_memory_choose_the_models(
    question: str,
    languages: tuple[str, ...] | None,
    chosen: tuple[EmbeddingModel, EmbeddingModel | None],
) -> None:
    assert choose(question, languages) == chosen


@pytest.mark.parametrize(
    ("question", "languages", "language"),
    [
        ("Convert 72 Fahrenheit to Celsius", ENGLISH, "en"),
        ("Wo hat Ada denn ihr Fahrrad?", ENGLISH, "de"),
        ("Fahrrad?", GERMAN, "de"),
        ("Где велосипед?", GERMAN, "ru"),
    ],
)
def test_a_question_is_analysed_in_the_language_that_chooses_its_models(
    question: str, languages: tuple[str, ...], language: str
) -> None:
    plan, state = make_plan(question), known_scope(languages)
    assert find_asked_language(plan, state) == analyse(plan, state).language == language
    assert find_asked_language(replace(plan, language="nl"), state) == "nl"


def test_a_second_model_of_some_languages_is_asked_in_these_alone() -> None:
    assert choose("Wo hat Ada denn ihr Fahrrad?", ENGLISH, GERMAN_ALONE) == (GERMAN_ALONE, None)
    assert choose("Где велосипед?", ENGLISH, GERMAN_ALONE) == (FIRST, None)


def test_without_a_second_model_every_question_reads_the_first() -> None:
    assert choose("Где велосипед?", MIXED, None) == (FIRST, None)


def test_the_second_model_ranks_by_raw_scores_without_tokens() -> None:
    profile = BALANCED.for_second_model()
    assert {name: getattr(profile, name) for name in SECOND_MODEL} == SECOND_MODEL
    assert not any(getattr(profile, name) for name in TOKEN_WEIGHTS)
    assert profile.current_weight == 0
    assert profile.weights == BALANCED.weights


def test_a_profiles_balance_of_words_and_meaning_holds_for_the_second_model() -> None:
    weights = {name: PROFILES[name].for_second_model().coverage_weight for name in PROFILES}
    assert weights["vector_heavy"] < weights["balanced"] < weights["keyword_focused"]
    assert weights["semantic"] == 0
    assert PROFILES["lexical"].for_second_model() == PROFILES["lexical"]
    more_words = BALANCED.override(lexical=1.3).for_second_model()
    assert more_words.coverage_weight == pytest.approx(weights["balanced"] / 2)


VALUES = st.floats(0.01, 1, allow_nan=False)
SOME = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=6)


def make_candidates(cosines: list[tuple[float, float]], first_id: int) -> list[Candidate]:
    """Return candidates with these cosines and lexical scores, ranked in their order."""
    weight = BALANCED.weights["vec_full"] + BALANCED.weights["lexical"]
    return [
        Candidate(
            chunk_id=first_id + place,
            rrf_score=weight / (BALANCED.rrf_k + place + 1),
            routes=(RouteHit("vec_full", place + 1, cosine), RouteHit("lexical", place + 1, words)),
            scope_id=1,
            granularity="turn",
            session_id=f"s{first_id + place}",
            ordinal=0,
            part=0,
            memory_score=0.5,
            tags=frozenset(),
            occurred_at=None,
            user_speaker=None,
            assistant_speaker=None,
            embedding=np.eye(20, dtype=np.float32)[first_id + place],
        )
        for place, (cosine, words) in enumerate(cosines)
    ]


def rank(candidates: Candidates) -> dict[int, tuple[float, float]]:
    """Return the score of each candidate by its id, and the sum of the parts that explain it."""
    ranking = rank_candidates(
        candidates,
        profile=BALANCED,
        question=analyse_question("Where is the bicycle?"),
        ceiling={"turn": 1.0},
        top_k=8,
        sessions=False,
    )
    return {
        item.explanation.chunk_id: (
            item.final_score,
            sum(value for _, value in item.explanation.parts()),
        )
        for item in ranking.scored
    }


def plain_score(cosine: float, words: float) -> float:
    return 0.5 * cosine + SECOND_MODEL["coverage_weight"] * words


@given(first=SOME, second=SOME)
def test_a_text_of_the_second_model_takes_the_place_that_its_cosine_and_words_give_it(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    both = Candidates.of([*make_candidates(first, 0), *make_candidates(second, 10)])
    both.by_other[len(first) :] = True
    scores = rank(both)
    for score, parts in scores.values():
        assert score == pytest.approx(parts)
    # The first model's texts score as without the others.
    alone = rank(Candidates.of(make_candidates(first, 0)))
    assert {key: scores[key] for key in alone} == alone
    totals = sorted(score for score, _ in alone.values())
    plain = sorted(plain_score(*pair) for pair in first)
    for place, pair in enumerate(second):
        own = plain_score(*pair)
        score, _ = scores[10 + place]
        above = sum(own > value + 1e-9 for value in plain)
        if above:
            assert score >= totals[above - 1] - 1e-9
        if above < len(plain) and own < plain[above] - 1e-9:
            assert score <= totals[above] + 1e-9


def test_texts_of_the_second_model_alone_keep_the_order_of_their_cosines_and_words() -> None:
    pairs = [(0.2, 0.9), (0.9, 0.1), (0.5, 0.5)]
    candidates = Candidates.of(make_candidates(pairs, 10))
    candidates.by_other[:] = True
    scores = rank(candidates)
    expected = sorted(range(3), key=lambda place: plain_score(*pairs[place]))
    assert sorted(range(3), key=lambda place: scores[10 + place][0]) == expected
