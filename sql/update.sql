-- Updates of exchanges, and their earlier versions.

-- name: fetch_identity
-- The values by which a chunk is recognised when it comes again; an update leaves them as they are.
SELECT content_hash, dedup_window
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = %(chunk_id)s;

-- name: list_parts
-- The parts of the exchange that a chunk belongs to, of any status.
SELECT p.chunk_id
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
JOIN memsense.chunks AS p
  ON p.tenant_id = c.tenant_id AND p.scope_id = c.scope_id AND p.session_id = c.session_id
 AND p.granularity = c.granularity AND p.ordinal = c.ordinal AND (p.granularity = 'turn' OR p.chunk_id = c.chunk_id)
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND p.tenant_id = %(tenant_id)s AND n.name = %(namespace)s AND c.chunk_id = %(chunk_id)s;

-- name: share_score
UPDATE memsense.chunks
SET memory_score = %(memory_score)s
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
  AND memory_score <> %(memory_score)s;

-- name: keep_superseded
-- Stores the current content of exchanges before it changes; until %(kept_until)s, or for good if that is null.
INSERT INTO memsense.superseded_chunks (tenant_id, scope_id, chunk_id, version, content, kept_until)
SELECT c.tenant_id, c.scope_id, c.chunk_id,
    1 + coalesce((SELECT max(x.version) FROM memsense.superseded_chunks AS x
         WHERE x.tenant_id = %(tenant_id)s AND x.tenant_id = c.tenant_id AND x.scope_id = %(scope_id)s
           AND x.chunk_id = c.chunk_id), 0),
    jsonb_build_object(
        'user_text', substr(c.user_text, c.opening_length + 1), 'assistant_text', c.assistant_text,
        'personal_info', c.personal_info, 'preferences', c.preferences, 'events', c.events,
        'task_tag', c.task_tag, 'tags', c.tags, 'metadata', c.metadata, 'occurred_at', c.occurred_at),
    %(kept_until)s::timestamptz
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
  AND c.granularity = 'turn' AND c.status = 'active';

-- name: delete_lapsed_versions
DELETE FROM memsense.superseded_chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND kept_until <= now();

-- name: list_superseded
-- The stored versions of a chunk, oldest first; none for a forgotten chunk.
SELECT x.version, x.content, x.superseded_at, x.kept_until
FROM memsense.superseded_chunks AS x
JOIN memsense.chunks AS c ON c.tenant_id = x.tenant_id AND c.scope_id = x.scope_id AND c.chunk_id = x.chunk_id
JOIN memsense.scopes AS s ON s.tenant_id = x.tenant_id AND s.scope_id = x.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
WHERE x.tenant_id = %(tenant_id)s AND c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
  AND n.tenant_id = %(tenant_id)s AND n.name = %(namespace)s AND x.chunk_id = %(chunk_id)s
  AND c.status <> 'deleted' AND (c.expires_at IS NULL OR c.expires_at > now())
  AND (x.kept_until IS NULL OR x.kept_until > now())
ORDER BY x.version;
