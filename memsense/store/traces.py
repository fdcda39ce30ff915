"""Traces of searches: written, read and pruned, without any knowledge of how a search ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill, numbered_query
from memsense.db.rows import (
    execute,
    execute_numbered,
    fetch_all,
    fetch_numbered,
    fetch_one,
    find_one,
    find_value,
)
from memsense.store.conditions import exchanges_condition, select_strict
from memsense.store.scopes import Namespace
from memsense.types import Note, PromptKind

FILE = "trace.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """One line of the list of traces."""

    trace_id: UUID
    namespace: str
    user_id: str | None
    question: str
    top_k: int
    returned: str
    profile_name: str
    candidate_count: int
    hit_count: int
    total_ms: float
    recorded_at: datetime


class AfterTrace(NamedTuple):
    """The start of a page of traces: behind this time and trace."""

    at: datetime
    trace_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStatistics:
    """Counts of recorded searches, and percentiles of their duration in ms, if there are any."""

    searches: int
    empty: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


NO_TRACES = TraceStatistics(searches=0, empty=0, p50_ms=None, p95_ms=None, p99_ms=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCandidate:
    """A candidate of a recorded search: numbers and ids, no texts.

    base_score + turn_support + the terms add up to final_score; base_score is the sum of the
    contributions, or 0 for a turn that only supports its session.
    """

    position: int
    scope_id: int
    chunk_id: int
    granularity: str
    routes: Sequence[str]
    ranks: Sequence[int]
    scores: Sequence[float]
    weights: Sequence[float]
    contributions: Sequence[float]
    rrf_score: float
    memory_score: float
    base_score: float
    turn_support: float
    terms: Mapping[str, float]
    session: Mapping[str, Any] | None
    final_score: float
    score_rank: int | None
    relevance: float | None
    redundancy: float | None
    redundant_to: int | None
    mmr_score: float | None
    hit_rank: int | None
    shown_chunk_id: int | None
    dropped_by: str | None
    lost_to: int | None

    def parts(self) -> dict[str, float]:
        """Return the named numbers that add up to final_score."""
        routes = dict(zip(self.routes, self.contributions, strict=True)) if self.base_score else {}
        support = {"turn_support": self.turn_support} if self.session is not None else {}
        return {**routes, **support, **self.terms}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded search; `candidates` are in the order of fusion.

    `profile` are the constants of the profile for all prompts. `request_share` says how far those
    for requests were in force, 0 to 1; None if the profile has none. `kind_by` is the source of the
    prompt's kind: its vector, its words or the caller. `timezone` is the name of the asker's zone,
    or its offset if it has none; `calendar` are the settings of their calendar.
    """

    tenant_id: int
    trace_id: UUID
    namespace: str
    user_id: str | None
    question: str
    searched: str
    names: Sequence[str]
    dates: Sequence[str]
    lexemes: Sequence[str]
    top_k: int
    min_score: float | None
    granularity: str | None
    returned: str
    filters: Mapping[str, Any]
    asked_at: datetime | None
    profile_name: str
    profile: Mapping[str, Any]
    chunk_counts: Mapping[str, float]
    lexical_matches: int
    candidate_count: int
    hit_count: int
    timings_ms: Mapping[str, float]
    notes: Sequence[Note]
    recalled_at: datetime | None = None
    request_share: float | None = None
    kind_by: str | None = None
    timezone: str | None = None
    calendar: Mapping[str, str] | None = None
    recorded_at: datetime | None = None
    candidates: Sequence[TraceCandidate] = ()

    @property
    def kind(self) -> PromptKind | None:
        """Return the kind that the prompt was read as, None if its profile ranks both alike."""
        if self.request_share is None:
            return None
        return "request" if self.request_share > 0 else "question"

    def hits(self) -> list[TraceCandidate]:
        """Return the candidates that became hits, best first."""
        hits = [item for item in self.candidates if item.hit_rank is not None]
        return sorted(hits, key=lambda item: item.hit_rank or 0)

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain values, ready for JSON, with each candidate's parts."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        candidates = [
            {**{name: getattr(item, name) for name in item.__slots__}, "parts": item.parts()}
            for item in self.candidates
        ]
        return {**fields, "trace_id": str(self.trace_id), "candidates": candidates}


