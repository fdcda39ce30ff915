"""Runs THE recall query and gives back its candidates with their ranks and raw scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import RawCursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.json import Jsonb

from memsense.candidates import Candidates, Held
from memsense.db.connection import Connection
from memsense.lexical import TextIndex, text_index
from memsense.profiles import ROUTES, VECTOR_ROUTES, Profile, Route
from memsense.queries import number_parameters, recall_query
from memsense.question import NO_WORDING, Wording
from memsense.types import Granularity, JsonValue

FEW_SHARE, FEW_LEAST = 0.02, 200
"""Filters let few chunks through when it is at most this share of all, and so many more.

Their vectors are then looked up one by one: 2% of a scan's rows cost about as much as the scan, and
an HNSW index, which goes by nearness alone, would have to read most of its rows to find them.
"""

HNSW_BREADTH: Mapping[Route, float] = MappingProxyType(
    {
        "vec_full": 6.0,
        "vec_user": 2.5,
        "vec_assistant": 2.5,
        "vec_next_user": 2.5,
        "facet_personal_info": 2.5,
        "facet_preferences": 2.5,
        "facet_events": 2.5,
    }
)
"""An HNSW scan keeps so many chunks in view (hnsw.ef_search) for each that its route returns.

Of the exact 80 nearest among 100,000, these find 97% or more of every route: whole texts lie
closer together than their sides, and need twice as much. docs/benchmarks.md has the figures.
"""

LARGEST_EF_SEARCH = 1000
"""What pgvector allows."""

GRAPH_SIMILARITY = 0.8
"""A misspelt name means an entity whose spelling is more similar than this."""

GRAPH_HOPS, GRAPH_EDGES = 2, 16
"""How far the graph route goes, and over how many of an entity's strongest edges each time."""

GRAPH_DECAY = 0.5
"""A mention counts so much less with every hop from the question's own entities."""

