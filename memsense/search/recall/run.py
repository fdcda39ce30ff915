"""The recall phase: one statement asks every route at once; its one row becomes the candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from memsense.db.connection import Connection
from memsense.db.queries import Numbered
from memsense.db.rows import fetch_each_numbered
from memsense.db.session import uses_lookups
from memsense.db.wire import read_joined_arrays, read_joined_halfvecs
from memsense.search.profiles import ROUTES, VECTOR_ROUTES, Profile, Route
from memsense.search.question import NO_WORDING, Wording
from memsense.search.recall.candidates import Candidates, CandidateTokens, Link, WordingMatch
from memsense.search.recall.statement import (
    NEAR,
    Indexed,
    Shape,
    past_statement,
    recall_statement,
)
from memsense.search.request import NO_FILTERS, Filters
from memsense.store.scopes import LEXEMES_VERSION
from memsense.types import EmbeddingModel, Granularity

# Looking up the vectors of 2% of a scan's rows one by one costs about as much as the scan. An HNSW
# index goes by nearness alone: it would have to read most of its rows to find the few that pass.
FEW_SHARE, FEW_LEAST = 0.02, 200
"""Filters let few chunks through if these are at most this share of all, plus this number.

The vectors of few chunks are looked up one by one, without a scan.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextIndex:
    """One way to score the words of a question in the lexical route.

    `name` selects its parts of recall.sql and is the kind of its scores; `constants` are the
    parameters of these parts, by the names that they have in a profile. All ways read the same
    stored index: a tsvector for each chunk, the lengths of its fields, and the frequency of each
    lexeme.
    """

    name: str
    constants: tuple[str, ...]

    def parameters(self, profile: Profile) -> dict[str, float]:
        """Return the profile's constants for its parts of recall.sql."""
        return {name: getattr(profile, name) for name in self.constants}


TEXT_INDEXES: Mapping[str, TextIndex] = MappingProxyType(
    {
        # Any word may match; scored by BM25F (Robertson and Zaragoza 2009), 0 to a ceiling of
        # k1 + 1 times the summed idf of the question's words. The assistant's text and the context
        # weigh less the more the assistant writes in this memory.
        "bm25f": TextIndex(
            name="bm25f",
            constants=(
                "k1",
                "b",
                "weight_user",
                "weight_assistant",
                "weight_tag",
                "weight_context",
                "postings_budget",
            ),
        ),
        # Every word must match; scored by ts_rank_cd, 0 or more, with PostgreSQL's own weights of
        # the fields. No score can be named beforehand as the largest, so that it has no ceiling.
        "ts_rank": TextIndex(name="ts_rank", constants=()),
    }
)
"""The text index of each `lexical_mode`."""