_JSON_COLUMNS = ("filters", "profile", "chunk_counts", "timings_ms", "calendar")
_LIST_COLUMNS = ("names", "dates", "lexemes", "notes")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedCandidates:
    """The n candidates of a search as `memsense.packed_candidates` holds them, column by column.

    Arrays have shape (n,), in the order of positions, with these exceptions: `weights` (routes,),
    `ranks` and `scores` (n, routes), `term_shares` (n, terms), `shown_chunk_ids` (hits,), and those
    from `supported` on, which have an element for each chunk that stands for a session with others
    of its chunks behind it. The table's comments say what 0 and NaN mean.
    """

    rrf_k: float
    rrf_weight: float
    mmr_lambda: float
    routes: Sequence[str]
    weights: NDArray[np.float64]
    terms: Sequence[str]
    scope_ids: NDArray[np.int32]
    chunk_ids: NDArray[np.int64]
    are_sessions: NDArray[np.bool_]
    ranks: NDArray[np.int32]
    scores: NDArray[np.float64]
    memory_scores: NDArray[np.float64]
    term_shares: NDArray[np.float64]
    own_routes: NDArray[np.bool_]
    final_scores: NDArray[np.float64]
    score_ranks: NDArray[np.int32]
    relevances: NDArray[np.float64]
    redundancies: NDArray[np.float64]
    rivals: NDArray[np.int64]
    steps: NDArray[np.int16]
    hit_ranks: NDArray[np.int32]
    shown_chunk_ids: NDArray[np.int64]
    supported: NDArray[np.int32]
    session_rrf_scores: NDArray[np.float64]
    turn_supports: NDArray[np.float64]
    supporting_turns: NDArray[np.int32]
    best_turns: NDArray[np.int64]
    best_turn_rrf_scores: NDArray[np.float64]


def write_trace(connection: Connection, trace: Trace, candidates: PackedCandidates) -> None:
    """Store a trace with its candidates in the caller's transaction.

    The commit does not wait for the disk: a trace may be lost in a crash of the server.
    """
    values: dict[str, Any] = {name: getattr(trace, name) for name in Trace.__slots__}
    values |= {name: Jsonb(dict(values[name] or {})) for name in _JSON_COLUMNS}
    values |= {name: list(values[name]) for name in _LIST_COLUMNS}
    values |= {name: getattr(candidates, name) for name in PackedCandidates.__slots__}
    execute(connection, "defer_commit", file=FILE)
    values["scope_id"] = find_value(connection, "find_traced_scope", values, FILE)
    # The candidates have their trace's time, so that both are in the partitions of one month.
    [(values["recorded_at"],)] = fetch_numbered(
        connection, numbered_query("insert_trace", FILE), values
    )
    execute_numbered(connection, numbered_query("insert_candidates", FILE), values)


def fetch_trace(connection: Connection, namespace: Namespace, trace_id: UUID) -> Trace | None:
    """Return a trace of this namespace with its candidates, None if there is none of that id."""
    key = {**namespace.key, "trace_id": trace_id}
    candidates = fetch_all(connection, "fetch_candidates", key, FILE, of=TraceCandidate)
    trace = find_one(connection, "fetch_trace", key, FILE, of=Trace)
    if trace is None:
        return None
    return replace(trace, candidates=candidates, notes=[Note.read(it) for it in trace.notes])


def list_traces(
    connection: Connection,
    namespace: Namespace,
    *,
    limit: int,
    user_id: str | None,
    empty: bool = False,
    slower_than: float | None = None,
    behind: AfterTrace | None = None,
) -> list[TraceSummary]:
    """Return the latest traces of a namespace, newest first: a page that begins behind `behind`.

    With `empty`, only searches without hits; with `slower_than`, only those that took more ms.
    """
    behind_at, behind_id = behind or (None, None)
    values = {
        **namespace.key,
        "user_id": user_id,
        "limit": limit,
        "empty": empty,
        "slower_than": slower_than,
        "behind_at": behind_at,
        "behind_id": behind_id,
    }
    return fetch_all(connection, "list_traces", values, FILE, of=TraceSummary)


def fetch_trace_statistics(
    connection: Connection, namespace: Namespace, user_id: str | None
) -> TraceStatistics:
    """Return how many searches are recorded, and how long they took."""
    values = {**namespace.key, "user_id": user_id}
    return fetch_one(connection, "fetch_trace_statistics", values, FILE, of=TraceStatistics)


def prune_traces(connection: Connection, namespace: Namespace, *, days: float) -> int:
    """Delete the namespace's traces that are older than `days`; return how many."""
    values = {**namespace.key, "seconds": 86400 * days}
    execute(connection, "prune_candidates", values, FILE)
    return execute(connection, "prune_traces", values, FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A chunk's relation to a search: which filters it passes, and which of its texts are embedded.

    `texts` are the partitions of the embeddings that should have a vector of it, `vectors` those
    that have one. `expired_at` is when it expired, or the first of the exchanges that it holds.
    """

    status: str
    expired_at: datetime | None
    granularity: str
    session_id: str
    user_id: str
    passes: Mapping[str, bool]
    texts: Sequence[str]
    vectors: Sequence[str]


def fetch_standing(
    connection: Connection, chunk_id: int, filters: Sequence[str], values: Mapping[str, Any]
) -> Standing | None:
    """Return the relation of a chunk to a recall, None if its namespace has no such chunk.

    `filters` are the names of those in use, `values` the recall's parameters.
    """
    passes = [
        fill("passes", FILE, filter=name, condition=fill(name, "filters.sql")) for name in filters
    ]
    if select_strict(filters):
        condition = exchanges_condition(filters)
        passes.append(fill("passes", FILE, filter="exchanges", condition=condition))
    statement = fill(
        "fetch_standing", FILE, quoted=fill("quoted", "recall.sql"), passes=",\n".join(passes)
    )
    parameters = {**values, "chunk_id": chunk_id}
    return find_one(connection, as_sql(statement), parameters, of=Standing)
