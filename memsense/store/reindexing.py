"""Re-indexing: makes a namespace's text index anew, in its language or in another one.

All in the caller's transaction: searches see the old index until it commits, and go on seeing it
if it fails. Writers wait for it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.store.scopes import Namespace, check_language
from memsense.store.writes import index_terms

FILE = "reindex.sql"
BATCH = 500
_RECOUNT = ("clear_lexemes", "clear_counts", "recount_lexemes", "recount_chunks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """What was indexed anew, and in which text-search configuration."""

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
    """Index every active chunk of the namespace anew; count lengths and frequencies anew.

    With a `language`, the namespace stems in it from now on. Locks the namespace and then its
    scopes in the order of their numbers, so no write that began before is missed. `on_chunks` gets
    the number of chunks of each batch. Raises InvalidInputError for a language that the server has
    no text-search configuration for.
    """
    if language is not None:
        check_language(connection, language)
    key = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    connection.execute(query("lock_namespace", FILE), key)
    locked = connection.execute(query("lock_all_scopes", FILE), key).fetchall()
    scope_ids = [scope_id for (scope_id,) in locked]
    if language is not None:
        connection.execute(query("set_language", FILE), {**key, "language": language})
    row = connection.execute(query("fetch_language"), key).fetchone()
    assert row is not None
    chunks = 0
    for batch in _read_batches(connection, namespace.tenant_id, scope_ids):
        _index(connection, namespace.tenant_id, row[0], batch)
        chunks += len(batch)
        on_chunks(len(batch))
    values = {"tenant_id": namespace.tenant_id, "scope_ids": scope_ids}
    for name in _RECOUNT:
        connection.execute(query(name, FILE), values)
    return Reindexing(language=row[0], scopes=len(scope_ids), chunks=chunks)


def _read_batches(
    connection: Connection, tenant_id: int, scope_ids: Sequence[int]
) -> Iterator[list[_Texts]]:
    with connection.cursor("reindexed_texts", row_factory=class_row(_Texts)) as cursor:
        values = {"tenant_id": tenant_id, "scope_ids": list(scope_ids)}
        cursor.execute(query("fetch_indexed_texts", FILE), values)
        while batch := cursor.fetchmany(BATCH):
            yield batch


def _index(connection: Connection, tenant_id: int, language: str, batch: Sequence[_Texts]) -> None:
    terms = [
        {"scope_id": item.scope_id, "chunk_id": item.chunk_id, **index_terms(item)}
        for item in batch
    ]
    values = {"tenant_id": tenant_id, "language": language, "chunks": Jsonb(terms)}
    connection.execute(query("reindex_chunks", FILE), values)
