"""Writes, reads and prunes the traces of searches; knows nothing of how a search ranks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.queries import query
from memsense.store.scopes import Namespace

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
        """Named numbers that add up to final_score."""
        routes = dict(zip(self.routes, self.contributions, strict=True)) if self.base_score else {}
        support = {"turn_support": self.turn_support} if self.session is not None else {}
        return {**routes, **support, **self.terms}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded search; `candidates` in the order of fusion."""

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
    granularity: str
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
    notes: Sequence[str]
    recorded_at: datetime | None = None
    candidates: Sequence[TraceCandidate] = ()

    def hits(self) -> list[TraceCandidate]:
        """The candidates that were returned, best first."""
        found = [item for item in self.candidates if item.hit_rank is not None]
        return sorted(found, key=lambda item: item.hit_rank or 0)


_JSON_COLUMNS = ("filters", "profile", "chunk_counts", "timings_ms")
_LIST_COLUMNS = ("names", "dates", "lexemes", "notes")


Cell = str | int | float | None

CandidateRow = tuple[Cell, ...]
"""A candidate as COPY takes it: TraceCandidate's fields in order, arrays and JSON as their text."""


def array_text(values: Iterable[object]) -> str:
    """Numbers or plain names as PostgreSQL reads an array."""
    return "{" + ",".join(map(str, values)) + "}"


def write_trace(connection: Connection, trace: Trace, candidates: Iterable[CandidateRow]) -> None:
    """Store a trace with its candidates.

    The caller's transaction; its commit won't wait for the disk.
    """
    values: dict[str, Any] = {name: getattr(trace, name) for name in Trace.__slots__}
    values |= {name: Jsonb(dict(values[name])) for name in _JSON_COLUMNS}
    values |= {name: list(values[name]) for name in _LIST_COLUMNS}
    connection.execute(query("defer_flush", FILE))
    connection.execute(query("insert_trace", FILE), values)
    key = (trace.tenant_id, str(trace.trace_id))
    with connection.cursor().copy(query("copy_candidates", FILE)) as copy:
        for row in candidates:
            copy.write_row((*key, *row))


def fetch_trace(connection: Connection, namespace: Namespace, trace_id: UUID) -> Trace | None:
    """A trace of this namespace with its candidates, None if there is none of that id."""
    key = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "trace_id": trace_id,
    }
    statement = query("fetch_candidates", FILE)
    candidates = (
        connection.cursor(row_factory=class_row(TraceCandidate)).execute(statement, key).fetchall()
    )

    def build(**values: Any) -> Trace:
        return Trace(**values, candidates=candidates)

    cursor = connection.cursor(row_factory=kwargs_row(build))
    return cursor.execute(query("fetch_trace", FILE), key).fetchone()


def list_traces(
    connection: Connection, namespace: Namespace, *, limit: int, user_id: str | None
) -> list[TraceSummary]:
    """The latest traces of a namespace, newest first."""
    cursor = connection.cursor(row_factory=class_row(TraceSummary))
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "user_id": user_id,
        "limit": limit,
    }
    return cursor.execute(query("list_traces", FILE), values).fetchall()


def prune_traces(connection: Connection, namespace: Namespace, *, days: float) -> int:
    """Delete the namespace's traces that are older than that; returns how many went."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "seconds": 86400 * days,
    }
    return connection.execute(query("prune_traces", FILE), values).rowcount


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a chunk stands towards a search: which filters it passes, and what is embedded of it.

    `texts` and `vectors` name partitions of the embeddings: what should be there, what is.
    """

    status: str
    granularity: str
    session_id: str
    user_id: str
    passes: Mapping[str, bool]
    texts: Sequence[str]
    vectors: Sequence[str]


def fetch_standing(
    connection: Connection, namespace: Namespace, chunk_id: int, filters: Mapping[str, Any]
) -> Standing | None:
    """The standing of a chunk of this namespace, None if there is no such chunk."""
    values = {
        **filters,
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "chunk_id": chunk_id,
    }
    cursor = connection.cursor(row_factory=class_row(Standing))
    return cursor.execute(query("fetch_standing", FILE), values).fetchone()
