"""Ranks what fusion found: every score explained, sessions joined, hits chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from memsense.embed import QuestionTokens
from memsense.search.explanation import (
    Explanation,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
)
from memsense.search.profiles import ROUTES, Profile, Route
from memsense.search.question import Question
from memsense.search.rank.diversity import diversify
from memsense.search.rank.duplicates import Differing, none_differ
from memsense.search.rank.sessions import Entry, Support, session_entries
from memsense.search.rank.signals import NO_TERMS, ScoreTerms, score_terms
from memsense.search.rank.tokens import Comparison
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.types import Granularity


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate for the final list, its score explained; a session is stood for by one chunk.

    `row` is the candidate's row. `wanted` says what to show: the candidate itself, or its session
    around `best`, the rows of the exchanges that brought it in with their scores, best first.
    `own_routes` is False for a session that only its turns brought in: then no route found what
    stands for it.
    """

    candidates: Candidates = field(repr=False)
    row: int
    wanted: Granularity
    final_score: float
    profile: Profile
    terms: tuple[Term, ...]
    compared: Comparison | None = field(default=None, repr=False)
    own_routes: bool = True
    session: SessionSupport | None = None
    selection: Selection | None = None
    best: Sequence[tuple[int, float]] = ()

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
            matches=self.compared.matches(self.row) if self.compared else (),
        )


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
    One entry stands for each session where `sessions` are ranked, else for each exchange, unless
    every part of one may be a hit. The first `eligible` of them may be chosen: those that score
    at least `min_score`, where there is one.
    `against` is the place in `entries` of the chosen one that an entry is closest to, -1 for
    none; `duplicates` says which duplicate a chosen one, `barred` what a limit on sessions kept out
    of that choice; `picks` are the chosen places with their steps, in order.
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
        """The final list, best first."""
        return [self._explain(self.entries[place], step) for place, step in self.picks]

    @cached_property
    def duplicate_rows(self) -> frozenset[int]:
        """The candidates that duplicated a hit: when they were chosen, or when the last hit was."""
        found = {self.entries[int(place)].row for place in np.flatnonzero(self.duplicates)}
        picked = {self.entries[place].row: step.duplicate for place, step in self.picks}
        return frozenset(row for row in found | picked.keys() if picked.get(row, True))

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
            compared=self.terms.compared,
            own_routes=entry.own_routes,
            session=self._explain_support(entry.support) if entry.support else None,
            selection=selection,
            best=entry.best,
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
    differing: Differing = none_differ,
    tokens: QuestionTokens | None = None,
    min_score: float | None = None,
) -> Ranking:
    """The final list: at most `top_k` chunks, or sessions when `sessions`.

    `added` holds a further term for some chunks, such as a reranker's; `differing` says whose texts
    make them no duplicates; `tokens` are the question's, where the candidates have come with
    theirs. What scores below `min_score` is ranked, but not chosen. Deterministic: equal scores go
    to the lower chunk id.
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
        if profile.one_per_exchange:
            rows = best_parts(candidates, rows)
        scores = scores[rows]
        entries = ChunkEntries(rows.tolist(), scores.tolist())
    eligible = len(rows) if min_score is None else int(np.count_nonzero(scores >= min_score))
    choice = diversify(
        candidates, rows, scores, profile, top_k, differing=differing, eligible=eligible
    )
    return Ranking(
        candidates=candidates,
        profile=profile,
        terms=terms,
        entries=entries,
        sessions=sessions,
        min_score=min_score,
        eligible=eligible,
        **choice._asdict(),
    )


def best_parts(candidates: Candidates, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of the rows, best first, the first of each exchange."""
    if not candidates.parts.any():
        return rows
    first = np.unique(candidates.exchange_numbers[rows], return_index=True)[1]
    return rows[np.sort(first)]


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
    if route in OPTIONAL_ROUTES:
        return route
    return profile.lexical_mode if route == "lexical" else "cosine"
