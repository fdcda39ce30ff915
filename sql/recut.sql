-- Exchanges that were stored in longer parts than today's: memsense/store/recutting.py cuts them again.
--
-- Parameters: longest, the most characters of a part.

-- name: is_long
-- Whether a chunk c is a part that is too long. The bytes of a text are known without reading it.
octet_length(c.user_text) + octet_length(c.assistant_text) > %(longest)s
AND length(c.user_text) + length(c.assistant_text) > %(longest)s

-- name: list_long
-- The chunks of a memory's exchanges with a part that is too long, by exchange. Those that have expired, or
-- are archived, stay as they are.
SELECT p.session_id, p.ordinal, array_agg(p.chunk_id ORDER BY p.part) AS chunk_ids
FROM (
    SELECT DISTINCT c.session_id, c.ordinal
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = 'turn' AND c.status = 'active'
      AND (c.expires_at IS NULL OR c.expires_at > now())
      AND {is_long}
    ORDER BY c.session_id, c.ordinal
    LIMIT %(limit)s
) AS long
JOIN memsense.chunks AS p
  ON p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.session_id = long.session_id
 AND p.granularity = 'turn' AND p.ordinal = long.ordinal AND p.status = 'active'
GROUP BY p.session_id, p.ordinal
ORDER BY p.session_id, p.ordinal;
