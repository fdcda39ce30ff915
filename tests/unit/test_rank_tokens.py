"""Token terms, compared with their formulas in plain Python."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.embed import QuestionTokens, Vocabulary
from memsense.embed.tokens import pack_signs
from memsense.search.explanation import match_line
from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.rank.score import Comparison, ScoreTerms, score_terms
from memsense.search.recall.candidates import (
    Candidate,
    Candidates,
    CandidateTokens,
    RouteHit,
)

WORDS = ["tea", "##pot", "blue", "?", ".", "yesterday", "milk"]
VOCABULARY = Vocabulary(WORDS)
DIMENSION = 12
QUESTION = Question(text="When did Ann see it?", search_text="see it", named_speakers=("Ann",))
TOKENS = Profile(
    name="tokens",
    tokens_weight=1.5,
    tokens_session_weight=0.4,
)


def ask(words: Sequence[str] = ("tea", "##pot", "blue"), seed: int = 1) -> QuestionTokens:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((len(words), DIMENSION)).astype(np.float32)
    return QuestionTokens(
        vocabulary=VOCABULARY,
        words=words,
        vectors=vectors,
        weights=np.arange(1.0, len(words) + 1),
    )


def candidate(place: int, *, session: str = "s", ordinal: int | None = None) -> Candidate:
    return Candidate(
        chunk_id=100 + place,
        rrf_score=1 / (16 + place),
        routes=(RouteHit("vec_full", place + 1, 0.5),),
        scope_id=1,
        granularity="turn",
        session_id=session,
        ordinal=place if ordinal is None else ordinal,
        part=0,
        memory_score=0.5,
        tags=frozenset(),
        occurred_at=datetime(2026, 5, 7, tzinfo=UTC),
        user_speaker="Ann",
        assistant_speaker="Bob",
        embedding=None,
    )


def tokens_of(
    pieces: Sequence[Sequence[int]], places: Sequence[int], user_counts: Sequence[int] | None = None
) -> CandidateTokens:
    counts = np.array([len(own) for own in pieces])
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((int(counts.sum()), DIMENSION)).astype(np.float32)
    return CandidateTokens(
        places=np.array(places),
        counts=counts,
        user_counts=np.array(user_counts if user_counts is not None else counts),
        pieces=np.array([piece for own in pieces for piece in own], dtype=np.uint16),
        signs=pack_signs(vectors, np.zeros(DIMENSION, dtype=np.float32)),
    )


def rank(
    found: Sequence[Candidate],
    tokens: CandidateTokens,
    profile: Profile = TOKENS,
    *,
    question: Question = QUESTION,
    sessions: bool = False,
) -> ScoreTerms:
    return score_terms(
        replace(Candidates.of(found), tokens=tokens),
        profile=profile,
        question=question,
        ceiling={},
        tokens=ask(),
        sessions=sessions,
    )


def value(terms: ScoreTerms, row: int, name: str) -> float:
    return next(term.value for term in terms.of(row) if term.name == name)


def nearest(asked: QuestionTokens, signs: np.ndarray) -> list[float]:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """Return the largest product of each question token with a token's signs, divided by √d."""
    bits = np.unpackbits(signs, axis=1)[:, :DIMENSION].astype(int) * 2 - 1
    return [
        max(
            sum(float(q) * b for q, b in zip(vector, row, strict=True)) / math.sqrt(DIMENSION)
            for row in bits.tolist()
        )
        for vector in asked.vectors.tolist()
    ]


def weigh(asked: QuestionTokens, best: Sequence[float]) -> float:
    return float(np.dot(asked.weights, best) / asked.weights.sum())


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=700), min_size=1, max_size=6))
def test_tokens_is_the_weighted_mean_of_each_words_nearest_token(pieces: list[list[int]]) -> None:
    tokens = tokens_of(pieces, range(len(pieces)))
    terms = rank([candidate(place) for place in range(len(pieces))], tokens)
    for place in range(len(pieces)):
        own = tokens.of(place)
        assert own is not None
        expected = weigh(ask(), nearest(ask(), own.signs))
        assert value(terms, place, "tokens") == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "counts"), [(24, [1]), (24, [27, 1]), (24, [700, 3, 400]), (254, [90, 11])]
)
def test_many_tokens_are_compared_as_in_one_product(words: int, counts: list[int]) -> None:
    rng = np.random.default_rng(sum(counts))
    vectors = rng.standard_normal((words, 384)).astype(np.float32)
    asked = QuestionTokens(
        vocabulary=VOCABULARY, words=["tea"] * words, vectors=vectors, weights=np.ones(words)
    )
    signs = np.where(rng.standard_normal((sum(counts), 384)) > 0, 1.0, -1.0)
    tokens = CandidateTokens(
        places=np.arange(len(counts)),
        counts=np.array(counts),
        user_counts=np.array(counts),
        pieces=np.zeros(sum(counts), dtype=np.uint16),
        signs=np.packbits(signs > 0, axis=1),
    )
    products = signs @ vectors.astype(np.float64).T / math.sqrt(384)
    ends = np.cumsum(counts)
    expected = [
        products[end - own : end].max(axis=0) for own, end in zip(counts, ends, strict=True)
    ]
    assert Comparison(question=asked, tokens=tokens).nearest == pytest.approx(
        np.array(expected), abs=1e-4
    )


