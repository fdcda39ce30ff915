"""Earlier versions of exchanges: kept before a write changes them, where the namespace wants it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.store.scopes import Namespace, Scope

FILE = "update.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What an exchange said until it was superseded; `content` has its fields by name."""

    version: int
    content: Mapping[str, Any]
    superseded_at: datetime


def keep_versions(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Keep what these chunks say now, if the setting `history` of the namespace is on."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "chunk_ids": list(chunk_ids),
    }
    execute(connection, "keep_superseded", values, FILE)


def list_versions(connection: Connection, namespace: Namespace, chunk_id: int) -> list[Version]:
    """The versions of a chunk that were kept, the oldest first; of a forgotten one none."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "chunk_id": chunk_id,
    }
    return fetch_all(connection, "list_superseded", values, FILE, of=Version)
