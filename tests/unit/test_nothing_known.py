"""Arithmetic of the benchmark that compares questions with and without their evidence."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.nothing_known import (
    Answer,
    area_under_roc,
    areas,
    choose_threshold,
    equal_shares,
    thresholds,
)

SCORES = st.lists(st.sampled_from([-math.inf, 0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12)


def make_answer(kind: str, split: str, known: float | None, removed: float | None) -> Answer:
    return Answer(
        kind=kind, split=split, category="1", question_id="q", known=known, removed=removed
    )


@settings(max_examples=200, deadline=None)
@given(SCORES, SCORES)
def test_the_area_is_the_share_of_pairs_in_the_right_order(
    known: list[float], removed: list[float]
) -> None:
    pairs = [
        1.0 if one > two else 0.5 if one == two else 0.0 for one, two in product(known, removed)
    ]
    found = area_under_roc(np.array(known), np.array(removed))
    assert found == pytest.approx(sum(pairs) / len(pairs))


@settings(max_examples=200, deadline=None)
@given(SCORES, st.sampled_from([0.99, 0.9, 0.8, 0.5]))
def test_a_threshold_is_the_largest_that_keeps_as_many(known: list[float], wanted: float) -> None:
    scores = np.array(known)
    least = choose_threshold(scores, wanted, np.ones(len(known)))
    assert np.mean(scores >= least) >= wanted - 1e-9
    for larger in {score for score in known if score > least}:
        assert np.mean(scores >= larger) < wanted


def test_every_file_counts_alike() -> None:
    few = [make_answer("BEAM", "1-10", 0.1, 0.0) for _ in range(2)]
    many = [make_answer("LoCoMo", "0-4", 0.9, 0.3) for _ in range(98)]
    shares = equal_shares([*few, *many])
    assert shares[:2].sum() == pytest.approx(shares[2:].sum())
    both = [item for item in thresholds([*few, *many]) if item.kind == "BEAM and LoCoMo"]
    assert {item.min_score for item in both} == {0.1}
    assert {item.emptied for item in both if item.group.startswith("BEAM")} == {1.0}
    assert {item.emptied for item in both if item.group.startswith("LoCoMo")} == {0.0}


def test_candidates_without_matching_tokens_score_below_all_others() -> None:
    found = [make_answer("LoCoMo", "0-4", 0.5, None), make_answer("LoCoMo", "5-9", -3.0, None)]
    assert {(item.group, item.area) for item in areas(found)} == {
        ("all", 1.0),
        ("conversations 0-4", 1.0),
        ("conversations 5-9", 1.0),
        ("category 1", 1.0),
    }
    assert {item.emptied for item in thresholds(found)} == {1.0}
