"""The models that a namespace has vectors of: one is added, filled, switched to, dropped.

`namespaces.model_id` names the model that searches use. From the moment that another one is added,
every write makes its vectors too; what was stored before is filled in memory by memory, each time
under the lock that the memory's writes take. A search reads the vectors of one model alone, so that
switching is one update.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.draft.vectors import BatchVectors
from memsense.errors import InvalidInputError
from memsense.store.indexes import INDEXED_TABLES
from memsense.store.jobs import FILL
from memsense.store.scopes import Namespace, Scope, claim_model, fetch_namespace, keep_both
from memsense.store.tokens import lock_memory
from memsense.store.vectors import Filled, embed_chunks, fetch_unembedded
from memsense.types import EmbeddingModel, JsonValue

FILE = "models.sql"
BATCH = 64
"""Chunks embedded together: a few seconds of a processor's time."""

DELETED_AT_ONCE = 2000
"""Vectors deleted in one transaction, during which the memory's writes wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that a namespace has, or had, vectors of.

    `left_at`: when searches last switched from it to another one.
    """

    model_id: int
    name: str
    dimension: int
    embedder: Mapping[str, JsonValue]
    languages: Sequence[str] | None
    in_use: bool
    dropping: bool
    added_at: datetime | None
    left_at: datetime | None

    @property
    def model(self) -> EmbeddingModel:
        """The model as writes and searches name it."""
        return EmbeddingModel(
            model_id=self.model_id,
            name=self.name,
            dimension=self.dimension,
            embedder=self.embedder,
            languages=self.languages,
        )


def _of(namespace: Namespace, model: EmbeddingModel) -> dict[str, Any]:
    return {**namespace.key, "model_id": model.model_id}


def _with_texts(name: str) -> Any:
    return as_sql(fill(name, FILE, texts=fill("embedded_texts", FILE)))


def list_models(connection: Connection, namespace: Namespace) -> list[KnownModel]:
    """Return the namespace's models, the one in use first."""
    return fetch_all(connection, "list_models", namespace.key, FILE, of=KnownModel)


def keep_model(
    connection: Connection,
    namespace: Namespace,
    *,
    name: str,
    dimension: int,
    embedder: Mapping[str, JsonValue],
    embedder_in_use: Mapping[str, JsonValue],
    languages: Sequence[str] | None = None,
) -> EmbeddingModel:
    """Let every write from now on make vectors of this model too.

    `languages` are those whose texts it compares from now on; None for none.
    """
    key = namespace.key
    # Waits for writes that have begun in new memories: filling the model in afterwards
    # sees every memory that was made without it.
    execute(connection, "lock_for_reindex", key, "reindex.sql")
    model_id = claim_model(connection, name, dimension)
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    added = EmbeddingModel(
        model_id=model_id, name=name, dimension=dimension, embedder=embedder, languages=languages
    )
    keep_both(connection, present, added, in_use=embedder_in_use)
    execute(connection, "raise_version", key, "settings.sql")
    return added


