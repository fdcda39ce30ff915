-- Session chunks that follow their exchanges: a write marks the session, and its session chunks are made
-- later.

-- name: mark_session
INSERT INTO memsense.stale_sessions (tenant_id, scope_id, session_id)
VALUES (%(tenant_id)s, %(scope_id)s, %(session_id)s)
ON CONFLICT (tenant_id, scope_id, session_id) DO NOTHING;

-- name: unmark_session
DELETE FROM memsense.stale_sessions
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s;

-- name: fetch_session_texts
-- Texts that are stored already, whose vectors need not be made.
SELECT session_text
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND granularity = 'session' AND status = 'active';

-- name: list_marked_sessions
SELECT s.scope_id, s.user_id, m.session_id
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
JOIN memsense.stale_sessions AS m ON m.tenant_id = s.tenant_id AND m.scope_id = s.scope_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND m.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
ORDER BY s.scope_id, m.session_id;
