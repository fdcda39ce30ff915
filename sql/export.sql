-- Exports as lines of text, and imports of them (docs/reference/export-format.md describes the format).

-- name: export_users
SELECT s.scope_id, s.user_id, s.speakers
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
ORDER BY s.user_id;

-- name: holds_memories
SELECT EXISTS (
    SELECT FROM memsense.scopes WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s);

-- name: export_chunks
-- Every chunk of a memory, by session and place; forgotten and expired chunks without their text. A session
-- chunk has the ledger entries of its exchanges if its session keeps no exchanges.
SELECT
    c.chunk_id, c.session_id, c.granularity, c.ordinal, c.last_ordinal, c.part, c.part_count,
    CASE WHEN kept.shown THEN c.status ELSE 'deleted' END AS status,
    CASE WHEN kept.shown THEN c.opening_length ELSE 0 END AS opening_length,
    CASE WHEN kept.shown THEN c.user_text ELSE '' END AS user_text,
    CASE WHEN kept.shown THEN c.assistant_text ELSE '' END AS assistant_text,
    CASE WHEN kept.shown THEN c.session_text ELSE '' END AS session_text,
    CASE WHEN kept.shown THEN c.user_speaker END AS user_speaker,
    CASE WHEN kept.shown THEN c.assistant_speaker END AS assistant_speaker,
    c.agent_id,
    CASE WHEN kept.shown THEN c.task_tag END AS task_tag,
    CASE WHEN kept.shown THEN c.tags ELSE '{}' END AS tags,
    c.memory_kind,
    CASE WHEN kept.shown THEN c.personal_info END AS personal_info,
    CASE WHEN kept.shown THEN c.preferences END AS preferences,
    CASE WHEN kept.shown THEN c.events END AS events,
    CASE WHEN kept.shown THEN c.facet_spans ELSE '[]' END AS facet_spans,
    c.confidence, c.memory_score, c.occurred_at, c.occurred_zone_known, c.recorded_at, c.message_ids, c.source,
    CASE WHEN kept.shown THEN c.metadata ELSE '{}' END AS metadata,
    CASE WHEN kept.shown THEN c.project END AS project,
    CASE WHEN kept.shown THEN c.language END AS language,
    c.content_hash, c.dedup_window,
    CASE WHEN kept.shown THEN c.expires_at END AS expires_at,
    CASE WHEN c.part > 0 THEN '[]' ELSE coalesce(told.ledger, '[]') END AS ledger,
    CASE WHEN kept.shown THEN coalesce(decided.changes, '[]') ELSE '[]' END AS changes,
    CASE WHEN NOT kept.shown THEN '[]' ELSE coalesce((
        SELECT jsonb_agg(jsonb_build_object('kind', e.kind, 'detail', e.detail, 'actor', e.actor, 'recorded_at', e.recorded_at) ORDER BY e.event_id)
        FROM memsense.events AS e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = c.chunk_id), '[]') END AS history,
    ARRAY(
        SELECT v.route FROM memsense.embeddings AS v
        WHERE %(vectors)s AND v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s
          AND v.chunk_id = c.chunk_id AND v.model_id = %(model_id)s
        ORDER BY v.route) AS routes,
    ARRAY(
        SELECT halfvec_send(v.embedding) FROM memsense.embeddings AS v
        WHERE %(vectors)s AND v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s
          AND v.chunk_id = c.chunk_id AND v.model_id = %(model_id)s
        ORDER BY v.route) AS embeddings
FROM memsense.chunks AS c
CROSS JOIN LATERAL (
    SELECT c.status <> 'deleted' AND coalesce(c.expires_at > now(), true) AND (c.granularity = 'turn' OR NOT EXISTS (
        SELECT FROM memsense.chunks AS x
        WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = %(scope_id)s AND x.session_id = c.session_id
          AND x.granularity = 'turn' AND x.ordinal BETWEEN c.ordinal AND c.last_ordinal AND x.expires_at <= now())) AS shown
) AS kept
LEFT JOIN (
    -- Both ends have a decision, by content, so that whichever is imported last finds the other one.
    SELECT side.chunk_id, jsonb_agg(jsonb_build_object(
        'older', jsonb_build_array(older.content_hash, older.dedup_window, older.part),
        'newer', jsonb_build_array(newer.content_hash, newer.dedup_window, newer.part),
        'state', l.state, 'reason', l.reason, 'strength', l.strength, 'decided_by', l.decided_by, 'decided_at', l.decided_at
    ) ORDER BY l.chunk_id, l.older_id) AS changes
    FROM memsense.supersessions AS l
    JOIN memsense.chunks AS older
      ON older.tenant_id = %(tenant_id)s AND older.scope_id = l.scope_id AND older.chunk_id = l.older_id
    JOIN memsense.chunks AS newer
      ON newer.tenant_id = %(tenant_id)s AND newer.scope_id = l.scope_id AND newer.chunk_id = l.chunk_id
    CROSS JOIN LATERAL (VALUES (l.chunk_id), (l.older_id)) AS side (chunk_id)
    WHERE l.tenant_id = %(tenant_id)s AND l.scope_id = %(scope_id)s AND l.state <> 'found'
    GROUP BY side.chunk_id
) AS decided ON decided.chunk_id = c.chunk_id
LEFT JOIN (
    SELECT m.session_id, m.ordinal,
        jsonb_agg(jsonb_build_object('format', m.format, 'key', m.message_key, 'hash', m.content_hash, 'ordinal', m.ordinal,
            'content_key', encode(m.content_key, 'hex'))
                  ORDER BY m.format, m.message_key) AS ledger
    FROM memsense.ingested_messages AS m
    WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.format <> %(format)s
    GROUP BY m.session_id, m.ordinal
) AS own ON own.session_id = c.session_id AND own.ordinal = c.ordinal AND c.granularity = 'turn'
LEFT JOIN LATERAL (
    SELECT CASE WHEN c.granularity = 'turn' THEN own.ledger ELSE (
        SELECT jsonb_agg(jsonb_build_object('format', m.format, 'key', m.message_key, 'hash', m.content_hash, 'ordinal', m.ordinal,
            'content_key', encode(m.content_key, 'hex'))
                         ORDER BY m.format, m.message_key)
        FROM memsense.ingested_messages AS m
        WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = %(scope_id)s AND m.format <> %(format)s
          AND m.session_id = c.session_id AND m.ordinal BETWEEN c.ordinal AND c.last_ordinal
          AND NOT EXISTS (
              SELECT FROM memsense.chunks AS t
              WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = c.session_id
                AND t.granularity = 'turn' AND t.ordinal = m.ordinal)) END AS ledger
) AS told ON true
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND (c.granularity = 'turn' OR kept.shown OR c.status = 'active' OR NOT EXISTS (
      SELECT FROM memsense.chunks AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = c.session_id
        AND t.granularity = 'turn'))
