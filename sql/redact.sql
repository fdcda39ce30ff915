-- Redaction of what is stored: secrets leave every text. memsense/store/redacting.py finds them, and rewrites
-- exchanges on the paths of every other write. Every statement names one tenant.

-- name: list_memories
-- The memories of a user, or of all users of a namespace, with their numbers of chunks.
SELECT s.user_id, s.scope_id, (
    SELECT count(*) FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s AND c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id) AS chunks
FROM memsense.scopes AS s
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
  AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)
ORDER BY s.user_id;

-- name: list_exchanges
-- The ids of a memory's chunks of any status by exchange, a page behind one of them. The active session chunks of
-- a session with exchanges are made of these, and so are left out.
SELECT array_agg(c.chunk_id ORDER BY c.part) AS chunk_ids
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = %(granularity)s
  AND (c.session_id, c.ordinal) >= (%(session_id)s, %(ordinal)s)
  AND ((c.session_id, c.ordinal) <> (%(session_id)s, %(ordinal)s)
       OR c.granularity = 'session' AND c.part > %(part)s)
  AND (c.granularity = 'turn' OR c.status <> 'active' OR NOT EXISTS (
      SELECT FROM memsense.chunks AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = c.session_id
        AND t.granularity = 'turn'))
GROUP BY c.session_id, c.ordinal, CASE c.granularity WHEN 'session' THEN c.part END
ORDER BY c.session_id, c.ordinal, CASE c.granularity WHEN 'session' THEN c.part END
LIMIT %(limit)s;

-- name: list_messages
-- What the ledger knows of some exchanges of a session.
SELECT format, message_key, content_hash
FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND ordinal BETWEEN %(ordinal)s AND %(last_ordinal)s
ORDER BY format, message_key;

-- name: rename_message
UPDATE memsense.ingested_messages
SET message_key = %(new_key)s, content_hash = %(new_hash)s
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND format = %(format)s AND message_key = %(message_key)s;

-- name: is_repeated
-- Whether another exchange has this content in this window of time.
SELECT EXISTS (
    SELECT FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND content_hash = %(content_hash)s
      AND dedup_window = %(dedup_window)s AND part = 0 AND status <> 'deleted'
      AND NOT chunk_id = ANY (%(chunk_ids)s::bigint[]));

-- name: delete_past
-- What exchanges said at earlier moments: their text of now is shown in its place.
DELETE FROM memsense.past_chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s::bigint[]);

-- name: of_memories
scope_id = ANY (ARRAY(
    SELECT s.scope_id FROM memsense.scopes AS s
    WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
      AND (%(user_id)s::text IS NULL OR s.user_id = %(user_id)s)))

-- name: of_items
namespace_id = %(namespace_id)s AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)

-- name: of_traces
namespace = %(namespace)s AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)

-- name: list_values
-- The distinct values of a column, and how many rows have each.
SELECT {column}::text, count(*)
FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s AND {of} AND {column} IS NOT NULL
GROUP BY {column}

-- name: replace_value
UPDATE memsense.{table}
SET {column} = %(after)s::{type}
WHERE tenant_id = %(tenant_id)s AND {of} AND {column} = %(before)s::{type}

-- name: delete_value
DELETE FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s AND {of} AND {column} = %(before)s::{type}

-- name: delete_candidates
DELETE FROM memsense.packed_candidates AS p
USING memsense.traces AS t
WHERE p.tenant_id = %(tenant_id)s AND t.tenant_id = %(tenant_id)s AND p.trace_id = t.trace_id
  AND t.trace_id IN (
      SELECT trace_id FROM memsense.traces
      WHERE tenant_id = %(tenant_id)s AND {of} AND {column} = %(before)s::{type})

-- name: forget_words
-- The words of an item were given apart from its value: they lose what the value loses.
UPDATE memsense.items
SET words = ts_delete(words, %(lexemes)s::text[])
WHERE tenant_id = %(tenant_id)s AND {of} AND {column} = %(before)s::{type} AND words IS NOT NULL

-- name: delete_vectors
-- A framework's model made the vectors of an item: it makes them when the item is put again.
DELETE FROM memsense.item_vectors
WHERE tenant_id = %(tenant_id)s AND item_id IN (
    SELECT item_id FROM memsense.items
    WHERE tenant_id = %(tenant_id)s AND {of} AND {column} = %(before)s::{type})
