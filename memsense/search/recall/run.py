"""Runs THE recall query and gives back its candidates with their ranks and raw scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from memsense.db.connection import Connection, limit_recall
from memsense.db.rows import fetch_numbered
from memsense.search.profiles import VECTOR_ROUTES, Profile, Route
from memsense.search.question import NO_WORDING, Wording
from memsense.search.recall.candidates import Candidates
from memsense.search.recall.lexical import TextIndex, text_index
from memsense.search.recall.row import read_candidates
from memsense.search.recall.statement import Indexed, Shape, recall_statement
from memsense.search.request import NO_FILTERS, Filters
from memsense.types import Granularity

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """One question as the database gets it.

    `sessions`: whether sessions may be returned, which reads deeper where the profile says so.
    `token_limit`: how many candidates come with their tokens; 0: none. `terms` is its text for the
    lexical route, `optional` the parameters of each optional route
    that runs, `wording` what texts may hold of it word for word. `timeout` is in seconds; 0 is
    none.
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
    token_limit: int = 0
    filters: Filters = NO_FILTERS
    indexed: Indexed | None = None
    optional: Mapping[Route, Mapping[str, Any]] = field(
        default_factory=dict[Route, Mapping[str, Any]]
    )
    wording: Wording = NO_WORDING
    timeout: float = 0.0

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
    """What the query found out on its way: the scope's counts and the question's lexemes.

    `stale`: session chunks wait to be made; told where sessions are asked for.
    """

    scopes: int
    model_id: int | None
    settings_version: int
    counts: Mapping[str, float]
    lexemes: tuple[str, ...]
    speakers: tuple[str, ...]
    indexed: bool
    ceiling: Mapping[str, float]
    lexical_matches: int
    stale: bool = False


def run_recall(connection: Connection, request: RecallRequest) -> tuple[RecallState, Candidates]:
    """One round trip: the candidates by descending rrf_score, ties by chunk id.

    Raises RecallTimeoutError after the request's timeout.
    """
    statement = recall_statement(shape_of(request))
    with limit_recall(connection, request.timeout):
        ((state, *columns),) = fetch_numbered(connection, statement, query_values(request))
    candidates = read_candidates(columns, request.wording)
    return _read_state(state, text_index(request.profile)), candidates


def shape_of(request: RecallRequest) -> Shape:
    """Which statement this request needs."""
    wording = request.wording
    quoted = ("quoted",) if wording.required else ()
    return Shape(
        whose="all_users" if request.user_id is None else request.indexed or "one_user",
        lexical=request.profile.lexical_mode,
        filters=(*request.filters.used(), *quoted),
        optional=tuple(request.optional),
        identified=bool(wording.identifiers),
        worded=bool(wording.phrase or wording.quoted),
        tokens=request.token_limit > 0,
        one_granularity=len(request.granularities) == 1,
    )


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
        "token_limit": request.token_limit,
        **{
            f"ef_search_{route}": str(min(round(breadth * request.route_limit), LARGEST_EF_SEARCH))
            for route, breadth in HNSW_BREADTH.items()
        },
        "rrf_k": profile.rrf_k,
        "few_share": FEW_SHARE,
        "few_least": FEW_LEAST,
        **text_index(profile).parameters(),
        **{name: value for found in request.optional.values() for name, value in found.items()},
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
        indexed=bool(found.get("indexed")),
        ceiling=(found["ceiling"] or {}) if index.has_ceiling else {},
        lexical_matches=found["matches"],
        stale=bool(found.get("stale")),
    )
