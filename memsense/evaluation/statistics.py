"""Bootstrap intervals of means and differences, and a paired test.

Intervals are percentile bootstrap intervals (Efron and Tibshirani 1993, An Introduction to the
Bootstrap, ch. 13) over questions, or over whole conversations, whose questions aren't independent.
The paired test is Fisher's randomisation test: under the null hypothesis each question's
difference might as well have the other sign (Smucker, Allan and Carterette 2007, A Comparison of
Statistical Significance Tests for Information Retrieval Evaluation).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memsense.errors import EvaluationError
from memsense.evaluation.run import QuestionResult

RESAMPLES = 1_000
FLIPS = 10_000
LEVEL = 0.95
BATCH = 500
"""Resamples that are computed at a time, so that their table fits into memory."""

# 13 units have 8,192 patterns, fewer than the random flips would be.
MOST_ENUMERATED = 13
"""Units up to which every pattern of signs is tried, so that the p-value is exact."""

TOLERANCE = 1e-12
"""Differences up to this size are rounding, and count as ties."""

Table: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Mean with its 95% interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Gain of run `b` over run `a` in one metric, per question.

    Attributes:
        metric: Name of the metric, such as `session.recall@5`.
        a: Mean of the first run.
        b: Mean of the second run.
        difference: Mean gain.
        low: Lower end of its 95% interval.
        high: Upper end of its 95% interval.
        p_value: Two-sided, of this metric alone: of 20 metrics without any difference, one is
            below 0.05.
        wins: Questions that the second run answers better.
        ties: Questions without a difference.
        losses: Questions that the first run answers better.
    """

    metric: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    ties: int
    losses: int

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as plain values, ready for JSON."""
        return asdict(self)


def metrics_of(result: QuestionResult) -> dict[str, float]:
    """Return a question's metrics by flat names such as `session.recall@5`."""
    return {
        **{f"session.{name}": value for name, value in result.session.items()},
        **{f"turn.{name}": value for name, value in result.turn.items()},
    }


def intervals(
    results: Sequence[QuestionResult], *, by_conversation: bool = False, seed: int = 0
) -> dict[str, Interval]:
    """Return each metric's mean with its 95% interval, by 1,000 resamples.

    Args:
        results: Results of one run.
        by_conversation: Whether whole conversations are resampled; else single questions.
        seed: Seed of the resampling.

    Returns:
        Intervals by metric; empty without results.
    """
    if not results:
        return {}
    names, values = _make_table(results)
    means = resample_means(values, _number_groups(results, by_conversation), seed=seed)
    return _name_intervals(names, values, means)


def intervals_by_split(
    results: Sequence[QuestionResult], *, by_conversation: bool = False, seed: int = 0
) -> dict[str, dict[str, Interval]]:
    """Return the `intervals` of all questions and of each split."""
    return {
        split: intervals(members, by_conversation=by_conversation, seed=seed)
        for split, members in _group_by_split(results).items()
    }


def _group_by_split(results: Sequence[QuestionResult]) -> dict[str, Sequence[QuestionResult]]:
    """Return all results, and those of each split, by the split's name."""
    splits = sorted({result.split for result in results} - {"", "all"})
    return {"all": results} | {
        split: [result for result in results if result.split == split] for split in splits
    }


def _name_intervals(names: Sequence[str], values: Table, means: Table) -> dict[str, Interval]:
    tail = 50 * (1 - LEVEL)
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    columns = zip(names, values.mean(axis=0), low, high, strict=True)
    return {
        name: Interval(mean=float(mean), low=float(least), high=float(most))
        for name, mean, least, most in columns
    }


def compare(
    a: Sequence[QuestionResult],
    b: Sequence[QuestionResult],
    *,
    by_conversation: bool = False,
    seed: int = 0,
) -> list[Difference]:
    """Return the gain of the second run over the first, metric by metric.

    Args:
        a: Results of the first run.
        b: Results of the second run, in any order.
        by_conversation: Whether whole conversations are resampled and flipped; else questions.
        seed: Seed of the resampling and of the flips.

    Raises:
        EvaluationError: If the runs answered other questions, or have other metrics.
    """
    partners = _pair(a, b)
    # The second table has the columns of the first: a mapping's order may differ between files.
    names, before = _make_table(a)
    after = _make_table(partners, names)[1]
    gains = after - before
    groups = _number_groups(a, by_conversation)
    means = _name_intervals(names, gains, resample_means(gains, groups, seed=seed))
    p_values = flip_signs(gains, groups, seed=seed)
    return [
        Difference(
            metric=name,
            a=float(before[:, column].mean()),
            b=float(after[:, column].mean()),
            difference=means[name].mean,
            low=means[name].low,
            high=means[name].high,
            p_value=float(p_values[column]),
            wins=int((gains[:, column] > TOLERANCE).sum()),
            ties=int((np.abs(gains[:, column]) <= TOLERANCE).sum()),
            losses=int((gains[:, column] < -TOLERANCE).sum()),
        )
        for column, name in enumerate(names)
    ]


