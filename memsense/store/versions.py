"""Earlier versions of exchanges, for namespaces that keep history."""

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
    """The content of an exchange, its fields by name, until it was superseded."""

    version: int
    content: Mapping[str, Any]
    superseded_at: datetime


def keep_versions(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Store what these chunks say now, if the setting `history` of the namespace is on."""
    values = {**scope.key, "chunk_ids": list(chunk_ids)}
    execute(connection, "keep_superseded", values, FILE)


def list_versions(connection: Connection, namespace: Namespace, chunk_id: int) -> list[Version]:
    """Return the stored versions of a chunk, oldest first; none for a forgotten chunk."""
    values = {**namespace.key, "chunk_id": chunk_id}
    return fetch_all(connection, "list_superseded", values, FILE, of=Version)
