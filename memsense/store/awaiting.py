"""The exchange of a session that awaits its answer: what `add` was given in a call before."""

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all, fetch_value
from memsense.store.scopes import Namespace, Scope
from memsense.types import Awaiting, Chunk, Completion, SessionDraft, join_sides
from memsense.write.expiry import has_expired

ADDED = "api:add"
"""The source of what `add` stores; what a log brought grows by the log."""


class OutdatedDraftError(Exception):
    """A draft completes an exchange that no longer awaits what it brings; it is to be made anew."""


def find_awaiting(
    connection: Connection, namespace: Namespace, draft: SessionDraft
) -> Awaiting | None:
    """The last exchange of the draft's session, if it was added, is active and has no answer."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "user_id": draft.user_id,
        "session_id": draft.session_id,
    }
    found = fetch_all(connection, "find_awaiting", values, of=Chunk)
    last = [chunk for chunk in found if chunk.ordinal == found[-1].ordinal]
    if not last or not all(_awaits(chunk) for chunk in last):
        return None
    earlier = [chunk for chunk in found[: -len(last)] if chunk.status == "active"]
    before = join_sides(earlier[-1].user_text, earlier[-1].assistant_text) if earlier else ""
    return Awaiting(last, before)


def _awaits(chunk: Chunk) -> bool:
    is_added = chunk.source == ADDED and chunk.status == "active"
    is_question = bool(chunk.user_text) and not chunk.assistant_text
    return is_added and is_question and not has_expired(chunk.expires_at)


def check_awaiting(
    connection: Connection, scope: Scope, session_id: str, completion: Completion
) -> None:
    """Raise OutdatedDraftError unless the exchange is still the last and awaits the answer."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "session_id": session_id,
        "ordinal": completion.ordinal,
        "chunk_ids": list(completion.chunk_ids),
        "user_text": completion.user_text,
    }
    if not fetch_value(connection, "still_awaits", values):
        raise OutdatedDraftError
