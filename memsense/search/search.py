"""A search from the planned question to the ranked hits: recall, score, choose.

`plan` comes before, `show` after: recall is one statement, and the texts of all hits are another.
Where candidates are near-duplicates by their vectors, a third one reads their texts.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from memsense import telemetry
from memsense.db import Pool, run_read
from memsense.deadline import run_with_deadline
from memsense.embed import LEAST_KNOWN
from memsense.search.explanation import Term
from memsense.search.plan import PreparedSearch, SearchPlan, returns_sessions
from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.question.kind import KindReading
from memsense.search.question.time.interval import describe_day, describe_stretches
from memsense.search.rank.choose import Ranked, Ranking, find_differing, rank_candidates
from memsense.search.rank.reranker import Reranker, weigh_scores
from memsense.search.recall.candidates import Candidates
from memsense.search.recall.run import RecallRequest, RecallState, run_recalls
from memsense.search.request import SearchRequest
from memsense.search.score_kinds import score_below
from memsense.store.reads import Past, fetch_named_chunks, fetch_texts
from memsense.timezones import name_zone
from memsense.types import Granularity, Note


@dataclass(slots=True)
class Search:
    """All results of one search, kept for its hits, explanations and traces."""

    plan: SearchPlan
    question: Question
    recall_request: RecallRequest
    state: RecallState
    candidates: Candidates
    ranking: Ranking
    sessions: bool
    kind: KindReading | None = None
    share_known: float = 1.0
    notes: list[Note] = field(default_factory=list[Note])
    timings: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def request(self) -> SearchRequest:
        """Return the caller's request."""
        return self.plan.request

    @property
    def profile(self) -> Profile:
        """Return the constants in force: those of the plan, as the kind of prompt changes them."""
        return self.recall_request.profile

    @property
    def returnable(self) -> list[Granularity]:
        """Return the granularities of the chunks that hits are made of."""
        return ["turn", "session"] if self.sessions else ["turn"]

    @property
    def awaits_sessions(self) -> bool:
        """Return whether sessions are returned and some session chunks wait to be made."""
        is_now = self.request.as_of is None
        has_sessions = self.plan.granularity == "session" and not self.plan.unembedded
        return self.state.stale and is_now and has_sessions

    @property
    def has_sessions_only(self) -> bool:
        """Return whether exchanges were searched by default, and only whole sessions are stored."""
        counts = self.state.counts
        is_default = self.request.granularity is None and not self.sessions
        return is_default and bool(counts.get("session")) and not counts.get("turn")

    @property
    def ranked(self) -> Sequence[Ranked]:
        """Return the final list, best first."""
        return self.ranking.chosen

    def describe_question(self) -> dict[str, Any]:
        """Return the results of the question's analysis as plain values."""
        question, kind = self.question, self.kind
        analysis: dict[str, Any] = {
            "text": self.request.query,
            "searched": question.search_text,
            "language": question.language,
            "names": list(question.named_speakers),
            "dates": [item.text for item in question.intervals],
            "quoted": list(question.quoted),
            "identifiers": list(question.identifiers),
            "lexemes": list(self.state.lexemes),
            "memories": int(self.state.counts.get("turn") or 0),
        }
        if question.intervals:
            analysis["timezone"] = name_zone(self.plan.asked_at)
            analysis["intervals"] = [
                {
                    "text": item.text,
                    "first": item.first.isoformat(),
                    "last": item.last.isoformat(),
                    "reading": item.reading,
                    "confidence": item.confidence,
                }
                for item in question.intervals
            ]
        if order := question.order:
            analysis["order"] = {"kind": order.kind, "about": order.anchor}
        if self.state.left_out:
            analysis["left_out"] = list(self.state.left_out)
        if self.share_known < LEAST_KNOWN:
            analysis["share_known"] = self.share_known
        if kind is not None:
            analysis |= {"kind": kind.kind, "request_chance": kind.chance, "kind_by": kind.source}
        return analysis