GRAPH_BOOST = 1.5
"""What a chunk's score is multiplied by when it mentions an entity of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a chunk must satisfy to be ranked at all, by every route alike."""

    session_ids: Sequence[str] | None = None
    project: str | None = None
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
            "by_project": self.project is not None,
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
            "project": self.project,
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
    """One question as the database gets it.

    `sessions`: whether sessions may be returned, which reads deeper where the profile says so.
    `terms` is its text for the lexical route, `question_keys` what it may name for the graph
    route, `wording` what texts may hold of it word for word.
    """

    tenant_id: int
    namespace: str
    user_id: str | None
    granularities: Sequence[Granularity]
    query_vector: NDArray[np.float32] | None
    terms: str
    profile: Profile
    top_k: int
    sessions: bool = False
    filters: Filters = field(default_factory=Filters)
    promoted_scope: tuple[int, int] | None = None
    question_keys: Sequence[str] = ()
    wording: Wording = NO_WORDING

    @property
    def candidate_limit(self) -> int:
        """How many chunks fusion keeps."""
        return self.profile.candidate_limit(self.top_k, sessions=self.sessions)

    @property
    def route_limit(self) -> int:
        """How many chunks each route keeps."""
        return self.profile.route_limit(self.top_k, sessions=self.sessions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallState:
    """What the query found out on its way: the scope's counts and the question's lexemes."""

    scopes: int
    model_id: int | None
    settings_version: int
    counts: Mapping[str, float]
    lexemes: tuple[str, ...]
    speakers: tuple[str, ...]
    promoted: bool
    ceiling: Mapping[str, float]
    lexical_matches: int


def run_recall(connection: Connection, request: RecallRequest) -> tuple[RecallState, Candidates]:
    """One round trip: the candidates by descending rrf_score, ties by chunk id."""
    place = request.promoted_scope or (None, None)
    statement, names = number_parameters(recall_query(query_flags(request), *place))
    values = query_values(request)
    cursor = RawCursor(connection)
    for name in _ELEMENTS:
        array = cursor.adapters.types.get_oid(f"{name}[]")
        cursor.adapters.register_loader(array, _NumberArray)
    arguments = [values[name] for name in names]
    rows = cursor.execute(statement, arguments, prepare=True, binary=True).fetchall()
    state, *columns = rows[0]
    held: Sequence[Any] = columns[_COLUMNS:]
    candidates = _read_candidates(columns[:_COLUMNS])
    if any(held):
        candidates = replace(candidates, held=_read_held(held, request.wording))
    return _read_state(state, text_index(request.profile)), candidates


_ELEMENTS: Mapping[str, tuple[int, str]] = {
    "int4": (23, ">i4"),
    "int8": (20, ">i8"),
    "float8": (701, ">f8"),
}
"""Types of numbers: the id PostgreSQL gives each, and its binary form."""

_BY_ID = {
    number: np.dtype([("length", ">i4"), ("value", form)]) for number, form in _ELEMENTS.values()
}
_HEADER = 20


class _NumberArray(Loader):
    """Reads a one-dimensional array without nulls as a numpy array, all of it at once."""

    format = Format.BINARY

    def load(self, data: Buffer) -> NDArray[Any]:
        """Dimensions, null flag, element type, length, lower bound; then each length and value."""
        found = bytes(data)
        element = _BY_ID[int.from_bytes(found[8:12], "big")]
        values = np.frombuffer(found, dtype=element, offset=_HEADER)["value"]
        return values.astype(values.dtype.newbyteorder("="))


def query_flags(request: RecallRequest) -> frozenset[str]:
    """Which optional lines of recall.sql this request needs."""
    flags = {text_index(request.profile).name, "ann" if request.promoted_scope else "exact"}
    flags.add("all_users" if request.user_id is None else "one_user")
    if len(request.granularities) == 1:
        flags.add("one_granularity")
    if request.profile.weights["graph"] and request.question_keys:
        flags.add("graph")
    return request.filters.flags() | request.wording.flags() | flags


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
        "route_limit": request.route_limit,
        "candidate_limit": request.candidate_limit,
        **{
            f"ef_search_{route}": str(min(round(breadth * request.route_limit), LARGEST_EF_SEARCH))
            for route, breadth in HNSW_BREADTH.items()
        },
        "rrf_k": profile.rrf_k,
        "few_share": FEW_SHARE,
        "few_least": FEW_LEAST,
        **text_index(profile).parameters(),
        "question_keys": list(request.question_keys),
        "graph_similarity": GRAPH_SIMILARITY,
        "graph_edges": GRAPH_EDGES,
        "graph_hops": GRAPH_HOPS,
        "graph_decay": GRAPH_DECAY,
        "graph_boost": GRAPH_BOOST,
        **{f"weight_{route}": weight for route, weight in weights.items()},
        "identifier_boost": profile.identifier_boost,
        **request.wording.values(),
        **request.filters.values(),
    }


def _read_state(found: Mapping[str, Any], index: TextIndex) -> RecallState:
    return RecallState(
        scopes=found["scopes"],
        model_id=found["model_id"],
        settings_version=found["settings_version"] or 0,
        counts=found["counts"] or {},
        lexemes=tuple(found["question"] or ()),
        speakers=tuple(found.get("speakers") or ()),
        promoted=bool(found.get("promoted")),
        ceiling=(found["ceiling"] or {}) if index.has_ceiling else {},
        lexical_matches=found["matches"],
    )


