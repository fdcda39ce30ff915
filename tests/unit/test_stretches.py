"""Days in which memories are looked for, and the words for them."""

from datetime import UTC, date, datetime

import pytest

from memsense.search.question import analyse_question
from memsense.search.question.time.interval import describe_days, describe_stretches

ASKED_AT = datetime(2026, 11, 27, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2024-03-03", "2024-03-03", "3 March 2024"),
        ("2024-04-01", "2024-04-30", "1 to 30 April 2024"),
        ("2024-04-30", "2024-05-02", "30 April to 2 May 2024"),
        ("2024-12-30", "2025-01-02", "30 December 2024 to 2 January 2025"),
    ],
)
def test_days_are_named_once(first: str, last: str, words: str) -> None:
    assert describe_days((date.fromisoformat(first), date.fromisoformat(last))) == words


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did I do in 2024?", "1 January to 31 December 2024"),
        ("What did I do this month?", "1 to 27 November 2026"),
        ("What did I do on 03/04/2024?", "4 March 2024 or 3 April 2024"),
        ("What did I do on 3 March?", "3 March 2026 or these days of an earlier year"),
        ("What will I do next week?", ""),
    ],
)
def test_no_day_lies_behind_the_question(question: str, words: str) -> None:
    stretches = analyse_question(question, asked_at=ASKED_AT).stretches
    assert set(describe_stretches(stretches).split(" or ")) == set(words.split(" or "))


def test_days_without_a_year_are_looked_for_in_ten_earlier_years_with_less_confidence() -> None:
    stretches = analyse_question("What did I do on 3 March?", asked_at=ASKED_AT).stretches
    assert [it.first for it in stretches] == [date(year, 3, 3) for year in range(2026, 2015, -1)]
    assert [it.confidence for it in stretches] == pytest.approx([0.7] + 10 * [0.4])


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("What did I do on 3 March 2024?", "What did I do on?"),
        ("What did I cook on 3 March 2024?", "What did I cook on 3 March 2024?"),
        ("March 2024", "March 2024"),
    ],
)
def test_a_time_is_searched_for_by_its_words_only_beside_a_topic(
    question: str, searched: str
) -> None:
    assert analyse_question(question, asked_at=ASKED_AT).search_text == searched