def run_searches(
    pool: Pool, searches: Sequence[PreparedSearch], reranker: Reranker | None = None
) -> list[Search]:
    """Recall in one round trip and rank; with a reranker, by one more statement for each."""
    started = time.perf_counter()
    requests = [item.recall_request for item in searches]
    with telemetry.statement("recall", size=len(requests)):
        recalled = run_read(pool, lambda it: run_recalls(it, requests))
    recall_ms = 1000 * (time.perf_counter() - started)
    with telemetry.ranking():
        return [
            _rank(pool, item, state, candidates, reranker, recall_ms)
            for item, (state, candidates) in zip(searches, recalled, strict=True)
        ]


def _rank(  # noqa: PLR0917 (one caller)
    pool: Pool,
    prepared: PreparedSearch,
    state: RecallState,
    candidates: Candidates,
    reranker: Reranker | None,
    recall_ms: float,
) -> Search:
    started = time.perf_counter()
    plan, profile = prepared.plan, prepared.recall_request.profile
    sessions = returns_sessions(plan, state)

    def fetch_candidates(near_duplicates: Candidates) -> Mapping[int, str]:
        scope_ids = np.unique(near_duplicates.scope_ids).tolist()
        chunk_ids = near_duplicates.chunk_ids.tolist()
        as_of = plan.request.as_of
        return run_read(
            pool, lambda it: fetch_texts(it, plan.tenant_id, scope_ids, chunk_ids, as_of=as_of)
        )

    rank = partial(
        rank_candidates,
        candidates,
        profile=profile,
        question=prepared.question,
        ceiling=state.ceiling,
        top_k=plan.request.top_k,
        sessions=sessions,
        differing=find_differing(candidates, profile, fetch_candidates),
        tokens=prepared.tokens,
        min_score=plan.request.min_score,
    )
    ranking = rank()
    if reranker and profile.reranker_weight:
        ranking = rank(added=ask_reranker(pool, plan, ranking, reranker))
    timings = {
        "embed": prepared.embed_ms,
        "recall": recall_ms,
        "rerank": 1000 * (time.perf_counter() - started),
    }
    return Search(
        plan=plan,
        question=prepared.question,
        recall_request=prepared.recall_request,
        state=state,
        candidates=candidates,
        ranking=ranking,
        sessions=sessions,
        kind=prepared.kind,
        share_known=prepared.share_known,
        notes=_make_notes(prepared, state, ranking),
        timings=timings,
    )


def ask_reranker(
    pool: Pool,
    plan: SearchPlan,
    ranking: Ranking,
    reranker: Reranker,
) -> dict[int, Term]:
    """Return the reranker's term for the best entries so far, by chunk id."""
    profile = plan.profile
    rows = [entry.row for entry in ranking.entries[: profile.reranker_depth]]
    chunk_ids = ranking.candidates.chunk_ids[rows].tolist()
    past = None
    if plan.request.as_of is not None:
        past = Past(plan.request.as_of, np.unique(ranking.candidates.scope_ids).tolist())
    chunks = run_read(
        pool, lambda it: fetch_named_chunks(it, plan.tenant_id, plan.namespace, chunk_ids, past)
    )
    if not chunks:
        return {}
    texts = [chunk.content for chunk in chunks]
    scores = run_with_deadline(lambda: reranker.rerank(plan.request.query, texts), "the reranker")
    values, weight = weigh_scores(reranker, scores, profile.reranker_weight)
    return {
        chunk.chunk_id: Term(
            name="reranker",
            value=value,
            weight=weight,
            contribution=weight * value,
            because=f"{reranker.name} scored {score:.4g}",
        )
        for chunk, score, value in zip(chunks, scores, values, strict=True)
    }


