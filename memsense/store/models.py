"""The models that a namespace has vectors of: one is added, filled in, gone over to, dropped.

`namespaces.model_id` names the one that searches use. From the moment that another one is kept,
every write makes its vectors too; what was stored before is filled in memory by memory, each time
under the lock that its writes take. A search reads one model's vectors alone, so that going over is
one update.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.errors import InvalidInputError
from memsense.store.indexes import INDEXED_TABLES
from memsense.store.jobs import FILL
from memsense.store.scopes import Namespace, Scope, fetch_namespace
from memsense.store.tokens import lock_memory
from memsense.store.vectors import Embedding, put_embeddings
from memsense.types import EmbeddingModel, Granularity, JsonValue

FILE = "models.sql"
BATCH = 64
"""Texts embedded together: a few seconds of a processor's time."""

DELETED_AT_ONCE = 2000

EmbedTexts = Callable[[Sequence[str]], Sequence[NDArray[np.float32]] | NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that a namespace has vectors of, or had: whether searches use it, and since when it
    has been there. `left_at`: when searches last went over from it to another one."""

    model_id: int
    name: str
    dimension: int
    embedder: Mapping[str, JsonValue]
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
        )


def _key(namespace: Namespace) -> dict[str, Any]:
    return {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}


def _of(namespace: Namespace, model: EmbeddingModel) -> dict[str, Any]:
    return {**_key(namespace), "model_id": model.model_id}


def _with_texts(name: str) -> Any:
    return as_sql(fill(name, FILE, texts=fill("embedded_texts", FILE)))


def list_models(connection: Connection, namespace: Namespace) -> list[KnownModel]:
    """The namespace's models, the one in use first."""
    return fetch_all(connection, "list_models", _key(namespace), FILE, of=KnownModel)


def keep_model(
    connection: Connection,
    namespace: Namespace,
    *,
    name: str,
    dimension: int,
    embedder: Mapping[str, JsonValue],
    embedder_in_use: Mapping[str, JsonValue],
) -> EmbeddingModel:
    """Let every write from now on make vectors of this model too.

    Waits for writes that began in new memories, so that whoever fills the model in sees every
    memory that was made without it.
    """
    key = _key(namespace)
    execute(connection, "lock_for_reindex", key, "reindex.sql")
    execute(connection, "ensure_model", {"name": name, "dimension": dimension})
    values = {"name": name, "dimension": dimension}
    model_id: int = fetch_value(connection, "find_model", values)
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    for kept, described in ((present.model_id, embedder_in_use), (model_id, embedder)):
        row = {**key, "model_id": kept, "embedder": Jsonb(dict(described))}
        execute(connection, "keep_model", row, FILE)
    execute(connection, "raise_version", key, "settings.sql")
    return EmbeddingModel(model_id=model_id, name=name, dimension=dimension, embedder=embedder)


def count_lacking(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """How many texts of the namespace's active chunks lack their vector of the model."""
    return fetch_value(connection, _with_texts("count_lacking"), _of(namespace, model))


def count_vectors(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """How many vectors of the model the namespace has."""
    return fetch_value(connection, "count_vectors", _of(namespace, model), FILE)


def count_unindexed(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> int:
    """How many indexed memories lack an HNSW index of the model's vectors."""
    values = {**_of(namespace, model), "tables": list(INDEXED_TABLES)}
    return fetch_value(connection, "count_unindexed", values, FILE)


def use_model(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> Namespace:
    """Let searches go over to a model that is kept; the one they leave is kept too."""
    execute(connection, "lock_namespace", _key(namespace), "settings.sql")
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    before = present.in_use
    if before is None or before.model_id == model.model_id:
        return present
    if model.model_id not in {kept.model_id for kept in present.models}:
        raise InvalidInputError(f"{model} is being dropped; add it again first")
    kept = {**_of(namespace, before), "embedder": Jsonb(dict(before.embedder))}
    execute(connection, "keep_model", kept, FILE)
    left = {**_of(namespace, before), "now": datetime.now(UTC)}
    execute(connection, "leave_model", left, FILE)
    execute(connection, "use_model", _of(namespace, model), FILE)
    return fetch_namespace(connection, namespace.tenant_id, namespace.name)


# Filling in what was stored before ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lacking:
    """A text without its vector."""

    chunk_id: int
    granularity: Granularity
    route: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filling:
    """One memory, whose texts are to have vectors of the scope's one model."""

    scope: Scope

    @property
    def values(self) -> dict[str, Any]:
        return {
            "tenant_id": self.scope.tenant_id,
            "scope_id": self.scope.scope_id,
            "model_id": self.scope.model_id,
        }

    def fetch(self, connection: Connection, after: _Lacking | None = None) -> list[_Lacking]:
        """The next texts without vectors."""
        values = {
            **self.values,
            "after": after.chunk_id if after else 0,
            "after_route": after.route if after else "",
            "limit": BATCH,
        }
        return fetch_all(connection, _with_texts("fetch_lacking"), values, of=_Lacking)

    def fetch_locked(self, connection: Connection) -> list[_Lacking]:
        """What lacks vectors when no write is under way; from then on every write makes them."""
        lock_memory(connection, self.scope)
        return self.fetch(connection)

    def put(
        self,
        batch: Sequence[_Lacking],
        vectors: Sequence[NDArray[np.float32]],
        connection: Connection,
    ) -> int:
        """Store the vectors of those texts that stand as they were read; how many they are."""
        lock_memory(connection, self.scope)
        values = {
            **self.values,
            "chunk_ids": [item.chunk_id for item in batch],
            "routes": [item.route for item in batch],
            "texts": [item.text for item in batch],
        }
        found: list[tuple[int, int | None]] = fetch_all(
            connection, _with_texts("select_lacking"), values
        )
        rows: list[Embedding] = []
        for place, before in found:
            item, vector = batch[place - 1], vectors[place - 1]
            rows.append(Embedding(item.chunk_id, before, item.route, item.granularity, vector))
        put_embeddings(connection, self.scope, rows)
        return len(rows)


def fill_model(
    pool: Pool,
    namespace: Namespace,
    model: EmbeddingModel,
    embed: EmbedTexts,
    on_texts: Callable[[int], object] = lambda _: None,
) -> int:
    """Give all that the namespace holds its vectors of a kept model; returns how many were made.

    No connection is held while texts are embedded, and each batch is a transaction: what changes
    meanwhile is left to the write that changed it. Safe to break off and to run again. `on_texts`
    gets the size of each batch.
    """
    key = _key(namespace)
    scope_ids: list[int] = run_read(pool, lambda it: fetch_values(it, "list_memories", key, FILE))
    filled = 0
    for scope_id in scope_ids:
        scope = Scope(
            tenant_id=namespace.tenant_id,
            scope_id=scope_id,
            language=namespace.language,
            models=[model],
        )
        filled += _fill_memory(pool, _Filling(scope=scope), embed, on_texts)
    return filled


def enqueue_memories(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> None:
    """Leave all that `fill_model` does to jobs, one for each memory."""
    execute(connection, "enqueue_memories", {**_of(namespace, model), "kind": FILL}, FILE)


def enqueue_lacking(
    connection: Connection, scope: Scope, *, model_id: int | None, tokens: bool
) -> None:
    """Leave a job for each chunk of a memory that lacks what the model makes of it.

    Locks the memory: there will be no more such chunks, since every later write makes its own.
    """
    key = lock_memory(connection, scope)
    values = {**key, "model_id": model_id, "tokens": tokens, "kind": FILL}
    execute(connection, _with_texts("enqueue_lacking"), values)


def _fill_memory(
    pool: Pool, filling: _Filling, embed: EmbedTexts, on_texts: Callable[[int], object]
) -> int:
    filled, last = 0, None
    while True:
        batch = run_read(pool, partial(filling.fetch, after=last))
        batch = batch or run_transaction(pool, filling.fetch_locked)
        if not batch:
            return filled
        vectors = list(embed([item.text for item in batch]))
        put = run_transaction(pool, partial(filling.put, batch, vectors))
        filled, last = filled + put, batch[-1]
        on_texts(put)


# Dropping ----------------------------------------------------------------------------------------


def begin_dropping(connection: Connection, namespace: Namespace, model: EmbeddingModel) -> None:
    """Let no write make vectors of the model any more.

    Raises InvalidInputError for the one in use.
    """
    execute(connection, "lock_namespace", _key(namespace), "settings.sql")
    present = fetch_namespace(connection, namespace.tenant_id, namespace.name)
    if present.model_id == model.model_id:
        raise InvalidInputError(f"searches use {model}: switch to another model first")
    execute(connection, "begin_dropping", _of(namespace, model), FILE)
    execute(connection, "delete_jobs_of_model", _of(namespace, model), FILE)
    execute(connection, "raise_version", _key(namespace), "settings.sql")


def drop_vectors(pool: Pool, namespace: Namespace, model: EmbeddingModel) -> int:
    """Delete the vectors of a model that is being dropped, then what says so; how many went."""
    key = _key(namespace)
    scope_ids: list[int] = run_read(pool, lambda it: fetch_values(it, "list_memories", key, FILE))
    deleted = sum(_drop_memory(pool, namespace, model, scope_id) for scope_id in scope_ids)
    values = _of(namespace, model)
    run_transaction(pool, lambda it: execute(it, "end_dropping", values, FILE))
    return deleted


def _drop_memory(pool: Pool, namespace: Namespace, model: EmbeddingModel, scope_id: int) -> int:
    values = {**_of(namespace, model), "scope_id": scope_id, "limit": DELETED_AT_ONCE}

    def delete(connection: Connection) -> tuple[int, int]:
        fetch_value(connection, "lock_memory", values, "tokens.sql")
        vectors = execute(connection, "delete_vectors", values, FILE)
        return vectors, execute(connection, "delete_model_tokens", values, FILE)

    deleted = 0
    while any(batch := run_transaction(pool, delete)):
        deleted += batch[0]
    return deleted
