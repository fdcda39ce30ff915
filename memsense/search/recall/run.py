"""Runs THE recall query and gives back its candidates with their ranks and raw scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from memsense.db.connection import Connection
from memsense.db.queries import Numbered
from memsense.db.rows import fetch_each_numbered
from memsense.db.session import uses_lookups
from memsense.search.profiles import VECTOR_ROUTES, Profile, Route
from memsense.search.question import NO_WORDING, Wording
from memsense.search.recall.candidates import Candidates
from memsense.search.recall.lexical import TextIndex, text_index
from memsense.search.recall.past import past_statement
from memsense.search.recall.row import read_candidates
from memsense.search.recall.statement import Indexed, Shape, recall_statement
from memsense.search.request import NO_FILTERS, Filters
from memsense.types import Granularity

FEW_SHARE, FEW_LEAST = 0.02, 200
"""Filters let few chunks through when it is at most this share of all, and so many more.

Their vectors are then looked up one by one: 2% of a scan's rows cost about as much as the scan, and
an HNSW index, which goes by nearness alone, would have to read most of its rows to find them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """One question as the database gets it.

    `model_id`: the model that `query_vector` is of, whose vectors alone are read.
    `sessions`: whether sessions may be returned, which reads deeper where the profile says so.
    `token_limit`: how many candidates come with their tokens; 0: none. `terms` is its text for the
    lexical route, `optional` the parameters of each optional route
    that runs, `wording` what texts may hold of it word for word. `lapsed`: whether anything may
    have expired that is still stored. `timeout` is in seconds; 0 is none. Memory is read `as_of` a
    moment, or as it is.
    """

    tenant_id: int
    namespace: str
    user_id: str | None
    granularities: Sequence[Granularity]
    model_id: int | None
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
    lapsed: bool = True
    timeout: float = 0.0
    as_of: datetime | None = None

    @property
    def weights(self) -> Mapping[Route, float]:
        """The profile's, but 0 for what a question without a vector or words gives no route."""
        weights = dict(self.profile.weights)
        if self.query_vector is None:
            weights |= dict.fromkeys(VECTOR_ROUTES, 0.0)
        if not self.terms.strip():
            weights["lexical"] = 0.0
        return weights

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

    `stale`: session chunks wait to be made; told where sessions are asked for. `waiting`: chunks
    wait for their vectors. `lapsed`: something has expired and is not swept yet. `recalled_at`:
    when the query came, by the server's clock.
    """

    scopes: int
    recalled_at: datetime
    model_id: int | None
    settings_version: int
    counts: Mapping[str, float]
    lexemes: tuple[str, ...]
    speakers: tuple[str, ...]
    indexed: bool
    ceiling: Mapping[str, float]
    lexical_matches: int
    stale: bool = False
    waiting: bool = False
    lapsed: bool = False


def run_recall(connection: Connection, request: RecallRequest) -> tuple[RecallState, Candidates]:
    """One round trip: the candidates by descending rrf_score, ties by chunk id.

    Raises RecallTimeoutError after the request's timeout.
    """
    return run_recalls(connection, [request])[0]


def run_recalls(
    connection: Connection, requests: Sequence[RecallRequest]
) -> list[tuple[RecallState, Candidates]]:
    """As `run_recall`, several questions in one round trip, with the longest of their timeouts."""
    lookups = uses_lookups(connection)
    runs = [(_statement(request, lookups=lookups), query_values(request)) for request in requests]
    timeout = max(request.timeout for request in requests)
    found: list[tuple[RecallState, Candidates]] = []
    for request, rows in zip(requests, fetch_each_numbered(connection, runs, timeout), strict=True):
        ((state, *columns),) = rows
        candidates = read_candidates(columns, request.wording)
        found.append((_read_state(state, text_index(request.profile)), candidates))
    return found


def _statement(request: RecallRequest, *, lookups: bool) -> Numbered:
    shape = shape_of(request, lookups=lookups)
    return recall_statement(shape) if request.as_of is None else past_statement(shape)


def shape_of(request: RecallRequest, *, lookups: bool = False) -> Shape:
    """Which statement this request needs, on a server that serves its GIN indexes so."""
    wording, weights = request.wording, request.weights
    quoted = ("quoted",) if wording.required else ()
    return Shape(
        whose="all_users" if request.user_id is None else request.indexed or "one_user",
        lexical=request.profile.lexical_mode,
        filters=(*request.filters.used(), *quoted),
        optional=tuple(request.optional),
        silent=tuple(route for route in VECTOR_ROUTES if not weights[route]),
        identified=bool(wording.identifiers),
        worded=bool(wording.phrase or wording.quoted),
        tokens=request.token_limit > 0,
        turns_only="session" not in request.granularities,
        lapsed=request.lapsed,
        lookups=lookups,
    )


def query_values(request: RecallRequest) -> dict[str, Any]:
    """The parameters of recall.sql."""
    profile, vector = request.profile, request.query_vector
    return {
        "as_of": request.as_of,
        "tenant_id": request.tenant_id,
        "namespace": request.namespace,
        "user_id": request.user_id,
        "granularities": list(request.granularities),
        "model_id": request.model_id,
        "query_vector": HalfVector(vector.astype(np.float16)) if vector is not None else None,
        "terms": request.terms,
        "route_limit": request.route_limit,
        "candidate_limit": request.candidate_limit,
        "token_limit": request.token_limit,
        "rrf_k": profile.rrf_k,
        "few_share": FEW_SHARE,
        "few_least": FEW_LEAST,
        **text_index(profile).parameters(),
        **{name: value for found in request.optional.values() for name, value in found.items()},
        **{f"weight_{route}": weight for route, weight in request.weights.items()},
        "identifier_boost": profile.identifier_boost,
        **request.wording.values(),
        **request.filters.values(),
    }


def _read_state(found: Mapping[str, Any], index: TextIndex) -> RecallState:
    return RecallState(
        scopes=found["scopes"],
        recalled_at=datetime.fromisoformat(found["recalled_at"]),
        model_id=found["model_id"],
        settings_version=found["settings_version"] or 0,
        counts=found["counts"] or {},
        lexemes=tuple(found["question"] or ()),
        speakers=tuple(found.get("speakers") or ()),
        indexed=bool(found.get("indexed")),
        ceiling=(found["ceiling"] or {}) if index.has_ceiling else {},
        lexical_matches=found["matches"],
        stale=bool(found.get("stale")),
        waiting=bool(found.get("waiting")),
        lapsed=bool(found.get("lapsed")),
    )
