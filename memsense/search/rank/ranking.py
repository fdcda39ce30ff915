"""What Python does after fusion: memory-score blend, session-first support, MMR and its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from memsense.search.explanation import (
    Explanation,
    Limit,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
)
from memsense.search.profiles import ROUTES, Profile, Route
from memsense.search.question import Question
from memsense.search.rank.signals import NO_TERMS, ScoreTerms, score_terms
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.types import Granularity


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate for the final list, its score explained; a session is stood for by one chunk.

    `row` is the candidate's row. `wanted` says what to show: the candidate itself, or the session
    chunk around it. `own_routes` is False for a session that only its turns brought in: then no
    route found what stands for it.
    """

    candidates: Candidates = field(repr=False)
    row: int
    wanted: Granularity
    final_score: float
    profile: Profile
    terms: tuple[Term, ...]
    own_routes: bool = True
    session: SessionSupport | None = None
    selection: Selection | None = None

    @property
    def candidate(self) -> Candidate:
        """Everything that recall found out about it."""
        return self.candidates[self.row]

    @property
    def explanation(self) -> Explanation:
        """The whole arithmetic."""
        found = self.candidates.route_hits(self.row) if self.own_routes else ()
        routes = contributions(found, self.profile)
        return Explanation(
            chunk_id=int(self.candidates.chunk_ids[self.row]),
            routes=routes,
            rrf_score=sum(route.contribution for route in routes),
            rrf_k=self.profile.rrf_k,
            terms=self.terms,
            session=self.session,
            final_score=self.final_score,
            selection=self.selection,
            profile=self.profile.name,
        )


class Support(NamedTuple):
    """What a session's turns and session chunk gave it; `best_turn` is a row of the candidates."""

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn: int | None


class Entry(NamedTuple):
    """A chunk, or a session and the chunk that stands for it: `row` is that chunk's row."""

    row: int
    score: float
    own_routes: bool = True
    wants_session: bool = False
    support: Support | None = None


class ChunkEntries(Sequence[Entry]):
    """Entries that are chunks; each is made when somebody looks at it."""

    def __init__(self, rows: Sequence[int], scores: Sequence[float]) -> None:
        self._rows = rows
        self._scores = scores

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> "ChunkEntries": ...
    def __getitem__(self, index: int | slice) -> "Entry | ChunkEntries":
        if isinstance(index, slice):
            return ChunkEntries(self._rows[index], self._scores[index])
        return Entry(self._rows[index], self._scores[index])


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """What MMR chose, from what, and where the rest stood when the last choice was made.

    `entries` are in the order of their scores; the arrays have one value for each, (n,).
    `against` is the place in `entries` of the chosen one that an entry is closest to, -1 for
    none; `barred` says what a limit on sessions kept out of that choice; `picks` are the chosen
    places with their steps, in order.
    """

    candidates: Candidates
    profile: Profile
    terms: ScoreTerms
    entries: Sequence[Entry]
    picks: Sequence[tuple[int, Selection]]
    relevance: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    barred: NDArray[np.bool_]

    @cached_property
    def chosen(self) -> list[Ranked]:
        """The final list, best first."""
        return [self._explain(self.entries[place], step) for place, step in self.picks]

    @cached_property
    def scored(self) -> list[Ranked]:
        """Every entry, by score: made only for those who want to see what was not chosen."""
        return [self._explain(entry, None) for entry in self.entries]

    def _explain(self, entry: Entry, selection: Selection | None) -> Ranked:
        is_session = entry.wants_session or self.candidates.is_session[entry.row]
        return Ranked(
            candidates=self.candidates,
            row=entry.row,
            wanted="session" if is_session else "turn",
            final_score=entry.score,
            profile=self.profile,
            terms=self.terms.of(entry.row),
            own_routes=entry.own_routes,
            session=self._explain_support(entry.support) if entry.support else None,
            selection=selection,
        )

    def _explain_support(self, support: Support) -> SessionSupport:
        best = None if support.best_turn is None else self.candidates[support.best_turn]
        return SessionSupport(
            session_rrf_score=support.session_rrf_score,
            turn_support=support.turn_support,
            supporting_turn_count=support.supporting_turn_count,
            best_turn=best.chunk_id if best else None,
            best_turn_rrf_score=best.rrf_score if best else 0.0,
            best_turn_routes=contributions(best.routes, self.profile) if best else (),
        )