def test_words_that_the_model_lacks_meet_nothing_and_are_met_by_nothing() -> None:
    vocabulary = Vocabulary(["[UNK]", "tea", "##pot"])
    vectors = np.eye(3, DIMENSION, dtype=np.float32)
    question = QuestionTokens(
        vocabulary=vocabulary,
        words=["[UNK]", "tea", "[UNK]"],
        vectors=vectors,
        weights=np.array([0.0, 2.0, 0.0]),
    )
    tokens = CandidateTokens(
        places=np.arange(2),
        counts=np.array([1, 2]),
        user_counts=np.array([1, 2]),
        pieces=np.array([0, 0, 1], dtype=np.uint16),
        # The unknown piece of either candidate is nearer to "tea" than the word itself.
        signs=pack_signs(
            np.array([[9, 9, 9], [9, 9, 9], [-9, 1, -9]]) @ vectors, np.zeros(DIMENSION, np.float32)
        ),
    )
    compared = Comparison(question=question, tokens=tokens)
    near = 1 / math.sqrt(DIMENSION)
    assert compared.values.tolist() == pytest.approx([0, near])
    matches = [
        [(it.asked, it.met, it.similarity) for it in compared.matches(row)] for row in range(2)
    ]
    assert matches == [[("tea", "", 0)], [("tea", "tea", pytest.approx(near))]]
    assert match_line(compared.matches(0)) == "words that met: none but function words"


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(lambda sizes: sum(sizes) > 0),
        min_size=1,
        max_size=6,
    )
)
def test_sides_are_the_same_mean_over_the_tokens_of_one_side(sizes: list[tuple[int, int]]) -> None:
    pieces = [[0] * sum(both) for both in sizes]
    # The first candidate has no tokens: rows and tokens are not the same numbers.
    places = range(1, len(sizes) + 1)
    tokens = tokens_of(pieces, places, [user for user, _ in sizes])
    found = [candidate(place) for place in range(len(sizes) + 1)]
    compared = rank(found, tokens).compared
    assert compared is not None
    assert compared.sides(0) is None
    for place, (user, _) in zip(places, sizes, strict=True):
        own, values = tokens.of(place), compared.sides(place)
        assert own is not None
        assert values is not None
        for value, signs in (
            (values.user, own.signs[:user]),
            (values.assistant, own.signs[user:]),
        ):
            if len(signs):
                assert value == pytest.approx(weigh(ask(), nearest(ask(), signs)), abs=1e-5)
            else:
                assert value is None


def test_tokens_session_takes_the_nearest_token_of_the_whole_session() -> None:
    tokens = tokens_of([[0, 1], [2, 3], [4]], range(3))
    found = [candidate(0), candidate(5), candidate(2, session="other")]
    terms = rank(found, tokens, sessions=True)
    both = tokens.signs[:4]
    assert value(terms, 0, "tokens_session") == pytest.approx(
        weigh(ask(), nearest(ask(), both)), abs=1e-5
    )
    assert value(terms, 0, "tokens_session") == value(terms, 1, "tokens_session")
    assert value(terms, 2, "tokens_session") == pytest.approx(value(terms, 2, "tokens"))
    assert "tokens_session" not in [term.name for term in rank(found, tokens).of(0)]


def test_in_a_search_for_exchanges_the_session_s_tokens_have_a_weight_of_their_own() -> None:
    tokens = tokens_of([[0, 1], [2, 3], [4]], range(3))
    found = [candidate(0), candidate(5), candidate(2, session="other")]
    profile = TOKENS.override(tokens_whole_weight=0.9)
    whole = rank(found, tokens, profile)
    expected = weigh(ask(), nearest(ask(), tokens.signs[:4]))
    [term] = [term for term in whole.of(0) if term.name == "tokens_session"]
    assert (term.value, term.weight) == (pytest.approx(expected, abs=1e-5), 0.9)
    [term] = [term for term in rank(found, tokens, profile, sessions=True).of(0)
              if term.name == "tokens_session"]  # fmt: skip
    assert (term.value, term.weight) == (pytest.approx(expected, abs=1e-5), 0.4)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(1, 5)),
        min_size=1,
        max_size=8,
        unique_by=lambda place: place[:2],
    )
)
def test_tokens_around_takes_the_nearest_token_of_the_exchange_and_its_neighbours(
    places: list[tuple[int, int, int]],
) -> None:
    tokens = tokens_of([[0] * count for _, _, count in places], range(len(places)))
    found = [
        candidate(row, session=str(session), ordinal=ordinal)
        for row, (session, ordinal, _) in enumerate(places)
    ]
    terms = rank(found, tokens, TOKENS.override(tokens_around_weight=0.3))
    for row, (session, ordinal, _) in enumerate(places):
        beside = [
            tokens.of(other)
            for other, (its, place, _) in enumerate(places)
            if its == session and abs(place - ordinal) <= 1
        ]
        signs = np.concatenate([item.signs for item in beside if item is not None])
        expected = weigh(ask(), nearest(ask(), signs))
        assert value(terms, row, "tokens_around") == pytest.approx(expected, abs=1e-5)


