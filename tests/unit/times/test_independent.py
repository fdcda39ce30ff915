"""Questions by authors who had not seen the tables of words."""

import json
from collections import Counter
from pathlib import Path

import pytest
from time_readings import NOW, find

from memsense.search.question.quotations import find_quotations
from memsense.search.question.time.engine import find_intervals
from memsense.search.question.time.order import find_order

DATA = Path(__file__).parents[2] / "data"


def read(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def is_right(case: dict[str, object]) -> bool:
    """Return whether one of the intervals that the case allows is read."""
    right = [[case["first"], case["last"]], *case["accept"]]  # type: ignore[misc]
    return any([str(item.first), str(item.last)] in right for item in find(str(case["text"])))


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "ru", "zh", "ja"])
def test_most_times_are_read_as_their_authors_mean_them(language: str) -> None:
    cases = [case for case in read("dated_questions.jsonl") if case["language"] == language]
    missed = [case["text"] for case in cases if not is_right(case)]
    assert len(cases) >= 40
    assert len(missed) <= 0.15 * len(cases), missed


def test_hardly_a_text_that_only_resembles_a_time_is_read_as_one() -> None:
    false = [
        (str(case["language"]), case["text"])
        for case in read("undated_questions.jsonl")
        if find_intervals(str(case["text"]), now=NOW)
    ]
    counts = Counter(language for language, _ in false)
    assert all(count <= 1 for count in counts.values()), false


def test_an_order_in_time_is_seldom_missed_and_never_mistaken() -> None:
    right: Counter[str] = Counter()
    for case in read("order_questions.jsonl"):
        text = str(case["text"])
        order = find_order(text, list(find_quotations(text)))
        assert order is None or order.kind == case["kind"], text
        right[str(case["language"])] += (order.kind if order else "none") == case["kind"]
    assert all(count >= 8 for count in right.values()), right
