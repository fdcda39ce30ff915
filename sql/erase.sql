-- Erasure for good: every row that holds a user's text, or anything made of it, is deleted; a receipt stays.
-- Every statement names one tenant; the scope is locked, as by every write. memsense/store/erasing.py fills
-- in {table}; a test compares its lists with the catalogue.

-- name: delete_of_scope
DELETE FROM memsense.{table} WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s

-- name: delete_of_chunks
DELETE FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)

-- name: count_of_scope
SELECT '{table}' AS name, count(*) AS rows
FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s

-- name: count_of_chunks
SELECT '{table}' AS name, count(*) AS rows
FROM memsense.{table}
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)

-- name: find_users_of_session
-- The users who have a session of this id; there may be several.
SELECT s.user_id
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
  AND (EXISTS (
          SELECT FROM memsense.chunks AS c
          WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id AND c.session_id = %(session_id)s)
       OR EXISTS (
          SELECT FROM memsense.ingested_messages AS m
          WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = s.scope_id AND m.session_id = %(session_id)s))
ORDER BY s.user_id;

-- name: find_users_of_message
SELECT s.user_id
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND n.name = %(namespace)s
  AND EXISTS (
      SELECT FROM memsense.chunks AS c
      WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = s.scope_id
        AND c.message_ids @> ARRAY[%(message_id)s::text])
ORDER BY s.user_id;

-- name: lock_known_scope
-- Locks a memory as lock_scope does, but does not create one.
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND user_id = %(user_id)s
FOR UPDATE;

-- name: fetch_user
SELECT user_id FROM memsense.scopes WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: list_sessions
-- Every session of a memory, including those without chunks.
SELECT session_id FROM memsense.chunks WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
UNION
SELECT session_id FROM memsense.ingested_messages WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s
UNION
SELECT session_id FROM memsense.stale_sessions WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: select_session
-- Every chunk of a session.
SELECT chunk_id, session_id, ordinal, last_ordinal
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
ORDER BY chunk_id;

-- name: select_message
-- The exchanges that hold a message; in a session without exchanges, the session chunks that do.
SELECT c.chunk_id, c.session_id, c.ordinal, c.last_ordinal
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
  AND c.message_ids @> ARRAY[%(message_id)s::text]
  AND (%(session_id)s::text IS NULL OR c.session_id = %(session_id)s)
  AND (c.granularity = 'turn' OR NOT EXISTS (
      SELECT FROM memsense.chunks AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = c.session_id
        AND t.granularity = 'turn' AND t.ordinal BETWEEN c.ordinal AND c.last_ordinal))
ORDER BY c.chunk_id;

-- name: select_chunk
SELECT chunk_id, session_id, ordinal, last_ordinal
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = %(chunk_id)s;

-- name: select_expired
SELECT chunk_id, session_id, ordinal, last_ordinal
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
ORDER BY chunk_id;

-- name: select_beside
-- Other chunks with the same text: all parts of the exchanges, the exchanges that a session chunk covers,
-- forgotten copies of these, and every session chunk that covers one.
WITH given AS (
    SELECT session_id, granularity, ordinal, last_ordinal
    FROM memsense.chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
),
covered AS (
    SELECT t.session_id, t.ordinal, t.content_hash, t.part
    FROM given
    JOIN memsense.chunks AS t
      ON t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = given.session_id
     AND t.granularity = 'turn' AND t.ordinal BETWEEN given.ordinal AND given.last_ordinal
),
exchanges AS (
    SELECT session_id, ordinal FROM covered
    UNION
    SELECT f.session_id, f.ordinal
    FROM covered
    JOIN memsense.chunks AS f
      ON f.tenant_id = %(tenant_id)s AND f.scope_id = %(scope_id)s AND f.content_hash = covered.content_hash
     AND f.granularity = 'turn' AND f.part = 0 AND f.status = 'deleted'
    WHERE covered.part = 0
)
SELECT c.chunk_id, c.session_id, e.ordinal, e.ordinal AS last_ordinal
FROM exchanges AS e
JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = e.session_id
 AND e.ordinal BETWEEN c.ordinal AND c.last_ordinal
ORDER BY c.chunk_id, e.ordinal;

-- name: select_active
SELECT chunk_id
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s)
  AND status = 'active'
ORDER BY chunk_id;

-- name: traces_of_user
-- Recorded searches of a user's memory, and searches of all users that found anything of it.
doomed AS MATERIALIZED (
    SELECT t.trace_id
    FROM memsense.traces AS t
    WHERE t.tenant_id = %(tenant_id)s AND t.namespace = %(namespace)s
      AND (t.user_id = %(user_id)s OR t.scope_id = %(scope_id)s
           OR t.user_id IS NULL AND EXISTS (
               SELECT FROM memsense.packed_candidates AS p
               WHERE p.tenant_id = %(tenant_id)s AND p.trace_id = t.trace_id
                 AND %(scope_id)s::integer = ANY (p.scope_ids)))
)

