"""One search: question in, explained hits out, by two statements: recall, then the hits' texts.

Where candidates are near-duplicates by their vectors, one more reads their texts.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense import telemetry
from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.embed import Embedder, QuestionTokens, find_token_embedder
from memsense.search.explanation import Term
from memsense.search.hits import SearchResult
from memsense.search.presenting import HitMaker
from memsense.search.profiles import VECTOR_ROUTES, Profile
from memsense.search.question import Question, Wording, analyse_question, find_phrase
from memsense.search.rank.choose import Ranked, Ranking, find_differing, rank_candidates
from memsense.search.rank.reranker import Reranker, weigh_scores
from memsense.search.recall.candidates import Candidates
from memsense.search.recall.optional import ask_optional
from memsense.search.recall.run import RecallRequest, RecallState, run_recalls
from memsense.search.recall.statement import Indexed
from memsense.search.request import Filters, SearchRequest
from memsense.search.score_kinds import score_below
from memsense.store import (
    FoundHit,
    KnownScope,
    Past,
    WantedHit,
    fetch_hits,
    fetch_named_chunks,
    fetch_texts,
)
from memsense.text.scripts import segment_scripts
from memsense.types import EmbeddingModel, Granularity


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """A request with what its namespace makes of it: whose tenant, which model and constants, when.

    `unembedded` says why the question has no vector, where it is to be answered without one.
    `recall_timeout` is in seconds; 0 is none.
    """

    request: SearchRequest
    tenant_id: int
    namespace: str
    model: EmbeddingModel | None
    profile: Profile
    asked_at: datetime
    unembedded: str = ""
    recall_timeout: float = 0.0

    @property
    def granularity(self) -> Granularity:
        """What is to be returned: as the call says, else as the profile does."""
        return self.request.granularity or self.profile.granularity


@dataclass(slots=True)
class Search:
    """Everything that one search found out, kept for explanations and traces."""

    plan: SearchPlan
    question: Question
    asked: RecallRequest
    state: RecallState
    candidates: Candidates
    ranking: Ranking
    sessions: bool
    notes: list[str] = field(default_factory=list[str])
    timings: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def request(self) -> SearchRequest:
        """What the caller asked for."""
        return self.plan.request

    @property
    def returnable(self) -> list[Granularity]:
        """The kinds of chunks that hits are made of."""
        return ["turn", "session"] if self.sessions else ["turn"]

    @property
    def awaits_sessions(self) -> bool:
        """Whether sessions are returned of which some have session chunks yet to be made."""
        is_now = self.request.as_of is None
        wants_them = self.plan.granularity == "session" and not self.plan.unembedded
        return self.state.stale and is_now and wants_them

    @property
    def ranked(self) -> Sequence[Ranked]:
        """The final list, best first."""
        return self.ranking.chosen


def analyse(plan: SearchPlan, known: KnownScope | None) -> Question:
    """The question with its names and dates, as far as the profile uses them."""
    speakers = known.speakers if known and plan.profile.names_removed else ()
    return analyse_question(plan.request.query, speakers=speakers, asked_at=plan.asked_at)


class Embedded(NamedTuple):
    """What the embedder made of a question: its unit vector, (d,) float32, and its tokens.

    No vector when no vector route has weight; no tokens when no term takes them, or the embedder
    has none.
    """

    vector: NDArray[np.float32] | None = None
    tokens: QuestionTokens | None = None


def embed_question(
    embedder: Embedder, question: Question, profile: Profile, *, tokens: bool
) -> Embedded:
    """The question's vector, if the profile has a route for it, and its tokens, if they are wanted
    and the embedder has them."""
    is_routed = any(profile.weights[route] for route in VECTOR_ROUTES)
    found = None
    if tokens and (giving := find_token_embedder(embedder)):
        vector, found = giving.embed_question(question.search_text)
    elif is_routed:
        vector = embedder.embed_query(question.search_text)
    else:
        return Embedded()
    return Embedded(vector if is_routed else None, found)


class Prepared(NamedTuple):
    """A search up to recall: its question embedded, and how long that took in milliseconds."""

    plan: SearchPlan
    question: Question
    found: Embedded
    asked: RecallRequest
    embed_ms: float


def prepare_search(plan: SearchPlan, known: KnownScope | None, embedder: Embedder) -> Prepared:
    """Analyse and embed the question. No connection is held while the model works."""
    started = time.perf_counter()
    question = analyse(plan, known)
    found = Embedded()
    if not plan.unembedded:
        limit = token_limit(plan, known)
        with telemetry.embedding(embedder.model):
            found = embed_question(embedder, question, plan.profile, tokens=limit > 0)
    asked = recall_request(plan, known, question, found)
    return Prepared(plan, question, found, asked, 1000 * (time.perf_counter() - started))


def run_searches(
    pool: Pool, prepared: Sequence[Prepared], reranker: Reranker | None = None
) -> list[Search]:
    """Recall in one round trip and rerank; the hits' texts are not fetched yet.

    A `reranker` reads the texts of the best candidates, by one more statement for each search.
    """
    started = time.perf_counter()
    requests = [item.asked for item in prepared]
    with telemetry.statement("recall", size=len(requests)):
        recalled = run_read(pool, lambda it: run_recalls(it, requests))
    recall_ms = 1000 * (time.perf_counter() - started)
    with telemetry.ranking():
        return [
            _rank(pool, item, found, reranker, recall_ms)
            for item, found in zip(prepared, recalled, strict=True)
        ]


def run_search(
    pool: Pool,
    plan: SearchPlan,
    known: KnownScope | None,
    embedder: Embedder,
    reranker: Reranker | None = None,
) -> Search:
    """As `run_searches`, of one plan."""
    return run_searches(pool, [prepare_search(plan, known, embedder)], reranker)[0]


def _rank(
    pool: Pool,
    prepared: Prepared,
    recalled: tuple[RecallState, Candidates],
    reranker: Reranker | None,
    recall_ms: float,
) -> Search:
    started = time.perf_counter()
    plan, (state, candidates) = prepared.plan, recalled
    sessions = returns_sessions(plan, state)
    if not sessions:
        candidates = candidates.without_sessions()
    rank = partial(
        rank_candidates,
        candidates,
        profile=plan.profile,
        question=prepared.question,
        ceiling=state.ceiling,
        top_k=plan.request.top_k,
        sessions=sessions,
        differing=find_differing(candidates, plan.profile, partial(_fetch_texts, pool, plan)),
        tokens=prepared.found.tokens,
        min_score=plan.request.min_score,
    )
    ranking = rank()
    if reranker and plan.profile.reranker_weight:
        ranking = rank(added=ask_reranker(pool, plan, ranking, reranker))
    timings = {
        "embed": prepared.embed_ms,
        "recall": recall_ms,
        "rerank": 1000 * (time.perf_counter() - started),
    }
    return Search(
        plan=plan,
        question=prepared.question,
        asked=prepared.asked,
        state=state,
        candidates=candidates,
        ranking=ranking,
        sessions=sessions,
        notes=[*_notes(plan, prepared.asked, state, candidates), *_note_scores(ranking)],
        timings=timings,
    )


def _fetch_texts(pool: Pool, plan: SearchPlan, candidates: Candidates) -> Mapping[int, str]:
    scope_ids = np.unique(candidates.scope_ids).tolist()
    chunk_ids = candidates.chunk_ids.tolist()
    return run_read(
        pool,
        lambda it: fetch_texts(it, plan.tenant_id, scope_ids, chunk_ids, as_of=plan.request.as_of),
    )


def ask_reranker(
    pool: Pool,
    plan: SearchPlan,
    ranking: Ranking,
    reranker: Reranker,
) -> dict[int, Term]:
    """The reranker's opinion of the best entries so far, by chunk id."""
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
    scores = reranker.rerank(plan.request.query, [chunk.content for chunk in chunks])
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