ORDER BY c.session_id, c.granularity DESC, c.ordinal, c.part;

-- name: find_stored_contents
-- Those of some contents that the memory holds already, in any session.
SELECT DISTINCT c.content_hash || '@' || c.dedup_window
FROM unnest(%(content_hashes)s::text[], %(dedup_windows)s::bigint[]) AS given (content_hash, dedup_window)
JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
 AND c.content_hash = given.content_hash AND c.dedup_window = given.dedup_window
 AND c.part = 0 AND c.status <> 'deleted';

-- name: set_imported
-- Values of a chunk that an ordinary write does not set.
UPDATE memsense.chunks AS c
SET memory_score = given.memory_score, recorded_at = given.recorded_at
FROM unnest(%(chunk_ids)s::bigint[], %(memory_scores)s::float8[], %(recorded)s::timestamptz[])
    AS given (chunk_id, memory_score, recorded_at)
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = given.chunk_id;

-- name: insert_history
-- Events of the exporting database, in their order.
INSERT INTO memsense.events (tenant_id, scope_id, chunk_id, kind, detail, actor, recorded_at)
SELECT %(tenant_id)s, %(scope_id)s, chunk_id, kind, detail, actor, recorded_at
FROM unnest(%(chunk_ids)s::bigint[], %(kinds)s::text[], %(details)s::jsonb[], %(actors)s::text[], %(recorded)s::timestamptz[])
    WITH ORDINALITY AS past (chunk_id, kind, detail, actor, recorded_at, position)
ORDER BY position;

-- name: insert_decided
-- Decisions of the exporting database about pairs that the memory holds; those that were made here stay.
INSERT INTO memsense.supersessions
    (tenant_id, scope_id, chunk_id, older_id, reason, strength, state, decided_by, decided_at)
SELECT DISTINCT ON (newer.chunk_id, older.chunk_id)
    %(tenant_id)s, %(scope_id)s, newer.chunk_id, older.chunk_id, given.reason, given.strength, given.state,
    given.decided_by, given.decided_at
FROM jsonb_to_recordset(%(changes)s) AS given (
    older jsonb, newer jsonb, state text, reason text, strength float8, decided_by text, decided_at timestamptz)
JOIN memsense.chunks AS older
  ON older.tenant_id = %(tenant_id)s AND older.scope_id = %(scope_id)s AND older.content_hash = given.older ->> 0
 AND older.dedup_window = (given.older ->> 1)::bigint AND older.part = (given.older ->> 2)::integer
 AND older.status <> 'deleted'
JOIN memsense.chunks AS newer
  ON newer.tenant_id = %(tenant_id)s AND newer.scope_id = %(scope_id)s AND newer.content_hash = given.newer ->> 0
 AND newer.dedup_window = (given.newer ->> 1)::bigint AND newer.part = (given.newer ->> 2)::integer
 AND newer.status <> 'deleted'
WHERE older.chunk_id <> newer.chunk_id
ORDER BY newer.chunk_id, older.chunk_id, given.decided_at DESC
ON CONFLICT (tenant_id, scope_id, chunk_id, older_id) DO UPDATE SET
    state = excluded.state, reason = excluded.reason, decided_by = excluded.decided_by, decided_at = excluded.decided_at
WHERE supersessions.state = 'found';

-- name: insert_ledger
-- Ledger entries of the exporting database; entries that exist here already stay as they are.
INSERT INTO memsense.ingested_messages (
    tenant_id, scope_id, session_id, format, message_key, content_hash, ordinal, content_key)
SELECT DISTINCT ON (format, message_key)
    %(tenant_id)s, %(scope_id)s, %(session_id)s, format, message_key, content_hash, ordinal, decode(content_key, 'hex')
FROM unnest(
        %(formats)s::text[], %(message_keys)s::text[], %(content_hashes)s::text[], %(ordinals)s::integer[],
        %(content_keys)s::text[])
    AS message (format, message_key, content_hash, ordinal, content_key)
ORDER BY format, message_key, ordinal
ON CONFLICT (tenant_id, scope_id, session_id, format, message_key) DO NOTHING;