-- name: fetch_retired_texts
-- The texts of those of the chunks that are in no index.
SELECT concat_ws(' ', user_text, assistant_text, session_text, task_tag, array_to_string(tags, ' ')) AS text, language
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND chunk_id = ANY (%(chunk_ids)s) AND tsv IS NULL;

-- name: traces_of_chunks
-- Recorded searches that found one of the chunks, that were limited to one of the deleted sessions or
-- excluded one of the messages, or that asked for a word that no searched memory has any more. The chunks
-- are withdrawn by then, but not deleted.
words AS MATERIALIZED (
    SELECT word.lexeme
    FROM memsense.chunks AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS word (lexeme)
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
    UNION
    SELECT unnest(%(retired_lexemes)s::text[])
),
doomed AS MATERIALIZED (
    SELECT t.trace_id
    FROM memsense.traces AS t
    WHERE t.tenant_id = %(tenant_id)s AND t.namespace = %(namespace)s
      AND (t.user_id = %(user_id)s OR t.user_id IS NULL)
      AND (t.filters -> 'session_ids' ?| %(session_ids)s::text[]
           OR t.filters -> 'exclude' ?| ARRAY(
               SELECT unnest(c.message_ids)
               FROM memsense.chunks AS c
               WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s))
           OR EXISTS (
               SELECT FROM memsense.packed_candidates AS p
               WHERE p.tenant_id = %(tenant_id)s AND p.trace_id = t.trace_id
                 AND (p.chunk_ids && %(chunk_ids)s::bigint[] OR p.shown_chunk_ids && %(chunk_ids)s::bigint[]))
           OR EXISTS (
               SELECT
               FROM unnest(t.lexemes) AS asked (lexeme)
               JOIN words USING (lexeme)
               WHERE NOT EXISTS (
                   SELECT
                   FROM memsense.lexemes AS l
                   JOIN memsense.scopes AS s ON s.tenant_id = l.tenant_id AND s.scope_id = l.scope_id
                   WHERE l.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
                     AND s.namespace_id = %(namespace_id)s
                     AND (t.user_id IS NULL OR s.scope_id = %(scope_id)s)
                     AND l.granularity IN ('turn', 'session') AND l.lexeme = asked.lexeme)))
)

-- name: delete_traces
-- {doomed} selects the recorded searches to delete.
WITH {doomed},
candidates AS (
    DELETE FROM memsense.packed_candidates AS p
    USING doomed
    WHERE p.tenant_id = %(tenant_id)s AND p.trace_id = doomed.trace_id
    RETURNING p.trace_id
),
traces AS (
    DELETE FROM memsense.traces AS t
    USING doomed
    WHERE t.tenant_id = %(tenant_id)s AND t.trace_id = doomed.trace_id
    RETURNING t.trace_id
)
SELECT (SELECT count(*) FROM candidates) AS packed_candidates, (SELECT count(*) FROM traces) AS traces;

-- name: delete_keys
-- Keys of writes whose result names one of the chunks (for a whole memory: any chunk of it). Run again, such
-- a write writes.
DELETE FROM memsense.write_keys AS k
WHERE k.tenant_id = %(tenant_id)s AND k.namespace_id = %(namespace_id)s
  AND EXISTS (
      SELECT
      FROM jsonb_path_query(k.result, '$.**') AS given
      JOIN memsense.chunks AS c
        ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
       AND c.chunk_id = CASE WHEN jsonb_typeof(given) = 'number' THEN given::numeric END
      WHERE %(chunk_ids)s::bigint[] IS NULL OR c.chunk_id = ANY (%(chunk_ids)s));

-- name: delete_lost_events
-- The history of deleted chunks, which can't be read any more, though it may hold notes.
DELETE FROM memsense.events AS e
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s
  AND NOT EXISTS (
      SELECT FROM memsense.chunks AS c
      WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = e.chunk_id);

-- name: delete_ledger_of_session
DELETE FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s;

-- name: delete_aliases_of_session
DELETE FROM memsense.session_aliases
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND %(session_id)s IN (session_id, alias);

-- name: delete_ledger_of_exchanges
-- The ledger entries of some exchanges, of every format, so that they are stored when they come again.
DELETE FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND ordinal = ANY (%(ordinals)s::integer[]);