def differences_by_split(
    a: Sequence[QuestionResult],
    b: Sequence[QuestionResult],
    *,
    by_conversation: bool = False,
    seed: int = 0,
) -> dict[str, list[Difference]]:
    """Return the `compare` of all questions and of each split; raise as it does."""
    splits = _group_by_split(b)
    return {
        split: compare(members, splits.get(split, ()), by_conversation=by_conversation, seed=seed)
        for split, members in _group_by_split(a).items()
    }


def _pair(a: Sequence[QuestionResult], b: Sequence[QuestionResult]) -> list[QuestionResult]:
    """Return the results of `b` in the order of `a`'s questions."""
    first = {result.question_id: result for result in a}
    second = {result.question_id: result for result in b}
    if len(first) < len(a) or len(second) < len(b):
        raise EvaluationError("a question is answered more than once in one run")
    if not a or first.keys() != second.keys():
        only = sorted(first.keys() ^ second.keys())
        raise EvaluationError(
            f"the runs answered other questions: {len(first)} and {len(second)},"
            f" {len(only)} of them in one only ({', '.join(only[:3])})"
        )
    # Equal ids are not enough: another file may number its questions alike.
    for identity, result in first.items():
        partner = second[identity]
        if (result.question, set(result.gold)) != (partner.question, set(partner.gold)):
            raise EvaluationError(f"question {identity} has another text or gold in the other run")
    return [second[result.question_id] for result in a]


def _make_table(
    results: Sequence[QuestionResult], names: Sequence[str] | None = None
) -> tuple[list[str], Table]:
    """Return the metrics' names, and their values, (questions, metrics)."""
    rows = [metrics_of(result) for result in results]
    columns = list(names or rows[0])
    if any(row.keys() != set(columns) for row in rows):
        raise EvaluationError("the questions weren't measured by the same metrics")
    return columns, np.array([[row[name] for name in columns] for row in rows], dtype=np.float64)


def _number_groups(results: Sequence[QuestionResult], by_conversation: bool) -> NDArray[np.intp]:
    """Return the number of the unit that each question belongs to, from 0: (questions,)."""
    if not by_conversation:
        return np.arange(len(results))
    return np.unique([result.user_id for result in results], return_inverse=True)[1]


def _sum_groups(values: Table, groups: NDArray[np.intp]) -> Table:
    """Return the values summed by group, (groups, metrics)."""
    sums = np.zeros((int(groups.max()) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums


def resample_means(
    values: Table, groups: NDArray[np.intp], *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """Return the means of bootstrap samples of groups, (resamples, metrics) from (n, metrics)."""
    sums, sizes = _sum_groups(values, groups), np.bincount(groups)
    random = np.random.default_rng(seed)
    # Multinomial counts are the same as drawing `units` units with replacement.
    units = len(sizes)
    shares = np.full(units, 1 / units)
    batches: list[Table] = []
    for size in _batch_sizes(resamples):
        counts = random.multinomial(units, shares, size=size)
        batches.append((counts @ sums) / (counts @ sizes)[:, np.newaxis])
    return np.concatenate(batches)


def flip_signs(
    gains: Table, groups: NDArray[np.intp], *, flips: int = FLIPS, seed: int = 0
) -> Table:
    """Return the two-sided p-value of each metric's mean gain, (metrics,) from (n, metrics).

    Exact for few groups; else the share of random flips that reach the gain. The gain itself counts
    as one of them (Phipson and Smyth 2010, Permutation P-values Should Never Be Zero).
    """
    sums = _sum_groups(gains, groups)
    # A flip that gives the same gain in another order of additions must count as reaching it.
    reached = np.abs(sums.sum(axis=0)) - TOLERANCE
    if len(sums) <= MOST_ENUMERATED:
        signs = np.array(list(product((1.0, -1.0), repeat=len(sums))))
        return (np.abs(signs @ sums) >= reached).mean(axis=0)
    random = np.random.default_rng(seed)
    count = np.ones(gains.shape[1])
    for size in _batch_sizes(flips):
        signs = 1.0 - 2.0 * random.integers(0, 2, size=(size, len(sums)))
        count += (np.abs(signs @ sums) >= reached).sum(axis=0)
    return count / (flips + 1)


def _batch_sizes(total: int) -> Iterator[int]:
    """Cut `total` into sizes that fit into memory."""
    for start in range(0, total, BATCH):
        yield min(BATCH, total - start)
