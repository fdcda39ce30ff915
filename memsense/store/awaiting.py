"""Exchanges that wait for their answer: `add` may get question and answer in two calls."""

from collections.abc import Sequence

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_value
from memsense.store.scopes import Namespace, Scope
from memsense.types import Chunk, Completion, SessionDraft

ADDED = "api:add"
"""The source of what `add` stores. An exchange from a log grows through its log instead."""


class OutdatedDraftError(Exception):
    """A draft completes an exchange that has changed since: the caller makes a new draft."""


def find_awaiting(
    connection: Connection, namespace: Namespace, draft: SessionDraft
) -> Sequence[Chunk]:
    """Return the parts of the last exchange of the draft's session if it was added, is active and
    has no answer; else nothing.
    """
    values = {**namespace.key, "user_id": draft.user_id, "session_id": draft.session_id}
    last = fetch_all(connection, "find_awaiting", values, of=Chunk)
    # A long exchange is stored in parts; every one of them must still wait.
    is_awaiting = all(
        chunk.source == ADDED
        and chunk.status == "active"
        and chunk.user_text
        and not chunk.assistant_text
        for chunk in last
    )
    return last if is_awaiting else []


def check_awaiting(
    connection: Connection, scope: Scope, session_id: str, completion: Completion
) -> None:
    """Raise OutdatedDraftError unless the exchange is still the last and has no answer yet."""
    values = {
        **scope.key,
        "session_id": session_id,
        "ordinal": completion.ordinal,
        "chunk_ids": list(completion.chunk_ids),
        "user_text": completion.user_text,
    }
    # Its answer may have come, or its session gone on, since the draft was made.
    if not fetch_value(connection, "still_awaits", values):
        raise OutdatedDraftError