-- name: delete_sessions_of_projects
-- Removes sessions that no user has any more from the projects of the namespace.
DELETE FROM memsense.project_sessions AS p
WHERE p.tenant_id = %(tenant_id)s AND p.namespace_id = %(namespace_id)s
  AND p.session_id = ANY (%(session_ids)s::text[])
  AND NOT EXISTS (
      SELECT
      FROM memsense.scopes AS s
      JOIN memsense.chunks AS c ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id
      WHERE s.tenant_id = %(tenant_id)s AND c.tenant_id = %(tenant_id)s
        AND s.namespace_id = %(namespace_id)s AND c.session_id = p.session_id);

-- name: clear_links
-- The text that inactive turns of a session repeat of their neighbours; restoring a turn finds it anew.
UPDATE memsense.chunks
SET next_user_text = NULL, context = ''
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND status <> 'active' AND (next_user_text IS NOT NULL OR context <> '');

-- name: drop_speakers
-- Keeps as speakers of the memory only those who still say something in it.
UPDATE memsense.scopes AS s
SET speakers = kept.speakers
FROM (
    SELECT ARRAY(
        SELECT speaker
        FROM memsense.scopes AS own
        CROSS JOIN LATERAL unnest(own.speakers) AS speaker
        WHERE own.tenant_id = %(tenant_id)s AND own.scope_id = %(scope_id)s
          AND EXISTS (
              SELECT FROM memsense.chunks AS c
              WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s
                AND (position(', ' || speaker || ', ' IN ', ' || c.user_speaker || ', ') > 0
                     OR position(', ' || speaker || ', ' IN ', ' || c.assistant_speaker || ', ') > 0
                     OR c.granularity = 'session' AND position(speaker || ': ' IN c.session_text) > 0))
        ORDER BY speaker) AS speakers
) AS kept
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = %(scope_id)s AND s.speakers <> kept.speakers;

-- name: count_links_left
-- Inactive turns of a session that still repeat text of their neighbours.
SELECT count(*)
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
  AND status <> 'active' AND (next_user_text IS NOT NULL OR context <> '');

-- name: count_session_left
SELECT 'chunks' AS name, count(*) AS rows FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
UNION ALL
SELECT 'ingested_messages', count(*) FROM memsense.ingested_messages
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
UNION ALL
SELECT 'stale_sessions', count(*) FROM memsense.stale_sessions
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND session_id = %(session_id)s
UNION ALL
SELECT 'session_aliases', count(*) FROM memsense.session_aliases
WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s AND %(session_id)s IN (session_id, alias);

-- name: count_traces_left
SELECT count(*)
FROM memsense.traces AS t
LEFT JOIN memsense.packed_candidates AS p ON p.tenant_id = %(tenant_id)s AND p.trace_id = t.trace_id
WHERE t.tenant_id = %(tenant_id)s AND t.namespace = %(namespace)s
  AND (%(whole_user)s AND (t.user_id = %(user_id)s OR %(scope_id)s::integer = ANY (p.scope_ids))
       OR p.chunk_ids && %(chunk_ids)s::bigint[] OR p.shown_chunk_ids && %(chunk_ids)s::bigint[]);

-- name: insert_receipt
INSERT INTO memsense.erasures (tenant_id, erasure_id, namespace_id, kind, salt, user_hash, subject_hash, counts, erased_by)
VALUES (%(tenant_id)s, %(erasure_id)s, %(namespace_id)s, %(kind)s, %(salt)s, %(user_hash)s, %(subject_hash)s,
        %(counts)s, %(erased_by)s);

-- name: update_receipt
-- Of an erasure that takes several transactions.
UPDATE memsense.erasures
SET counts = %(counts)s, erased_at = now(), purged_at = NULL, purged_full_at = NULL
WHERE tenant_id = %(tenant_id)s AND erasure_id = %(erasure_id)s;

-- name: fetch_receipt
SELECT e.erasure_id, n.name AS namespace, e.kind, e.salt, e.user_hash, e.subject_hash, e.counts, e.erased_by, e.erased_at,
    e.purged_at, e.purged_full_at
FROM memsense.erasures AS e
JOIN memsense.namespaces AS n ON n.tenant_id = e.tenant_id AND n.namespace_id = e.namespace_id
WHERE e.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s AND e.erasure_id = %(erasure_id)s;

-- name: list_receipts
-- Newest first.
SELECT e.erasure_id, n.name AS namespace, e.kind, e.salt, e.user_hash, e.subject_hash, e.counts, e.erased_by, e.erased_at,
    e.purged_at, e.purged_full_at
FROM memsense.erasures AS e
JOIN memsense.namespaces AS n ON n.tenant_id = e.tenant_id AND n.namespace_id = e.namespace_id
WHERE e.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s AND e.namespace_id = %(namespace_id)s
ORDER BY e.erased_at DESC, e.erasure_id
LIMIT %(limit)s;
