"""Verdicts on chunks that a search did not return: the first step that lost each, with numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from memsense.db.connection import Connection
from memsense.db.queries import reasons
from memsense.explain.outcomes import Outcome, trace_outcomes
from memsense.search.hits import SearchResult
from memsense.search.profiles import Route
from memsense.search.question.time.interval import describe_day, describe_stretches
from memsense.search.recall.candidates import Candidate
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.recall.run import query_values, run_recall, shape_of
from memsense.search.recall.statement import PARTITIONS
from memsense.search.request import QUOTED
from memsense.search.score_kinds import score_below
from memsense.search.search import Search
from memsense.search.show import find_supersession
from memsense.store.traces import Standing, fetch_standing

Step = Literal[
    "hit",
    "scope",
    "inactive",
    "expired",
    "not_embedded",
    "no_route",
    "pool",
    "index",
    "duplicate",
    "mmr",
    "session",
    "limit",
    "part",
    "outranked",
    "below_min_score",
]

WIDEST = 1000
"""top_k and candidate factor of a recall that leaves nothing out (a million chunks)."""

FILTER_REASONS = {
    "user_id": "it belongs to another user",
    "granularity": "the search asks for the other granularity",
    **{name: text for name, text in reasons("filters.sql").items() if name != QUOTED},
    "exchanges": "some exchanges of the session do not pass; those that pass take part themselves",
    QUOTED: reasons("filters.sql")[QUOTED],
}
"""Reasons why a chunk takes no part in a search, by the filter that it does not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The reason why a chunk is, or is not, among the hits.

    Attributes:
        chunk_id: The chunk.
        step: Step of the search that decided.
        text: Reason as a sentence.
        numbers: Numbers behind the decision, by name.
    """

    chunk_id: int
    step: Step
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values, ready for JSON."""
        return asdict(self)


def explain_absence(
    connection: Connection, search: Search, result: SearchResult, chunk_id: int
) -> Verdict | None:
    """Return the verdict on a chunk after a search, None if its namespace has no such chunk."""
    request = search.recall_request
    values = {**query_values(request), "granularities": search.returnable}
    standing = fetch_standing(connection, chunk_id, shape_of(request).filters, values)
    if standing is None:
        return None
    verdict = judge(connection, search=search, result=result, chunk_id=chunk_id, standing=standing)
    places = np.flatnonzero(search.candidates.chunk_ids == chunk_id).tolist()
    link = find_supersession(search, places[0], older=False) if places else None
    if link is None:
        return verdict
    text = f"{verdict.text}; superseded by {link.describe()}"
    numbers = {**verdict.numbers, "superseded_by": link.chunk_id}
    return replace(verdict, text=text, numbers=numbers)


def judge(
    connection: Connection,
    *,
    search: Search,
    result: SearchResult,
    chunk_id: int,
    standing: Standing,
) -> Verdict:
    """Return the verdict on one chunk; read again only if it is not among the candidates."""
    early = _judge_standing(result, chunk_id, standing)
    if early is not None:
        return early
    outcomes = {item.candidate.chunk_id: item for item in trace_outcomes(search)}
    if chunk_id in outcomes:
        return _judge_outcome(search, outcomes, outcomes[chunk_id])
    # Without a vector the routes can't find it, however wide recall were.
    stored = set(standing.vectors)
    texts = {"full"} if standing.granularity == "session" else set(standing.texts)
    missing = [
        route
        for route, partition in PARTITIONS.items()
        if route != "vec_next_user"
        and search.profile.weights[route]
        and partition in texts - stored
    ]
    if missing:
        text = f"it has no vector for {', '.join(missing)}; embed it again"
        verdict = Verdict(
            chunk_id=chunk_id, step="not_embedded", text=text, numbers={"routes": missing}
        )
    else:
        # The same recall without limits and without approximate indexes tells its ranks.
        request = search.recall_request
        profile = request.profile.override(candidate_factor=WIDEST)
        wide = replace(request, profile=profile, top_k=WIDEST, indexed=None, token_limit=0)
        _, everything = run_recall(connection, wide)
        verdict = _judge_recall(search, everything, chunk_id)
    return _with_session(verdict, standing.session_id, outcomes.values())


