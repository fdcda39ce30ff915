"""The choose phase: ranks the scored candidates and chooses hits by maximal marginal relevance."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from memsense.embed import QuestionTokens
from memsense.search.explanation import (
    Explanation,
    Limit,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
)
from memsense.search.profiles import ROUTES, Profile
from memsense.search.question import Question
from memsense.search.rank.score import NO_TERMS, ScoreTerms, rows_alone, score_terms
from memsense.search.rank.sessions import Entry, Support, session_entries
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.types import Granularity

FetchTexts = Callable[[Candidates], Mapping[int, str]]
"""Fetches the whole texts of candidates, by chunk id; chunks deleted meanwhile are left out."""

FindDiffering = Callable[[int], frozenset[int]]
"""Returns the chunks whose vectors duplicate a chunk's, but whose texts differ from its text."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """An entry of the ranking with its score: a chunk, or a session and its chunk.

    `row` is the row of the chunk, or of the chunk that stands for the session. `shows` says what
    to show: the chunk, or its session around `best`, the rows of the exchanges that brought it in
    with their scores, best first. `own_routes` is False for a session chunk that no route found:
    only the session's turns brought it in.
    """

    candidates: Candidates = field(repr=False)
    row: int
    shows: Granularity
    final_score: float
    profile: Profile
    terms: ScoreTerms = field(repr=False)
    own_routes: bool = True
    session: SessionSupport | None = None
    selection: Selection | None = None
    best: Sequence[tuple[int, float]] = ()

    @property
    def candidate(self) -> Candidate:
        """Return everything that recall read of the chunk."""
        return self.candidates[self.row]

    @property
    def explanation(self) -> Explanation:
        """Return the full computation of the score."""
        hits = self.candidates.route_hits(self.row) if self.own_routes else ()
        routes = contributions(hits, self.profile)
        scored = self.terms.explain(self.row)
        return Explanation(
            chunk_id=self.candidates.chunk_ids.item(self.row),
            routes=routes,
            rrf_score=sum([route.contribution for route in routes]),
            rrf_k=self.profile.rrf_k,
            terms=scored.terms,
            session=self.session,
            final_score=self.final_score,
            selection=self.selection,
            profile=self.profile.name,
            matches=scored.matches,
            sides=scored.sides,
            coverage=scored.coverage,
            similarity=scored.similarity,
            model=self._model,
        )

    @property
    def _model(self) -> str:
        """The model of whose vectors the cosines are."""
        return self.candidates.models[int(self.candidates.by_other[self.row])]


class ChunkEntries(Sequence[Entry]):
    """Entries that are chunks; each is made when it is looked at."""

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
    """The entries in the order of their scores, and the choice of hits among them.

    If `sessions` are ranked, an entry stands for a session, else for an exchange, or for each part
    of one if the profile lets several parts be hits. The first `eligible` entries may be chosen:
    those that score at least `min_score`, if there is one. `picks` are the chosen places with their
    steps, in order. The arrays (n,) hold the entries' state at the last choice: `relevance`, its
    `redundancy` to the hits before, `against` the place of the hit that it is closest to (-1 for
    none), whether it is among `duplicates` of a hit, and whether a limit on sessions `barred` it.
    """

    candidates: Candidates
    profile: Profile
    terms: ScoreTerms
    entries: Sequence[Entry]
    sessions: bool
    min_score: float | None
    eligible: int
    picks: Sequence[tuple[int, Selection]]
    relevance: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    duplicates: NDArray[np.bool_]
    barred: NDArray[np.bool_]

    @cached_property
    def chosen(self) -> list[Ranked]:
        """Return the final list, best first."""
        return self._explain([(self.entries[place], step) for place, step in self.picks])

    @cached_property
    def duplicate_rows(self) -> frozenset[int]:
        """Return the rows that duplicated a hit when they, or the last hit, were chosen."""
        rows = {self.entries[int(place)].row for place in np.flatnonzero(self.duplicates)}
        picked = {self.entries[place].row: step.duplicate for place, step in self.picks}
        return frozenset(row for row in rows | picked.keys() if picked.get(row, True))

    @cached_property
    def scored(self) -> list[Ranked]:
        """Return every entry by score, chosen or not."""
        return self._explain([(entry, None) for entry in self.entries])

    def _explain(self, picks: Sequence[tuple[Entry, Selection | None]]) -> list[Ranked]:
        is_session = self.candidates.is_session
        return [
            Ranked(
                candidates=self.candidates,
                row=entry.row,
                shows="session" if entry.wants_session or is_session[entry.row] else "turn",
                final_score=entry.score,
                profile=self.profile,
                terms=self.terms,
                own_routes=entry.own_routes,
                session=self._explain_support(entry.support) if entry.support else None,
                selection=selection,
                best=entry.best,
            )
            for entry, selection in picks
        ]

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
    differing: FindDiffering = lambda _: frozenset(),
    tokens: QuestionTokens | None = None,
    min_score: float | None = None,
) -> Ranking:
    """Return the ranking of the candidates with a choice of at most `top_k` chunks or `sessions`.

    `added` maps chunk ids to a further term, such as a reranker's; `differing` finds chunks whose
    texts make them no duplicates; `tokens` are the question's, if the candidates have come with
    theirs. Entries that score below `min_score` are ranked, but not chosen. The result is
    deterministic: equal scores go to the lower chunk id.
    """
    terms = score_terms(
        candidates,
        profile=profile,
        question=question,
        ceiling=ceiling,
        added=added,
        tokens=tokens,
        sessions=sessions,
    )
    fused = fused_scores(candidates, profile)
    if sessions:
        entries = session_entries(candidates, profile, fused, terms.totals)
        entries.sort(key=lambda entry: (-entry.score, terms.chunk_ids[entry.row]))
        rows = np.array([entry.row for entry in entries], dtype=np.int64)
        scores = np.array([entry.score for entry in entries], dtype=np.float64)
    else:
        scores = fused + terms.totals
        rows = np.lexsort((candidates.chunk_ids, -scores))
        if profile.one_per_exchange and candidates.parts.any():
            # Of the parts of an exchange, only the best one may be a hit: the first of its number.
            firsts = np.unique(candidates.exchange_numbers[rows], return_index=True)[1]
            rows = rows[np.sort(firsts)]
        scores = scores[rows]
        entries = ChunkEntries(rows.tolist(), scores.tolist())
    eligible = len(rows) if min_score is None else int(np.count_nonzero(scores >= min_score))
    choice = _diversify(candidates, rows, scores, profile, top_k, differing, eligible)
    return Ranking(
        candidates=candidates,
        profile=profile,
        terms=terms,
        entries=entries,
        sessions=sessions,
        min_score=min_score,
        eligible=eligible,
        picks=choice.picks,
        relevance=choice.relevance,
        redundancy=choice.state.redundancy,
        against=choice.state.against,
        duplicates=choice.state.duplicates,
        barred=choice.barred,
    )


def fused_scores(candidates: Candidates, profile: Profile) -> NDArray[np.float64]:
    """Return each candidate's weighted reciprocal ranks, times the profile's rrf_weight, (n,)."""
    weights = np.array([profile.weights[route] for route in ROUTES])
    shares = np.where(candidates.ranks > 0, weights / (profile.rrf_k + candidates.ranks), 0.0)
    return profile.rrf_weight * shares.sum(axis=1)


def contributions(hits: Sequence[RouteHit], profile: Profile) -> tuple[RouteContribution, ...]:
    """Return the share of each route that found a candidate in its rrf_score, in route order."""
    weights, rrf_k, rrf_weight = profile.weights, profile.rrf_k, profile.rrf_weight
    # All routes but these are vector routes. An optional route is a kind of score of its own.
    kinds = {"lexical": profile.lexical_mode, **{route: route for route in OPTIONAL_ROUTES}}
    return tuple(
        [
            RouteContribution(
                route=route,
                rank=rank,
                score=score,
                score_kind=kinds.get(route, "cosine"),
                weight=(weight := weights[route]),
                contribution=rrf_weight * weight / (rrf_k + rank),
            )
            for route, rank, score in hits
        ]
    )


@dataclass(frozen=True, slots=True)
class _State:
    """The redundancy of n entries to the hits chosen so far; see Ranking."""

    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    duplicates: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Choice:
    """The steps of MMR, with the state of the entries at the last one; see Ranking."""

    picks: Sequence[tuple[int, Selection]]
    relevance: NDArray[np.float64]
    state: _State
    barred: NDArray[np.bool_]


def _diversify(  # noqa: PLR0917 (one caller)
    candidates: Candidates,
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
    profile: Profile,
    top_k: int,
    differing: FindDiffering,
    eligible: int,
) -> _Choice:
    """Choose by greedy maximal marginal relevance (Carbonell and Goldstein 1998) among n entries.

    `rows` are the entries' rows by descending `scores`, both (n,). The first choice is the best
    entry, each further one the entry with the largest λ · relevance - (1 - λ) · redundancy, where
    redundancy is the largest cosine (or tag overlap) to a hit chosen before. A near-duplicate of a
    hit, unless their texts differ, is passed over while others remain.
    """
    count = len(rows)
    # Raw scores of 0.05 to 0.5 against cosines of 0 to 1 cost 1 to 2 points of recall; relevance as
    # a share of the range of all entries, the eligible and the others, costs nothing.
    relevance = scores
    if profile.relevance == "normalised" and count:
        high, low = scores[0], scores[-1]
        relevance = (scores - low) / (high - low) if high > low else np.ones(count)
    chunk_ids = candidates.chunk_ids[rows]
    # An entry without a vector has a row of zeros: it is redundant to none.
    vectors = candidates.embeddings.take(rows, axis=0)
    tags: list[frozenset[str]] = []
    if candidates.tags:
        tags = [candidates.tags.get(chunk_id, frozenset()) for chunk_id in chunk_ids.tolist()]
    limits = None
    if count and (profile.max_per_session or profile.min_sessions):
        limits = _SessionLimits(candidates, rows, profile, eligible)
    nowhere = np.zeros(count, dtype=bool)
    state = following = _State(np.zeros(count), np.full(count, -1), nowhere)
    may_be_chosen = np.arange(count) < eligible
    # What was chosen, or may not be, has a value of -inf. Ties go to the first, the better score.
    weighted = np.where(may_be_chosen, profile.mmr_lambda * relevance, -np.inf)
    marginal = np.where(may_be_chosen, relevance, -np.inf)
    picks: list[tuple[int, Selection]] = []
    while count:
        first = place = int(marginal.argmax())
        is_barred = limits is not None and limits.bars(first)
        if following.duplicates[first] or is_barred or marginal[first] == -np.inf:
            allowed = (marginal > -np.inf) & ~(nowhere if limits is None else limits.barred())
            if not allowed.any():
                break
            distinct = allowed & ~following.duplicates
            pool = distinct if distinct.any() else allowed
            place = int(np.where(pool, marginal, -np.inf).argmax())
        # From here on the choice is made: explanations of what is left read the state before it.
        state = following
        rival = state.against.item(place)
        own, redundancy = relevance.item(place), state.redundancy.item(place)
        limit: Limit | None = None
        if first != place:
            limit = "duplicate_threshold"
            if limits is not None and is_barred:
                limit = limits.name(first)
        step = Selection(
            selected_rank=len(picks) + 1,
            relevance=own,
            max_redundancy=redundancy,
            against=chunk_ids.item(rival) if rival >= 0 else None,
            mmr_lambda=profile.mmr_lambda,
            mmr_score=profile.mmr_lambda * own - (1 - profile.mmr_lambda) * redundancy,
            duplicate=bool(state.duplicates[place]),
            limited_by=limit,
            passed_over=chunk_ids.item(first) if first != place else None,
        )
        picks.append((place, step))
        if len(picks) == top_k:
            break
        if limits is not None:
            limits.count(place)
        weighted[place] = -np.inf
        near = np.maximum((vectors @ vectors[place]).astype(np.float64), 0.0)
        if tags and tags[place]:
            overlap = [len(tags[place] & other) / len(tags[place] | other) for other in tags]
            near = np.maximum(near, profile.tag_redundancy * np.array(overlap))
        close = near >= profile.duplicate_threshold
        # An entry is close to itself: only a second one makes the texts worth reading.
        if np.count_nonzero(close) > 1 and (others := differing(chunk_ids.item(place))):
            close &= ~np.isin(chunk_ids, list(others))
        is_closer = near > state.redundancy
        following = _State(
            redundancy=np.where(is_closer, near, state.redundancy),
            against=np.where(is_closer, place, state.against),
            duplicates=state.duplicates | close,
        )
        marginal = weighted - (1 - profile.mmr_lambda) * following.redundancy
    return _Choice(picks, relevance, state, nowhere if limits is None else limits.barred())


class _SessionLimits:
    """The entries that the profile's limits on sessions keep from the next choice.

    No session gives more than `max_per_session` hits, and the first `min_sessions` hits are of
    different sessions. Neither depends on the number of hits: a shorter list is the beginning of a
    longer one.
    """

    def __init__(
        self,
        candidates: Candidates,
        rows: NDArray[np.int64],
        profile: Profile,
        eligible: int,
    ) -> None:
        numbers = np.array(candidates.session_numbers)
        self._sessions = numbers[rows]
        self._counts = np.zeros(numbers.max() + 1, dtype=np.int64)
        self._most = profile.max_per_session or len(rows)
        # More sessions than have entries that may be chosen can't be reached.
        reachable = set(self._sessions[:eligible].tolist())
        self._least = min(profile.min_sessions, len(reachable))

    def count(self, place: int) -> None:
        """Count the choice of an entry."""
        self._counts[self._sessions[place]] += 1

    def bars(self, place: int) -> bool:
        """Return whether the entry at this place is kept from the next choice."""
        return bool(self._full_sessions()[self._sessions[place]])

    def barred(self) -> NDArray[np.bool_]:
        """Return the same for every entry, (n,)."""
        return self._full_sessions()[self._sessions]

    def name(self, place: int) -> Limit:
        """Return the limit that bars the entry at this place."""
        is_full = self._counts[self._sessions[place]] >= self._most
        return "max_per_session" if is_full else "min_sessions"

    def _full_sessions(self) -> NDArray[np.bool_]:
        full = self._counts >= self._most
        is_seen = self._counts > 0
        return full | is_seen if np.count_nonzero(is_seen) < self._least else full


def find_differing(
    candidates: Candidates, profile: Profile, fetch_texts: FetchTexts
) -> FindDiffering:
    """Return a function that finds the near-duplicates of a chunk whose texts differ from its text.

    The model reads the first 256 tokens of a text, so that two long texts with one beginning have
    nearly the same vector. Texts differ if less than `duplicate_overlap` of their words are in
    both. All chunks are compared at the first call, and texts are only fetched if any vectors are
    that close.
    """
    if not profile.duplicate_overlap:
        return lambda _: frozenset()  # vectors alone decide
    return _NearDuplicates(candidates, profile, fetch_texts).differing


class _NearDuplicates:
    def __init__(self, candidates: Candidates, profile: Profile, fetch_texts: FetchTexts) -> None:
        self._candidates = candidates
        self._profile = profile
        self._fetch_texts = fetch_texts

    def differing(self, chunk_id: int) -> frozenset[int]:
        return self._differing.get(chunk_id, frozenset())

    @cached_property
    def _differing(self) -> Mapping[int, frozenset[int]]:
        candidates, profile = self._candidates, self._profile
        vectors = candidates.embeddings
        count, depth = vectors.shape
        near = np.zeros((count, count), dtype=bool)
        size = rows_alone(count, depth)
        for start in range(0, count, size):
            cosines = vectors[start : start + size] @ vectors[start:].T
            near[start : start + size, start:] = cosines >= profile.duplicate_threshold
        near = np.triu(near, k=1)
        if profile.one_per_exchange and near.any():
            # Parts of one exchange are no rivals: only one of them is an entry.
            numbers = candidates.exchange_numbers
            near &= numbers[:, np.newaxis] != numbers[np.newaxis, :]
        pairs = np.argwhere(near)
        if not len(pairs):
            return {}
        texts = self._fetch_texts(candidates.take(np.unique(pairs)))
        words = {
            chunk_id: frozenset(_WORD.findall(text.lower())) for chunk_id, text in texts.items()
        }
        differing: defaultdict[int, set[int]] = defaultdict(set)
        for one, other in candidates.chunk_ids[pairs].tolist():
            # A text that was deleted meanwhile stays a duplicate, as its vector says.
            if one not in words or other not in words:
                continue
            union = words[one] | words[other]
            if union and len(words[one] & words[other]) / len(union) < profile.duplicate_overlap:
                differing[one].add(other)
                differing[other].add(one)
        return {chunk_id: frozenset(others) for chunk_id, others in differing.items()}
