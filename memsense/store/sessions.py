"""Marks of sessions whose session chunks are yet to be made from their exchanges.

A write that adds a turn sets the mark and goes on; `writes.make_session` makes them later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.draft.chunking import build_session_chunks
from memsense.draft.vectors import ChunkTexts
from memsense.store import rows
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
    execute(connection, "mark_session", {**scope.key, "session_id": session_id}, FILE)


def unmark_session(connection: Connection, scope: Scope, session_id: str) -> bool:
    """Remove the mark; return False if there was none."""
    return execute(connection, "unmark_session", {**scope.key, "session_id": session_id}, FILE) > 0


def list_marked(
    connection: Connection, namespace: Namespace, user_id: str | None
) -> list[MarkedSession]:
    """Return the marked sessions of a user, or of all users of the namespace."""
    values = {**namespace.key, "user_id": user_id}
    return fetch_all(connection, "list_marked_sessions", values, FILE, of=MarkedSession)


def session_texts(
    connection: Connection, namespace: Namespace, marked: MarkedSession
) -> Sequence[ChunkTexts]:
    """Return what the session's chunks would hold now and do not hold yet; takes no lock."""
    key = {
        "tenant_id": namespace.tenant_id,
        "scope_id": marked.scope_id,
        "session_id": marked.session_id,
    }
    turns = [item.turn for item in rows.read_turns(fetch_all(connection, "fetch_turns", key))]
    stored = {text for (text,) in fetch_all(connection, "fetch_session_texts", key, FILE)}
    chunks = build_session_chunks(marked.session_id, turns)
    return [ChunkTexts.of(chunk) for chunk in chunks if chunk.session_text not in stored]