def recall_request(
    plan: SearchPlan,
    known: KnownScope | None,
    question: Question,
    embedded: Embedded,
) -> RecallRequest:
    """What the recall query gets for this search."""
    request = plan.request
    return RecallRequest(
        tenant_id=plan.tenant_id,
        namespace=plan.namespace,
        user_id=request.user_id,
        granularities=choose_granularities(plan, known),
        model_id=plan.model.model_id if plan.model else None,
        query_vector=embedded.vector,
        terms=segment_scripts(question.search_text),
        profile=plan.profile,
        top_k=request.top_k,
        sessions=may_return_sessions(plan, known),
        token_limit=token_limit(plan, known) if embedded.tokens else 0,
        filters=request.filters,
        indexed=_indexed(plan, known),
        optional={} if request.as_of else ask_optional(request.query, plan.profile),
        wording=choose_wording(question, plan.profile),
        may_have_expired=may_have_expired(plan, known),
        timeout=plan.recall_timeout,
        as_of=request.as_of,
    )


def token_limit(plan: SearchPlan, known: KnownScope | None) -> int:
    """How many candidates are compared with the question token by token."""
    sessions = may_return_sessions(plan, known)
    return plan.profile.token_limit(plan.request.top_k, sessions=sessions)


def choose_wording(question: Question, profile: Profile) -> Wording:
    """What recall looks for word for word, as far as the profile makes anything of it."""
    return Wording(
        phrase=find_phrase(question.text) if profile.phrase_boost else "",
        quoted=question.quoted if profile.quoted == "should" and profile.quoted_boost else (),
        required=question.quoted if profile.quoted == "must" else (),
        identifiers=question.identifiers if profile.identifier_boost else (),
    )


