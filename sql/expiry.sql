-- The chunks that have expired and are not swept yet. Every statement that shows a text leaves them out with
-- these parts, as it leaves out forgotten ones.

-- name: lapsed
-- An index of its own has few rows, most often none.
lapsed AS MATERIALIZED (
    SELECT scope_id, chunk_id, session_id, granularity, ordinal, part, status
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY ({scopes})
      AND expires_at <= now()
)

-- name: hidden
-- Together with the session chunks that hold such a text.
hidden AS MATERIALIZED (
    SELECT chunk_id FROM lapsed
    UNION ALL
    SELECT h.chunk_id
    FROM lapsed AS x
    CROSS JOIN LATERAL (
        SELECT h.chunk_id
        FROM memsense.chunks AS h
        WHERE h.tenant_id = %(tenant_id)s
          AND h.scope_id = x.scope_id
          AND h.session_id = x.session_id
          AND h.granularity = 'session'
          AND (h.ordinal, h.part) <= (x.ordinal, x.part)
          AND h.last_ordinal >= x.ordinal
        OFFSET 0
    ) AS h
    WHERE x.granularity = 'turn' AND x.status = 'active'
)

-- name: bereft
-- The neighbours of such a text: what they repeat of their neighbours is not read.
bereft AS MATERIALIZED (
    SELECT b.chunk_id
    FROM lapsed AS x
    CROSS JOIN LATERAL (
        (SELECT c.chunk_id
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = x.scope_id AND c.session_id = x.session_id
           AND c.granularity = 'turn' AND c.status = 'active' AND (c.ordinal, c.part) < (x.ordinal, x.part)
         ORDER BY c.ordinal DESC, c.part DESC LIMIT 1)
        UNION ALL
        (SELECT c.chunk_id
         FROM memsense.chunks AS c
         WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = x.scope_id AND c.session_id = x.session_id
           AND c.granularity = 'turn' AND c.status = 'active' AND (c.ordinal, c.part) > (x.ordinal, x.part)
         ORDER BY c.ordinal, c.part LIMIT 1)
    ) AS b
    WHERE x.granularity = 'turn' AND x.status = 'active'
)

-- name: spared
-- Computed once for each condition below, so that a row costs next to nothing if nothing has expired.
spared AS MATERIALIZED (
    SELECT NOT EXISTS (SELECT FROM lapsed) AS are_all
)

-- name: is_shown
-- IS NOT TRUE keeps the planner from any plan but one hash table.
((SELECT are_all FROM spared) OR ({chunk} IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)

-- name: is_bereft
(NOT (SELECT are_all FROM spared) AND ({chunk} IN (SELECT chunk_id FROM bereft)) IS TRUE)