def _judge_standing(result: SearchResult, chunk_id: int, standing: Standing) -> Verdict | None:
    for rank, hit in enumerate(result, start=1):
        if chunk_id in (hit.chunk_id, hit.explain.chunk_id):
            numbers = {"hit_rank": rank, "score": hit.score}
            text = f"it is hit number {rank}, with a score of {hit.score:.4f}"
            if chunk_id != hit.chunk_id:
                text += f", shown as chunk {hit.chunk_id} of its session"
            return Verdict(chunk_id=chunk_id, step="hit", text=text, numbers=numbers)
    failed = [name for name in FILTER_REASONS if not standing.passes.get(name, True)]
    if failed:
        reasons = "; ".join(f"{name}: {FILTER_REASONS[name]}" for name in failed)
        text = f"it is out of the search's scope: {reasons}"
        return Verdict(chunk_id=chunk_id, step="scope", text=text, numbers={"filters": failed})
    if standing.expired_at is not None:
        what = "it" if standing.granularity == "turn" else "it, or an exchange that it holds,"
        text = f"{what} expired at {standing.expired_at.isoformat(timespec='seconds')}"
        numbers = {"expired_at": standing.expired_at.isoformat()}
        return Verdict(chunk_id=chunk_id, step="expired", text=text, numbers=numbers)
    if standing.status != "active":
        text = f"it is {standing.status}; `restore` brings it back"
        numbers = {"status": standing.status}
        return Verdict(chunk_id=chunk_id, step="inactive", text=text, numbers=numbers)
    return None


def describe_outcome(outcome: Outcome) -> str:
    """Return the outcome of a candidate as a sentence without a subject."""
    if outcome.hit_rank is not None:
        return f"is hit {outcome.hit_rank}"
    step = outcome.selection
    if step is None:
        left = "exchange" if outcome.dropped_by == "part" else "session"
        return f"left its {left} to chunk {outcome.lost_to}"
    if outcome.dropped_by == "duplicate":
        return f"duplicates hit chunk {outcome.lost_to} (redundancy {step.max_redundancy:.3f})"
    if outcome.dropped_by == "limit":
        return (
            f"was barred with its session by max_per_session or min_sessions:"
            f" place {outcome.score_rank} by score"
        )
    if outcome.dropped_by == "below_min_score":
        least = outcome.bar or 0.0
        score = score_below(outcome.final_score, least)
        return f"scored {score}, below min_score {least!r}: place {outcome.score_rank} by score"
    what = "was outranked" if outcome.dropped_by == "outranked" else "was dropped by MMR"
    return (
        f"{what}: place {outcome.score_rank} by score, MMR {step.mmr_score:.4f}"
        f" where the last hit had {outcome.bar or 0:.4f}"
    )


def _judge_outcome(search: Search, outcomes: Mapping[int, Outcome], outcome: Outcome) -> Verdict:
    chunk_id = outcome.candidate.chunk_id
    numbers: dict[str, Any] = {
        "position": outcome.position,
        "candidates": len(outcomes),
        "final_score": outcome.final_score,
    }
    step = outcome.selection
    if step is None:
        # Another chunk stands for its session or its exchange: the verdict says what became of it.
        other = outcomes[outcome.lost_to or 0]
        fate = describe_outcome(other)
        numbers["represented_by"] = outcome.lost_to
        if outcome.dropped_by == "part":
            numbers |= {"part": outcome.candidate.part + 1, "exchange_hit_rank": other.hit_rank}
            text = (
                "another part of the same exchange ranks above:"
                f" chunk {outcome.lost_to}, part {other.candidate.part + 1}, which {fate}"
            )
            return Verdict(chunk_id=chunk_id, step="part", text=text, numbers=numbers)
        numbers["session_hit_rank"] = other.hit_rank
        text = f"chunk {outcome.lost_to} stands for its session, which {fate}"
        return Verdict(chunk_id=chunk_id, step="session", text=text, numbers=numbers)
    numbers |= {"score_rank": outcome.score_rank, "entries": len(search.ranking.entries)}
    decision: Step = outcome.dropped_by or "hit"
    text = f"it {describe_outcome(outcome)}"
    if decision == "below_min_score":
        numbers |= {"min_score": outcome.bar, "best_score": search.ranking.entries[0].score}
        return Verdict(chunk_id=chunk_id, step=decision, text=text, numbers=numbers)
    numbers |= {
        "top_k": search.request.top_k,
        "relevance": step.relevance,
        "redundancy": step.max_redundancy,
        "redundant_to": step.against,
        "mmr_lambda": step.mmr_lambda,
        "mmr_score": step.mmr_score,
        "last_hit_mmr_score": outcome.bar,
    }
    if decision == "mmr":
        text += f"; what cost it the place is being close to chunk {step.against}"
        text += f" (redundancy {step.max_redundancy:.3f})"
    return Verdict(chunk_id=chunk_id, step=decision, text=text, numbers=numbers)


