"""Earlier versions of exchanges, for namespaces that keep history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.store.jobs import schedule_sweep
from memsense.store.scopes import Namespace, Scope

FILE = "update.sql"

EDIT_DAYS = 30
"""Days for which an edit can be undone where the namespace keeps no history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """The content of an exchange, its fields by name, until it was superseded.

    `kept_until` is when the version is deleted; None if the namespace kept history at that time.
    """

    version: int
    content: Mapping[str, Any]
    superseded_at: datetime
    kept_until: datetime | None


def keep_versions(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, days: int = 0
) -> None:
    """Store what these chunks say now: for so many days, or for good with the setting `history`."""
    if not (days or scope.history):
        return
    until = None if scope.history else scope.now + timedelta(days=days)
    values = {**scope.key, "chunk_ids": list(chunk_ids), "kept_until": until}
    execute(connection, "keep_superseded", values, FILE)
    if until is not None:
        delete_lapsed_versions(connection, scope)
        schedule_sweep(connection, scope)


def delete_lapsed_versions(connection: Connection, scope: Scope) -> None:
    """Delete the versions of a memory whose days are over."""
    execute(connection, "delete_lapsed_versions", scope.key, FILE)


def list_versions(connection: Connection, namespace: Namespace, chunk_id: int) -> list[Version]:
    """Return the stored versions of a chunk, oldest first; none for a forgotten chunk."""
    values = {**namespace.key, "chunk_id": chunk_id}
    return fetch_all(connection, "list_superseded", values, FILE, of=Version)
