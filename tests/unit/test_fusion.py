import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.errors import InvalidInputError
from memsense.fusion import Contribution, Fused, fuse_pair, merge, reciprocal_rank_fusion

IDS = st.integers(0, 30)
RANKINGS = st.lists(st.lists(IDS, unique=True, max_size=20), max_size=5)
REPEATING = st.lists(st.lists(IDS, max_size=20), max_size=5)
WEIGHTS = st.floats(0, 5)
KS = st.floats(0, 100)


@st.composite
def weighted(draw: st.DrawFn) -> tuple[list[list[int]], list[float]]:
    rankings = draw(RANKINGS)
    weights = draw(st.lists(WEIGHTS, min_size=len(rankings), max_size=len(rankings)))
    return rankings, weights


def reference(
    rankings: Sequence[Sequence[int]], weights: Sequence[float], k: float
) -> dict[int, Fraction]:
    """Return exact scores, computed id by id instead of list by list."""
    scores: dict[int, Fraction] = {}
    for identity in {identity for ranking in rankings for identity in ranking}:
        terms = [
            Fraction(weight) / (Fraction(k) + ranking.index(identity) + 1)
            for ranking, weight in zip(rankings, weights, strict=True)
            if identity in ranking and weight > 0
        ]
        if terms:
            scores[identity] = sum(terms, Fraction(0))
    return scores


@given(weighted(), KS)
def test_scores_equal_an_exact_reference(
    lists: tuple[list[list[int]], list[float]], k: float
) -> None:
    rankings, weights = lists
    fused = reciprocal_rank_fusion(rankings, k=k, weights=weights)
    expected = reference(rankings, weights, k)
    assert {hit.id for hit in fused} == set(expected)
    for hit in fused:
        assert math.isclose(hit.score, expected[hit.item], rel_tol=1e-14, abs_tol=1e-300)


@given(weighted(), KS)
def test_the_contributions_say_where_an_id_stood_and_add_up_to_its_score(
    lists: tuple[list[list[int]], list[float]], k: float
) -> None:
    rankings, weights = lists
    for hit in reciprocal_rank_fusion(rankings, k=k, weights=weights):
        assert math.fsum(part.score for part in hit.contributions) == hit.score
        for part in hit.contributions:
            assert rankings[part.ranking][part.rank - 1] == hit.id
            assert part.weight == weights[part.ranking]
            assert part.score == part.weight / (k + part.rank)
        holding = [i for i, r in enumerate(rankings) if hit.id in r and weights[i] > 0]
        assert [part.ranking for part in hit.contributions] == holding


@given(REPEATING, KS)
def test_results_descend_and_ties_keep_the_order_of_first_appearance(
    rankings: list[list[int]], k: float
) -> None:
    fused = reciprocal_rank_fusion(rankings, k=k)
    appearance = list(dict.fromkeys(identity for ranking in rankings for identity in ranking))
    by_hand = sorted(fused, key=lambda hit: (-hit.score, appearance.index(hit.item)))
    assert fused == by_hand


@given(RANKINGS, st.randoms())
def test_scores_do_not_depend_on_the_order_of_the_lists(
    rankings: list[list[int]], dice: Random
) -> None:
    shuffled = list(rankings)
    dice.shuffle(shuffled)
    scores = {hit.id: hit.score for hit in reciprocal_rank_fusion(rankings)}
    assert scores == {hit.id: hit.score for hit in reciprocal_rank_fusion(shuffled)}


@given(REPEATING, st.integers(0, 40))
def test_a_limit_returns_the_first_items_of_the_full_result(
    rankings: list[list[int]], limit: int
) -> None:
    assert reciprocal_rank_fusion(rankings, limit=limit) == reciprocal_rank_fusion(rankings)[:limit]
    assert merge(rankings, limit) == merge(rankings)[:limit]


@given(st.lists(IDS, unique=True))
def test_one_list_keeps_its_order(ranking: list[int]) -> None:
    assert [hit.item for hit in reciprocal_rank_fusion([ranking])] == ranking


@given(weighted(), st.floats(0.25, 4))
def test_scaling_all_weights_scales_all_scores(
    lists: tuple[list[list[int]], list[float]], factor: float
) -> None:
    rankings, weights = lists
    weights = [round(weight, 3) for weight in weights]
    before = reciprocal_rank_fusion(rankings, weights=weights)
    after = reciprocal_rank_fusion(rankings, weights=[weight * factor for weight in weights])
    scores = {hit.id: hit.score * factor for hit in before}
    assert {hit.id: hit.score for hit in after} == pytest.approx(scores, rel=1e-12)


