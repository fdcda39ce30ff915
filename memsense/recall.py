"""Runs THE recall query and gives back its candidates with their ranks and raw scores."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, LiteralString, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import RawCursor, sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.profiles import ROUTES, VECTOR_ROUTES, Profile, Route
from memsense.queries import recall_query
from memsense.types import Granularity, JsonValue

_PARAMETER = re.compile(r"%\((\w+)\)s")
_HEADER = 4

LARGEST_COUNT = 255
"""A tsvector keeps at most this many positions of one lexeme."""


def _count_thresholds() -> list[float]:
    """Cut points between ts_rank's values for counts n and n + 1 of a single lexeme.

    With weights of 1, ts_rank of one lexeme is the second-order harmonic number of its count,
    divided by that series' limit (PostgreSQL's tsrank.c).
    """
    limit = 1.64493406685
    harmonic = [0.0, *accumulate(1 / n**2 for n in range(1, LARGEST_COUNT + 1))]
    return [(low + high) / 2 / limit for low, high in pairwise(harmonic)]


TF_THRESHOLDS = "{" + ",".join(map(repr, _count_thresholds())) + "}"
"""The cut points as PostgreSQL reads an array: rendered once, not at every search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a chunk must satisfy to be ranked at all, by every route alike."""

    session_ids: Sequence[str] | None = None
    agent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    metadata: Mapping[str, JsonValue] | None = None
    exclude_chunks: Sequence[int] = ()
    exclude_messages: Sequence[str] = ()

    def flags(self) -> frozenset[str]:
        """The optional lines of the query that these filters need."""
        used = {
            "by_session": self.session_ids is not None,
            "by_agent": self.agent_id is not None,
            "by_since": self.since is not None,
            "by_until": self.until is not None,
            "by_tags": self.tags is not None,
            "by_kinds": self.kinds is not None,
            "by_metadata": self.metadata is not None,
            "by_exclude": bool(self.exclude_chunks or self.exclude_messages),
        }
        flags = {name for name, is_used in used.items() if is_used}
        return frozenset(flags | {"filtered"} if flags else flags)

    def values(self) -> dict[str, Any]:
        """The parameters of those lines."""
        return {
            "session_ids": list(self.session_ids or ()),
            "agent_id": self.agent_id,
            "since": self.since,
            "until": self.until,
            "tags": list(self.tags or ()),
            "kinds": list(self.kinds or ()),
            "metadata": Jsonb(dict(self.metadata or {})),
            "exclude_chunks": list(self.exclude_chunks),
            "exclude_messages": list(self.exclude_messages),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """One question as the database gets it; `terms` is its text for the lexical route."""

    tenant_id: int
    namespace: str
    user_id: str | None
    granularities: Sequence[Granularity]
    query_vector: NDArray[np.float32] | None
    terms: str
    profile: Profile
    top_k: int
    filters: Filters = field(default_factory=Filters)
    promoted_scope: tuple[int, int] | None = None


class RouteHit(NamedTuple):
    """A route's rank (1-based) and raw score for a candidate."""

    route: Route
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that fusion kept; `embedding` is its full text's unit vector, (d,) float32."""

    chunk_id: int
    rrf_score: float
    routes: tuple[RouteHit, ...]
    scope_id: int
    granularity: Granularity
    session_id: str
    ordinal: int
    part: int
    memory_score: float
    tags: frozenset[str]
    occurred_at: datetime | None
    user_speaker: str | None
    assistant_speaker: str | None
    embedding: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallState:
    """What the query found out on its way: the scope's counts and the question's lexemes."""

    scopes: int
    model_id: int | None
    counts: Mapping[str, float]
    lexemes: tuple[str, ...]
    speakers: tuple[str, ...]
    promoted: bool
    ceiling: Mapping[str, float]
    lexical_matches: int


def run_recall(
    connection: Connection, request: RecallRequest
) -> tuple[RecallState, list[Candidate]]:
    """One round trip: the candidates by descending rrf_score, ties by chunk id."""
    statement, names = _positional(query_flags(request), request.promoted_scope)
    values = query_values(request)
    cursor = RawCursor(connection)
    cursor.adapters.register_loader("halfvec", _UnreadVector)
    arguments = [values[name] for name in names]
    rows = cursor.execute(statement, arguments, prepare=True, binary=True).fetchall()
    candidates = [row for row in rows if row[1] is not None]
    embeddings = _read_embeddings([row[-1] for row in candidates])
    return _read_state(rows[0][0]), list(map(_read_candidate, candidates, embeddings))


