"""Export of a memory: its chunks as the values of lines, read a batch at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_batches
from memsense.draft.exported import FORMAT, VERSION, encode_vector
from memsense.store.scopes import Namespace

FILE = "export.sql"

BATCH = 500
"""Chunks that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportUser:
    """A user to export, with the names of those who speak in the memory."""

    scope_id: int
    user_id: str
    speakers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A chunk as the statement returns it; `ExportedChunk` describes the fields."""

    chunk_id: int
    session_id: str
    granularity: str
    ordinal: int
    last_ordinal: int
    part: int
    part_count: int
    status: str
    opening_length: int
    user_text: str
    assistant_text: str
    session_text: str
    user_speaker: str | None
    assistant_speaker: str | None
    agent_id: str | None
    task_tag: str | None
    tags: Sequence[str]
    memory_kind: str
    personal_info: str | None
    preferences: str | None
    events: str | None
    facet_spans: Sequence[Mapping[str, Any]]
    confidence: float
    memory_score: float
    occurred_at: datetime | None
    occurred_zone_known: bool
    recorded_at: datetime
    message_ids: Sequence[str]
    source: str | None
    metadata: Mapping[str, Any]
    project: str | None
    language: str | None
    content_hash: str
    dedup_window: int
    expires_at: datetime | None
    ledger: Sequence[Mapping[str, Any]]
    changes: Sequence[Mapping[str, Any]]
    history: Sequence[Mapping[str, Any]]
    routes: Sequence[str]
    embeddings: Sequence[bytes]


def describe_export(namespace: Namespace, at: datetime, *, vectors: bool) -> dict[str, Any]:
    """Return the values of the export's first line."""
    return {
        "memsense_export": VERSION,
        "namespace": namespace.name,
        "language": namespace.language,
        "model": namespace.model,
        "dimension": namespace.dimension,
        "vectors": vectors,
        "settings": dict(namespace.settings),
        "profiles": dict(namespace.profiles),
        "exported_at": at.isoformat(),
    }


def list_users(
    connection: Connection, namespace: Namespace, user_id: str | None
) -> list[ExportUser]:
    """Return the users of the namespace, or the one that is named."""
    values = {**namespace.key, "user_id": user_id}
    return fetch_all(connection, "export_users", values, FILE, of=ExportUser)


def export_chunks(
    connection: Connection, namespace: Namespace, user: ExportUser, *, vectors: bool
) -> Iterator[dict[str, Any]]:
    """Yield the values of each chunk's line; the transaction must stay open until the last one."""
    values = {
        "tenant_id": namespace.tenant_id,
        "scope_id": user.scope_id,
        "model_id": namespace.model_id,
        "vectors": vectors,
        "format": FORMAT,
    }
    for batch in fetch_batches(connection, "export_chunks", values, FILE, of=_Row, size=BATCH):
        for row in batch:
            line = {item.name: getattr(row, item.name) for item in fields(row)}
            for name in ("chunk_id", "routes", "embeddings"):
                del line[name]
            for name in ("occurred_at", "recorded_at", "expires_at"):
                line[name] = line[name].isoformat() if line[name] else None
            # Most fields of most chunks are empty: a line names only those that have a value.
            line = {name: value for name, value in line.items() if value not in (None, "", [], {})}
            vectors_by_route = {
                route: encode_vector(bytes(sent))
                for route, sent in zip(row.routes, row.embeddings, strict=True)
            }
            if vectors_by_route:
                line["vectors"] = vectors_by_route
            yield {"chunk": row.chunk_id, **line}
