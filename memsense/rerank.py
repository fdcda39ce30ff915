"""What Python does after fusion: memory-score blend, session-first support, MMR."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memsense.explanation import (
    Explanation,
    RouteContribution,
    Selection,
    SessionSupport,
    Term,
)
from memsense.profiles import Profile
from memsense.question import Question
from memsense.recall import Candidate
from memsense.signals import score_terms
from memsense.types import Granularity

Terms = Mapping[int, tuple[Term, ...]]
"""What is added to each candidate's rrf_score, by chunk id."""


NO_TERMS: Mapping[int, Term] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate for the final list, its score explained; a session is stood for by one chunk.

    `wanted` says what to show: the candidate itself, or the session chunk around it. `own_routes`
    is False for a session that only its turns brought in: then no route found what stands for it.
    """

    candidate: Candidate
    wanted: Granularity
    final_score: float
    profile: Profile
    terms: tuple[Term, ...]
    own_routes: bool = True
    session: SessionSupport | None = None
    selection: Selection | None = None

    @property
    def explanation(self) -> Explanation:
        """The whole arithmetic; made when asked for, since most candidates are never shown."""
        routes = contributions(self.candidate, self.profile) if self.own_routes else ()
        return Explanation(
            chunk_id=self.candidate.chunk_id,
            routes=routes,
            rrf_score=sum(route.contribution for route in routes),
            rrf_k=self.profile.rrf_k,
            terms=self.terms,
            session=self.session,
            final_score=self.final_score,
            selection=self.selection,
            profile=self.profile.name,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What MMR chose, from what, and where the rest stood when the last choice was made.

    The arrays have one value per entry of `scored`, (n,) each; `against` is the position in
    `scored` of the chosen one that an entry is closest to, -1 for none. `terms` are those of every
    candidate, by chunk id.
    """

    scored: Sequence[Ranked]
    chosen: list[Ranked]
    relevance: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    against: NDArray[np.int64]
    terms: Terms = field(default_factory=dict[int, tuple[Term, ...]])


def rerank(
    candidates: Sequence[Candidate],
    *,
    profile: Profile,
    question: Question,
    ceiling: Mapping[str, float],
    top_k: int,
    sessions: bool,
) -> list[Ranked]:
    """The final list, best first: at most `top_k` chunks, or sessions when `sessions`.

    Deterministic: equal scores go to the lower chunk id.
    """
    return rank_candidates(
        candidates,
        profile=profile,
        question=question,
        ceiling=ceiling,
        top_k=top_k,
        sessions=sessions,
    ).chosen


def rank_candidates(
    candidates: Sequence[Candidate],
    *,
    profile: Profile,
    question: Question,
    ceiling: Mapping[str, float],
    top_k: int,
    sessions: bool,
    added: Mapping[int, Term] = NO_TERMS,
) -> Ranking:
    """As `rerank`, with what the final list was chosen from.

    `added` holds a further term for some chunks, such as a reranker's.
    """
    terms = score_terms(candidates, profile=profile, question=question, ceiling=ceiling)
    terms |= {chunk_id: (*terms[chunk_id], term) for chunk_id, term in added.items()}
    scored = (
        _score_sessions(candidates, profile, terms)
        if sessions
        else [_score_chunk(candidate, profile, terms) for candidate in candidates]
    )
    scored.sort(key=lambda item: (-item.final_score, item.candidate.chunk_id))
    return replace(diversify(scored, profile, top_k), terms=terms)


def contributions(candidate: Candidate, profile: Profile) -> tuple[RouteContribution, ...]:
    """Each route's term of the candidate's rrf_score, in route order."""
    return tuple(
        RouteContribution(
            route=hit.route,
            rank=hit.rank,
            score=hit.score,
            score_kind=profile.lexical_mode if hit.route == "lexical" else "cosine",
            weight=profile.weights[hit.route],
            contribution=profile.rrf_weight
            * profile.weights[hit.route]
            / (profile.rrf_k + hit.rank),
        )
        for hit in candidate.routes
    )


def _fused_score(candidate: Candidate, profile: Profile) -> float:
    """The sum of the candidate's contributions."""
    weights, k = profile.weights, profile.rrf_k
    return profile.rrf_weight * sum(weights[hit.route] / (k + hit.rank) for hit in candidate.routes)


def _added_score(candidate: Candidate, terms: Terms) -> float:
    return sum(term.contribution for term in terms[candidate.chunk_id])


def _score_chunk(candidate: Candidate, profile: Profile, terms: Terms) -> Ranked:
    return Ranked(
        candidate=candidate,
        wanted=candidate.granularity,
        final_score=_fused_score(candidate, profile) + _added_score(candidate, terms),
        profile=profile,
        terms=terms[candidate.chunk_id],
    )


def _score_session(
    shown: Candidate, profile: Profile, terms: Terms, support: SessionSupport, *, own_routes: bool
) -> Ranked:
    fused = _fused_score(shown, profile) if own_routes else 0.0
    return Ranked(
        candidate=shown,
        wanted="session",
        final_score=fused + support.turn_support + _added_score(shown, terms),
        profile=profile,
        terms=terms[shown.chunk_id],
        own_routes=own_routes,
        session=support,
    )


def _score_sessions(
    candidates: Sequence[Candidate], profile: Profile, terms: Terms
) -> list[Ranked]:
    """One entry per session: its session chunk and its turns, joined as the profile says."""
    sessions: dict[tuple[int, str], list[Candidate]] = {}
    for candidate in candidates:
        sessions.setdefault((candidate.scope_id, candidate.session_id), []).append(candidate)
    score = _score_best_turns if profile.session_scoring == "best_turns" else _score_support
    return [score(members, profile, terms) for members in sessions.values()]


