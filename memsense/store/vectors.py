"""Vectors of chunks: written with the chunks, or later by a job."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_values
from memsense.db.wire import as_halfvec
from memsense.draft.vectors import BatchVectors, ChunkTexts
from memsense.store.jobs import (
    EMBED,
    FILE,
    Lease,
    LeasedJob,
    enqueue_chunks,
    enqueue_settling,
    finish_jobs,
)
from memsense.store.scopes import Scope
from memsense.store.supersession import link_statements
from memsense.store.tokens import lock_memory, put_tokens
from memsense.types import ChunkDraft, EmbeddingModel, Granularity

FRESH_LIMIT = 250
"""Chunks of a memory that may wait to be added to its HNSW indexes.

Each adds four microseconds to every search until then: docs/beside/benchmarks.md. Beyond the limit,
which is reached if no worker runs or much is written at once, a write adds its vectors itself.
"""


class Embedding(NamedTuple):
    """A vector of a chunk; `previous` is the chunk whose next-user vector it is."""

    chunk_id: int
    previous: int | None
    route: str
    granularity: Granularity
    vector: NDArray[np.float32]


def put_embeddings(connection: Connection, scope: Scope, embeddings: Iterable[Embedding]) -> bool:
    """Store vectors of the scope's first model that are not there yet; the scope must be locked.

    Returns whether a job is to add them to the HNSW indexes later.
    """
    rows = list(embeddings)
    if not rows:
        return False
    values = {
        **scope.key,
        "model_id": scope.model_id,
        "chunk_ids": [item.chunk_id for item in rows],
        "previous_chunk_ids": [item.previous for item in rows],
        "routes": [item.route for item in rows],
        "granularities": [item.granularity for item in rows],
        "embeddings": [as_halfvec(item.vector) for item in rows],
        # How many more may stay fresh; the statement counts those that are.
        "fresh_room": FRESH_LIMIT - len({item.chunk_id for item in rows}),
    }
    is_fresh = any(fetch_values(connection, "insert_embeddings", values))
    if is_fresh:
        enqueue_settling(connection, scope)
    return is_fresh


def _list_embeddings(
    chunk_id: int,
    previous: int | None,
    granularity: Granularity,
    by_route: Mapping[str, NDArray[np.float32] | None],
) -> Iterator[Embedding]:
    """Yield the vectors of a chunk that are made."""
    for route, vector in by_route.items():
        if vector is not None:
            # A user's text is also what came next after the exchange before.
            before = previous if route == "user" else None
            yield Embedding(chunk_id, before, route, granularity, vector)


def insert_embeddings(
    connection: Connection,
    scope: Scope,
    drafts: Sequence[ChunkDraft],
    chunk_ids: Sequence[int],
    embed: BatchVectors,
    *,
    previous: Sequence[int | None],
) -> None:
    """Store every model's vectors of the drafts' texts and tokens, next-user vectors by `previous`.

    Chunks that lack one are left to a job; so are all of them while the memory has no model.
    """
    chunks = [ChunkTexts.of(draft) for draft in drafts]
    if not scope.models:
        enqueue_chunks(connection, scope, EMBED, chunk_ids, model=None)
    for model, embed_with in embed.iter_models(scope.models):
        if embed_with is None:
            enqueue_chunks(connection, scope, EMBED, chunk_ids, model=model)
            continue
        vectors = embed_with(chunks)
        unknown = [embed_with.is_unknown(chunk) for chunk in chunks]
        _mark_unknown(connection, scope, model, compress(chunk_ids, unknown))
        embeddings = [
            embedding
            for draft, chunk_id, before, by_route in zip(
                drafts, chunk_ids, previous, vectors, strict=True
            )
            for embedding in _list_embeddings(chunk_id, before, draft.granularity, by_route)
        ]
        if embeddings and put_embeddings(connection, replace(scope, models=[model]), embeddings):
            embed.has_unindexed_vectors = True
        is_lacking = [any(item is None for item in by_route.values()) for by_route in vectors]
        if embed_with.has_tokens:
            tokens = embed_with.tokens(chunks)
            put_tokens(connection, scope, chunk_ids, chunks, tokens, model=model)
            is_lacking = [
                lacks or (item is None and chunk.passage is not None and not is_unknown)
                for lacks, item, chunk, is_unknown in zip(
                    is_lacking, tokens, chunks, unknown, strict=True
                )
            ]
        # One job for each chunk, however much of it is lacking.
        lacking = [key for key, lacks in zip(chunk_ids, is_lacking, strict=True) if lacks]
        enqueue_chunks(connection, scope, EMBED, lacking, model=model)
    turns = zip(drafts, chunk_ids, strict=True)
    turn_ids = [chunk_id for draft, chunk_id in turns if draft.granularity == "turn"]
    link_statements(connection, scope, turn_ids)


def _mark_unknown(
    connection: Connection, scope: Scope, model: EmbeddingModel, chunk_ids: Iterable[int]
) -> None:
    """Record that chunks lack no vectors of a model, because it knows too little of their text."""
    if marked := list(chunk_ids):
        values = {**scope.key, "model_id": model.model_id, "chunk_ids": marked}
        execute(connection, "mark_unknown", values)


# What was left for later -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """An active chunk, the routes that have a vector of it, and the exchange before it.

    `has_tokens` is about the model's token vectors of it.
    """

    chunk_id: int
    granularity: Granularity
    user_text: str
    assistant_text: str
    session_text: str
    opening_length: int
    personal_info: str | None
    preferences: str | None
    events: str | None
    previous_chunk_id: int | None
    embedded: Sequence[str]
    has_tokens: bool

    def texts(self) -> ChunkTexts:
        """Return what has no vector yet."""
        draft = ChunkDraft(
            granularity=self.granularity,
            session_id="",
            ordinal=0,
            last_ordinal=0,
            content_hash="",
            user_text=self.user_text,
            assistant_text=self.assistant_text,
            session_text=self.session_text,
            opening_length=self.opening_length,
            personal_info=self.personal_info,
            preferences=self.preferences,
            events=self.events,
        )
        return ChunkTexts.of(draft, stored=self.embedded, wants_tokens=not self.has_tokens)


def fetch_unembedded(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int]
) -> list[Unembedded]:
    """Return those of the chunks that are active, with what each lacks."""
    values = {**scope.key, "model_id": scope.model_id, "chunk_ids": list(chunk_ids)}
    return fetch_all(connection, "fetch_unembedded", values, FILE, of=Unembedded)


class Filled(NamedTuple):
    """Numbers of the texts and of the exchanges that have got their vectors and their tokens."""

    texts: int
    exchanges: int


def embed_chunks(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], vectors: BatchVectors
) -> Filled:
    """Store what some chunks of a memory still lack of the scope's model.

    It holds the memory's lock, as every write does. `vectors` may end the transaction and is
    therefore asked before anything is written.
    """
    lock_memory(connection, scope)
    chunks = fetch_unembedded(connection, scope, chunk_ids)
    texts = [chunk.texts() for chunk in chunks]
    embedded = vectors(texts)
    unknown = [
        chunk.chunk_id
        for chunk, text in zip(chunks, texts, strict=True)
        if vectors.is_unknown(text)
    ]
    _mark_unknown(connection, scope, scope.models[0], unknown)
    bare = [place for place, item in enumerate(texts) if item.passage and item.wants_tokens]
    bare = bare if vectors.has_tokens else []
    tokens = vectors.tokens([texts[place] for place in bare])
    embeddings = [
        embedding
        for chunk, by_route in zip(chunks, embedded, strict=True)
        for embedding in _list_embeddings(
            chunk.chunk_id, chunk.previous_chunk_id, chunk.granularity, by_route
        )
    ]
    put_embeddings(connection, scope, embeddings)
    turn_ids = {item.chunk_id for item in embeddings if item.route == "user"}
    link_statements(connection, scope, sorted(turn_ids))
    bare_ids, bare_texts = [chunks[it].chunk_id for it in bare], [texts[it] for it in bare]
    stored = put_tokens(connection, scope, bare_ids, bare_texts, tokens, model=scope.models[0])
    return Filled(len(embeddings), stored)


def embed_left(
    connection: Connection,
    scope: Scope,
    jobs: Sequence[LeasedJob],
    lease: Lease,
    vectors: BatchVectors,
) -> None:
    """Store what the chunks of these jobs, all of one memory, still lack, and finish the jobs."""
    chunk_ids = [job.chunk_id for job in jobs if job.chunk_id is not None]
    embed_chunks(connection, scope, chunk_ids, vectors)
    # In this transaction: each chunk is embedded once, whichever process is killed.
    finish_jobs(connection, lease, [job.job_id for job in jobs])
