"""Vectors of chunks: written with the chunks, or later by a job."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_values
from memsense.db.wire import as_halfvec
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
from memsense.store.tokens import lock_memory, put_tokens
from memsense.types import ChunkDraft, Granularity, join_sides
from memsense.write.vectors import BatchVectors, TokenText

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
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
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


def insert_embeddings(
    connection: Connection,
    scope: Scope,
    drafts: Sequence[ChunkDraft],
    chunk_ids: Sequence[int],
    embed: BatchVectors,
    *,
    previous: Sequence[int | None],
) -> None:
    """Store every model's vectors of the drafts' texts, next-user vectors by `previous`.

    Chunks that lack one are left to a job; so are all of them while the memory has no model.
    """
    parts = [
        (draft, chunk_id, before if route == "user" else None, route, text)
        for draft, chunk_id, before in zip(drafts, chunk_ids, previous, strict=True)
        for route, text in draft.texts().items()
    ]
    texts = [text for *_, text in parts]
    if not scope.models:
        enqueue_chunks(connection, scope, EMBED, chunk_ids, model=None)
    for model, embed_with in embed.iter_models(scope.models):
        vectors = embed_with(texts) if embed_with else [None] * len(texts)
        embeddings = [
            Embedding(chunk_id, before, route, draft.granularity, vector)
            for (draft, chunk_id, before, route, _), vector in zip(parts, vectors, strict=True)
            if vector is not None
        ]
        if embeddings and put_embeddings(connection, replace(scope, models=[model]), embeddings):
            embed.has_unindexed_vectors = True
        # One job for each chunk, however many of its texts lack a vector.
        lacking = (item[1] for item, vector in zip(parts, vectors, strict=True) if vector is None)
        enqueue_chunks(connection, scope, EMBED, list(dict.fromkeys(lacking)), model=model)


# What was left for later -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """An active chunk, the routes that have a vector of it, and the exchange before it."""

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
    user_before: str | None
    assistant_before: str | None
    embedded: Sequence[str]
    has_tokens: bool

    def lacking(self) -> dict[str, str]:
        """Return the texts that have no vector yet, by route."""
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
        return {route: text for route, text in draft.texts().items() if route not in self.embedded}

    def exchange(self) -> TokenText | None:
        """Return the text to make its tokens from; None if it has them, or is no exchange."""
        if self.has_tokens or self.granularity == "session":
            return None
        before = join_sides(self.user_before or "", self.assistant_before or "")
        text = join_sides(self.user_text, self.assistant_text)
        return TokenText.of(text, self.assistant_text, before)


def fetch_unembedded(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int]
) -> list[Unembedded]:
    """Return those of the chunks that are active, with what each lacks."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "model_id": scope.model_id,
        "chunk_ids": list(chunk_ids),
    }
    return fetch_all(connection, "fetch_unembedded", values, FILE, of=Unembedded)


def embed_left(
    connection: Connection,
    scope: Scope,
    jobs: Sequence[LeasedJob],
    lease: Lease,
    vectors: BatchVectors,
) -> None:
    """Store what the chunks of these jobs, all of one memory, still lack, and finish the jobs.

    It holds the memory's lock, as every write does. `vectors` may end the transaction and is
    therefore asked before anything is written.
    """
    lock_memory(connection, scope)
    chunk_ids = [job.chunk_id for job in jobs if job.chunk_id is not None]
    chunks = fetch_unembedded(connection, scope, chunk_ids)
    parts = [(chunk, route, text) for chunk in chunks for route, text in chunk.lacking().items()]
    embedded = vectors([text for *_, text in parts])
    exchanges = {chunk.chunk_id: chunk.exchange() for chunk in chunks}
    bare = {key: text for key, text in exchanges.items() if text and vectors.has_tokens}
    tokens = vectors.tokens(list(bare.values())) if bare else []
    put_embeddings(
        connection,
        scope,
        (
            Embedding(
                chunk.chunk_id,
                chunk.previous_chunk_id if route == "user" else None,
                route,
                chunk.granularity,
                vector,
            )
            for (chunk, route, _), vector in zip(parts, embedded, strict=True)
            if vector is not None
        ),
    )
    model = scope.models[0]
    put_tokens(connection, scope, list(bare), list(bare.values()), tokens, model=model)
    # In this transaction: each chunk is embedded once, whichever process is killed.
    finish_jobs(connection, lease, [job.job_id for job in jobs])
