"""Marks of sessions whose session chunks are yet to be made from their exchanges.

A write that adds a turn sets the mark and goes on; `sessions` embeds the session later.
"""

from dataclasses import dataclass

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.store.scopes import Namespace, Scope

FILE = "sessions.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSession:
    """A session that waits for its session chunks."""

    scope_id: int
    user_id: str
    session_id: str


def mark_session(connection: Connection, scope: Scope, session_id: str) -> None:
    """Mark the session for new session chunks; a second mark changes nothing."""
    execute(connection, "mark_session", _key(scope, session_id), FILE)


def unmark_session(connection: Connection, scope: Scope, session_id: str) -> bool:
    """Remove the mark; return False if there was none."""
    return execute(connection, "unmark_session", _key(scope, session_id), FILE) > 0


def list_marked(
    connection: Connection, namespace: Namespace, user_id: str | None
) -> list[MarkedSession]:
    """Return the marked sessions of a user, or of all users of the namespace."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "user_id": user_id,
    }
    return fetch_all(connection, "list_marked_sessions", values, FILE, of=MarkedSession)


def _key(scope: Scope, session_id: str) -> dict[str, object]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id, "session_id": session_id}
