"""Re-indexing: rebuilds a namespace's text index, in its language or in another one.

It happens in the caller's transaction: searches see the old index until it commits, and keep it if
it fails. Writers wait for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_batches, fetch_value, fetch_values
from memsense.store.scopes import Namespace, check_language
from memsense.store.writes import index_terms

FILE = "reindex.sql"
BATCH = 500
"""Chunks that are read and indexed at a time."""
_RECOUNT = ("clear_lexemes", "clear_counts", "recount_lexemes", "recount_chunks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """The result of a re-indexing: how many scopes and chunks, in which text-search
    configuration.
    """

    language: str
    scopes: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """The texts of one active chunk that the index is made from."""

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

    With a `language`, the namespace uses it from now on. `on_chunks` gets the number of chunks of
    each batch. Raises InvalidInputError for a language that the server has no text-search
    configuration for.
    """
    if language is not None:
        check_language(connection, language)
    key = namespace.key
    # The namespace first, which no new user can join from then on, then its scopes in the order of
    # their numbers, as every write locks them: no write that began before is missed.
    execute(connection, "lock_for_reindex", key, FILE)
    scope_ids: list[int] = fetch_values(connection, "lock_all_scopes", key, FILE)
    if language is not None:
        execute(connection, "set_language", {**key, "language": language}, FILE)
    language_in_use: str = fetch_value(connection, "fetch_language", key)
    tenant = {"tenant_id": namespace.tenant_id}
    values = {**tenant, "scope_ids": scope_ids}
    chunks = 0
    for batch in fetch_batches(
        connection, "fetch_indexed_texts", values, FILE, of=_Texts, size=BATCH
    ):
        terms = [
            {"scope_id": item.scope_id, "chunk_id": item.chunk_id, **index_terms(item)}
            for item in batch
        ]
        index = {**tenant, "language": language_in_use, "chunks": Jsonb(terms)}
        execute(connection, "reindex_chunks", index, FILE)
        chunks += len(batch)
        on_chunks(len(batch))
    for name in _RECOUNT:
        execute(connection, name, values, FILE)
    return Reindexing(language=language_in_use, scopes=len(scope_ids), chunks=chunks)
