"""The examination of the indexes that searches and writes rely on."""

from collections.abc import Iterator, Mapping

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all, fetch_one, fetch_values
from memsense.doctor.findings import FILE, Expected, Finding
from memsense.doctor.sizes import in_units
from memsense.graph import GRAPH_INDEXES
from memsense.store.indexes import FILE as INDEXES_FILE
from memsense.store.vectors import FRESH_LIMIT

INDEXES: Mapping[str, str] = {
    "chunks_pkey": "chunks",
    "chunks_scope_lexemes": "chunks",
    "chunks_scope_tags": "chunks",
    "chunks_occurred_at": "chunks",
    "chunks_tenant_id_scope_id_session_id_granularity_ordinal_pa_key": "chunks",
    "chunks_content": "chunks",
    "chunks_expires_at": "chunks",
    "lexemes_pkey": "lexemes",
    "lexemes_reversed": "lexemes",
    "scope_statistics_pkey": "scope_statistics",
    "scopes_pkey": "scopes",
    "scopes_tenant_id_namespace_id_user_id_key": "scopes",
    "embeddings_full_pkey": "embeddings_full",
    "embeddings_user_pkey": "embeddings_user",
    "embeddings_assistant_pkey": "embeddings_assistant",
    "embeddings_personal_info_pkey": "embeddings_personal_info",
    "embeddings_preferences_pkey": "embeddings_preferences",
    "embeddings_events_pkey": "embeddings_events",
    "embeddings_full_fresh": "embeddings_full",
    "embeddings_user_fresh": "embeddings_user",
    "embeddings_assistant_fresh": "embeddings_assistant",
    "embeddings_personal_info_fresh": "embeddings_personal_info",
    "embeddings_preferences_fresh": "embeddings_preferences",
    "embeddings_events_fresh": "embeddings_events",
    "token_vectors_pkey": "token_vectors",
    **GRAPH_INDEXES,
    "events_chunk": "events",
    "ingested_messages_pkey": "ingested_messages",
    "stale_sessions_pkey": "stale_sessions",
    "superseded_chunks_pkey": "superseded_chunks",
    "supersessions_pkey": "supersessions",
    "supersessions_older": "supersessions",
    "past_chunks_pkey": "past_chunks",
    "past_chunks_until": "past_chunks",
    "erasures_pkey": "erasures",
    "erasures_erased_at": "erasures",
    "namespace_models_pkey": "namespace_models",
    "jobs_pkey": "jobs",
    "jobs_subject": "jobs",
    "jobs_due": "jobs",
    "jobs_chunk": "jobs",
    "access_keys_pkey": "access_keys",
    "calls_pkey": "calls",
    "items_pkey": "items",
    "items_tenant_id_namespace_id_collection_path_key_key": "items",
    "items_expires_at": "items",
    "items_user": "items",
    "item_vectors_pkey": "item_vectors",
    "write_keys_pkey": "write_keys",
    "write_keys_recorded_at": "write_keys",
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

NODE_BYTES = 714
"""Bytes of a node of an HNSW graph while it is built, without its vector."""

VECTOR_TABLES = [
    name.removesuffix("_pkey")
    for name in INDEXES
    if name.startswith("embeddings_") and name.endswith("_pkey")
]
"""The tables on which a large memory has HNSW indexes of its own."""


def examine_indexes(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Examine indexes: missing and invalid ones, and those that an indexed memory lacks."""
    indexes = fetch_all(connection, "list_indexes", file=FILE, of=Named)
    names = {index["index_name"] for index in indexes}
    for name, table in INDEXES.items():
        if name not in names:
            yield Finding(
                severity="error",
                text=f"index {name} of memsense.{table} is missing",
                remedy="create it as alembic/versions defines it",
            )
    for index in indexes:
        if not index["is_usable"]:
            yield Finding(
                severity="error",
                text=f"index {index['index_name']} of memsense.{index['table_name']} is invalid",
                remedy=f"run 'REINDEX INDEX CONCURRENTLY memsense.{index['index_name']}'",
            )
    usable = [index for index in indexes if index["method"] == "hnsw" and index["is_usable"]]
    for scope in fetch_all(connection, "list_indexed", file=FILE, of=Named):
        of_scope = f"(scope_id = {scope['scope_id']})"
        of_model = f"(model_id = {scope['model_id']})"
        # Indexes of before models could be changed name no model: they hold the vectors of any.
        indexed_tables = {
            index["table_name"]
            for index in usable
            if of_scope in index["predicate"]
            and ("model_id" not in index["predicate"] or of_model in index["predicate"])
        }
        missing = [table for table in VECTOR_TABLES if table not in indexed_tables]
        if missing:
            yield Finding(
                severity="error",
                text=f"the indexed memory of {scope['user_id']!r} has no usable HNSW index on"
                f" {', '.join(missing)}",
                remedy="run 'memsense db optimise', which builds what is missing",
            )


def examine_large(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine large memories: those without indexes of their own, or whose indexes slow writes
    down.
    """
    values = {"threshold": expected.index_threshold}
    settings = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    memory: int = settings["maintenance_work_mem"]
    indexed = len(fetch_values(connection, "list_scopes_with_indexes", file=INDEXES_FILE))
    room = expected.index_users - indexed
    if room < 0:
        yield Finding(
            severity="warning",
            text=f"{indexed:,} users have HNSW indexes, more than index_users allows"
            f" ({expected.index_users:,}): each costs every write and every search",
            remedy="run 'memsense db optimise', which keeps those of the largest",
        )
    large = fetch_all(connection, "list_large_unindexed", values, FILE, of=Named)
    if len(large) > max(room, 0):
        yield Finding(
            severity="info",
            text=f"{len(large) - max(room, 0):,} users of {expected.index_threshold:,} chunks or"
            f" more are searched vector by vector: at most {expected.index_users:,} users"
            " (index_users) have HNSW indexes",
        )
    for scope in large[: max(room, 0)]:
        remedy = "run 'memsense db optimise'"
        if (needed := build_memory(scope["chunks"], scope["dimension"])) > memory:
            remedy += (
                "; it is several times faster if an index fits into maintenance_work_mem, now"
                f" {in_units(memory)}: ALTER DATABASE ... SET maintenance_work_mem ="
                f" '{-(-needed >> 20)}MB'"
            )
        yield Finding(
            severity="warning",
            text=f"the memory of {scope['user_id']!r} has {scope['chunks']:,} chunks"
            " and is searched without indexes of its own",
            remedy=remedy,
        )
    for user_id in fetch_values(connection, "list_old_kind", file=FILE):
        yield Finding(
            severity="warning",
            text=f"the indexes of {user_id!r} are of an earlier version: writes wait for them",
            remedy="run 'memsense db optimise', which builds them anew while searches go on",
        )
    for scope in fetch_all(
        # Reported at half of the limit, before writes begin to wait.
        connection,
        "list_unsettled",
        {"least": FRESH_LIMIT // 2},
        FILE,
        of=Named,
    ):
        yield Finding(
            severity="warning",
            text=f"{scope['chunks']:,} chunks of {scope['user_id']!r} wait to be added to its"
            f" indexes, and no worker does it: from {FRESH_LIMIT:,} on, writes do it themselves",
            remedy=f"run '{expected.command('worker', scope)}', or"
            f" '{expected.command('db optimise', scope)}' at times",
        )


def build_memory(chunks: int, dimension: int) -> int:
    """Return the bytes that pgvector needs to build an HNSW index with m = 16 over half vectors.

    Beyond maintenance_work_mem its graph spills to disk, and building takes several times as long.
    Measured: 8 MB hold 5,660 vectors of 384 dimensions.
    """
    return chunks * (NODE_BYTES + 2 * dimension)