class OtherQuestion(NamedTuple):
    """A question as a second model sees it.

    Attributes:
        model: The model.
        vector: Its vector.
    """

    model: EmbeddingModel
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """One question as the database gets it.

    `model_id` is the model of `query_vector`, named `model`: no vectors of another model are read,
    except with `other`, the question as a second model sees it, which compares the texts that the
    first doesn't know. `sessions` says whether sessions may be returned; a profile may then read
    deeper. `token_limit` is the number of candidates whose tokens are read. `terms` are the
    question's lexemes, each with the number of its word, and `query` is the same as a tsquery, for
    the lexical mode "ts_rank". `optional` maps the optional routes that run to their parameters,
    and `wording` holds the texts to look for word for word. `may_have_expired` says whether
    anything stored may have expired. `timeout` is in seconds, 0 for none. Memory is read as it is,
    or as it stood at `as_of`.
    """

    tenant_id: int
    namespace: str
    user_id: str | None
    granularities: Sequence[Granularity]
    model_id: int | None
    query_vector: NDArray[np.float32] | None
    terms: str
    query: str = ""
    profile: Profile
    top_k: int
    other: OtherQuestion | None = None
    model: str = ""
    sessions: bool = False
    token_limit: int = 0
    filters: Filters = NO_FILTERS
    indexed: Indexed | None = None
    optional: Mapping[Route, Mapping[str, Any]] = field(
        default_factory=dict[Route, Mapping[str, Any]]
    )
    wording: Wording = NO_WORDING
    may_have_expired: bool = True
    timeout: float = 0.0
    as_of: datetime | None = None

    @property
    def weights(self) -> Mapping[Route, float]:
        """Return the profile's weights, 0 for routes that have no vector or words to go by."""
        weights = dict(self.profile.weights)
        if self.query_vector is None:
            weights |= dict.fromkeys(VECTOR_ROUTES, 0.0)
        if not self.terms.strip():
            weights["lexical"] = 0.0
        return weights

    @property
    def has_many_words(self) -> bool:
        """Return whether the question may have more words than are searched for."""
        # A word has one lexeme or more.
        is_bm25f = self.profile.lexical_mode == "bm25f"
        return is_bm25f and self.terms.count("':") > self.profile.question_words

    @property
    def candidate_limit(self) -> int:
        """Return the number of chunks that fusion keeps."""
        limit = self.profile.candidate_limit(self.top_k, sessions=self.sessions)
        # As many as each model alone would have, so that neither's texts push out the other's.
        return 2 * limit if self.other else limit

    @property
    def route_limit(self) -> int:
        """Return the number of chunks that each route keeps."""
        return self.profile.route_limit(self.top_k, sessions=self.sessions)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallState:
    """Facts that the statement reports with the candidates: the scope's state and the lexemes.

    `lexemes` are those that are searched for, near ones of the memory included, `left_out` those of
    a long question that are not. `languages` are those of the memories searched, the most frequent
    first, and `lexemes_version` is the lowest of their index entries.
    `recalled_at` is the time of the statement by the server's clock. `ceiling` is the largest
    possible lexical score by granularity. `stale`: session chunks wait to be made; reported only
    if sessions may be returned. `waiting`: chunks wait for their vectors. `has_expired`: something
    has expired and is not swept yet. `nearest` are the times of the memories nearest to a
    time without any, and whether their zones are known; None unless a question asks for such a time
    alone.
    """

    scopes: int
    recalled_at: datetime
    model_id: int | None
    settings_version: int
    counts: Mapping[str, float]
    lexemes: tuple[str, ...]
    speakers: tuple[str, ...]
    introduced: tuple[str, ...]
    indexed: bool
    ceiling: Mapping[str, float]
    lexical_matches: int
    languages: tuple[str, ...] = ()
    lexemes_version: int = LEXEMES_VERSION
    stale: bool = False
    waiting: bool = False
    has_expired: bool = False
    left_out: tuple[str, ...] = ()
    nearest: tuple[tuple[datetime, bool], ...] | None = None


def run_recall(connection: Connection, request: RecallRequest) -> tuple[RecallState, Candidates]:
    """Return the state and the candidates, by rrf_score and chunk id; raise RecallTimeoutError."""
    return run_recalls(connection, [request])[0]


def run_recalls(
    connection: Connection, requests: Sequence[RecallRequest]
) -> list[tuple[RecallState, Candidates]]:
    """Run several recalls in one round trip, with the longest of their timeouts."""
    lookups = uses_lookups(connection)
    runs: list[tuple[Numbered, dict[str, Any]]] = []
    for request in requests:
        shape = shape_of(request, lookups=lookups)
        statement = recall_statement(shape) if request.as_of is None else past_statement(shape)
        runs.append((statement, query_values(request)))
    timeout = max([request.timeout for request in requests])
    results: list[tuple[RecallState, Candidates]] = []
    for request, rows in zip(requests, fetch_each_numbered(connection, runs, timeout), strict=True):
        ((facts, *columns),) = rows
        state = RecallState(
            scopes=facts["scopes"],
            recalled_at=datetime.fromisoformat(facts["recalled_at"]),
            model_id=facts["model_id"],
            settings_version=facts["settings_version"] or 0,
            counts=facts["counts"] or {},
            lexemes=tuple(facts["question"] or ()),
            languages=_by_frequency(facts["languages"] or {}),
            lexemes_version=facts["lexemes_version"] or LEXEMES_VERSION,
            # Facts whose parts the statement leaves out: see `compose`.
            left_out=tuple(facts.get("left_out") or ()),
            speakers=tuple(facts.get("speakers") or ()),
            introduced=tuple(facts.get("introduced") or ()),
            indexed=bool(facts.get("indexed")),
            ceiling=facts.get("ceiling") or {},
            lexical_matches=facts["matches"],
            stale=bool(facts.get("stale")),
            waiting=bool(facts.get("waiting")),
            has_expired=bool(facts.get("lapsed")),
            nearest=None
            if (nearest := facts.get("nearest")) is None
            else tuple((datetime.fromisoformat(at), has_zone) for at, has_zone in nearest),
        )
        links = [Link(*link) for link in facts.get("superseding") or ()]
        models = (request.model, request.other.model.name) if request.other else (request.model,)
        candidates = read_candidates(columns, request.wording, links, models=models)
        results.append((state, candidates))
    return results


