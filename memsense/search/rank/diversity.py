"""Chooses hits by maximal marginal relevance, within the limits on sessions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.search.explanation import Limit, Selection
from memsense.search.profiles import Profile
from memsense.search.rank.duplicates import Differing, none_differ
from memsense.search.recall.candidates import Candidates


class Choice(NamedTuple):
    """What `diversify` decided; see Ranking."""

    picks: Sequence[tuple[int, Selection]]
    relevance: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    duplicates: NDArray[np.bool_]
    barred: NDArray[np.bool_]


def diversify(
    candidates: Candidates,
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    profile: Profile,
    top_k: int,
    *,
    differing: Differing = none_differ,
    eligible: int | None = None,
) -> Choice:
    """Greedy maximal marginal relevance (Carbonell and Goldstein 1998) over n entries.

    `rows` are the entries' rows of the candidates, by descending `scores`, both (n,). First the
    best, then whichever has the largest λ · relevance - (1 - λ) · redundancy, where redundancy is
    the largest cosine (or tag overlap) to what was chosen. A near-duplicate of a chosen one, whose
    text is not `differing`, is passed over while others remain. Only the first `eligible` entries
    may be chosen (None: all); relevance stays a share of the range of all. No session gives more
    than `max_per_session`, and the last places are kept for further sessions as far as
    `min_sessions` needs them.
    """
    relevance = _relevance(scores, profile)
    picks: list[tuple[int, Selection]] = []
    against: NDArray[np.int64] = np.full(len(rows), -1)
    nowhere = against > 0
    state = after = Choice(picks, relevance, np.zeros(len(rows)), against, nowhere, nowhere)
    closeness = _Closeness(candidates, rows, profile.tag_redundancy)
    limits = _SessionLimits(candidates, rows, profile, top_k, eligible)
    may_be_chosen = np.arange(len(rows)) < (len(rows) if eligible is None else eligible)
    weighted = np.where(may_be_chosen, profile.mmr_lambda * relevance, -np.inf)
    marginal = np.where(may_be_chosen, relevance, -np.inf)
    while found := _choose(marginal, ~after.duplicates, limits):
        state = after
        first, place = found
        step = _as_step(candidates, rows, profile, state, place)
        if first != place:
            passed_over = int(candidates.chunk_ids[rows[first]])
            step = replace(step, limited_by=limits.name(first), passed_over=passed_over)
        picks.append((place, step))
        if len(picks) == top_k:
            break
        limits.count(place)
        weighted[place] = -np.inf
        near = closeness.to(place)
        close = near >= profile.duplicate_threshold
        if np.count_nonzero(close) > 1 and (  # it is close to itself
            others := differing(int(candidates.chunk_ids[rows[place]]))
        ):
            close &= ~np.isin(candidates.chunk_ids[rows], list(others))
        after = _bring_near(state, place, near, close)
        marginal = weighted - (1 - profile.mmr_lambda) * after.redundancy
    return state._replace(barred=limits.barred())


def _choose(
    scores: NDArray[np.float64], distinct: NDArray[np.bool_], limits: "_SessionLimits"
) -> tuple[int, int] | None:
    """The places of the best that remains and of the best that may be chosen; ties go to the first.

    What was chosen, or may not be, has a score of -inf. None if nothing may be chosen.
    """
    if not len(scores):
        return None
    first = int(scores.argmax())
    if distinct[first] and not limits.bars(first) and scores[first] > -np.inf:
        return first, first
    allowed = (scores > -np.inf) & ~limits.barred()
    fresh = allowed & distinct
    pool = fresh if fresh.any() else allowed
    return (first, int(np.where(pool, scores, -np.inf).argmax())) if pool.any() else None


def _bring_near(
    state: Choice, place: int, near: NDArray[np.float64], close: NDArray[np.bool_]
) -> Choice:
    """The state once the entry at this place was chosen, which others are so near to, (n,), and
    some so `close` that they duplicate it."""
    closer = near > state.redundancy
    return Choice(
        state.picks,
        state.relevance,
        redundancy=np.where(closer, near, state.redundancy),
        against=np.where(closer, place, state.against),
        duplicates=state.duplicates | close,
        barred=state.barred,
    )


def _as_step(
    candidates: Candidates,
    rows: NDArray[np.int64],
    profile: Profile,
    state: Choice,
    place: int,
) -> Selection:
    rival = state.against.item(place)
    relevance, redundancy = state.relevance.item(place), state.redundancy.item(place)
    return Selection(
        selected_rank=len(state.picks) + 1,
        relevance=relevance,
        max_redundancy=redundancy,
        against=int(candidates.chunk_ids[rows[rival]]) if rival >= 0 else None,
        mmr_lambda=profile.mmr_lambda,
        mmr_score=profile.mmr_lambda * relevance - (1 - profile.mmr_lambda) * redundancy,
        duplicate=bool(state.duplicates[place]),
    )


class _SessionLimits:
    """Which entries the limits on sessions keep from the next choice."""

    def __init__(
        self,
        candidates: Candidates,
        rows: NDArray[np.int64],
        profile: Profile,
        top_k: int,
        eligible: int | None,
    ) -> None:
        self._size = len(rows)
        self._is_on = bool(self._size and (profile.max_per_session or profile.min_sessions))
        if self._is_on:
            numbers = np.array(candidates.session_numbers)
            self._sessions = numbers[rows]
            self._counts = np.zeros(numbers.max() + 1, dtype=np.int64)
            self._most = profile.max_per_session or top_k
            self._places = top_k
            reachable = set(self._sessions[:eligible].tolist())
            self._wanted = min(profile.min_sessions, len(reachable), top_k)

    def count(self, place: int) -> None:
        """Take note of a choice."""
        if self._is_on:
            self._counts[self._sessions[place]] += 1
            self._places -= 1

    def bars(self, place: int) -> bool:
        """Whether the entry at this place is kept from the next choice."""
        return self._is_on and bool(self._full_sessions()[self._sessions[place]])

    def barred(self) -> NDArray[np.bool_]:
        """`bars` for every entry, (n,)."""
        if not self._is_on:
            return np.zeros(self._size, dtype=bool)
        return self._full_sessions()[self._sessions]

    def _full_sessions(self) -> NDArray[np.bool_]:
        full = self._counts >= self._most
        missing = self._wanted - np.count_nonzero(self._counts)
        return full | (self._counts > 0) if missing >= self._places else full

    def name(self, place: int) -> Limit:
        """What keeps an entry from being chosen that would be best."""
        if not self.bars(place):
            return "duplicate_threshold"
        is_full = self._counts[self._sessions[place]] >= self._most
        return "max_per_session" if is_full else "min_sessions"


def _relevance(scores: NDArray[np.float64], profile: Profile) -> NDArray[np.float64]:
    """The descending scores as shares of their range, unless the profile wants them as they are."""
    if profile.relevance == "raw" or not len(scores):
        return scores
    high, low = scores[0], scores[-1]
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


class _Closeness:
    """How redundant entries are to one another; one without a vector is redundant to none."""

    def __init__(
        self, candidates: Candidates, rows: NDArray[np.int64], tag_redundancy: float
    ) -> None:
        self._vectors = candidates.embeddings.take(rows, axis=0)
        self._tag_redundancy = tag_redundancy
        tags = candidates.tags
        ids: list[int] = candidates.chunk_ids[rows].tolist() if tags else []
        self._tags = [tags.get(chunk_id, frozenset()) for chunk_id in ids]

    def to(self, place: int) -> NDArray[np.float64]:
        """The redundancy of every entry to the one at this place, (n,), at least 0."""
        cosines = np.maximum((self._vectors @ self._vectors[place]).astype(np.float64), 0.0)
        if not self._tags or not self._tags[place]:
            return cosines
        own = self._tags[place]
        overlap = [len(own & other) / len(own | other) for other in self._tags]
        return np.maximum(cosines, self._tag_redundancy * np.array(overlap))
