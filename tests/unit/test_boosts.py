"""Identifiers and wordings of questions and texts; the terms that they add to scores."""

import re
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.search.plan import choose_wording
from memsense.search.profiles import BALANCED, Profile
from memsense.search.question import analyse_question, find_phrase, wording_pattern
from memsense.search.rank.score import score_terms
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit, WordingMatch
from memsense.text.identifiers import as_lexemes, find_identifiers, index_identifiers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Is ABC-123 done?", ["abc-123"]),
        ("is abc-123 done?", ["abc-123"]),
        ("see #123, not #124.", ["#123", "#124"]),
        ("since v2.0 and 1.2.3", ["v2.0", "1.2.3"]),
        ("v1.2.3 is 1.2.3", ["1.2.3"]),
        ("1.2.3-rc1 before 1.2.3", ["1.2.3-rc1", "1.2.3"]),
        ("in ./src/App.py or config.yaml", ["src/app.py", "config.yaml"]),
        ("commit 9F2A9C1d0b broke it", ["9f2a9c1"]),
        ("id 550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("ERR_CONN_RESET from read_all()", ["err_conn_reset", "read_all"]),
    ],
)
def test_identifiers_are_found_whole_and_without_case(text: str, found: list[str]) -> None:
    assert list(find_identifiers(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "What did Ann buy on 7 May 2026?",
        "on 24.12.2025, or 2026-05-07 at 10.30",
        "it costs 10.50, call 5551234567",
        "the defaced cafe, well-known",
        "e.g. this, i.e. that",
        "",
    ],
)
def test_dates_numbers_and_words_are_no_identifiers(text: str) -> None:
    assert find_identifiers(text) == ()


def test_a_file_is_found_by_every_end_of_its_path() -> None:
    assert index_identifiers("see src/app/main.py") == ("src/app/main.py", "app/main.py", "main.py")
    assert find_identifiers("see src/app/main.py") == ("src/app/main.py",)


@given(st.text(alphabet="aA1_-./#v ~f0é京", max_size=60))
def test_a_text_is_found_by_whatever_a_question_quotes_of_it_whole(text: str) -> None:
    assert set(find_identifiers(text)) <= set(index_identifiers(text))
    assert all(key and key == key.casefold() for key in index_identifiers(text))


@pytest.mark.parametrize("quoted", ["should", "must"])
def test_postgresql_keeps_all_expressions_of_a_question_compiled(
    quoted: Literal["should", "must"],
) -> None:
    profile = BALANCED.override(phrase_boost=1.0, quoted=quoted, quoted_boost=1.0)
    question = analyse_question("who said " + " ".join(f'"{n}"' for n in range(2_000)))
    values = choose_wording(question, profile).values()
    assert question.quoted == tuple(str(n) for n in range(16))
    assert len(values["wordings"]) + len(values["quoted_patterns"]) <= 32


def test_the_lexeme_of_an_identifier_begins_as_no_word_does() -> None:
    assert as_lexemes(("abc-123", "#1")) == ["=abc-123", "=#1"]


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ("The blue lantern?", "The blue lantern"),
        ("  Really?!  ", "Really"),
        ("???", ""),
        ("word " * 200, ""),
    ],
)
def test_the_phrase_is_the_question_without_its_final_marks(question: str, phrase: str) -> None:
    assert find_phrase(question) == phrase


@given(st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip())))
def test_a_wording_matches_the_text_it_was_made_from(text: str) -> None:
    pattern = wording_pattern(text)
    bounded = pattern.removeprefix(r"\m").removesuffix(r"\M")
    assert re.search(bounded, text)


def test_words_are_bounded_where_the_script_has_blanks() -> None:
    assert wording_pattern("blue  lantern") == r"\mblue\s+lantern\M"
    assert wording_pattern("C++") == r"\mC\+\+"
    assert wording_pattern("東京") == "東京"
    assert wording_pattern("Ann's") == "\\mAnn['\u2019]s\\M"


QUESTION = analyse_question('Does "blue lantern" or "red door" stand in ABC-123 or v2.0?')


def candidates(wordings: dict[int, WordingMatch]) -> Candidates:
    found = [
        Candidate(
            chunk_id=chunk_id,
            rrf_score=0.1,
            routes=(RouteHit("lexical", chunk_id, 1.0),),
            scope_id=1,
            granularity="turn",
            session_id=f"s{chunk_id}",
            ordinal=0,
            part=0,
            memory_score=0.5,
            tags=frozenset(),
            occurred_at=None,
            user_speaker=None,
            assistant_speaker=None,
            embedding=None,
        )
        for chunk_id in (1, 2, 3)
    ]
    return replace(Candidates.of(found), wordings=wordings)


BOOSTED = BALANCED.override(
    name="boosted", phrase_boost=0.5, identifier_boost=0.25, quoted="should", quoted_boost=0.4
)


def terms_of(
    wordings: dict[int, WordingMatch], profile: Profile
) -> list[dict[str, tuple[float, float, str]]]:
    terms = score_terms(candidates(wordings), profile=profile, question=QUESTION, ceiling={})
    return [
        {
            term.name: (term.value, term.contribution, term.because)
            for term in terms.of(row)
            if term.name in ("phrase", "quoted", "identifier")
        }
        for row in range(3)
    ]


def test_each_boost_is_a_term_that_says_why() -> None:
    wordings = {
        1: WordingMatch(phrase=True),
        2: WordingMatch(quoted=(1,), identifiers=(0, 1), identifier_share=1.0),
    }
    assert terms_of(wordings, BOOSTED) == [
        {"phrase": (1.0, 0.5, "the text holds the question word for word")},
        {
            "quoted": (0.5, 0.2, "the text holds \u201cred door\u201d"),
            "identifier": (1.0, 0.25, "the text holds abc-123, v2.0"),
        },
        {},
    ]


def test_a_boost_is_part_of_the_total_that_ranks() -> None:
    without = score_terms(candidates({}), profile=BOOSTED, question=QUESTION, ceiling={})
    boosted = score_terms(
        candidates({2: WordingMatch(phrase=True)}), profile=BOOSTED, question=QUESTION, ceiling={}
    )
    assert np.argmax(boosted.totals) == 1
    assert boosted.totals[1] - without.totals[1] == pytest.approx(0.5)


def test_without_a_boost_matching_phrases_add_nothing() -> None:
    wordings = {1: WordingMatch(phrase=True, quoted=(0,), identifiers=(0,), identifier_share=0.5)}
    off = BALANCED.override(quoted_boost=0.0)
    assert terms_of(wordings, off) == [{}, {}, {}]