def _note_empty_time(prepared: PreparedSearch, nearest: Sequence[tuple[datetime, bool]]) -> Note:
    """Return the note on a time without memories, with the days nearest to it."""
    question, filters = prepared.question, prepared.plan.request.filters
    first = question.stretches[0]
    days = [question.calendar.day_of(at, zone_known=has_zone) for at, has_zone in nearest]
    beside = [
        describe_day(day)
        for day in (
            max((day for day in days if day < first.first), default=None),
            min((day for day in days if day > first.last), default=None),
        )
        if day is not None
    ]
    passing = " that passes the filters" if filters.names else ""
    text = f"nothing{passing} is stored of {describe_stretches(question.stretches)}"
    if beside:
        are = "memory is" if len(beside) == 1 else "memories are"
        text += f"; the nearest {are} of {' and '.join(beside)}"
    return Note("time", text)


def _make_notes(prepared: PreparedSearch, state: RecallState, ranking: Ranking) -> list[Note]:
    """Return the sentences on the answer as a whole."""
    plan, recall_request = prepared.plan, prepared.recall_request
    if not state.scopes:
        return [Note("empty", "nothing is stored in this scope yet")]
    notes: list[Note] = []
    filters = plan.request.filters
    since, until = filters.since, filters.until
    if since is not None and until is not None and since >= until:
        text = f"nothing can be since {since.isoformat()} and before {until.isoformat()}"
        notes.append(Note("filters", text))
    if plan.request.as_of is not None:
        moment = plan.request.as_of.isoformat(timespec="seconds")
        graph = "; the graph route has no past" if plan.profile.weights["graph"] else ""
        text = f"memory as it stood at {moment}, without what is erased by now{graph}"
        notes.append(Note("past", text))
    if state.nearest is not None:
        notes.append(_note_empty_time(prepared, state.nearest))
    anchors = list(dict.fromkeys([it.anchor_id for it in prepared.question.neighbours]))
    if len(anchors) > 1:
        chunks = " and ".join(f"chunk {it}" for it in anchors)
        notes.append(
            Note("time", f"the question may be about {chunks}: either has neighbours here")
        )
    has_vector = recall_request.query_vector is not None
    if plan.unembedded:
        notes.append(Note("vectors", f"ranked by words alone; {plan.unembedded}"))
        if state.stale:
            text = "some session chunks wait to be made until texts can be embedded"
            notes.append(Note("vectors", text))
    elif prepared.share_known < LEAST_KNOWN:
        model = plan.model.name if plan.model else "the model"
        text = f"ranked by words alone: {model} knows {prepared.share_known:.0%} of the question"
        notes.append(Note("vectors", text))
    elif not has_vector:
        notes.append(Note("vectors", "no vector route has weight: ranked by words alone"))
    elif state.waiting:
        text = (
            "some memories here wait for their vectors: words alone find them, until"
            " 'memsense worker' has embedded them (see 'memsense jobs list')"
        )
        notes.append(Note("vectors", text))
    candidates = ranking.candidates
    # Sessions have no token vectors, and neither has what another model compares.
    is_without = candidates.is_session | candidates.by_other
    if recall_request.token_limit and candidates.tokens is None and not is_without.all():
        text = "no token vectors are stored: run 'memsense db fill' for better ranking"
        notes.append(Note("vectors", text))
    if recall_request.wording.required:
        texts = " and ".join(f"“{text}”" for text in recall_request.wording.required)
        notes.append(Note("words", f"only memories that hold {texts} take part"))
    is_by_time = prepared.question.is_dated_alone and "time" in recall_request.optional
    if plan.profile.weights["lexical"] and not state.lexemes and not is_by_time:
        means = "ranked by vectors alone" if has_vector else "nothing can be found"
        notes.append(Note("words", f"the question has no searchable words: {means}"))
    # An empty answer says how near the best one came, so that a min_score can be chosen.
    if ranking.min_score is not None and not ranking.eligible and ranking.entries:
        entry = ranking.entries[0]
        score = score_below(entry.score, ranking.min_score)
        chunk_id = ranking.terms.chunk_ids[entry.row]
        best = f"the best was {score}: chunk {chunk_id}"
        notes.append(Note("score", f"nothing scored at least {ranking.min_score!r}; {best}"))
    return notes
