"""Re-indexing: rebuilds a namespace's text index, in its language or in another one.

All in the caller's transaction: searches see the old index until it commits, and go on seeing it
if it fails. Writers wait for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_batches, fetch_value, fetch_values
from memsense.store.scopes import Namespace, check_language
from memsense.store.writes import index_terms

FILE = "reindex.sql"
BATCH = 500
_RECOUNT = ("clear_lexemes", "clear_counts", "recount_lexemes", "recount_chunks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """What a re-indexing did: how many scopes and chunks, in which text-search configuration."""

    language: str
    scopes: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """One active chunk's texts that the index is made from."""

    scope_id: int
    chunk_id: int
    session_text: str
    user_text: str
    assistant_text: str
    task_tag: str | None
    tags: list[str]
    context: str


def reindex(
    connection: Connection,
    namespace: Namespace,
    language: str | None = None,
    on_chunks: Callable[[int], object] = lambda _: None,
) -> Reindexing:
    """Rebuild the text index of the namespace's active chunks, and recount its statistics.

    With a `language`, the namespace stems in it from now on. Locks the namespace and then its
    scopes in the order of their numbers, so no write that began before is missed. `on_chunks` gets
    the number of chunks of each batch. Raises InvalidInputError for a language that the server has
    no text-search configuration for.
    """
    if language is not None:
        check_language(connection, language)
    key = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    execute(connection, "lock_for_reindex", key, FILE)
    scope_ids: list[int] = fetch_values(connection, "lock_all_scopes", key, FILE)
    if language is not None:
        execute(connection, "set_language", {**key, "language": language}, FILE)
    settled: str = fetch_value(connection, "fetch_language", key)
    values = {"tenant_id": namespace.tenant_id, "scope_ids": scope_ids}
    chunks = 0
    for batch in fetch_batches(
        connection, "fetch_indexed_texts", values, FILE, of=_Texts, size=BATCH
    ):
        _index(connection, namespace.tenant_id, settled, batch)
        chunks += len(batch)
        on_chunks(len(batch))
    for name in _RECOUNT:
        execute(connection, name, values, FILE)
    return Reindexing(language=settled, scopes=len(scope_ids), chunks=chunks)


def _index(connection: Connection, tenant_id: int, language: str, batch: Sequence[_Texts]) -> None:
    terms = [
        {"scope_id": item.scope_id, "chunk_id": item.chunk_id, **index_terms(item)}
        for item in batch
    ]
    values = {"tenant_id": tenant_id, "language": language, "chunks": Jsonb(terms)}
    execute(connection, "reindex_chunks", values, FILE)
