"""Memory as it stood: keeps what a write will change, and lets a statement read as of a moment.

Where the setting `history` of a namespace is on.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from psycopg.sql import SQL

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, find_one, find_value
from memsense.store.scopes import KnownScope, Namespace, Scope, read_known
from memsense.types import ChunkDraft

FILE = "past.sql"

ROUTES = ("full", "user", "assistant", "personal_info", "preferences", "events")
"""The partitions of embeddings."""

_TABLE = re.compile(
    r"\bmemsense\.(chunks|embeddings|embeddings_[a-z_]+|token_vectors|scope_statistics|lexemes)\b"
)


def keep_past(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, vectors: bool = False
) -> None:
    """Keep the chunks as they are, before they change; with their vectors, before those do."""
    if scope.history and chunk_ids:
        values = {**_key(scope), "chunk_ids": list(chunk_ids), "with_vectors": vectors}
        execute(connection, "keep_past", values, FILE)


def keep_retired(connection: Connection, scope: Scope, drafts: Sequence[ChunkDraft]) -> None:
    """Keep that nothing was active where these drafts are written over what is retired."""
    if scope.history:
        values = {
            **_key(scope),
            "session_ids": [draft.session_id for draft in drafts],
            "granularities": [draft.granularity for draft in drafts],
            "ordinals": [draft.ordinal for draft in drafts],
            "parts": [draft.part for draft in drafts],
        }
        execute(connection, "keep_retired", values, FILE)


def scrub_past(connection: Connection, scope: Scope, session_id: str) -> None:
    """Let the past of a session's chunks hold nothing of what is erased of it."""
    execute(connection, "scrub_past", {**_key(scope), "session_id": session_id}, FILE)


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def fetch_kept_since(connection: Connection, namespace: Namespace) -> datetime | None:
    """Since when the namespace keeps its past, None where it doesn't."""
    values = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    return find_value(connection, "fetch_kept_since", values, FILE)


def find_scope_then(
    connection: Connection, tenant_id: int, namespace: str, user_id: str, as_of: datetime
) -> KnownScope | None:
    """What was known of a user's memory, None if there is none."""
    values = {
        "tenant_id": tenant_id,
        "namespace": namespace,
        "user_id": user_id,
        "as_of": as_of,
    }
    row = find_one(connection, _find_scope_then(), values)
    return None if row is None else read_known(row)


@cache
def _find_scope_then() -> SQL:
    steps = ",\n".join(past_steps("ARRAY(SELECT scope_id FROM scope)")[:_CHUNKS])
    return as_sql(fill("find_scope_then", FILE, steps=steps))


_CHUNKS = 2
"""So many of the steps give the chunks."""


def past_steps(scopes: str) -> list[str]:
    """The CTEs that stand for the tables of these memories, an array in SQL; first the chunks."""
    return [
        fill("past", FILE, scopes=scopes),
        fill("chunks", FILE, scopes=scopes),
        fill("past_vectors", FILE, scopes=scopes),
        fill("embeddings", FILE, scopes=scopes),
        fill("beside", FILE),
        *(fill("vectors_of", FILE, route=route) for route in ROUTES),
        fill("token_vectors", FILE, scopes=scopes),
        fill("scope_statistics", FILE),
    ]


def past_lexemes() -> str:
    """The CTE that stands for the document frequencies, behind that of the question."""
    return fill("lexemes", FILE)


def as_past(text: str) -> str:
    """A statement, or a part of one, that reads the CTEs in place of the tables."""
    return _TABLE.sub(r"\1", text)


def chunks_as_past(text: str) -> str:
    """A whole statement that reads the chunks as of a moment, of the parameter `scope_ids`."""
    steps = past_steps("%(scope_ids)s::integer[]")[:_CHUNKS]
    body = as_past(text)
    rest = body.removeprefix("WITH ")
    return "WITH " + ",\n".join(steps) + (",\n" if rest != body else "\n") + rest
