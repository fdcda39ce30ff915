"""Session chunks that writes of exchanges have left to be made."""

from collections.abc import Sequence

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all
from memsense.store import rows, writes
from memsense.store.marks import MarkedSession, unmark_session
from memsense.store.scopes import Namespace, Scope
from memsense.write.chunking import build_session_chunks


def session_texts(
    connection: Connection, namespace: Namespace, marked: MarkedSession
) -> Sequence[str]:
    """Return the texts that the session's chunks would have now and do not have yet; takes no
    lock.
    """
    key = {
        "tenant_id": namespace.tenant_id,
        "scope_id": marked.scope_id,
        "session_id": marked.session_id,
    }
    turns = [item.turn for item in rows.read_turns(fetch_all(connection, "fetch_turns", key))]
    stored = {text for (text,) in fetch_all(connection, "fetch_session_texts", key, "sessions.sql")}
    texts = [chunk.session_text for chunk in build_session_chunks(marked.session_id, turns)]
    return [text for text in texts if text not in stored]


def make_session(
    connection: Connection, scope: Scope, session_id: str, embed: writes.Embed
) -> bool:
    """Make the chunks of a marked session from its exchanges; return False if that is done already.

    The scope must be locked.
    """
    # The mark decides: of two processes that make the same session, one finds it gone.
    if not unmark_session(connection, scope, session_id):
        return False
    writes.rebuild_session_chunks(connection, scope, session_id, embed)
    return True
