"""Scores of the panel's questions: ranks of the gold, means with intervals, and differences.

Intervals are those of memsense.evaluation: percentile bootstrap, over whole memories if a set has
SEVERAL of them, because questions about one memory are not independent; else over questions.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.panel_sets import Question
from memsense.evaluation import Interval
from memsense.evaluation.statistics import LEVEL, resample_means

Unit: TypeAlias = Literal["memories", "questions", "sets"]

SEVERAL = 5
"""Memories from which a set is resampled by memory: fewer have too few combinations."""

DEPTHS = (5, 10, 20, 50)
DEPTH = max(DEPTHS)
"""Hits of a search; a profile's first hits are the same for each top_k up to list_depth."""

FIRST_HITS = 10
"""First hits whose mean length is reported: longer hits hold more gold."""

CHARACTERS = "characters"
RIGHT_FIRST = "right first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Hit of any system: the turns that it holds, and its length in characters."""

    turn_ids: frozenset[str]
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Result of one question in one system, ranks from 1 and None if not among the hits.

    `gold` has the rank of each group of gold. `other` is the rank of the turn that should stand
    below the gold; it counts only if `has_other`.
    """

    gold: Sequence[int | None]
    characters: float
    has_other: bool = False
    other: int | None = None

    @property
    def best(self) -> int | None:
        """Rank of the first hit with any gold."""
        return min((rank for rank in self.gold if rank is not None), default=None)

    def scores(self) -> dict[str, float]:
        """Return the question's metrics, shares of 1, and the mean length of its first hits."""
        best = self.best
        scores = {
            f"T@{k}": fmean(rank is not None and rank <= k for rank in self.gold) for k in DEPTHS
        }
        scores["any@10"] = float(best is not None and best <= 10)
        scores["first"] = float(best == 1)
        scores["MRR"] = 1 / best if best else 0.0
        if self.has_other:
            # Neither found is no success.
            is_right = best is not None and (self.other is None or best < self.other)
            scores[RIGHT_FIRST] = float(is_right)
        return {**scores, CHARACTERS: self.characters}


def rank_gold(hits: Sequence[Hit], question: Question) -> Ranking:
    """Return the ranks of a question's gold among the hits."""
    lengths = [hit.characters for hit in hits[:FIRST_HITS]]
    return Ranking(
        gold=[_find_rank(hits, group) for group in question.gold],
        characters=fmean(lengths) if lengths else 0.0,
        has_other=bool(question.others),
        other=_find_rank(hits, question.others),
    )


def _find_rank(hits: Sequence[Hit], turn_ids: Collection[str]) -> int | None:
    ranks = (rank for rank, hit in enumerate(hits, 1) if not hit.turn_ids.isdisjoint(turn_ids))
    return next(ranks, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Means of one set, or over sets, with their bootstrap samples.

    `values` is (metrics,) and `samples` (resamples, metrics); `unit` is what was resampled.
    """

    names: Sequence[str]
    values: NDArray[np.float64]
    samples: NDArray[np.float64]
    unit: Unit
    questions: int
    memories: int

    def intervals(self) -> dict[str, Interval]:
        """Return each metric's mean with its 95% interval."""
        tail = 50 * (1 - LEVEL)
        low, high = np.percentile(self.samples, [tail, 100 - tail], axis=0)
        return {
            name: Interval(mean=float(mean), low=float(least), high=float(most))
            for name, mean, least, most in zip(self.names, self.values, low, high, strict=True)
        }


def find_means(
    rows: Sequence[Mapping[str, float]], memories: Sequence[str], *, seed: int = 0
) -> Means:
    """Return the means of a set's rows, a row for each question.

    Args:
        rows: Values by metric; the same metrics in each row.
        memories: The memory of each row.
        seed: Seed of the resampling.
    """
    names = list(rows[0])
    values = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
    users, numbers = np.unique(list(memories), return_inverse=True)
    by_memory = len(users) >= SEVERAL
    groups = numbers if by_memory else np.arange(len(rows))
    return Means(
        names=names,
        values=values.mean(axis=0),
        samples=resample_means(values, groups, seed=seed),
        unit="memories" if by_memory else "questions",
        questions=len(rows),
        memories=len(users),
    )


def average(sets: Sequence[Means]) -> Means:
    """Return the mean over sets, each with the same weight, of the metrics that all have.

    Each set must have been resampled with another seed. The sets themselves are not resampled.
    """
    names = [name for name in sets[0].names if all(name in item.names for item in sets)]
    columns = [[list(item.names).index(name) for name in names] for item in sets]
    pairs = list(zip(sets, columns, strict=True))
    return Means(
        names=names,
        values=np.mean([item.values[places] for item, places in pairs], axis=0),
        samples=np.mean([item.samples[:, places] for item, places in pairs], axis=0),
        unit="sets",
        questions=sum(item.questions for item in sets),
        memories=sum(item.memories for item in sets),
    )