@cache
def _positional(
    flags: frozenset[str], promoted_scope: tuple[int, int] | None
) -> tuple[sql.SQL, Sequence[str]]:
    """The query with numbered parameters and their names in order.

    psycopg would translate the named ones anew at every search, a tenth of a small search's time.
    """
    text = recall_query(flags, *(promoted_scope or (None, None))).as_string()
    names = list(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return sql.SQL(cast("LiteralString", numbered.replace("%%", "%"))), names


class _UnreadVector(Loader):
    """Keeps a halfvec as the bytes that came, so that all of a result are read at once."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        """Two bytes each: the dimension and a zero; then the components, big-endian."""
        return bytes(data)


def _read_embeddings(found: Sequence[bytes | None]) -> list[NDArray[np.float32] | None]:
    """The vectors, (d,) float32 each; None where there is none."""
    data = b"".join(vector[_HEADER:] for vector in found if vector is not None)
    components = np.frombuffer(data, dtype=">f2").astype(np.float32)
    known = sum(vector is not None for vector in found)
    rows = iter(components.reshape(known, -1) if known else ())
    return [None if vector is None else next(rows) for vector in found]


def query_flags(request: RecallRequest) -> frozenset[str]:
    """Which optional lines of recall.sql this request needs."""
    flags = {request.profile.lexical_mode, "ann" if request.promoted_scope else "exact"}
    if request.user_id is not None:
        flags.add("one_user")
    if len(request.granularities) == 1:
        flags.add("one_granularity")
    return request.filters.flags() | flags


def query_values(request: RecallRequest) -> dict[str, Any]:
    """The parameters of recall.sql; a question without a vector or terms runs no such route."""
    profile = request.profile
    weights = dict(profile.weights)
    if request.query_vector is None:
        weights |= dict.fromkeys(VECTOR_ROUTES, 0.0)
    if not request.terms.strip():
        weights["lexical"] = 0.0
    vector = request.query_vector
    return {
        "tenant_id": request.tenant_id,
        "namespace": request.namespace,
        "user_id": request.user_id,
        "granularities": list(request.granularities),
        "query_vector": HalfVector(vector.astype(np.float16)) if vector is not None else None,
        "terms": request.terms,
        "route_limit": profile.route_limit(request.top_k),
        "candidate_limit": profile.candidate_limit(request.top_k),
        "rrf_k": profile.rrf_k,
        "k1": profile.k1,
        "b": profile.b,
        "weight_context": profile.weight_context,
        "weight_tag": profile.weight_tag,
        "postings_budget": profile.postings_budget,
        "tf_thresholds": TF_THRESHOLDS,
        **{f"weight_{route}": weight for route, weight in weights.items()},
        **request.filters.values(),
    }


def _read_state(found: Mapping[str, Any]) -> RecallState:
    return RecallState(
        scopes=found["scopes"],
        model_id=found["model_id"],
        counts=found["counts"] or {},
        lexemes=tuple(found["question"] or ()),
        speakers=tuple(found.get("speakers") or ()),
        promoted=bool(found.get("promoted")),
        ceiling=found.get("ceiling") or {},
        lexical_matches=found["matches"],
    )


def _read_candidate(row: Sequence[Any], embedding: NDArray[np.float32] | None) -> Candidate:
    (
        _, chunk_id, rrf_score, routes, ranks, scores, scope_id, granularity, session_id, ordinal,
        part, memory_score, tags, task_tag, occurred_at, user_speaker, assistant_speaker, _,
    ) = row  # fmt: skip
    return Candidate(
        chunk_id=chunk_id,
        rrf_score=rrf_score,
        routes=tuple(
            RouteHit(ROUTES[int(route) - 1], int(rank), float(score))
            for route, rank, score in zip(routes, ranks, scores, strict=True)
        ),
        scope_id=scope_id,
        granularity=granularity,
        session_id=session_id,
        ordinal=ordinal,
        part=part,
        memory_score=memory_score,
        tags=frozenset([*tags, task_tag] if task_tag else tags),
        occurred_at=occurred_at,
        user_speaker=user_speaker,
        assistant_speaker=assistant_speaker,
        embedding=embedding,
    )