def _by_frequency(languages: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(languages, key=lambda language: (-languages[language], language)))


def shape_of(request: RecallRequest, *, lookups: bool = False) -> Shape:
    """Return the statement's shape; `lookups`: only functions reach the server's GIN indexes."""
    wording, weights = request.wording, request.weights
    quoted = ("quoted",) if wording.required else ()
    turns_only = "session" not in request.granularities
    return Shape(
        whose="all_users" if request.user_id is None else request.indexed or "one_user",
        lexical=request.profile.lexical_mode,
        filters=(*request.filters.names, *quoted),
        optional=tuple(request.optional),
        silent=tuple([route for route in VECTOR_ROUTES if not weights[route]]),
        identified=bool(wording.identifiers),
        worded=bool(wording.phrase or wording.quoted),
        tokens=request.token_limit > 0,
        turns_only=turns_only,
        one_list=not turns_only and request.profile.ranks == "together",
        all_sessions=request.sessions and request.profile.session_chunks == "all",
        superseding=request.profile.current_weight > 0,
        rarest=request.has_many_words,
        hides_expired=request.may_have_expired,
        lookups=lookups,
        two_models=request.other is not None,
    )


def query_values(request: RecallRequest) -> dict[str, Any]:
    """Return the parameters of recall.sql; a statement takes those that its parts name."""
    profile, vector, other = request.profile, request.query_vector, request.other
    values: dict[str, Any] = {
        "as_of": request.as_of,
        "tenant_id": request.tenant_id,
        "namespace": request.namespace,
        "user_id": request.user_id,
        "granularities": list(request.granularities),
        "model_id": request.model_id,
        "query_vector": HalfVector(vector.astype(np.float16)) if vector is not None else None,
        "other_model_id": other.model.model_id if other else None,
        "other_vector": HalfVector(other.vector.astype(np.float16)) if other else None,
        "terms": request.terms,
        "query": request.query,
        **NEAR,
        "question_words": profile.question_words,
        "route_limit": request.route_limit,
        "candidate_limit": request.candidate_limit,
        "token_limit": request.token_limit,
        "rrf_k": profile.rrf_k,
        "few_share": FEW_SHARE,
        "few_least": FEW_LEAST,
        **TEXT_INDEXES[profile.lexical_mode].parameters(profile),
        "identifier_boost": profile.identifier_boost,
        **request.wording.values(),
        **request.filters.parameters(),
    }
    for route, weight in request.weights.items():
        values[f"weight_{route}"] = weight
    for parameters in request.optional.values():
        values |= parameters
    return values