def _judge_recall(search: Search, everything: Sequence[Candidate], chunk_id: int) -> Verdict:
    """Return the verdict on a chunk that recall missed, among all chunks that it could find."""
    request = search.recall_request
    limit, pool, profile = request.route_limit, request.candidate_limit, request.profile
    # Each chunk's place in each route's list, both granularities together.
    by_route: dict[Route, list[tuple[float, int]]] = {}
    for candidate in everything:
        for hit in candidate.routes:
            # Optional routes have turns alone, and not always in the order of their scores.
            key = hit.rank if hit.route in OPTIONAL_ROUTES else -hit.score
            by_route.setdefault(hit.route, []).append((key, candidate.chunk_id))
    places: dict[Route, dict[int, int]] = {
        route: {one: place for place, (_, one) in enumerate(sorted(scores), start=1)}
        for route, scores in by_route.items()
    }
    own = {route: ranks[chunk_id] for route, ranks in places.items() if chunk_id in ranks}
    outside = _lies_outside(search, everything, chunk_id)
    if all(place > limit for place in own.values()):
        text = "no route can find it: no weighted vector of its own, no word or entity in common"
        if own:
            ranks = ", ".join(f"{route} {place}" for route, place in own.items())
            text = f"no route found it within its limit of {limit}; it would be at {ranks}"
        numbers: dict[str, Any] = {"places": own, "route_limit": limit}
        return Verdict(chunk_id=chunk_id, step="no_route", text=outside + text, numbers=numbers)
    # Fusion again, of everything that at least one route keeps.
    fused: dict[int, float] = {}
    for candidate in everything:
        for hit in candidate.routes:
            if places[hit.route][candidate.chunk_id] <= limit:
                share = profile.weights[hit.route] / (profile.rrf_k + hit.rank)
                fused[candidate.chunk_id] = fused.get(candidate.chunk_id, 0.0) + share
    order = sorted(fused, key=lambda item: (-fused[item], item))
    position = order.index(chunk_id) + 1
    numbers = {
        "places": own,
        "rrf_score": fused[chunk_id],
        "position": position,
        "pool": pool,
    }
    if position <= pool:
        text = f"the approximate index missed it; an exact search has it at place {position}"
        return Verdict(chunk_id=chunk_id, step="index", text=text, numbers=numbers)
    cut = fused[order[pool - 1]]
    numbers |= {"cut": cut, "short_by": cut - fused[chunk_id]}
    text = (
        f"it is below the pool's cut: place {position} of fusion, which keeps {pool};"
        f" its {fused[chunk_id]:.5f} is {cut - fused[chunk_id]:.5f} short of {cut:.5f}"
    )
    return Verdict(chunk_id=chunk_id, step="pool", text=outside + text, numbers=numbers)


def _lies_outside(search: Search, everything: Sequence[Candidate], chunk_id: int) -> str:
    """Return the clause that a chunk is of no time that the question names, "" if it may be."""
    question = search.question
    at = next((it for it in everything if it.chunk_id == chunk_id), None)
    if not question.stretches or at is None or at.occurred_at is None:
        return ""
    day = question.calendar.day_of(at.occurred_at, zone_known=at.occurred_zone_known)
    if question.confidence_of(day):
        return ""
    return f"{describe_day(day)} lies outside {describe_stretches(question.stretches)}; "


def _with_session(verdict: Verdict, session_id: str, outcomes: Iterable[Outcome]) -> Verdict:
    """Return the verdict with the outcome of the chunk's session, if it has another chunk."""
    for outcome in outcomes:
        if outcome.candidate.session_id == session_id and outcome.session is not None:
            text = (
                f"{verdict.text}; chunk {outcome.candidate.chunk_id} of its session"
                f" {describe_outcome(outcome)}"
            )
            numbers = {**verdict.numbers, "session_hit_rank": outcome.hit_rank}
            return replace(verdict, text=text, numbers=numbers)
    return verdict