def count_lacking(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """Return how many texts of the namespace's active chunks lack their vector of the model."""
    return fetch_value(connection, _with_texts("count_lacking"), _of(namespace, model))


def count_vectors(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """Return how many vectors of the model the namespace has."""
    return fetch_value(connection, "count_vectors", _of(namespace, model), FILE)


def count_unindexed(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """Return how many indexed memories lack an HNSW index of the model's vectors."""
    scope_ids = fetch_values(connection, "list_indexed_memories", namespace.key, FILE)
    values = {"scope_ids": scope_ids, "model_id": model.model_id, "tables": list(INDEXED_TABLES)}
    return fetch_value(connection, "count_unindexed", values, FILE)


def use_model(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> Namespace:
    """Switch searches to a model of the namespace; the model that they leave stays too."""
    # The lock of all changes of a namespace, so that no other one is lost.
    execute(connection, "lock_namespace", namespace.key, "settings.sql")
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    before = present.in_use
    if before is None or before.model_id == model.model_id:
        return present
    if model.model_id not in {item.model_id for item in present.models}:
        raise InvalidInputError(f"{model} is being dropped; add it again first")
    previous = {**_of(namespace, before), "embedder": Jsonb(dict(before.embedder))}
    execute(connection, "keep_model", {**previous, "languages": None}, FILE)
    leaving = {**_of(namespace, before), "now": datetime.now(UTC)}
    execute(connection, "leave_model", leaving, FILE)
    execute(connection, "use_model", _of(namespace, model), FILE)
    return fetch_namespace(connection, namespace.tenant_id, namespace.name)


# Filling in what was stored before ---------------------------------------------------------------


def fill_model(
    pool: Pool,
    namespace: Namespace,
    model: EmbeddingModel,
    make_vectors: Callable[[], BatchVectors],
    on_batch: Callable[[Filled], object] = lambda _: None,
) -> Filled:
    """Make the vectors of a model for everything the namespace holds; return how many.

    No connection is held while texts are embedded, and each batch is a transaction with vectors of
    its own. May be interrupted and run again. `on_batch` gets the size of each batch.
    """
    texts = exchanges = 0
    for scope_id in _list_memories(pool, namespace):
        scope = Scope(tenant_id=namespace.tenant_id, scope_id=scope_id, models=[model])
        last = 0
        # The last look takes the lock that writes take: what they began before is stored by then,
        # and everything later makes its own vectors of the model.
        while True:
            vectors = make_vectors()
            look = partial(_list_lacking, scope=scope, tokens=vectors.has_tokens)
            chunk_ids = run_read(pool, partial(look, after=last))
            if not (chunk_ids := chunk_ids or run_transaction(pool, partial(look, locks=True))):
                break
            fetch = partial(fetch_unembedded, scope=scope, chunk_ids=chunk_ids)
            vectors.prepare(chunk.texts() for chunk in run_read(pool, fetch))
            put = partial(embed_chunks, scope=scope, chunk_ids=chunk_ids, vectors=vectors)
            filled = vectors.retry_until_embedded(partial(run_transaction, pool, put))
            texts, exchanges = texts + filled.texts, exchanges + filled.exchanges
            last = chunk_ids[-1]
            on_batch(filled)
        # What was stored before the model was added says nothing of it yet.
        run_transaction(pool, partial(mark_beside, scope=scope))
    return Filled(texts, exchanges)


def mark_beside(connection: Connection, scope: Scope) -> None:
    """Mark the vectors of a memory whose texts another model compares, by their languages now."""
    key = lock_memory(connection, scope)
    execute(connection, "mark_beside", key)


def _list_lacking(
    connection: Connection, scope: Scope, tokens: bool, *, after: int = 0, locks: bool = False
) -> list[int]:
    """Return the next chunks that lack vectors; with `locks` once no write is under way."""
    if locks:
        lock_memory(connection, scope)
    values = {
        **scope.key,
        "model_id": scope.model_id,
        "tokens": tokens,
        "after": after,
        "limit": BATCH,
        "only_kept": False,
    }
    return fetch_values(connection, _with_texts("list_lacking"), values)


def _list_memories(pool: Pool, namespace: Namespace) -> list[int]:
    """Return the scopes of the namespace."""
    return run_read(pool, lambda it: fetch_values(it, "list_memories", namespace.key, FILE))


def enqueue_memories(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> None:
    """Leave everything that `fill_model` does to jobs, one for each memory."""
    execute(connection, "enqueue_memories", {**_of(namespace, model), "kind": FILL}, FILE)


def enqueue_lacking(
    connection: Connection, scope: Scope, *, model_id: int | None, tokens: bool
) -> None:
    """Leave a job for each chunk of a memory that lacks its vectors, or tokens, of the model.

    Locks the memory: there will be no more such chunks, since every later write makes its own.
    """
    key = lock_memory(connection, scope)
    execute(connection, "mark_beside", key)
    lacks = {"model_id": model_id, "tokens": tokens, "only_kept": True}
    values = {**key, **lacks, "after": 0, "limit": None}
    chunk_ids: list[int] = fetch_values(connection, _with_texts("list_lacking"), values)
    # By a second statement: Citus takes no subquery over VALUES in an INSERT ... SELECT.
    if chunk_ids:
        values = {**key, "model_id": model_id, "kind": FILL, "chunk_ids": chunk_ids}
        execute(connection, "enqueue_chunks", values, "jobs.sql")


# Dropping ----------------------------------------------------------------------------------------


def begin_dropping(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> None:
    """Stop writes from making vectors of the model.

    Raises InvalidInputError for the model in use.
    """
    execute(connection, "lock_namespace", namespace.key, "settings.sql")
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    if present.model_id == model.model_id:
        raise InvalidInputError(f"searches use {model}: switch to another model first")
    execute(connection, "begin_dropping", _of(namespace, model), FILE)
    execute(connection, "delete_jobs_of_model", _of(namespace, model), FILE)
    execute(connection, "raise_version", namespace.key, "settings.sql")


def drop_vectors(pool: Pool, namespace: Namespace, model: EmbeddingModel) -> int:
    """Delete the vectors of a model that is being dropped, then its entry; return how many."""
    values = {**_of(namespace, model), "limit": DELETED_AT_ONCE}

    def delete(connection: Connection, scope_id: int) -> tuple[int, int]:
        of_memory = {**values, "scope_id": scope_id}
        fetch_value(connection, "lock_memory", of_memory, "tokens.sql")
        vectors = execute(connection, "delete_vectors", of_memory, FILE)
        return vectors, execute(connection, "delete_model_tokens", of_memory, FILE)

    deleted = 0
    for scope_id in _list_memories(pool, namespace):
        # In batches, because each holds the lock that the memory's writes wait for.
        while any(counts := run_transaction(pool, partial(delete, scope_id=scope_id))):
            deleted += counts[0]
    run_transaction(pool, lambda it: execute(it, "end_dropping", values, FILE))
    return deleted