def read_candidates(
    columns: Sequence[Any],
    wording: Wording,
    links: Sequence[Link],
    *,
    models: Sequence[str] = ("",),
) -> Candidates:
    """Return the candidates from the columns of the result's one row, without its state.

    All columns are null if nothing was found. `models` are the names of those that were asked.
    Vectors of two stand next to each other, with zeros in the place of the other one's, so that
    those of different models have a cosine of 0.
    """
    if columns[0] is None:
        return Candidates.of(())
    (
        chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids,
        scope_ids, granularities, session_ids, ordinals, parts, memory_scores, times,
        zones_known, user_speakers, assistant_speakers, tags, worded, identified, embedded,
        embeddings, *tokens,
    ) = columns  # fmt: skip
    # Lists, payload, vectors and tokens each come in an order of their own, which saves the server
    # a sort: the ids say whose they are, and a binary search finds their rows.
    by_id: NDArray[np.int64] = np.argsort(chunk_ids)
    sorted_ids = chunk_ids[by_id]
    # Each route's list comes best first, with chunks that fusion did not keep.
    lengths: list[int] = hit_counts.tolist()
    listed_ids = read_joined_arrays(hit_chunk_ids, np.int64, lengths)
    near = np.minimum(np.searchsorted(sorted_ids, listed_ids), len(sorted_ids) - 1)
    is_kept = sorted_ids[near] == listed_ids
    rows, routes = by_id[near[is_kept]], np.repeat(hit_routes - 1, hit_counts)[is_kept]
    ranks = np.zeros((len(chunk_ids), len(ROUTES)), dtype=np.int64)
    scores = np.zeros((len(chunk_ids), len(ROUTES)))
    ranks[rows, routes] = np.concatenate([np.arange(1, n + 1) for n in lengths])[is_kept]
    scores[rows, routes] = read_joined_arrays(hit_scores, np.float64, lengths)[is_kept]
    # A chunk may have no vector yet, or only one of another model.
    is_embedded = np.zeros(len(chunk_ids), dtype=bool)
    by_other = np.zeros(len(chunk_ids), dtype=bool)
    blocks: list[NDArray[np.float32]] = []
    by_model = [(embedded, embeddings)]
    if len(models) > 1:
        by_model.append((tokens[0], tokens[1]))
        tokens = tokens[2:]
    for number, (ids, sent) in enumerate(by_model):
        if ids is None:
            continue
        rows = by_id[np.searchsorted(sorted_ids, ids)]
        read = read_joined_halfvecs(sent)
        is_embedded[rows] = True
        by_other[rows] = number > 0
        block = np.zeros((len(chunk_ids), read.shape[1]), dtype=np.float32)
        block[rows] = read
        blocks.append(block)
    vectors = np.zeros((len(chunk_ids), 1), dtype=np.float32)
    if blocks:
        vectors = blocks[0] if len(blocks) == 1 else np.hstack(blocks)
    candidate_tokens = None
    if tokens and tokens[0] is not None:
        tokened, user_counts, counts, pieces, signs = tokens
        candidate_tokens = CandidateTokens(
            places=by_id[np.searchsorted(sorted_ids, tokened)],
            counts=counts.astype(np.int64),
            user_counts=user_counts.astype(np.int64),
            pieces=np.frombuffer(pieces, dtype="<u2"),
            signs=np.frombuffer(signs, dtype=np.uint8).reshape(int(counts.sum()), -1),
        )
    payload_by_id = np.argsort(payload_ids)
    order = payload_by_id[np.searchsorted(payload_ids[payload_by_id], chunk_ids)]
    places: list[int] = order.tolist()
    return Candidates(
        chunk_ids=chunk_ids,
        rrf_scores=rrf_scores,
        ranks=ranks,
        scores=scores,
        scope_ids=scope_ids[order].astype(np.int64),
        is_session=np.array([granularities[place] == "session" for place in places], dtype=bool),
        session_ids=[session_ids[place] for place in places],
        ordinals=ordinals[order].astype(np.int64),
        parts=parts[order].astype(np.int64),
        memory_scores=memory_scores[order],
        # The task tag, the last of a chunk's tags, may be null.
        tags={int(key): frozenset(tags[key]) - {None} for key in tags} if tags else {},
        times=[times[place] for place in places],
        zones_known=np.array([zones_known[place] for place in places], dtype=bool),
        user_speakers=[user_speakers[place] for place in places],
        assistant_speakers=[assistant_speakers[place] for place in places],
        embedded=is_embedded,
        embeddings=vectors,
        by_other=by_other,
        models=models,
        wordings=_read_wordings(worded or {}, identified or {}, wording),
        tokens=candidate_tokens,
        links=links,
    )


def _read_wordings(
    worded: Mapping[str, list[int]],
    identified: Mapping[str, tuple[float, list[int]]],
    wording: Wording,
) -> dict[int, WordingMatch]:
    """Return each candidate's wordings by chunk id; `worded` counts from 1, the phrase first."""
    matches: dict[int, WordingMatch] = {}
    before = 1 + bool(wording.phrase)
    for chunk_id in worded.keys() | identified.keys():
        patterns = worded.get(chunk_id, [])
        share, identifiers = identified.get(chunk_id, (0.0, ()))
        matches[int(chunk_id)] = WordingMatch(
            phrase=bool(wording.phrase) and 1 in patterns,
            quoted=tuple(number - before for number in patterns if number >= before),
            identifiers=tuple(number - 1 for number in identifiers),
            identifier_share=share,
        )
    return matches