@given(REPEATING)
def test_a_repeated_id_counts_once_at_its_best_place(rankings: list[list[int]]) -> None:
    for hit in reciprocal_rank_fusion(rankings):
        for part in hit.contributions:
            assert part.rank == rankings[part.ranking].index(hit.item) + 1
        assert len({part.ranking for part in hit.contributions}) == len(hit.contributions)


def test_a_worked_example() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]], weights=[1, 2])
    assert fused == [
        Fused(
            "b",
            "b",
            1 / 62 + 2 / 61,
            (Contribution(0, 2, 1, 1 / 62), Contribution(1, 1, 2, 2 / 61)),
        ),
        Fused("c", "c", 2 / 62, (Contribution(1, 2, 2, 2 / 62),)),
        Fused("a", "a", 1 / 61, (Contribution(0, 1, 1, 1 / 61),)),
    ]


def test_a_list_of_weight_zero_adds_no_id() -> None:
    fused = reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 0])
    assert [hit.id for hit in fused] == ["a"]


def test_a_list_of_weight_zero_is_not_even_read() -> None:
    unread = iter(["b"])
    reciprocal_rank_fusion([iter(["a"]), unread], weights=[1, 0])
    assert list(unread) == ["b"]


def test_nothing_to_fuse_gives_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []
    assert merge([]) == []


@dataclass
class Page:
    url: str
    found_by: str


def test_objects_are_fused_by_their_key_and_the_first_list_gives_the_object() -> None:
    dense, sparse = Page("/a", "dense"), Page("/a", "sparse")
    fused = reciprocal_rank_fusion([[dense], [Page("/b", "sparse"), sparse]], key=lambda p: p.url)
    assert [hit.id for hit in fused] == ["/a", "/b"]
    assert fused[0].item is dense
    assert merge([[dense], [sparse]], key=lambda p: p.url) == [dense]


def test_unhashable_items_without_a_key_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="key"):
        reciprocal_rank_fusion([[Page("/a", "dense")]])
    with pytest.raises(InvalidInputError, match="key"):
        merge([[["a"]]])


@pytest.mark.parametrize("k", [-1, -0.001, math.nan, math.inf])
def test_a_k_below_zero_or_not_finite_is_refused(k: float) -> None:
    with pytest.raises(InvalidInputError, match="k must be"):
        reciprocal_rank_fusion([["a"]], k=k)


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_a_weight_below_zero_or_not_finite_is_refused(weight: float) -> None:
    with pytest.raises(InvalidInputError, match="weight"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1, weight])


def test_each_list_needs_its_weight() -> None:
    with pytest.raises(InvalidInputError, match="1 weights for 2 rankings"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1])


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="limit"):
        reciprocal_rank_fusion([["a"]], limit=-1)
    with pytest.raises(InvalidInputError, match="limit"):
        merge([["a"]], -1)


def test_k_zero_gives_plain_reciprocal_ranks() -> None:
    assert [hit.score for hit in reciprocal_rank_fusion([["a", "b"]], k=0)] == [1, 0.5]


@given(st.lists(IDS, unique=True), st.lists(IDS, unique=True), st.floats(0, 1))
def test_a_pair_is_fused_with_weights_that_add_up_to_one(
    vector: list[int], text: list[int], vector_weight: float
) -> None:
    pair = fuse_pair(vector, text, vector_weight=vector_weight)
    weights = [vector_weight, 1 - vector_weight]
    assert pair == reciprocal_rank_fusion([vector, text], weights=weights)


def test_a_pair_without_a_weight_favours_the_vectors_as_the_original_does() -> None:
    assert fuse_pair(["a"], ["b"]) == fuse_pair(["a"], ["b"], vector_weight=0.7)


def test_the_ends_of_the_pairs_knob_leave_one_list_alone() -> None:
    assert [hit.id for hit in fuse_pair(["a", "b"], ["c"], vector_weight=1)] == ["a", "b"]
    assert [hit.id for hit in fuse_pair(["a", "b"], ["c"], vector_weight=0)] == ["c"]


@pytest.mark.parametrize("vector_weight", [-0.1, 1.1, math.nan])
def test_a_pairs_knob_outside_zero_to_one_is_refused(vector_weight: float) -> None:
    with pytest.raises(InvalidInputError, match="vector_weight"):
        fuse_pair(["a"], ["b"], vector_weight=vector_weight)


@given(REPEATING)
def test_merging_keeps_each_id_once_in_the_order_of_first_appearance(
    rankings: list[list[int]],
) -> None:
    assert merge(rankings) == list(dict.fromkeys(i for ranking in rankings for i in ranking))
