"""Examines the indexes that searches and writes rely on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all
from memsense.doctor.findings import FILE, Expected, Finding
from memsense.graph import GRAPH_INDEXES

INDEXES: Mapping[str, str] = {
    "chunks_pkey": "chunks",
    "chunks_scope_lexemes": "chunks",
    "chunks_scope_tags": "chunks",
    "chunks_occurred_at": "chunks",
    "chunks_tenant_id_scope_id_session_id_granularity_ordinal_pa_key": "chunks",
    "chunks_content": "chunks",
    "lexemes_pkey": "lexemes",
    "scope_statistics_pkey": "scope_statistics",
    "scopes_pkey": "scopes",
    "scopes_tenant_id_namespace_id_user_id_key": "scopes",
    "embeddings_full_pkey": "embeddings_full",
    "embeddings_user_pkey": "embeddings_user",
    "embeddings_assistant_pkey": "embeddings_assistant",
    "embeddings_personal_info_pkey": "embeddings_personal_info",
    "embeddings_preferences_pkey": "embeddings_preferences",
    "embeddings_events_pkey": "embeddings_events",
    "token_vectors_pkey": "token_vectors",
    **GRAPH_INDEXES,
    "events_chunk": "events",
    "ingested_messages_pkey": "ingested_messages",
    "stale_sessions_pkey": "stale_sessions",
    "traces_pkey": "traces",
    "traces_recorded_at": "traces",
    "packed_candidates_pkey": "packed_candidates",
    "settings_pkey": "settings",
    "profiles_pkey": "profiles",
    "settings_history_pkey": "settings_history",
    "projects_pkey": "projects",
    "project_sessions_pkey": "project_sessions",
}
"""The indexes that searches and writes rely on, and their tables."""

VECTOR_TABLES = [table for table in INDEXES.values() if table.startswith("embeddings_")]
"""Where a large memory has HNSW indexes of its own."""


def examine_indexes(connection: Connection) -> Iterator[Finding]:
    """Indexes that are missing or invalid."""
    indexes = fetch_all(connection, "list_indexes", file=FILE, of=Named)
    names = {found["index_name"] for found in indexes}
    for name, table in INDEXES.items():
        if name not in names:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"index {name} of memsense.{table} is missing",
                remedy="create it as alembic/versions defines it",
            )
    for found in indexes:
        if not found["is_usable"]:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"index {found['index_name']} of memsense.{found['table_name']} is invalid",
                remedy=f"run 'REINDEX INDEX CONCURRENTLY memsense.{found['index_name']}'",
            )
    yield from _examine_indexed(connection, indexes)


def _examine_indexed(
    connection: Connection, indexes: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    usable = [found for found in indexes if found["method"] == "hnsw" and found["is_usable"]]
    for scope in fetch_all(connection, "list_indexed", file=FILE, of=Named):
        covered = f"scope_id = {scope['scope_id']})"
        served = {found["table_name"] for found in usable if covered in found["predicate"]}
        missing = [table for table in VECTOR_TABLES if table not in served]
        if missing:
            yield Finding(
                check="indexes",
                severity="error",
                text=f"the indexed memory of {scope['user_id']!r} has no usable HNSW index on"
                f" {', '.join(missing)}",
                remedy="run 'memsense db optimise', which builds what is missing",
            )


def examine_large(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Large memories without indexes of their own."""
    values = {"threshold": expected.index_threshold}
    for scope in fetch_all(connection, "list_large_unindexed", values, FILE, of=Named):
        yield Finding(
            check="indexing",
            severity="warning",
            text=f"the memory of {scope['user_id']!r} has {scope['chunks']:,} chunks"
            " and is searched without indexes of its own",
            remedy="run 'memsense db optimise'",
        )
