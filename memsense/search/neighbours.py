"""Neighbours in time of the memory that a question asks about: "What came right before the storm?".

The words after "before" are searched for alone, by a search of their own. Its best hit is the
anchor, and the memories next to it in time are what the question asks for.
"""

from dataclasses import replace
from datetime import timedelta

from memsense.db import Pool, run_read
from memsense.db.rows import fetch_values
from memsense.embed import is_embeddable
from memsense.search.plan import PreparedSearch, SearchPlan
from memsense.search.question import Neighbour
from memsense.search.question.time.interval import Interval
from memsense.search.recall.candidates import Candidate
from memsense.search.recall.optional import ask_optional
from memsense.search.search import Search

FILE = "time.sql"

COUNT = 3
"""Number of memories before, or after, an anchor that become candidates."""

LEAST_COVERAGE = 0.25
"""Share of the anchor's words that a memory must have, unless it means the same."""

LEAST_SIMILARITY = 0.45
"""Cosine from which a memory means the same as the anchor."""

CLOSE = 0.95
"""Score of the second hit, as a share of the first one's, from which both are anchors."""

_DAY = timedelta(days=1)


def plan_anchor(prepared: PreparedSearch) -> SearchPlan | None:
    """Return the plan of the search for the anchor, None if the question asks for no neighbours."""
    plan, order, profile = prepared.plan, prepared.question.order, prepared.recall_request.profile
    if order is None or not (profile.weights["time"] and profile.beside_weight):
        return None
    # What has no visible character can't be searched for.
    if not is_embeddable(order.anchor):
        return None
    # No index has the order in time of memory as it stood at a moment.
    if plan.request.as_of is not None:
        return None
    request = replace(plan.request, query=order.anchor, top_k=2, min_score=None, granularity="turn")
    return replace(plan, request=request)


def add_neighbours(pool: Pool, prepared: PreparedSearch, matches: Search) -> PreparedSearch:
    """Return the search with the neighbours of the anchors that `matches` found as candidates."""
    question, order = prepared.question, prepared.question.order
    neighbours: list[Neighbour] = []
    intervals = list(question.intervals)
    for anchor in _choose_anchors(matches):
        assert order is not None
        assert anchor.occurred_at is not None
        if order.days:
            day = question.calendar.day_of(
                anchor.occurred_at, zone_known=anchor.occurred_zone_known
            )
            sign = 1 if order.kind == "after" else -1
            first, last = sorted((day + sign * _DAY, day + sign * order.days * _DAY))
            interval = Interval(
                first=first,
                last=last,
                grain="range",
                reading=f"{order.days} days {order.kind} chunk {anchor.chunk_id}",
                text=question.text[slice(*order.span)],
                span=order.span,
            )
            intervals.append(interval)
            continue
        values = {
            "tenant_id": prepared.plan.tenant_id,
            "scope_id": anchor.scope_id,
            "chunk_id": anchor.chunk_id,
            "occurred_at": anchor.occurred_at,
            "session_id": anchor.session_id,
            "ordinal": anchor.ordinal,
            "asked_at": prepared.plan.asked_at,
            "count": COUNT,
        }
        beside = run_read(
            pool, lambda it, values=values: fetch_values(it, f"find_{order.kind}", values, FILE)
        )
        places = enumerate([anchor.chunk_id, *beside])
        neighbours += [Neighbour(it, place, anchor.chunk_id) for place, it in places]
    refined = replace(
        question,
        intervals=tuple(intervals),
        neighbours=tuple(neighbours),
    )
    request = prepared.recall_request
    optional = ask_optional(refined, request.profile)
    return prepared._replace(question=refined, recall_request=replace(request, optional=optional))


def _choose_anchors(matches: Search) -> list[Candidate]:
    """Return the best memory, and the second one too if it fits about as well on another day."""
    anchors: list[Candidate] = []
    terms, entries = matches.ranking.terms, matches.ranking.entries[:2]
    for row, score in [(entry.row, entry.score) for entry in entries]:
        candidate = matches.candidates[row]
        fits = terms.coverage[row] >= LEAST_COVERAGE or terms.similarity[row] >= LEAST_SIMILARITY
        if not fits or candidate.occurred_at is None:
            break
        if anchors:
            first = anchors[0].occurred_at
            assert first is not None
            is_close = score >= CLOSE * entries[0].score
            if not is_close or abs(candidate.occurred_at - first) <= _DAY:
                break
        anchors.append(candidate)
    return anchors
