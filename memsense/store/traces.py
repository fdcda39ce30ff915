"""Writes, reads and prunes the traces of searches; knows nothing of how a search ranks."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from psycopg import RawCursor
from psycopg.abc import DumperKey
from psycopg.adapt import Dumper, PyFormat
from psycopg.pq import Format
from psycopg.rows import class_row, kwargs_row
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill, numbered_query, query
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedCandidates:
    """The n candidates of a search as `memsense.packed_candidates` holds them, column by column.

    Arrays are (n,) by position, but `weights` (routes,), `ranks` and `scores` (n, routes),
    `term_shares` (n, terms), `shown_chunk_ids` (hits,), and those from `supported` on, which have
    an element for each chunk that stands for a session with others of its chunks behind it. The
    table's comments say what 0 and NaN mean.
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


@dataclass(frozen=True, slots=True)
class _Element:
    """How PostgreSQL knows an array's element type, and the layout of one element."""

    type_oid: int
    array_oid: int
    layout: np.dtype[np.void]


def _element(type_oid: int, array_oid: int, form: str) -> _Element:
    return _Element(type_oid, array_oid, np.dtype([("length", ">i4"), ("value", form)]))


_ELEMENTS: Mapping[type, _Element] = {
    np.bool_: _element(16, 1000, "?"),
    np.int16: _element(21, 1005, ">i2"),
    np.int32: _element(23, 1007, ">i4"),
    np.int64: _element(20, 1016, ">i8"),
    np.float64: _element(701, 1022, ">f8"),
}


class _ArrayDumper(Dumper):
    """Writes a numpy array of any shape as a PostgreSQL array, all of it at once."""

    format = Format.BINARY

    def get_key(self, obj: NDArray[Any], format: PyFormat) -> DumperKey:  # noqa: A002 (psycopg's name)
        """A dumper for each element type."""
        del format
        return (self.cls, obj.dtype.type)

    def upgrade(self, obj: NDArray[Any], format: PyFormat) -> "_ArrayDumper":  # noqa: A002
        """The dumper for this element type."""
        del format
        dumper = type(self)(self.cls)
        dumper.oid = _ELEMENTS[obj.dtype.type].array_oid
        return dumper

    def dump(self, obj: NDArray[Any]) -> bytes:
        """Dimensions, null flag, element type, each length and lower bound; then the elements."""
        element = _ELEMENTS[obj.dtype.type]
        lengths = obj.shape if obj.size else ()
        body = np.empty(obj.size, dtype=element.layout)
        body["length"] = obj.itemsize
        body["value"] = obj.reshape(-1)
        sizes = [number for length in lengths for number in (length, 1)]
        head = struct.pack(f">3i{len(sizes)}i", len(lengths), 0, element.type_oid, *sizes)
        return head + body.tobytes()


def write_trace(connection: Connection, trace: Trace, candidates: PackedCandidates) -> None:
    """Store a trace with its candidates, by one statement; its commit won't wait for the disk."""
    values: dict[str, Any] = {name: getattr(trace, name) for name in Trace.__slots__}
    values |= {name: Jsonb(dict(values[name])) for name in _JSON_COLUMNS}
    values |= {name: list(values[name]) for name in _LIST_COLUMNS}
    values |= {name: getattr(candidates, name) for name in PackedCandidates.__slots__}
    statement = numbered_query("insert_trace", FILE)
    cursor = RawCursor(connection)
    cursor.adapters.register_dumper(np.ndarray, _ArrayDumper)
    cursor.execute(statement.text, statement.arguments(values), prepare=True)


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
    connection: Connection, chunk_id: int, filters: Sequence[str], values: Mapping[str, Any]
) -> Standing | None:
    """The standing of a chunk towards a recall, None if its namespace has no such chunk.

    `filters` are the names of those in use, `values` the recall's parameters.
    """
    passes = [
        fill("passes", FILE, filter=name, condition=fill(name, "filters.sql")) for name in filters
    ]
    statement = fill(
        "fetch_standing",
        FILE,
        quoted=fill("quoted", "recall.sql"),
        passes=",\n".join(passes),
    )
    cursor = connection.cursor(row_factory=class_row(Standing))
    return cursor.execute(as_sql(statement), {**values, "chunk_id": chunk_id}).fetchone()
