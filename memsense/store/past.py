"""Memory as of a moment: what a write is about to change is stored, and statements can read it.

Only for namespaces whose setting `history` is on.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all, find_one, find_value
from memsense.store.conditions import SCOPES
from memsense.store.scopes import KnownScope, Namespace, Scope, read_known
from memsense.types import ChunkDraft

FILE = "past.sql"

ROUTES = ("full", "user", "assistant", "personal_info", "preferences", "events")
"""The partitions of the table `embeddings`."""

_TABLE = re.compile(
    r"\bmemsense\.(chunks|embeddings|embeddings_[a-z_]+|token_vectors|chunk_entities|mentions"
    r"|scope_statistics|lexemes)\b"
)


def keep_past(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, vectors: bool = False
) -> None:
    """Store the chunks as they are before they change, with `vectors` their vectors too."""
    if scope.history and chunk_ids:
        values = {**scope.key, "chunk_ids": list(chunk_ids), "with_vectors": vectors}
        execute(connection, "keep_past", values, FILE)


def keep_retired(connection: Connection, scope: Scope, drafts: Sequence[ChunkDraft]) -> None:
    """Record that nothing was active where these drafts are written over retired chunks."""
    if scope.history:
        values = {
            **scope.key,
            "session_ids": [draft.session_id for draft in drafts],
            "granularities": [draft.granularity for draft in drafts],
            "ordinals": [draft.ordinal for draft in drafts],
            "parts": [draft.part for draft in drafts],
        }
        execute(connection, "keep_retired", values, FILE)


def scrub_past(connection: Connection, scope: Scope, session_id: str) -> None:
    """Remove from the past of a session's other chunks the text that is being erased."""
    rows = fetch_all(
        connection, "fetch_scrubbed_past", {**scope.key, "session_id": session_id}, FILE
    )
    if rows:
        chunk_ids, past_ids, are_sessions, chunks = zip(*rows, strict=True)
        values = {
            **scope.key,
            "chunk_ids": list(chunk_ids),
            "past_ids": list(past_ids),
            "are_sessions": list(are_sessions),
            "chunks": [Jsonb(chunk) for chunk in chunks],
        }
        execute(connection, "write_scrubbed_past", values, FILE)


def fetch_kept_since(connection: Connection, namespace: Namespace) -> datetime | None:
    """Return since when the namespace has kept its past, or None if it doesn't."""
    return find_value(connection, "fetch_kept_since", namespace.key, FILE)


def find_scope_then(
    connection: Connection, tenant_id: int, namespace: str, user_id: str, as_of: datetime
) -> KnownScope | None:
    """Return what a search needed to know of a user's memory then, None if there is none."""
    values = {"tenant_id": tenant_id, "namespace": namespace, "user_id": user_id, "as_of": as_of}
    steps = ",\n".join([*_chunk_steps(SCOPES), *_mention_steps(SCOPES)])
    row = find_one(connection, as_sql(fill("find_scope_then", FILE, steps=steps)), values)
    return None if row is None else read_known(row)


def _chunk_steps(scopes: str) -> list[str]:
    return [fill("past", FILE, scopes=scopes), fill("chunks", FILE, scopes=scopes)]


def _mention_steps(scopes: str) -> list[str]:
    return [fill("chunk_entities", FILE, scopes=scopes), fill("mentions", FILE)]


def past_steps(scopes: str) -> list[str]:
    """Return the CTEs that replace the tables for these memories, an array in SQL."""
    return [
        *_chunk_steps(scopes),
        *_mention_steps(scopes),
        fill("past_vectors", FILE, scopes=scopes),
        fill("embeddings", FILE, scopes=scopes),
        fill("beside", FILE),
        *(fill("vectors_of", FILE, route=route) for route in ROUTES),
        fill("token_vectors", FILE, scopes=scopes),
        fill("scope_statistics", FILE),
    ]


def past_lexemes() -> str:
    """Return the CTE that replaces the document frequencies; it needs the question's CTE."""
    return fill("lexemes", FILE)


def as_past(text: str) -> str:
    """Return a statement, or a part of one, that reads the CTEs in place of the tables."""
    return _TABLE.sub(r"\1", text)


def chunks_as_past(text: str, scope: str = "") -> str:
    """Return a whole statement that reads the chunks as of a moment.

    Args:
        text: The statement as it reads the chunks of now.
        scope: The CTE `scope` that the statement begins with, whose memories are read; without it
            those of the parameter `scope_ids`.
    """
    steps = _chunk_steps(SCOPES if scope else "%(scope_ids)s::integer[]")
    # A statement may begin with CTEs of its own, which these go in front of.
    body, start = as_past(text), f"{scope},\n" if scope else "WITH "
    rest = body.removeprefix(start)
    return start + ",\n".join(steps) + (",\n" if rest != body else "\n") + rest
