"""Fuses ranked lists by reciprocal rank; pure, and usable without the rest of memsense."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import nlargest
from itertools import chain, islice
from math import fsum, isfinite
from typing import Generic, NamedTuple, TypeVar

from memsense.errors import InvalidInputError

T = TypeVar("T")


class Contribution(NamedTuple):
    """What one list adds to an id's score: `score = weight / (k + rank)`."""

    ranking: int
    """The list's position among the rankings, from 0."""
    rank: int
    """The id's place in that list, from 1."""
    weight: float
    score: float


class Fused(NamedTuple, Generic[T]):
    """One fused id: its item, its score, and what each list that holds it added to the score."""

    id: Hashable
    item: T
    score: float
    contributions: tuple[Contribution, ...]


class _Ranking(Generic[T]):
    """One list: its items, and the best rank of each id, in the list's order."""

    def __init__(self, items: Iterable[T], key: Callable[[T], Hashable] | None) -> None:
        self.items = list(items)
        ids = self.items if key is None else [key(item) for item in self.items]
        try:
            self.ranks: dict[Hashable, int] = dict.fromkeys(ids, 0)
        except TypeError as error:
            raise InvalidInputError(f"{error}: give a key that makes ids of the items") from error
        self.ranks.update(zip(reversed(ids), range(len(ids), 0, -1), strict=True))

    def item(self, identity: Hashable) -> T:
        return self.items[self.ranks[identity] - 1]


class _Weighted(NamedTuple, Generic[T]):
    """A list that takes part, with its position among the rankings and its weight."""

    position: int
    weight: float
    ranking: _Ranking[T]


def reciprocal_rank_fusion(
    rankings: Sequence[Iterable[T]],
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    limit: int | None = None,
    key: Callable[[T], Hashable] | None = None,
) -> list[Fused[T]]:
    """The items of all lists, best first, by the sum of `weight / (k + rank)` over the lists.

        best = reciprocal_rank_fusion([["a", "b"], ["b", "c"]])[0]
        best.id, best.score  # "b", 1/62 + 1/61

    Ranks count from 1. An item's id is `key(item)`, or the item itself. A list adds nothing to an
    id that it lacks, counts an id that it repeats once, at its best place, and adds no id at all
    if its weight is 0. `Fused.item` is the item of the first list that holds the id. Ids of equal
    score keep the order in which reading the lists one after another meets them. A score is the
    correctly rounded sum of its contributions, so it doesn't depend on the order of the lists.

    Raises InvalidInputError unless k and the weights (one per list, by default 1) are finite and
    not negative, `limit` is not negative, and the ids are hashable.

    Cormack, Clarke & Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.
    """
    _check_number("k", k)
    _check_limit(limit)
    lists = [
        _Weighted(position, weight, _Ranking(rankings[position], key))
        for position, weight in enumerate(_checked_weights(weights, len(rankings)))
        if weight > 0
    ]
    scores = _scores(lists, k)
    best = nlargest(len(scores) if limit is None else limit, scores, key=scores.__getitem__)
    return [_explain(identity, scores[identity], lists, k) for identity in best]


def fuse_pair(
    vector_ranking: Iterable[T],
    text_ranking: Iterable[T],
    *,
    vector_weight: float = 0.5,
    k: float = 60,
    limit: int | None = None,
    key: Callable[[T], Hashable] | None = None,
) -> list[Fused[T]]:
    """Two lists fused by one knob: weight `vector_weight` for the first, the rest for the second.

    At 1 only the first list counts, at 0 only the second. Otherwise as `reciprocal_rank_fusion`.
    Raises InvalidInputError also for a `vector_weight` outside 0 to 1.
    """
    if not 0 <= vector_weight <= 1:
        raise InvalidInputError(f"vector_weight must be from 0 to 1, not {vector_weight}")
    return reciprocal_rank_fusion(
        [vector_ranking, text_ranking],
        k=k,
        weights=[vector_weight, 1 - vector_weight],
        limit=limit,
        key=key,
    )


def merge(
    rankings: Sequence[Iterable[T]],
    limit: int | None = None,
    *,
    key: Callable[[T], Hashable] | None = None,
) -> list[T]:
    """The union of the lists without scores: each id once, in the order of its first appearance.

    The lists are read one after another, so with a limit the first ones are served first.
    Raises InvalidInputError for a negative limit or an unhashable id.
    """
    _check_limit(limit)
    union = _Ranking(chain.from_iterable(rankings), key)
    return [union.item(identity) for identity in islice(union.ranks, limit)]


def _scores(lists: Sequence[_Weighted[T]], k: float) -> dict[Hashable, float]:
    """The sum of each id's contributions, the ids in the order of their first appearance."""
    parts: defaultdict[Hashable, list[float]] = defaultdict(list)
    for _, weight, ranking in lists:
        for identity, rank in ranking.ranks.items():
            parts[identity].append(weight / (k + rank))
    return {identity: fsum(terms) for identity, terms in parts.items()}


def _explain(identity: Hashable, score: float, lists: Sequence[_Weighted[T]], k: float) -> Fused[T]:
    holding = [entry for entry in lists if identity in entry.ranking.ranks]
    contributions: list[Contribution] = []
    for position, weight, ranking in holding:
        rank = ranking.ranks[identity]
        contributions.append(Contribution(position, rank, weight, weight / (k + rank)))
    return Fused(identity, holding[0].ranking.item(identity), score, tuple(contributions))


def _checked_weights(weights: Sequence[float] | None, n: int) -> Sequence[float]:
    if weights is None:
        return [1.0] * n
    if len(weights) != n:
        raise InvalidInputError(f"{len(weights)} weights for {n} rankings")
    for weight in weights:
        _check_number("a weight", weight)
    return weights


def _check_number(name: str, value: float) -> None:
    if not (isfinite(value) and value >= 0):
        raise InvalidInputError(f"{name} must be a finite number from 0 up, not {value}")


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise InvalidInputError(f"limit must not be negative: {limit}")