def rank_candidates(
    candidates: Candidates,
    *,
    profile: Profile,
    question: Question,
    ceiling: Mapping[str, float],
    top_k: int,
    sessions: bool,
    added: Mapping[int, Term] = NO_TERMS,
) -> Ranking:
    """The final list: at most `top_k` chunks, or sessions when `sessions`.

    `added` holds a further term for some chunks, such as a reranker's. Deterministic: equal scores
    go to the lower chunk id.
    """
    terms = score_terms(
        candidates, profile=profile, question=question, ceiling=ceiling, added=added
    )
    fused = fused_scores(candidates, profile)
    if sessions:
        entries = _session_entries(candidates, profile, fused, terms.totals)
        entries.sort(key=lambda entry: (-entry.score, terms.chunk_ids[entry.row]))
        rows = np.array([entry.row for entry in entries], dtype=np.int64)
        scores = np.array([entry.score for entry in entries], dtype=np.float64)
    else:
        scores = fused + terms.totals
        rows = np.lexsort((candidates.chunk_ids, -scores))
        scores = scores[rows]
        entries = ChunkEntries(rows.tolist(), scores.tolist())
    choice = diversify(candidates, rows, scores, profile, top_k)
    return Ranking(
        candidates=candidates, profile=profile, terms=terms, entries=entries, **choice._asdict()
    )


def fused_scores(candidates: Candidates, profile: Profile) -> NDArray[np.float64]:
    """Each candidate's weighted reciprocal ranks, as far as they count: (n,)."""
    weights = np.array([profile.weights[route] for route in ROUTES])
    shares = np.where(candidates.ranks > 0, weights / (profile.rrf_k + candidates.ranks), 0.0)
    return profile.rrf_weight * shares.sum(axis=1)


def contributions(found: Sequence[RouteHit], profile: Profile) -> tuple[RouteContribution, ...]:
    """The term of a candidate's rrf_score that each route gives which found it, in route order."""
    weights, rrf_k, rrf_weight = profile.weights, profile.rrf_k, profile.rrf_weight
    return tuple(
        [
            RouteContribution(
                route=route,
                rank=rank,
                score=score,
                score_kind=_score_kind(route, profile),
                weight=(weight := weights[route]),
                contribution=rrf_weight * weight / (rrf_k + rank),
            )
            for route, rank, score in found
        ]
    )


def _score_kind(route: Route, profile: Profile) -> str:
    if route == "graph":
        return "graph"
    return profile.lexical_mode if route == "lexical" else "cosine"


def _session_entries(
    candidates: Candidates,
    profile: Profile,
    fused: NDArray[np.float64],
    added: NDArray[np.float64],
) -> list[Entry]:
    """One entry per session: its session chunk and its turns, joined as the profile says."""
    by_rrf = _best_first(candidates, candidates.rrf_scores)
    best_turns = profile.session_scoring == "best_turns"
    order = _best_first(candidates, fused + added) if best_turns else by_rrf
    numbers, is_session = candidates.session_numbers, candidates.is_session.tolist()
    turns: dict[int, list[int]] = {number: [] for number in numbers}
    chunks: dict[int, list[int]] = {number: [] for number in numbers}
    for row in order:
        if not is_session[row]:
            turns[numbers[row]].append(row)
    for row in by_rrf:
        if is_session[row]:
            chunks[numbers[row]].append(row)
    rrf = candidates.rrf_scores.tolist()
    score = _score_best_turns if best_turns else _score_support
    scores = _Scores(rrf, fused.tolist(), added.tolist())
    return [score(chunks[number], found, profile, scores) for number, found in turns.items()]


class _Scores(NamedTuple):
    """By row: the rrf_score, how much of it counts, and what is added to it."""

    rrf: Sequence[float]
    fused: Sequence[float]
    added: Sequence[float]


def _best_first(candidates: Candidates, scores: NDArray[np.float64]) -> list[int]:
    """The rows by descending score, ties by chunk id."""
    return np.lexsort((candidates.chunk_ids, -scores)).tolist()


