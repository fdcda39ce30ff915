"""Vectors of chunks: written with them, or, where they were left for later, by a job."""

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
"""So many chunks of a memory may wait to be taken into its HNSW indexes.

Each adds four microseconds to every search until then: docs/benchmarks.md. What comes beyond them,
where no worker runs or much is written at once, goes into the indexes as it is written.
"""


class Embedding(NamedTuple):
    """A vector of a chunk; `previous` is the chunk whose next-user vector it is."""

    chunk_id: int
    previous: int | None
    route: str
    granularity: Granularity
    vector: NDArray[np.float32]


def put_embeddings(connection: Connection, scope: Scope, found: Iterable[Embedding]) -> bool:
    """Store vectors of the scope's first model that are not there yet; the scope must be locked.

    Whether its HNSW indexes take them in later, which is left to a job.
    """
    rows = list(found)
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
    """Store every model's vectors of the drafts' texts; next-user vectors go by `previous`.

    Chunks of which one lacks are left to a job, as are all while the memory has no model.
    """
    wanted = [
        (draft, chunk_id, before if route == "user" else None, route, text)
        for draft, chunk_id, before in zip(drafts, chunk_ids, previous, strict=True)
        for route, text in draft.texts().items()
    ]
    texts = [text for *_, text in wanted]
    if not scope.models:
        enqueue_chunks(connection, scope, EMBED, chunk_ids, model=None)
    for model, given in embed.iter_models(scope.models):
        vectors = given(texts) if given else [None] * len(texts)
        found = [
            Embedding(chunk_id, before, route, draft.granularity, vector)
            for (draft, chunk_id, before, route, _), vector in zip(wanted, vectors, strict=True)
            if vector is not None
        ]
        if found and put_embeddings(connection, replace(scope, models=[model]), found):
            embed.has_unindexed_vectors = True
        lacking = (item[1] for item, vector in zip(wanted, vectors, strict=True) if vector is None)
        enqueue_chunks(connection, scope, EMBED, list(dict.fromkeys(lacking)), model=model)


# What was left for later -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """An active chunk with the routes that have their vector, and what was said before it."""

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
        """The texts whose vectors lack, by route."""
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
        """What its tokens are made from; None if it has them, or is no exchange."""
        if self.has_tokens or self.granularity == "session":
            return None
        before = join_sides(self.user_before or "", self.assistant_before or "")
        text = join_sides(self.user_text, self.assistant_text)
        return TokenText.of(text, self.assistant_text, before)


def fetch_unembedded(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int]
) -> list[Unembedded]:
    """Those of the chunks that are active, with what each lacks."""
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
    """Give the chunks of these jobs, all of one memory, what they lack by now, and end the jobs.

    As every write, it holds the memory's lock. Asks `vectors` first: it may end the transaction.
    """
    lock_memory(connection, scope)
    chunk_ids = [job.chunk_id for job in jobs if job.chunk_id is not None]
    chunks = fetch_unembedded(connection, scope, chunk_ids)
    wanted = [(chunk, route, text) for chunk in chunks for route, text in chunk.lacking().items()]
    found = vectors([text for *_, text in wanted])
    exchanges = {chunk.chunk_id: chunk.exchange() for chunk in chunks}
    said = {key: text for key, text in exchanges.items() if text and vectors.has_tokens}
    tokens = vectors.tokens(list(said.values())) if said else []
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
            for (chunk, route, _), vector in zip(wanted, found, strict=True)
            if vector is not None
        ),
    )
    model = scope.models[0]
    put_tokens(connection, scope, list(said), list(said.values()), tokens, model=model)
    finish_jobs(connection, lease, [job.job_id for job in jobs])
