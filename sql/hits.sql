-- The texts of an answer, in parts: memsense/store/reads.py joins those that a search needs.

-- name: fetch_hits
-- Every chunk of the answer and what is shown next to it, in one statement. `wanted` is turn, or
-- session for what stands for its session; best_ids are the exchanges that brought it in, and
-- best_ordinals where they are. relation: hit, previous, next, or exchange: a turn of the session, with its number among
-- all of them that pass the filters.
-- OFFSET 0 and LIMIT 1 keep a planner without statistics from joining the other way round.
WITH {steps}
SELECT
    w.position, w.relation, w.number, w.total,
    {columns}
FROM (
  SELECT w.position, w.scope_id, found.relation, found.chunk_id, found.number, found.total
  FROM unnest(%(scope_ids)s::integer[], %(chunk_ids)s::bigint[], %(session_ids)s::text[], %(ordinals)s::integer[],
              %(parts)s::integer[], %(wanted)s::text[], %(best_ids)s::text[], %(best_ordinals)s::text[])
      WITH ORDINALITY AS w (scope_id, chunk_id, session_id, ordinal, part, wanted, best_ids, best_ordinals, position)
  CROSS JOIN LATERAL (
      SELECT 'hit' AS relation, coalesce(
          ({session_chunk}),
          w.chunk_id) AS chunk_id, 0::bigint AS number, 0::bigint AS total
      UNION ALL
      (SELECT 'previous', c.chunk_id, 0, 0 FROM memsense.chunks AS c
       WHERE w.wanted = 'turn' AND c.tenant_id = %(tenant_id)s AND c.scope_id = w.scope_id
         AND c.session_id = w.session_id AND c.granularity = 'turn' AND c.status = 'active'
         AND (c.ordinal, c.part) < (w.ordinal, w.part)
         AND {passes}
       ORDER BY c.ordinal DESC, c.part DESC LIMIT 1)
      UNION ALL
      (SELECT 'next', c.chunk_id, 0, 0 FROM memsense.chunks AS c
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
WHERE {is_shown}
ORDER BY w.position

-- name: columns
-- A chunk c as it is shown, of scope s: in the order of Chunk's fields.
c.chunk_id, {namespace} AS namespace, s.user_id, c.agent_id, c.session_id, c.granularity, c.ordinal, c.last_ordinal,
c.part, c.user_text, c.assistant_text, c.session_text, c.user_speaker, c.assistant_speaker,
CASE WHEN NOT {is_bereft} THEN c.next_user_text END AS next_user_text,
CASE WHEN {is_bereft} THEN '' ELSE c.context END AS context,
c.task_tag, c.tags, c.memory_kind, c.personal_info, c.preferences, c.events, c.facet_spans,
c.memory_score, c.confidence, c.status, c.occurred_at, c.occurred_zone_known, c.recorded_at, c.message_ids,
c.source, c.metadata, c.part_count, c.opening_length, c.expires_at, c.project, c.language

-- name: session_chunk
-- The session chunk that holds a turn.
SELECT h.chunk_id FROM memsense.chunks AS h
WHERE w.wanted = 'session' AND h.tenant_id = %(tenant_id)s AND h.scope_id = w.scope_id
  AND h.session_id = w.session_id AND h.granularity = 'session' AND h.status = 'active'
  AND (h.ordinal, h.part) <= (w.ordinal, w.part) AND h.last_ordinal >= w.ordinal
  AND {is_shown}
ORDER BY h.ordinal DESC, h.part DESC LIMIT 1

-- name: scope_of_hits
-- The memories of the hits, as conditions of filters ask for them.
scope AS MATERIALIZED (
    SELECT s.scope_id, s.user_id, n.namespace_id
    FROM memsense.scopes AS s
    JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
    WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = ANY (%(scope_ids)s::integer[])
)

-- name: exchanges_of_hits
-- The exchanges of a session around those that brought it in, numbered in its order: as many as
-- begin within the budget of characters, nearer ones first, and those themselves.
UNION ALL
(SELECT 'exchange', around.chunk_id, around.number, around.total
 FROM (
     SELECT placed.chunk_id, placed.number, placed.total, placed.distance,
         sum(placed.length) OVER (ORDER BY placed.distance, placed.number) - placed.length AS before
     FROM (
         SELECT c.chunk_id,
             row_number() OVER (ORDER BY c.ordinal, c.part) AS number,
             count(*) OVER () AS total,
             length(c.user_text) - c.opening_length + length(c.assistant_text) AS length,
             (SELECT min(abs(c.ordinal - best)) FROM unnest(w.best_ordinals::integer[]) AS best) AS distance
         FROM memsense.chunks AS c
         WHERE w.wanted = 'session' AND c.tenant_id = %(tenant_id)s AND c.scope_id = w.scope_id
           AND c.session_id = w.session_id AND c.granularity = 'turn' AND c.status = 'active'
           AND {passes}
     ) AS placed
 ) AS around
 WHERE around.before < %(content_budget)s OR around.chunk_id = ANY (w.best_ids::bigint[]))

-- name: fetch_texts
-- The whole texts of some chunks.
SELECT chunk_id, concat_ws(E'\n', session_text, substr(user_text, opening_length + 1), assistant_text)
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[])
  AND chunk_id = ANY (%(chunk_ids)s::bigint[])

-- name: fetch_chunks
-- The chunks of these ids, of any status, and whether they have expired.
WITH found AS MATERIALIZED (
    SELECT c.scope_id, c.chunk_id
    FROM memsense.chunks AS c
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
    WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s AND c.chunk_id = ANY (%(chunk_ids)s)
),
scope AS MATERIALIZED (
    SELECT DISTINCT scope_id FROM found
),
{steps}
SELECT
    NOT ({is_shown}) AS has_expired,
    {columns}
FROM found
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = found.scope_id AND c.chunk_id = found.chunk_id
JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = found.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
ORDER BY c.chunk_id
