-- The texts of an answer, in parts: memsense/store/reads.py joins those that a search needs.

-- name: fetch_hits
-- Every chunk of the answer and its neighbours in one statement. `wanted` is turn, or session for a
-- turn whose session chunk is to be shown. relation: hit, previous, next, or, where filters are in
-- use, exchange: a turn of that session chunk which passes them.
-- The chunk's columns are in the order of Chunk's fields.
-- OFFSET 0 and LIMIT 1 keep a planner without statistics from joining the other way round.
{scope}
SELECT
    w.position, w.relation,
    c.chunk_id, n.name AS namespace, s.user_id, c.agent_id, c.session_id, c.granularity, c.ordinal, c.last_ordinal,
    c.part, c.user_text, c.assistant_text, c.session_text, c.user_speaker, c.assistant_speaker, c.next_user_text,
    c.context, c.task_tag, c.tags, c.memory_kind, c.personal_info, c.preferences, c.events, c.facet_spans,
    c.memory_score, c.confidence, c.status, c.occurred_at, c.occurred_zone_known, c.recorded_at, c.message_ids,
    c.source, c.metadata, c.part_count, c.opening_length
FROM (
  SELECT w.position, w.scope_id, found.relation, found.chunk_id
  FROM unnest(%(scope_ids)s::integer[], %(chunk_ids)s::bigint[], %(session_ids)s::text[], %(ordinals)s::integer[],
              %(parts)s::integer[], %(wanted)s::text[])
      WITH ORDINALITY AS w (scope_id, chunk_id, session_id, ordinal, part, wanted, position)
  CROSS JOIN LATERAL (
      SELECT 'hit' AS relation, coalesce(
          ({session_chunk}),
          w.chunk_id) AS chunk_id
      UNION ALL
      (SELECT 'previous', c.chunk_id FROM memsense.chunks AS c
       WHERE w.wanted = 'turn' AND c.tenant_id = %(tenant_id)s AND c.scope_id = w.scope_id
         AND c.session_id = w.session_id AND c.granularity = 'turn' AND c.status = 'active'
         AND (c.ordinal, c.part) < (w.ordinal, w.part)
         AND {passes}
       ORDER BY c.ordinal DESC, c.part DESC LIMIT 1)
      UNION ALL
      (SELECT 'next', c.chunk_id FROM memsense.chunks AS c
       WHERE w.wanted = 'turn' AND c.tenant_id = %(tenant_id)s AND c.scope_id = w.scope_id
         AND c.session_id = w.session_id AND c.granularity = 'turn' AND c.status = 'active'
         AND (c.ordinal, c.part) > (w.ordinal, w.part)
         AND {passes}
       ORDER BY c.ordinal, c.part LIMIT 1)
      {exchanges}
  ) AS found
  OFFSET 0
) AS w
CROSS JOIN LATERAL (
    SELECT * FROM memsense.chunks WHERE tenant_id = %(tenant_id)s AND scope_id = w.scope_id AND chunk_id = w.chunk_id LIMIT 1
) AS c
JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = w.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
ORDER BY w.position

-- name: session_chunk
-- The session chunk that is to be shown for a turn.
SELECT {columns} FROM memsense.chunks AS h
WHERE w.wanted = 'session' AND h.tenant_id = %(tenant_id)s AND h.scope_id = w.scope_id
  AND h.session_id = w.session_id AND h.granularity = 'session' AND h.status = 'active'
  AND (h.ordinal, h.part) <= (w.ordinal, w.part) AND h.last_ordinal >= w.ordinal
ORDER BY h.ordinal DESC, h.part DESC LIMIT 1

-- name: scope_of_hits
-- The memories of the hits, as conditions of filters ask for them.
WITH scope AS MATERIALIZED (
    SELECT s.scope_id, s.user_id, n.namespace_id, n.language
    FROM memsense.scopes AS s
    JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = ANY (%(scope_ids)s::integer[])
)

-- name: exchanges_of_hits
-- An exchange belongs to the last session chunk that begins at or before it.
UNION ALL
(SELECT 'exchange', c.chunk_id
 FROM ({session}) AS h
 JOIN memsense.chunks AS c
   ON c.tenant_id = %(tenant_id)s AND c.scope_id = w.scope_id AND c.session_id = w.session_id
  AND c.granularity = 'turn' AND c.status = 'active'
  AND (c.ordinal, c.part) >= (h.ordinal, h.part) AND c.ordinal <= h.last_ordinal
 WHERE {passes}
   AND NOT EXISTS (
       SELECT FROM memsense.chunks AS y
       WHERE y.tenant_id = %(tenant_id)s AND y.scope_id = w.scope_id
         AND y.session_id = w.session_id AND y.granularity = 'session' AND y.status = 'active'
         AND (y.ordinal, y.part) > (h.ordinal, h.part) AND (y.ordinal, y.part) <= (c.ordinal, c.part)))

-- name: fetch_texts
-- The whole texts of some chunks.
SELECT chunk_id, concat_ws(E'\n', session_text, substr(user_text, opening_length + 1), assistant_text)
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[])
  AND chunk_id = ANY (%(chunk_ids)s::bigint[])
