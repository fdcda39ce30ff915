"""What must hold after any fault, recounted in SQL from what is stored."""

from collections.abc import Sequence
from typing import Any

import psycopg
from counting import assert_counted

ALWAYS = {
    "exchanges stored twice": """
        SELECT scope_id, session_id, user_text, count(*) FROM memsense.chunks
        WHERE granularity = 'turn' AND status = 'active' AND part = 0
        GROUP BY 1, 2, 3 HAVING count(*) > 1
    """,
    "sessions with a gap": """
        SELECT scope_id, session_id, min(ordinal), max(ordinal), count(DISTINCT ordinal)
        FROM memsense.chunks WHERE granularity = 'turn'
        GROUP BY 1, 2 HAVING min(ordinal) <> 0 OR max(ordinal) + 1 <> count(DISTINCT ordinal)
    """,
    "vectors without an active chunk": """
        SELECT chunk_id, route FROM memsense.embeddings AS e WHERE NOT EXISTS (
            SELECT FROM memsense.chunks AS c
            WHERE (c.tenant_id, c.scope_id, c.chunk_id) = (e.tenant_id, e.scope_id, e.chunk_id)
              AND c.status = 'active')
    """,
    "chunks that were never added": """
        SELECT chunk_id FROM memsense.chunks AS c WHERE NOT EXISTS (
            SELECT FROM memsense.events AS e
            WHERE (e.tenant_id, e.scope_id, e.chunk_id) = (c.tenant_id, c.scope_id, c.chunk_id)
              AND e.kind IN ('added', 'replaced', 'updated', 'recut', 'redacted'))
    """,
    "chunks that were added twice": """
        SELECT chunk_id, count(*) FROM memsense.events
        WHERE kind = 'added' GROUP BY tenant_id, scope_id, chunk_id HAVING count(*) > 1
    """,
    "events of no chunk": """
        SELECT chunk_id, kind FROM memsense.events AS e WHERE NOT EXISTS (
            SELECT FROM memsense.chunks AS c
            WHERE (c.tenant_id, c.scope_id, c.chunk_id) = (e.tenant_id, e.scope_id, e.chunk_id))
          AND NOT EXISTS (
            SELECT FROM memsense.events AS r
            WHERE (r.tenant_id, r.scope_id, r.chunk_id) = (e.tenant_id, e.scope_id, e.chunk_id)
              AND r.kind = 'removed')
    """,
    "session chunks that lag behind their exchanges without a mark": """
        SELECT tenant_id, scope_id, session_id FROM memsense.chunks WHERE status = 'active'
        GROUP BY 1, 2, 3
        HAVING max(last_ordinal) FILTER (WHERE granularity = 'session')
             < max(last_ordinal) FILTER (WHERE granularity = 'turn')
        EXCEPT SELECT tenant_id, scope_id, session_id FROM memsense.stale_sessions
    """,
    "messages of no exchange": """
        SELECT session_id, message_key FROM memsense.ingested_messages AS m WHERE NOT EXISTS (
            SELECT FROM memsense.chunks AS c
            WHERE (c.tenant_id, c.scope_id, c.session_id) = (m.tenant_id, m.scope_id, m.session_id)
              AND m.ordinal BETWEEN c.ordinal AND c.last_ordinal)
    """,
}

ACKNOWLEDGED = """
    SELECT said, count(chunk_id) FROM unnest(%(said)s::text[]) AS said
    LEFT JOIN memsense.chunks ON user_text = said AND granularity = 'turn' AND status = 'active'
    GROUP BY said HAVING count(chunk_id) <> 1
"""

CONTENTS = (
    """
    SELECT session_id, granularity, ordinal, part, user_text, assistant_text, session_text,
        next_user_text, context, tsv::text, status, message_ids, content_hash, memory_score
    FROM memsense.chunks JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s AND status = 'active' ORDER BY 1, 2, 3, 4
    """,
    """
    SELECT c.session_id, c.granularity, c.ordinal, c.part, e.route, m.name, e.embedding::text
    FROM memsense.embeddings AS e
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.models AS m USING (model_id)
    WHERE user_id = %(user)s ORDER BY 1, 2, 3, 4, 5, 6
    """,
    """
    SELECT c.session_id, c.ordinal, c.part, m.name, t.user_pieces, t.pieces, t.signs
    FROM memsense.token_vectors AS t
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.models AS m USING (model_id)
    WHERE user_id = %(user)s ORDER BY 1, 2, 3, 4
    """,
    """
    SELECT granularity, chunk_count, user_length, assistant_length, tag_length, context_length
    FROM memsense.scope_statistics JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s AND chunk_count > 0 ORDER BY 1
    """,
    """
    SELECT kind, count(*) FROM memsense.jobs JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s GROUP BY 1
    """,
    """
    SELECT granularity, lexeme, document_frequency
    FROM memsense.lexemes JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s ORDER BY 1, 2
    """,
    """
    SELECT m.name, k.state, m.model_id = n.model_id AS in_use
    FROM memsense.namespace_models AS k
    JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
    JOIN memsense.scopes AS s USING (tenant_id, namespace_id)
    JOIN memsense.models AS m ON m.model_id = k.model_id
    WHERE user_id = %(user)s ORDER BY 1
    """,
    """
    SELECT s.indexed, replace(i.relname, '_scope_' || s.scope_id, ''), x.indisvalid AND x.indisready
    FROM memsense.scopes AS s
    LEFT JOIN pg_class AS i ON i.relname LIKE '%%\\_scope\\_' || s.scope_id
    LEFT JOIN pg_index AS x ON x.indexrelid = i.oid
    WHERE user_id = %(user)s ORDER BY 2
    """,
    """
    SELECT session_id FROM memsense.stale_sessions JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s ORDER BY 1
    """,
)


def assert_whole(connection: psycopg.Connection[Any], acknowledged: Sequence[str] = ()) -> None:
    """Fail unless every acknowledged exchange is stored once, and all that is kept adds up."""
    broken = {name: connection.execute(query.encode()).fetchall() for name, query in ALWAYS.items()}
    assert {name: rows for name, rows in broken.items() if rows} == {}
    assert connection.execute(ACKNOWLEDGED, {"said": list(acknowledged)}).fetchall() == []
    assert_counted(connection)


def contents(connection: psycopg.Connection[Any], user_id: str) -> list[list[tuple[Any, ...]]]:
    """A user's memory, without the numbers that depend on what else was written."""
    return [connection.execute(query.encode(), {"user": user_id}).fetchall() for query in CONTENTS]