def test_the_named_speaker_s_side_counts_against_the_other_one() -> None:
    profile = TOKENS.override(tokens_speaker_weight=0.5)
    tokens = tokens_of([[0, 1, 2], [3, 4], [5, 6], [0, 1]], [0, 1, 3, 4], [2, 1, 2, 1])
    found = [candidate(place) for place in range(5)]
    found[1] = replace(found[1], user_speaker="Cleo")
    found[4] = replace(found[4], user_speaker="Bob", assistant_speaker="Ann")
    terms = rank(found, tokens, profile)  # the question names Ann
    signs = {row: item.signs for row in range(5) if (item := tokens.of(row)) is not None}

    def similarity(signs: np.ndarray) -> float:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        return weigh(ask(), nearest(ask(), signs))

    def difference(named: float, other: float) -> Any:
        return pytest.approx(named - other, abs=1e-5)

    by_ann, by_bob = similarity(signs[0][:2]), similarity(signs[0][2:])
    assert value(terms, 0, "tokens_speaker") == difference(by_ann, by_bob)
    # Neither side is Ann's.
    assert "tokens_speaker" not in [term.name for term in terms.of(1)]
    # A side without tokens has the least value of all sides.
    compared = terms.compared
    assert compared is not None
    least = min(np.nanmin(compared.user_values), np.nanmin(compared.assistant_values))
    assert value(terms, 3, "tokens_speaker") == difference(similarity(signs[3]), least)
    # Ann is the assistant.
    by_bob, by_ann = similarity(signs[4][:1]), similarity(signs[4][1:])
    assert value(terms, 4, "tokens_speaker") == difference(by_ann, by_bob)
    # The value of what is not compared is estimated as that of tokens is.
    scores = np.array([item.rrf_score for item in found])  # what else there is, all have alike
    known = [0, 1, 3, 4]
    values = [0.0 if row == 1 else value(terms, row, "tokens_speaker") for row in known]
    slope, start = np.polyfit(scores[known], values, 1)
    expected = np.clip(start + slope * scores[2], min(values), max(values))
    assert value(terms, 2, "tokens_speaker") == pytest.approx(expected)
    assert {t.weight for t in terms.of(0) if t.name == "tokens_speaker"} == {0.5}
    for names in ((), ("Ann", "Bob")):
        terms = rank(found, tokens, profile, question=replace(QUESTION, named_speakers=names))
        assert "tokens_speaker" not in {term.name for term in terms.of(0)}


def test_the_similarity_of_uncompared_candidates_is_estimated_from_their_score() -> None:
    found = [candidate(place, session=str(place)) for place in range(5)]
    tokens = tokens_of([[0], [1], [2], [3]], [0, 1, 3, 4])
    terms = rank(found, tokens)
    scores = np.array([item.rrf_score for item in found])  # what else there is, all have alike
    known = [0, 1, 3, 4]
    values = np.array([value(terms, row, "tokens") for row in known])
    slope, start = np.polyfit(scores[known], values, 1)
    expected = np.clip(start + slope * scores[2], values.min(), values.max())
    assert value(terms, 2, "tokens") == pytest.approx(expected)
    assert "not compared" in next(t.because for t in terms.of(2) if t.name == "tokens")


def test_candidates_taken_in_another_order_keep_their_tokens() -> None:
    tokens = tokens_of([[0, 1], [2], [3, 4, 5]], [0, 2, 3], [1, 0, 2])
    taken = tokens.take([3, 1, 0])
    assert taken.places.tolist() == [0, 2]
    assert taken.user_counts.tolist() == [2, 1]
    assert taken.pieces.tolist() == [3, 4, 5, 0, 1]
    assert np.array_equal(taken.signs, tokens.signs[[3, 4, 5, 0, 1]])


def test_words_of_the_question_are_listed_with_their_matches() -> None:
    compared = rank([candidate(0)], tokens_of([[2, 0, 1]], [0])).compared
    assert compared is not None
    matches = compared.matches(0)
    assert [match.asked for match in matches] == ["teapot", "blue"]
    assert {match.met for match in matches} <= {"blue", "teapot"}
    assert sum(match.share for match in matches) == pytest.approx(1)
    assert sum(match.share * match.similarity for match in matches) == pytest.approx(
        compared.values[0]
    )
