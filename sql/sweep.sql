-- Sweeping of expired chunks. Every statement names one tenant.

-- name: list_lapsed_scopes
SELECT s.scope_id
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
  AND EXISTS (
      SELECT FROM memsense.chunks AS c
      WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.expires_at <= now())
ORDER BY s.scope_id;

-- name: select_lapsed
-- The chunks that expired first, of any status.
SELECT chunk_id
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND expires_at <= now()
ORDER BY expires_at, chunk_id
LIMIT %(limit)s;

-- name: fetch_on_expiry
-- What the namespace does with expired chunks, as it is set at this moment.
SELECT coalesce(
    (SELECT value #>> '{}' FROM memsense.settings
     WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND name = 'on_expiry'),
    'erase');

-- name: clear_expiry
-- Removes the expiry of chunks that are forgotten instead of erased, for all parts of an exchange.
UPDATE memsense.chunks AS c
SET expires_at = NULL
FROM memsense.chunks AS x
WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = %(scope_id)s AND x.chunk_id = ANY (%(chunk_ids)s)
  AND c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = x.session_id
  AND c.granularity = x.granularity AND c.ordinal = x.ordinal;

-- name: lock_scopes_of_namespace
-- Locks each scope as every write does, in the order of their numbers.
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY scope_id
FOR NO KEY UPDATE;

-- name: date_stored
-- Exchanges, and session chunks of sessions without exchanges; with a tag, only those that have it. Added in
-- UTC, which is IMMUTABLE: Citus runs no UPDATE that calls a STABLE function with a column.
UPDATE memsense.chunks AS c
SET expires_at = (c.recorded_at AT TIME ZONE 'UTC' + make_interval(secs => %(seconds)s)) AT TIME ZONE 'UTC'
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
  AND c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id
  AND (%(tag)s::text IS NULL OR c.tags @> ARRAY[%(tag)s::text])
  AND (c.expires_at IS NULL OR c.expires_at > (c.recorded_at AT TIME ZONE 'UTC' + make_interval(secs => %(seconds)s)) AT TIME ZONE 'UTC')
  AND (c.granularity = 'turn' OR NOT EXISTS (
      SELECT FROM memsense.chunks AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = c.scope_id AND t.session_id = c.session_id
        AND t.granularity = 'turn'))
RETURNING c.scope_id;