def _read_candidates(columns: Sequence[Any]) -> Candidates:
    """The arrays of the result's one row, which are null when nothing was found."""
    if columns[0] is None:
        return Candidates.of(())
    (
        chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids,
        scope_ids, granularities, session_ids, ordinals, parts, memory_scores, times,
        user_speakers, assistant_speakers, tags, embedded, embeddings,
    ) = columns  # fmt: skip
    places = _Places.of(chunk_ids)
    ranks, scores = _read_hits(places, hit_routes, hit_counts, hit_chunk_ids, hit_scores)
    order = _Places.of(payload_ids).find(chunk_ids)
    listed: list[int] = order.tolist()
    known = np.zeros(len(chunk_ids), dtype=bool)
    vectors = np.zeros((len(chunk_ids), 1), dtype=np.float32)
    if embedded is not None:
        rows = places.find(embedded)
        found = _read_embeddings(embeddings)
        known[rows] = True
        vectors = np.zeros((len(chunk_ids), found.shape[1]), dtype=np.float32)
        vectors[rows] = found
    return Candidates(
        chunk_ids=chunk_ids,
        rrf_scores=rrf_scores,
        ranks=ranks,
        scores=scores,
        scope_ids=scope_ids[order].astype(np.int64),
        is_session=np.array([granularities[row] == "session" for row in listed], dtype=bool),
        session_ids=[session_ids[row] for row in listed],
        ordinals=ordinals[order].astype(np.int64),
        parts=parts[order].astype(np.int64),
        memory_scores=memory_scores[order],
        tags=_read_tags(tags or {}),
        times=[times[row] for row in listed],
        user_speakers=[user_speakers[row] for row in listed],
        assistant_speakers=[assistant_speakers[row] for row in listed],
        embedded=known,
        embeddings=vectors,
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """Finds the places of ids in an array of distinct ids, in whatever order that is."""

    order: NDArray[np.int64]
    ascending: NDArray[np.int64]

    @classmethod
    def of(cls, ids: NDArray[np.int64]) -> "_Places":
        """The places of these ids."""
        order = np.argsort(ids)
        return cls(order, ids[order])

    def find(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each wanted id, every one of which is there."""
        return self.order[np.searchsorted(self.ascending, wanted)]

    def look_up(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of the wanted ids are there, and the places of those."""
        near = np.minimum(np.searchsorted(self.ascending, wanted), len(self.ascending) - 1)
        is_there = self.ascending[near] == wanted
        return is_there, self.order[near[is_there]]


def _read_hits(
    places: _Places,
    routes: NDArray[np.int32],
    counts: NDArray[np.int32],
    chunk_ids: bytes,
    scores: bytes,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank and raw score of each candidate by route, (n, routes); lists are given best first."""
    lengths: list[int] = counts.tolist()
    is_kept, rows = places.look_up(_read_joined(chunk_ids, "int8", lengths))
    columns = np.repeat(routes - 1, counts)[is_kept]
    shape = len(places.order), len(ROUTES)
    ranks, raw = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    ranks[rows, columns] = np.concatenate([np.arange(1, n + 1) for n in lengths])[is_kept]
    raw[rows, columns] = _read_joined(scores, "float8", lengths)[is_kept]
    return ranks, raw


def _read_joined(found: bytes, element: str, lengths: Sequence[int]) -> NDArray[Any]:
    """The values of arrays in binary, one after another, each with its header."""
    form = _BY_ID[_ELEMENTS[element][0]]
    arrays: list[NDArray[Any]] = []
    start = 0
    for length in lengths:
        start += _HEADER
        arrays.append(np.frombuffer(found, dtype=form, count=length, offset=start)["value"])
        start += length * form.itemsize
    joined = np.concatenate(arrays)
    return joined.astype(joined.dtype.newbyteorder("="))


_COLUMNS = 19
"""The columns that every search has; further ones tell what is held word for word."""


def _read_held(columns: Sequence[Any], wording: Wording) -> dict[int, Held]:
    """What each candidate holds, by chunk id; places count from 0."""
    found = list(columns)
    worded: Mapping[str, list[int]] = (found.pop(0) if "worded" in wording.flags() else None) or {}
    named: Mapping[str, tuple[float, list[int]]] = (found.pop(0) if found else None) or {}
    held: dict[int, Held] = {}
    before = 1 + bool(wording.phrase)
    for chunk_id in worded.keys() | named.keys():
        places = worded.get(chunk_id, [])
        share, identifiers = named.get(chunk_id, (0.0, ()))
        held[int(chunk_id)] = Held(
            phrase=bool(wording.phrase) and 1 in places,
            quoted=tuple(place - before for place in places if place >= before),
            identifiers=tuple(place - 1 for place in identifiers),
            identifier_share=share,
        )
    return held


def _read_tags(found: Mapping[str, Sequence[str | None]]) -> dict[int, frozenset[str]]:
    """The tags of the chunks that have any, by chunk id; the task tag may be null."""
    return {
        int(chunk_id): frozenset(tag for tag in tags if tag is not None)
        for chunk_id, tags in found.items()
    }


_VECTOR_HEADER = 4


def _read_embeddings(found: bytes) -> NDArray[np.float32]:
    """The vectors as rows, (n, d) float32, from halfvecs in binary, one after another.

    Two bytes each: the dimension and a zero; then the components, big-endian.
    """
    width = int.from_bytes(found[:2], "big")
    raw = np.frombuffer(found, dtype=np.uint8).reshape(-1, _VECTOR_HEADER + 2 * width)
    return np.ascontiguousarray(raw[:, _VECTOR_HEADER:]).view(">f2").astype(np.float32)
