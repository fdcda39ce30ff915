"""Intervals and the paired test, compared with formulas and scipy."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsense.errors import EvaluationError
from memsense.evaluation import QuestionResult, compare, intervals, intervals_by_split
from memsense.evaluation.statistics import flip_signs, resample_means


def load_stats() -> Any:
    """Return scipy's statistics, which every worker would import while it collects the tests."""
    return pytest.importorskip("scipy.stats", reason="needs scipy: make setup-all")


def mean_difference(a: Any, b: Any, axis: int) -> Any:
    return np.mean(a - b, axis=axis)


def result(number: int, value: float, **changes: Any) -> QuestionResult:
    given: dict[str, Any] = {
        "question_id": f"q{number}",
        "user_id": f"u{number % 4}",
        "question": f"question {number}",
        "category": "1",
        "split": "even" if number % 2 == 0 else "odd",
        "session": {"mrr": value},
        "turn": {"recall@5": value},
        "sessions": (),
        "messages": (),
        "gold": ("m1",),
        "gold_sessions": ("s1",),
        "search_ms": (1.0,),
    }
    return QuestionResult(**{**given, **changes})


def results(values: Sequence[float]) -> list[QuestionResult]:
    return [result(number, float(value)) for number, value in enumerate(values)]


def values_like(mean: float, seed: int, n: int = 200) -> list[float]:
    random = np.random.default_rng(seed)
    return [float(value) for value in random.random(n) < mean]


def test_an_interval_is_as_wide_as_the_normal_approximation_says() -> None:
    found = intervals(results(values_like(0.5, 1, n=400)))["turn.recall@5"]
    half = 1.96 * math.sqrt(found.mean * (1 - found.mean) / 400)
    assert found.low == pytest.approx(found.mean - half, abs=0.01)
    assert found.high == pytest.approx(found.mean + half, abs=0.01)


def test_an_interval_agrees_with_scipys_percentile_bootstrap() -> None:
    values = np.random.default_rng(2).beta(2, 5, size=150)
    found = intervals(results(values.tolist()))["session.mrr"]
    expected: Any = load_stats().bootstrap(
        (values,), np.mean, n_resamples=4_000, method="percentile", rng=np.random.default_rng(3)
    )
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=0.004)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=0.004)


def test_95_percent_intervals_cover_the_truth_almost_always() -> None:
    covered = 0
    for seed in range(120):
        found = intervals(results(values_like(0.7, seed, n=100)), seed=seed)["session.mrr"]
        covered += found.low <= 0.7 <= found.high
    assert 107 <= covered <= 119


def test_an_interval_of_equal_values_has_no_width() -> None:
    found = intervals(results([0.25] * 10))["session.mrr"]
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = results(values_like(0.4, 5))
    assert intervals(rows, seed=1) == intervals(rows, seed=1)
    assert intervals(rows, seed=1) != intervals(rows, seed=2)


def test_conversations_whose_questions_agree_widen_the_interval() -> None:
    rows = [
        result(number, float(number // 25 % 2), user_id=f"u{number // 25}") for number in range(500)
    ]
    single = intervals(rows)["session.mrr"]
    clustered = intervals(rows, by_conversation=True)["session.mrr"]
    assert clustered.mean == single.mean == 0.5
    assert clustered.high - clustered.low > 3 * (single.high - single.low)


def test_clusters_of_one_question_change_nothing() -> None:
    values = np.random.default_rng(4).random((30, 2))
    means = resample_means(values, np.arange(30))
    assert means.shape == (1_000, 2)
    assert means.std(axis=0) == pytest.approx(values.std(axis=0) / math.sqrt(30), rel=0.1)


def test_intervals_are_given_for_all_questions_and_for_each_split() -> None:
    found = intervals_by_split(results([0.0, 1.0] * 20))
    assert list(found) == ["all", "even", "odd"]
    assert found["all"]["session.mrr"].mean == 0.5
    assert found["odd"]["session.mrr"].mean == 1.0
    assert intervals([]) == {}


def test_a_real_difference_is_detected() -> None:
    a = values_like(0.5, 6)
    b = [1.0 if index % 5 == 0 else value for index, value in enumerate(a)]
    gain = {found.metric: found for found in compare(results(a), results(b))}["turn.recall@5"]
    assert gain.difference == pytest.approx(np.mean(b) - np.mean(a))
    assert 0 < gain.low < gain.difference < gain.high
    assert gain.p_value < 0.001
    assert gain.losses == 0
    assert gain.wins == sum(after > before for before, after in zip(a, b, strict=True))
    assert gain.wins + gain.ties == 200


def test_random_differences_are_rarely_significant() -> None:
    p_values = [
        compare(results(values_like(0.6, seed, 80)), results(values_like(0.6, seed + 1000, 80)))[
            0
        ].p_value
        for seed in range(60)
    ]
    assert sum(p < 0.05 for p in p_values) <= 8
    assert np.mean(p_values) > 0.35


def test_a_run_does_not_differ_from_itself() -> None:
    rows = results(values_like(0.6, 8))
    for gain in compare(rows, rows):
        assert (gain.difference, gain.low, gain.high, gain.p_value) == (0, 0, 0, 1)
        assert (gain.wins, gain.ties, gain.losses) == (0, 200, 0)


@settings(max_examples=20, deadline=None)
@given(gains=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=10))
def test_few_questions_have_the_exact_p_value_that_scipy_has(gains: list[float]) -> None:
    expected: Any = load_stats().permutation_test(
        (np.array(gains), np.zeros(len(gains))),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    found = flip_signs(np.array(gains)[:, np.newaxis], np.arange(len(gains)))
    assert found[0] == pytest.approx(min(1.0, expected.pvalue))


def test_many_questions_have_nearly_the_p_value_that_scipy_has() -> None:
    gains = np.random.default_rng(11).choice([-1.0, 0.0, 1.0], size=60, p=[0.2, 0.45, 0.35])
    expected: Any = load_stats().permutation_test(
        (gains, np.zeros(60)),
        mean_difference,
        permutation_type="samples",
        vectorized=True,
        n_resamples=9_999,
        rng=np.random.default_rng(12),
    )
    found = flip_signs(gains[:, np.newaxis], np.arange(60))
    assert found[0] == pytest.approx(expected.pvalue, abs=0.02)


def test_the_order_of_the_second_run_does_not_matter() -> None:
    a, b = results(values_like(0.5, 13)), results(values_like(0.6, 14))
    assert compare(a, b) == compare(a, list(reversed(b)))


@pytest.mark.parametrize(
    "other",
    [
        results([1.0, 1.0]),
        [*results([1.0, 1.0]), result(9, 1.0)],
        [*results([1.0, 1.0]), result(2, 1.0, question="another text")],
        [*results([1.0, 1.0]), result(2, 1.0, gold=("m9",))],
        [*results([1.0, 1.0]), result(2, 1.0, turn={"recall@7": 1.0})],
        [*results([1.0, 1.0, 1.0]), result(2, 1.0)],
    ],
    ids=["fewer", "others", "other text", "other gold", "other metrics", "twice"],
)
def test_runs_over_other_questions_cannot_be_compared(other: list[QuestionResult]) -> None:
    with pytest.raises(EvaluationError):
        compare(results([1.0, 0.0, 1.0]), other)
    with pytest.raises(EvaluationError):
        compare([], other)
