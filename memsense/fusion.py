"""Reciprocal rank fusion of ranked lists; pure, and usable without the rest of memsense."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import nlargest
from itertools import chain, islice
from math import fsum, isfinite
from typing import Generic, NamedTuple, TypeVar

from memsense.errors import InvalidInputError

T = TypeVar("T")


class Contribution(NamedTuple):
    """Contribution of one list to an id's score: `score = weight / (k + rank)`.

    Attributes:
        ranking: The list's position among the rankings, from 0.
        rank: The id's place in that list, from 1.
        weight: The list's weight.
        score: What the list adds to the id's score.
    """

    ranking: int
    rank: int
    weight: float
    score: float


class Fused(NamedTuple, Generic[T]):
    """Fused id.

    Attributes:
        id: The id.
        item: The item of the first list that holds the id.
        score: The sum of the contributions.
        contributions: One for each list that holds the id.
    """

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
            raise InvalidInputError(
                f"{error}: pass `key`, a function that returns an item's id"
            ) from error
        # From the last to the first, so that a repeated id keeps its best rank. `fromkeys` has
        # fixed the order of the ids before.
        self.ranks.update(zip(reversed(ids), range(len(ids), 0, -1), strict=True))

    def item(self, identity: Hashable) -> T:
        return self.items[self.ranks[identity] - 1]


class _Weighted(NamedTuple, Generic[T]):
    """List with a weight above 0, and its position among the rankings."""

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
    """Fuse ranked lists: an id's score is the sum of `weight / (k + rank)` over the lists.

        best = reciprocal_rank_fusion([["a", "b"], ["b", "c"]])[0]
        best.id, best.score  # "b", 1/62 + 1/61

    Ranks count from 1. A list adds nothing to an id that it lacks, counts an id that it repeats
    once, at its best place, and adds no id at all if its weight is 0. A score is the correctly
    rounded sum of its contributions, so that it doesn't depend on the order of the lists.

    Cormack, Clarke & Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
    Learning Methods", SIGIR 2009.

    Args:
        rankings: The lists, each best first.
        k: Constant that damps the first ranks, finite and at least 0.
        weights: A weight for each list, finite and at least 0; by default 1.
        limit: Maximum number of results; by default all.
        key: Returns an item's id; by default the item is its own id.

    Returns:
        The fused ids, best first. Ids of equal score keep the order in which reading the lists one
        after another meets them.

    Raises:
        InvalidInputError: If an argument is out of range, the number of weights is wrong, or an id
            is not hashable.
    """
    _check_number("k", k)
    _check_limit(limit)
    if weights is None:
        weights = [1.0] * len(rankings)
    elif len(weights) != len(rankings):
        raise InvalidInputError(f"{len(weights)} weights for {len(rankings)} rankings")
    for weight in weights:
        _check_number("a weight", weight)
    # A list of weight 0 is not even read, so that an iterator stays as it is.
    lists = [
        _Weighted(position, weight, _Ranking(rankings[position], key))
        for position, weight in enumerate(weights)
        if weight > 0
    ]
    parts: defaultdict[Hashable, list[float]] = defaultdict(list)
    for _, weight, ranking in lists:
        for identity, rank in ranking.ranks.items():
            parts[identity].append(weight / (k + rank))
    # fsum rounds once, so that the order of the lists doesn't change a score's last bits.
    scores = {identity: fsum(terms) for identity, terms in parts.items()}
    best = nlargest(len(scores) if limit is None else limit, scores, key=scores.__getitem__)
    # Only results get their contributions listed, since a limit leaves few of all ids.
    return [_explain(identity, scores[identity], lists, k) for identity in best]


def fuse_pair(
    vector_ranking: Iterable[T],
    text_ranking: Iterable[T],
    *,
    vector_weight: float = 0.7,
    k: float = 60,
    limit: int | None = None,
    key: Callable[[T], Hashable] | None = None,
) -> list[Fused[T]]:
    """Fuse two lists by one weight: `vector_weight` for the first, the rest for the second.

    Args:
        vector_ranking: The first list, best first.
        text_ranking: The second list, best first.
        vector_weight: From 0, where only the second list counts, to 1, where only the first does.
        k: As of `reciprocal_rank_fusion`.
        limit: Maximum number of results; by default all.
        key: Returns an item's id; by default the item is its own id.

    Returns:
        The fused ids, as `reciprocal_rank_fusion` returns them.

    Raises:
        InvalidInputError: If an argument is out of range, or an id is not hashable.
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
    """Return the union of the lists without scores: each id once, at its first appearance.

    Args:
        rankings: The lists. They are read one after another, so that with a limit the first ones
            come first.
        limit: Maximum number of results; by default all.
        key: Returns an item's id; by default the item is its own id.

    Raises:
        InvalidInputError: If the limit is negative, or an id is not hashable.
    """
    _check_limit(limit)
    union = _Ranking(chain.from_iterable(rankings), key)
    return [union.item(identity) for identity in islice(union.ranks, limit)]


def _explain(identity: Hashable, score: float, lists: Sequence[_Weighted[T]], k: float) -> Fused[T]:
    holding = [entry for entry in lists if identity in entry.ranking.ranks]
    contributions: list[Contribution] = []
    for position, weight, ranking in holding:
        rank = ranking.ranks[identity]
        contributions.append(Contribution(position, rank, weight, weight / (k + rank)))
    return Fused(identity, holding[0].ranking.item(identity), score, tuple(contributions))


def _check_number(name: str, value: float) -> None:
    if not (isfinite(value) and value >= 0):
        raise InvalidInputError(f"{name} must be a finite number from 0 up, not {value}")


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise InvalidInputError(f"limit must not be negative: {limit}")