def _score_support(
    chunks: Sequence[int], turns: Sequence[int], profile: Profile, scores: _Scores
) -> Entry:
    """The frame's formula: the session chunk's own score, supported by its best turn."""
    best_turn = scores.rrf[turns[0]] if turns else 0.0
    support = Support(
        session_rrf_score=scores.rrf[chunks[0]] if chunks else 0.0,
        turn_support=min(profile.turn_support_cap, profile.turn_support_coefficient * best_turn),
        supporting_turn_count=len(turns),
        best_turn=turns[0] if turns else None,
    )
    row = chunks[0] if chunks else turns[0]
    own = scores.fused[row] if chunks else 0.0
    score = own + support.turn_support + scores.added[row]
    return Entry(row, score, bool(chunks), wants_session=True, support=support)


def _score_best_turns(
    chunks: Sequence[int], turns: Sequence[int], profile: Profile, scores: _Scores
) -> Entry:
    """The best turn stands for its session; the next ones and the session chunk add a share."""
    if not turns:
        row = chunks[0]
        return Entry(row, scores.fused[row] + scores.added[row], wants_session=True)
    row = turns[0]
    session_rrf = scores.rrf[chunks[0]] if chunks else 0.0
    second = scores.rrf[turns[1]] if len(turns) > 1 else 0.0
    support = Support(
        session_rrf_score=session_rrf,
        turn_support=profile.second_turn_weight * second
        + profile.session_chunk_weight * session_rrf,
        supporting_turn_count=len(turns) - 1,
        best_turn=row,
    )
    score = scores.fused[row] + support.turn_support + scores.added[row]
    return Entry(row, score, wants_session=True, support=support)


class Choice(NamedTuple):
    """What `diversify` decided; see Ranking."""

    picks: Sequence[tuple[int, Selection]]
    relevance: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    barred: NDArray[np.bool_]


def diversify(
    candidates: Candidates,
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    profile: Profile,
    top_k: int,
) -> Choice:
    """Greedy maximal marginal relevance (Carbonell and Goldstein 1998) over n entries.

    `rows` are the entries' rows of the candidates, by descending `scores`, both (n,). First the
    best, then whichever has the largest λ · relevance - (1 - λ) · redundancy, where redundancy is
    the largest cosine (or tag overlap) to what was chosen. A near-duplicate of a chosen one is
    passed over while others remain. No session gives more than `max_per_session`, and the last
    places are kept for further sessions as far as `min_sessions` needs them.
    """
    relevance = _relevance(scores, profile)
    picks: list[tuple[int, Selection]] = []
    against: NDArray[np.int64] = np.full(len(rows), -1)
    state = after = Choice(picks, relevance, np.zeros(len(rows)), against, against > 0)
    closeness = _Closeness(candidates, rows, profile.tag_redundancy)
    limits = _SessionLimits(candidates, rows, profile, top_k)
    weighted = profile.mmr_lambda * relevance
    marginal = relevance
    while found := _choose(marginal, after.redundancy < profile.duplicate_threshold, limits):
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
        after = _bring_near(state, place, closeness.to(place))
        marginal = weighted - (1 - profile.mmr_lambda) * after.redundancy
    return state._replace(barred=limits.barred())


def _choose(
    scores: NDArray[np.float64], distinct: NDArray[np.bool_], limits: "_SessionLimits"
) -> tuple[int, int] | None:
    """The places of the best that remains and of the best that may be chosen; ties go to the first.

    What was chosen has a score of -inf. None if nothing may be chosen.
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


def _bring_near(state: Choice, place: int, near: NDArray[np.float64]) -> Choice:
    """The state once the entry at this place was chosen, which others are so near to, (n,)."""
    closer = near > state.redundancy
    return Choice(
        state.picks,
        state.relevance,
        redundancy=np.where(closer, near, state.redundancy),
        against=np.where(closer, place, state.against),
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
        duplicate=redundancy >= profile.duplicate_threshold,
    )


class _SessionLimits:
    """Which entries the limits on sessions keep from the next choice."""

    def __init__(
        self, candidates: Candidates, rows: NDArray[np.int64], profile: Profile, top_k: int
    ) -> None:
        self._size = len(rows)
        self._is_on = bool(self._size and (profile.max_per_session or profile.min_sessions))
        if self._is_on:
            numbers = np.array(candidates.session_numbers)
            self._sessions = numbers[rows]
            self._counts = np.zeros(numbers.max() + 1, dtype=np.int64)
            self._most = profile.max_per_session or top_k
            self._places = top_k
            self._wanted = min(profile.min_sessions, len(set(self._sessions.tolist())), top_k)

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
