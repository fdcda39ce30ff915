-- Token vectors of exchanges. Every statement names one tenant.

-- name: insert_tokens
INSERT INTO memsense.token_vectors (tenant_id, scope_id, chunk_id, model_id, user_pieces, pieces, signs)
SELECT %(tenant_id)s, %(scope_id)s, chunk_id, %(model_id)s, user_pieces, pieces, signs
FROM unnest(%(chunk_ids)s::bigint[], %(user_pieces)s::smallint[], %(pieces)b::bytea[], %(signs)b::bytea[])
    AS token (chunk_id, user_pieces, pieces, signs);

-- name: delete_tokens
DELETE FROM memsense.token_vectors
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s);

-- name: list_bare_scopes
-- The memories of a namespace that hold active exchanges without token vectors of a model.
SELECT s.scope_id
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
  AND EXISTS (
      SELECT FROM memsense.chunks AS c
      WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id
        AND c.granularity = 'turn' AND c.status = 'active'
        AND NOT EXISTS (
            SELECT FROM memsense.token_vectors AS t
            WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id
              AND t.model_id = %(model_id)s))
ORDER BY s.scope_id;

-- name: fetch_bare_chunks
-- The next active exchanges without token vectors of a model, each with the exchange before it in its
-- session.
SELECT c.chunk_id, c.user_text, c.assistant_text, before.user_text AS user_before, before.assistant_text AS assistant_before
FROM memsense.chunks AS c
LEFT JOIN LATERAL (
    SELECT b.user_text, b.assistant_text
    FROM memsense.chunks AS b
    WHERE b.tenant_id = %(tenant_id)s AND b.scope_id = %(scope_id)s AND b.session_id = c.session_id
      AND b.granularity = 'turn' AND b.status = 'active'
      AND (b.ordinal, b.part) < (c.ordinal, c.part)
    ORDER BY b.ordinal DESC, b.part DESC
    LIMIT 1
) AS before ON true
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND c.granularity = 'turn' AND c.status = 'active' AND c.chunk_id > %(after)s
  AND NOT EXISTS (
      SELECT FROM memsense.token_vectors AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.chunk_id = c.chunk_id
        AND t.model_id = %(model_id)s)
ORDER BY c.chunk_id
LIMIT %(limit)s;

-- name: lock_memory
-- Locks the memory as every write of it does.
SELECT scope_id FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
FOR NO KEY UPDATE;

-- name: select_unchanged
-- Those of some exchanges without token vectors of a model that are still active and unchanged since they
-- were read.
SELECT c.chunk_id
FROM memsense.chunks AS c
JOIN unnest(%(chunk_ids)s::bigint[], %(user_texts)s::text[], %(assistant_texts)s::text[])
    AS read (chunk_id, user_text, assistant_text) ON read.chunk_id = c.chunk_id
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND c.status = 'active' AND c.user_text = read.user_text AND c.assistant_text = read.assistant_text
  AND NOT EXISTS (
      SELECT FROM memsense.token_vectors AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.chunk_id = c.chunk_id
        AND t.model_id = %(model_id)s);

-- name: fetch_last_texts
-- The last active exchange of each of some sessions, by their position from 1.
SELECT given.place::integer, last.user_text, last.assistant_text
FROM unnest(%(user_ids)s::text[], %(session_ids)s::text[]) WITH ORDINALITY AS given (user_id, session_id, place)
JOIN memsense.scopes AS s
  ON s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND s.user_id = given.user_id
CROSS JOIN LATERAL (
    SELECT c.user_text, c.assistant_text
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.session_id = given.session_id
      AND c.granularity = 'turn' AND c.status = 'active'
    ORDER BY c.ordinal DESC, c.part DESC
    LIMIT 1
) AS last;
