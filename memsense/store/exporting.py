"""Reads a memory as the lines of an export, a batch at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_batches
from memsense.store.scopes import Namespace
from memsense.write.exported import FORMAT, VERSION, encode_vector

FILE = "export.sql"

BATCH = 500
"""Chunks that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportUser:
    """Whose memory it is, and who speaks in it."""

    scope_id: int
    user_id: str
    speakers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A chunk as the statement gives it; `ExportedChunk` says what the fields are."""

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
    content_hash: str
    dedup_window: int
    expires_at: datetime | None
    ledger: Sequence[Mapping[str, Any]]
    history: Sequence[Mapping[str, Any]]
    routes: Sequence[str]
    embeddings: Sequence[bytes]


def describe_export(namespace: Namespace, at: datetime, *, vectors: bool) -> dict[str, Any]:
    """The header's values."""
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
    """The users of the namespace, or the one."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "user_id": user_id,
    }
    return fetch_all(connection, "export_users", values, FILE, of=ExportUser)


def export_chunks(
    connection: Connection, namespace: Namespace, user: ExportUser, *, vectors: bool
) -> Iterator[dict[str, Any]]:
    """The values of each chunk's line; the transaction must stay open until the last is read."""
    values = {
        "tenant_id": namespace.tenant_id,
        "scope_id": user.scope_id,
        "model_id": namespace.model_id,
        "vectors": vectors,
        "format": FORMAT,
    }
    for batch in fetch_batches(connection, "export_chunks", values, FILE, of=_Row, size=BATCH):
        for row in batch:
            yield _as_line(row)


_OWN_FIELDS = ("chunk_id", "routes", "embeddings")


def _as_line(row: _Row) -> dict[str, Any]:
    """The fields that say something; what has no value is left out."""
    values = {
        item.name: getattr(row, item.name) for item in fields(row) if item.name not in _OWN_FIELDS
    }
    for name in ("occurred_at", "recorded_at", "expires_at"):
        values[name] = values[name].isoformat() if values[name] else None
    told = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    made = {
        route: encode_vector(bytes(sent))
        for route, sent in zip(row.routes, row.embeddings, strict=True)
    }
    return {"chunk": row.chunk_id, **told, **({"vectors": made} if made else {})}