def _indexed(plan: SearchPlan, known: KnownScope | None) -> Indexed | None:
    """The memory where HNSW indexes are to be used, else None: exact search.

    Filters that let little through make the query itself look their chunks up instead.
    """
    if known is None or not known.indexed or plan.model is None or plan.request.as_of:
        return None
    return Indexed(known.scope_id, plan.model.model_id, plan.model.dimension)


def update_known(known: KnownScope, state: RecallState) -> KnownScope:
    """What is known of the scope after a recall."""
    return replace(
        known,
        speakers=state.speakers,
        indexed=state.indexed,
        has_sessions=bool(state.counts.get("session")),
        has_lapsed=state.has_expired,
    )


def asks_alike(plan: SearchPlan, one: KnownScope, other: KnownScope) -> bool:
    """Whether the search finds the same with either knowledge of the scope, the `other` true."""
    return (
        may_have_expired(plan, one) >= other.has_lapsed
        and may_return_sessions(plan, one) == may_return_sessions(plan, other)
        and choose_granularities(plan, one) == choose_granularities(plan, other)
        and analyse(plan, one) == analyse(plan, other)
    )


def choose_granularities(plan: SearchPlan, known: KnownScope | None) -> Sequence[Granularity]:
    """What recall reads: session chunks too, where they are returned or have a say."""
    has_say = plan.profile.session_weight > 0 and may_hold_sessions(known)
    return ("turn", "session") if plan.granularity == "session" or has_say else ("turn",)


def may_hold_sessions(known: KnownScope | None) -> bool:
    """Whether session chunks are stored, as far as it is known before recall; True if it isn't."""
    return known is None or known.has_sessions


def may_have_expired(plan: SearchPlan, known: KnownScope | None) -> bool:
    """Whether what has expired must be left out, as far as it is known before recall."""
    return known is None or known.has_lapsed or plan.request.as_of is not None


def may_return_sessions(plan: SearchPlan, known: KnownScope | None) -> bool:
    """What `returns_sessions` will say, as far as it is known before recall; True if it isn't."""
    if plan.request.granularity is None:
        return plan.granularity == "session" and may_hold_sessions(known)
    return plan.granularity == "session"


def returns_sessions(plan: SearchPlan, state: RecallState) -> bool:
    """Whether sessions come back: where they are asked for, or are the profile's and are stored."""
    if plan.request.granularity is None:
        return plan.granularity == "session" and bool(state.counts.get("session"))
    return plan.granularity == "session"


def holds_sessions_only(search: Search) -> bool:
    """Whether the profile alone asked for exchanges, and whole sessions are all that is stored."""
    counts = search.state.counts
    is_default = search.request.granularity is None and not search.sessions
    return is_default and bool(counts.get("session")) and not counts.get("turn")


