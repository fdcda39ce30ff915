"""Metrics of ranked lists, compared with hand computation and trec_eval."""

import math
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.metrics import ndcg_at, recall_at, reciprocal_rank

RANKED = [("a",), ("b", "c"), ("d",), ("e",)]

names = st.sampled_from([f"s{number}" for number in range(12)])


def test_recall_is_the_share_of_gold_that_the_first_results_cover() -> None:
    assert recall_at(RANKED, {"b", "e"}, 1) == 0
    assert recall_at(RANKED, {"b", "e"}, 2) == 0.5
    assert recall_at(RANKED, {"b", "e"}, 4) == 1
    assert recall_at(RANKED, {"b", "c", "x"}, 4) == pytest.approx(2 / 3)


def test_an_id_that_two_results_cover_counts_once() -> None:
    assert recall_at([("a",), ("a",)], {"a", "b"}, 2) == 0.5


def test_reciprocal_rank_is_that_of_the_first_result_with_gold() -> None:
    assert reciprocal_rank(RANKED, {"c", "e"}) == 0.5
    assert reciprocal_rank(RANKED, {"x"}) == 0
    assert reciprocal_rank([], {"x"}) == 0


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    best = 1 + 1 / math.log2(3)
    assert ndcg_at(RANKED, {"a", "d"}, 10) == pytest.approx((1 + 1 / math.log2(4)) / best)
    assert ndcg_at(RANKED, {"a", "d"}, 2) == pytest.approx(1 / best)
    assert ndcg_at(RANKED, {"x"}, 10) == 0


@settings(max_examples=60, deadline=None)
@given(ranked=st.lists(names, unique=True), gold=st.sets(names, min_size=1))
def test_sessions_are_measured_as_trec_eval_measures_them(
    ranked: list[str], gold: set[str]
) -> None:
    measures = {"recall_1", "recall_3", "recall_5", "recall_10", "recip_rank", "ndcg_cut_10"}
    judge: Any = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(gold, 1)}, measures)
    run = {name: float(-rank) for rank, name in enumerate(ranked)}
    # trec_eval leaves out a query whose run is empty.
    expected = judge.evaluate({"q": run}).get("q", dict.fromkeys(measures, 0.0))
    found = [(name,) for name in ranked]
    for k in (1, 3, 5, 10):
        assert recall_at(found, gold, k) == pytest.approx(expected[f"recall_{k}"])
    assert reciprocal_rank(found, gold) == pytest.approx(expected["recip_rank"])
    assert ndcg_at(found, gold, 10) == pytest.approx(expected["ndcg_cut_10"])
