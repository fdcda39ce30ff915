"""Counts of a lexeme per field, decoded from one value of ts_rank."""

import re

import numpy as np
import pytest

from memsense.db.queries import SQL_ROOT
from tools.termcounts import (
    FIELD_WEIGHTS,
    MOST_CODED,
    Counts,
    coded_counts,
    rank_value,
    sql_functions,
)

_NUMBER = re.compile(r"\d+\.\d+")


def as_postgres_does(counts: Counts) -> float:
    """Compute calc_rank_or of tsrank.c for one lexeme, in single precision."""
    one = np.float32
    weights = [one(w) for w, n in zip(FIELD_WEIGHTS, counts, strict=True) for _ in range(n)]
    total, heaviest, place = one(0), one(-1), 0
    for index, weight in enumerate(weights):
        total = one(total + weight / one((index + 1) ** 2))
        if weight > heaviest:
            heaviest, place = weight, index
    value = one(one(heaviest + total) - heaviest / one((place + 1) ** 2))
    return float(one(float(value) / 1.64493406685))


def test_every_coded_value_lies_far_from_its_neighbours() -> None:
    values = sorted(rank_value(counts) for counts in coded_counts())
    assert min(np.diff(values)) > 2.8e-5


def test_single_precision_moves_no_value_near_a_cut() -> None:
    for counts in coded_counts():
        assert as_postgres_does(counts) == pytest.approx(rank_value(counts), abs=1e-6)


def test_more_occurrences_than_are_coded_give_larger_values() -> None:
    largest = max(rank_value(counts) for counts in coded_counts())
    total = MOST_CODED + 1
    further = [
        (user, assistant, tags, total - user - assistant - tags)
        for user in range(total + 1)
        for assistant in range(total - user + 1)
        for tags in range(total - user - assistant + 1)
    ]
    assert min(rank_value(counts) for counts in further) > largest + 1e-3
    assert min(rank_value(counts) for counts in further) == rank_value((0, 0, 0, total))


def test_the_tables_that_recall_looks_up_are_those_worked_out_here() -> None:
    shipped = (SQL_ROOT / "termcounts.sql").read_text(encoding="utf-8")
    assert _NUMBER.sub("#", shipped) == _NUMBER.sub("#", sql_functions())
    # From Python 3.12 on, sum() rounds better, which shows in the last digits.
    shipped_values, values = (
        [float(number) for number in _NUMBER.findall(text)] for text in (shipped, sql_functions())
    )
    assert values == pytest.approx(shipped_values, abs=1e-14)