def _by_score(candidate: Candidate) -> tuple[float, int]:
    return -candidate.rrf_score, candidate.chunk_id


def _split(members: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    ordered = sorted(members, key=_by_score)
    return (
        [item for item in ordered if item.granularity == "session"],
        [item for item in ordered if item.granularity == "turn"],
    )


def _score_support(members: Sequence[Candidate], profile: Profile, terms: Terms) -> Ranked:
    """The frame's formula: the session chunk's own score, supported by its best turn."""
    chunks, turns = _split(members)
    best_turn = turns[0].rrf_score if turns else 0.0
    support = SessionSupport(
        session_rrf_score=chunks[0].rrf_score if chunks else 0.0,
        turn_support=min(profile.turn_support_cap, profile.turn_support_coefficient * best_turn),
        supporting_turn_count=len(turns),
        best_turn=turns[0].chunk_id if turns else None,
        best_turn_rrf_score=best_turn,
        best_turn_routes=contributions(turns[0], profile) if turns else (),
    )
    shown = chunks[0] if chunks else turns[0]
    return _score_session(shown, profile, terms, support, own_routes=bool(chunks))


def _score_best_turns(members: Sequence[Candidate], profile: Profile, terms: Terms) -> Ranked:
    """The best turn stands for its session; the next ones and the session chunk add a share."""
    chunks, turns = _split(members)
    if not turns:
        return replace(_score_chunk(chunks[0], profile, terms), wanted="session")
    turns.sort(key=lambda turn: _best_first(turn, profile, terms))
    best = turns[0]
    session_rrf = chunks[0].rrf_score if chunks else 0.0
    second = turns[1].rrf_score if len(turns) > 1 else 0.0
    support = SessionSupport(
        session_rrf_score=session_rrf,
        turn_support=profile.second_turn_weight * second
        + profile.session_chunk_weight * session_rrf,
        supporting_turn_count=len(turns) - 1,
        best_turn=best.chunk_id,
        best_turn_rrf_score=best.rrf_score,
        best_turn_routes=contributions(best, profile),
    )
    return _score_session(best, profile, terms, support, own_routes=True)


def _best_first(candidate: Candidate, profile: Profile, terms: Terms) -> tuple[float, int]:
    return -(_fused_score(candidate, profile) + _added_score(candidate, terms)), candidate.chunk_id


def diversify(scored: Sequence[Ranked], profile: Profile, top_k: int) -> Ranking:
    """Greedy maximal marginal relevance (Carbonell and Goldstein 1998) over ordered candidates.

    First the best, then whichever has the largest λ · relevance - (1 - λ) · redundancy, where
    redundancy is the largest cosine (or tag overlap) to what was chosen. A near-duplicate of a
    chosen one is passed over while others remain.
    """
    redundancy = np.zeros(len(scored))
    against: NDArray[np.int64] = np.full(len(scored), -1)
    if not scored:
        empty = np.zeros(0)
        return Ranking(scored=(), chosen=[], relevance=empty, redundancy=empty, against=against)
    relevance = _relevance(scored, profile)
    before = redundancy, against
    remaining = np.ones(len(scored), dtype=bool)
    vectors, tags = _stack(scored), [item.candidate.tags for item in scored]
    chosen: list[Ranked] = []
    while remaining.any() and len(chosen) < top_k:
        scores = profile.mmr_lambda * relevance - (1 - profile.mmr_lambda) * redundancy
        fresh = remaining & (redundancy < profile.duplicate_threshold)
        pool = fresh if fresh.any() else remaining
        index = int(np.argmax(np.where(pool, scores if chosen else relevance, -np.inf)))
        rival = int(against[index])
        step = Selection(
            selected_rank=len(chosen) + 1,
            relevance=float(relevance[index]),
            max_redundancy=float(redundancy[index]),
            against=scored[rival].candidate.chunk_id if rival >= 0 else None,
            mmr_lambda=profile.mmr_lambda,
            mmr_score=float(scores[index]),
            duplicate=bool(redundancy[index] >= profile.duplicate_threshold),
        )
        item = scored[index]
        chosen.append(replace(item, selection=step))
        remaining[index] = False
        before = redundancy, against
        closeness = _closeness(index, vectors, tags, profile.tag_redundancy)
        closer = closeness > redundancy
        redundancy = np.where(closer, closeness, redundancy)
        against = np.where(closer, index, against)
    return Ranking(
        scored=scored,
        chosen=chosen,
        relevance=relevance,
        redundancy=before[0],
        against=before[1],
    )


def _relevance(scored: Sequence[Ranked], profile: Profile) -> NDArray[np.float64]:
    scores = np.array([item.final_score for item in scored])
    if profile.relevance == "raw":
        return scores
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.ones(len(scores))


def _stack(scored: Sequence[Ranked]) -> NDArray[np.float32]:
    """The candidates' vectors, (n, d); a chunk without one is a row of zeros, redundant to none."""
    known = [item.candidate.embedding for item in scored]
    width = next((vector.shape[0] for vector in known if vector is not None), 1)
    empty = np.zeros(width, dtype=np.float32)
    return np.stack([empty if vector is None else vector for vector in known])


def _closeness(
    index: int,
    vectors: NDArray[np.float32],
    tags: Sequence[frozenset[str]],
    tag_redundancy: float,
) -> NDArray[np.float64]:
    cosines = (vectors @ vectors[index]).astype(np.float64)
    if not tags[index]:
        return np.maximum(cosines, 0.0)
    overlap = [len(tags[index] & other) / len(tags[index] | other) for other in tags]
    return np.maximum(cosines, tag_redundancy * np.array(overlap))
