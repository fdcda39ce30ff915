"""Everything that writes chunks and reads them back, except recall itself."""

from memsense.store.indexes import IndexChange, optimise, should_index
from memsense.store.lifecycle import change_memory_score, record_feedback, restore, retire
from memsense.store.reads import (
    FoundHit,
    WantedHit,
    fetch_chunks,
    fetch_history,
    fetch_hits,
    fetch_named_chunks,
    fetch_recent,
    fetch_statistics,
)
from memsense.store.scopes import (
    ChunkPlace,
    Follower,
    KnownScope,
    Namespace,
    Scope,
    check_model,
    claim_namespace,
    find_chunk_scope,
    find_namespace,
    find_scope,
    find_tenant,
    lock_scope,
    open_namespace,
)
from memsense.store.writes import select_missing, write_session

__all__ = [
    "ChunkPlace",
    "Follower",
    "FoundHit",
    "IndexChange",
    "KnownScope",
    "Namespace",
    "Scope",
    "WantedHit",
    "change_memory_score",
    "check_model",
    "claim_namespace",
    "fetch_chunks",
    "fetch_history",
    "fetch_hits",
    "fetch_named_chunks",
    "fetch_recent",
    "fetch_statistics",
    "find_chunk_scope",
    "find_namespace",
    "find_scope",
    "find_tenant",
    "lock_scope",
    "open_namespace",
    "optimise",
    "record_feedback",
    "restore",
    "retire",
    "select_missing",
    "should_index",
    "write_session",
]
