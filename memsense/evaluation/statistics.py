"""How sure a measured mean or difference is: bootstrap intervals and a paired test.

Intervals are percentile bootstrap intervals (Efron and Tibshirani 1993, An Introduction to the
Bootstrap, ch. 13) over questions, or over whole conversations, whose questions aren't independent.
The paired test is Fisher's randomisation test: under the null hypothesis each question's
difference might as well have the other sign (Smucker, Allan and Carterette 2007, A Comparison of
Statistical Significance Tests for Information Retrieval Evaluation).
"""

from collections.abc import Iterator, Mapping, Sequence
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
MOST_ENUMERATED = 13
"""Up to so many units every pattern of signs is tried (8,192), so that the p-value is exact."""
TOLERANCE = 1e-12

Table: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean with its 95% interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What `b` gains over `a` in one metric, per question.

    `p_value` is two-sided and holds for this metric alone: of 20 metrics without any
    difference, one is below 0.05.
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
        """The difference as plain values, ready for JSON."""
        return asdict(self)


def metrics_of(result: QuestionResult) -> dict[str, float]:
    """A question's metrics under flat names such as `session.recall@5`."""
    return {
        **{f"session.{name}": value for name, value in result.session.items()},
        **{f"turn.{name}": value for name, value in result.turn.items()},
    }


def intervals(
    results: Sequence[QuestionResult], *, by_conversation: bool = False, seed: int = 0
) -> dict[str, Interval]:
    """Each metric's mean with its 95% interval, by 1,000 resamples; {} without questions."""
    if not results:
        return {}
    names, values = _table(results)
    means = resample_means(values, _groups(results, by_conversation), seed=seed)
    return _named_intervals(names, values, means)


def intervals_by_split(
    results: Sequence[QuestionResult], *, by_conversation: bool = False, seed: int = 0
) -> dict[str, dict[str, Interval]]:
    """`intervals` of all questions and of each split's."""
    return {
        split: intervals(found, by_conversation=by_conversation, seed=seed)
        for split, found in _by_split(results).items()
    }


def _by_split(results: Sequence[QuestionResult]) -> dict[str, Sequence[QuestionResult]]:
    """All results, and those of each split."""
    splits = sorted({result.split for result in results} - {"", "all"})
    return {"all": results} | {
        split: [result for result in results if result.split == split] for split in splits
    }


def _named_intervals(names: Sequence[str], values: Table, means: Table) -> dict[str, Interval]:
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
    """What the second run gains over the first in each metric, question by question.

    Raises EvaluationError when the runs didn't answer the same questions with the same metrics.
    """
    partners = _partners(a, b)
    names, before = _table(a)
    after = _table(partners, names)[1]
    gains = after - before
    groups = _groups(a, by_conversation)
    found = _named_intervals(names, gains, resample_means(gains, groups, seed=seed))
    p_values = flip_signs(gains, groups, seed=seed)
    return [
        Difference(
            metric=name,
            a=float(before[:, column].mean()),
            b=float(after[:, column].mean()),
            difference=found[name].mean,
            low=found[name].low,
            high=found[name].high,
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
    """`compare` of all questions and of each split's."""
    other = _by_split(b)
    return {
        split: compare(found, other.get(split, ()), by_conversation=by_conversation, seed=seed)
        for split, found in _by_split(a).items()
    }


def _partners(a: Sequence[QuestionResult], b: Sequence[QuestionResult]) -> list[QuestionResult]:
    """The results of `b` in the order of `a`'s questions."""
    first, second = _by_question(a), _by_question(b)
    if not a or first.keys() != second.keys():
        only = sorted(first.keys() ^ second.keys())
        raise EvaluationError(
            f"the runs answered other questions: {len(first)} and {len(second)},"
            f" {len(only)} of them in one only ({', '.join(only[:3])})"
        )
    for identity, result in first.items():
        partner = second[identity]
        if (result.question, set(result.gold)) != (partner.question, set(partner.gold)):
            raise EvaluationError(f"question {identity} has another text or gold in the other run")
    return [second[result.question_id] for result in a]


def _by_question(results: Sequence[QuestionResult]) -> Mapping[str, QuestionResult]:
    found = {result.question_id: result for result in results}
    if len(found) < len(results):
        raise EvaluationError("a question is answered more than once in one run")
    return found


def _table(
    results: Sequence[QuestionResult], names: Sequence[str] | None = None
) -> tuple[list[str], Table]:
    """The metrics' names, and their values: (questions, metrics)."""
    rows = [metrics_of(result) for result in results]
    columns = list(names or rows[0])
    if any(row.keys() != set(columns) for row in rows):
        raise EvaluationError("the questions weren't measured by the same metrics")
    return columns, np.array([[row[name] for name in columns] for row in rows], dtype=np.float64)


def _groups(results: Sequence[QuestionResult], by_conversation: bool) -> NDArray[np.intp]:
    """The number of the unit that each question belongs to, counted from 0."""
    if not by_conversation:
        return np.arange(len(results))
    return np.unique([result.user_id for result in results], return_inverse=True)[1]


def _sums(values: Table, groups: NDArray[np.intp]) -> Table:
    """The values summed by group: (groups, metrics)."""
    sums = np.zeros((int(groups.max()) + 1, values.shape[1]))
    np.add.at(sums, groups, values)
    return sums


def resample_means(
    values: Table, groups: NDArray[np.intp], *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """The means of bootstrap samples of whole groups: (resamples, metrics) from (n, metrics)."""
    sums, sizes = _sums(values, groups), np.bincount(groups)
    random = np.random.default_rng(seed)
    units = len(sizes)
    shares = np.full(units, 1 / units)
    batches: list[Table] = []
    for size in _batches(resamples):
        drawn = random.multinomial(units, shares, size=size)
        batches.append((drawn @ sums) / (drawn @ sizes)[:, np.newaxis])
    return np.concatenate(batches)


def flip_signs(
    gains: Table, groups: NDArray[np.intp], *, flips: int = FLIPS, seed: int = 0
) -> Table:
    """The two-sided p-value of each metric's mean gain: (metrics,) from (n, metrics).

    Exact for few groups; else the share of random flips that reach the gain, itself counted as
    one (Phipson and Smyth 2010, Permutation P-values Should Never Be Zero).
    """
    sums = _sums(gains, groups)
    reached = np.abs(sums.sum(axis=0)) - TOLERANCE
    if len(sums) <= MOST_ENUMERATED:
        signs = np.array(list(product((1.0, -1.0), repeat=len(sums))))
        return (np.abs(signs @ sums) >= reached).mean(axis=0)
    random = np.random.default_rng(seed)
    count = np.ones(gains.shape[1])
    for size in _batches(flips):
        signs = 1.0 - 2.0 * random.integers(0, 2, size=(size, len(sums)))
        count += (np.abs(signs @ sums) >= reached).sum(axis=0)
    return count / (flips + 1)


def _batches(total: int) -> Iterator[int]:
    """`total` cut into sizes that fit into memory."""
    for start in range(0, total, BATCH):
        yield min(BATCH, total - start)