def _notes(
    plan: SearchPlan, asked: RecallRequest, state: RecallState, candidates: Candidates
) -> list[str]:
    if not state.scopes:
        return ["nothing is stored in this scope yet"]
    notes = _note_times(plan.request.filters)
    if plan.request.as_of is not None:
        told = plan.request.as_of.isoformat(timespec="seconds")
        graph = "; the graph route has no past" if plan.profile.weights["graph"] else ""
        notes.append(f"memory as it stood at {told}, without what is erased by now{graph}")
    has_vector = asked.query_vector is not None
    if plan.unembedded:
        notes.append(f"ranked by words alone; {plan.unembedded}")
        if state.stale:
            notes.append("some session chunks wait to be made until texts can be embedded")
    elif not has_vector:
        notes.append("no vector route has weight: ranked by words alone")
    elif state.waiting:
        notes.append(
            "some memories here wait for their vectors: words alone find them, until"
            " 'memsense worker' has embedded them (see 'memsense jobs list')"
        )
    if asked.token_limit and candidates.tokens is None and not candidates.is_session.all():
        notes.append("no token vectors are stored: run 'memsense db fill' for better ranking")
    if asked.wording.required:
        texts = " and ".join(f"“{text}”" for text in asked.wording.required)
        notes.append(f"only memories that hold {texts} take part")
    if plan.profile.weights["lexical"] and not state.lexemes:
        means = "ranked by vectors alone" if has_vector else "nothing can be found"
        notes.append(f"the question has no searchable words: {means}")
    return notes


def _note_scores(ranking: Ranking) -> list[str]:
    """What the best score was, where none was enough."""
    if ranking.min_score is None or ranking.eligible or not ranking.entries:
        return []
    best = ranking.entries[0]
    chunk_id = ranking.terms.chunk_ids[best.row]
    told = score_below(best.score, ranking.min_score)
    return [f"nothing scored at least {ranking.min_score!r}; the best was {told}: chunk {chunk_id}"]


def _note_times(filters: Filters) -> list[str]:
    since, until = filters.since, filters.until
    if since is None or until is None or since < until:
        return []
    return [f"nothing can be since {since.isoformat()} and before {until.isoformat()}"]


def fetch_results(connection: Connection, searches: Sequence[Search]) -> list[SearchResult]:
    """The hits of searches with the same filters, with texts and neighbours, by one statement.

    None is sent when nothing was found.
    """
    started = time.perf_counter()
    wanted = [[_as_wanted(it.candidates, item) for item in it.ranked] for it in searches]
    every = [item for each in wanted for item in each]
    found = iter(_fetch_wanted(connection, searches[0].plan, every) if every else ())
    texts = [list(islice(found, len(each))) for each in wanted]
    fetch_ms = 1000 * (time.perf_counter() - started)
    return [_present(it, each, fetch_ms) for it, each in zip(searches, texts, strict=True)]


def fetch_result(connection: Connection, search: Search) -> SearchResult:
    """As `fetch_results`, of one search."""
    return fetch_results(connection, [search])[0]


def _present(search: Search, found: Sequence[FoundHit | None], fetch_ms: float) -> SearchResult:
    started = time.perf_counter()
    maker = HitMaker(search.candidates, search.request.content_budget, search.state.lexemes)
    hits = [maker.make(item, each) for item, each in zip(search.ranked, found, strict=True) if each]
    presented = 1000 * (time.perf_counter() - started)
    timings = {**search.timings, "fetch": fetch_ms + presented}
    return SearchResult(
        hits=hits,
        notes=search.notes,
        question=describe_question(search),
        profile=search.plan.profile.name,
        timings_ms={**timings, "total": sum(timings.values())},
    )


def _as_wanted(candidates: Candidates, item: Ranked) -> WantedHit:
    row = item.row
    return WantedHit(
        scope_id=candidates.scope_ids.item(row),
        chunk_id=candidates.chunk_ids.item(row),
        session_id=candidates.session_ids[row],
        ordinal=candidates.ordinals.item(row),
        part=candidates.parts.item(row),
        granularity=item.wanted,
        best_ids=[candidates.chunk_ids.item(best) for best, _ in item.best],
        best_ordinals=[candidates.ordinals.item(best) for best, _ in item.best]
        or [candidates.ordinals.item(row)],
    )


def _fetch_wanted(
    connection: Connection, plan: SearchPlan, wanted: Sequence[WantedHit]
) -> list[FoundHit | None]:
    filters = plan.request.filters
    with telemetry.statement("fetch"):
        return fetch_hits(
            connection,
            plan.tenant_id,
            wanted,
            content_budget=plan.request.content_budget,
            filters=filters.used(),
            parameters=filters.values(),
            as_of=plan.request.as_of,
        )


def describe_question(search: Search) -> dict[str, Any]:
    """What the analysis of the question found, as plain values."""
    question = search.question
    return {
        "text": question.text,
        "searched": question.search_text,
        "names": list(question.named_speakers),
        "dates": [found.text for found in question.dates],
        "quoted": list(question.quoted),
        "identifiers": list(question.identifiers),
        "lexemes": list(search.state.lexemes),
    }
