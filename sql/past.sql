-- Memory as of a moment: stored earlier states, and the tables as of that moment, as CTEs of their names.
-- memsense/store/past.py puts them in front of a statement, whose table names then mean these CTEs.
--
-- Parameters: as_of, the moment.

-- name: keep_past
-- Stores chunks as they are, before they change, with their entities in the same object. Each tenant_id is
-- compared twice: Citus looks for the tenant's number to find the shard, and for the chunk's to see that no row
-- of another shard belongs to it.
INSERT INTO memsense.past_chunks (tenant_id, scope_id, chunk_id, chunk, vectors, tokens)
SELECT
    c.tenant_id, c.scope_id, c.chunk_id,
    to_jsonb(c) || jsonb_build_object('entities', (
        SELECT k.entities FROM memsense.chunk_entities AS k
        WHERE k.tenant_id = %(tenant_id)s AND k.tenant_id = c.tenant_id AND k.scope_id = %(scope_id)s
          AND k.chunk_id = c.chunk_id)),
    CASE WHEN %(with_vectors)s THEN (
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]') FROM memsense.embeddings AS e
        WHERE e.tenant_id = %(tenant_id)s AND e.tenant_id = c.tenant_id AND e.scope_id = %(scope_id)s
          AND e.chunk_id = c.chunk_id) END,
    (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM memsense.token_vectors AS t
     WHERE t.tenant_id = %(tenant_id)s AND t.tenant_id = c.tenant_id AND t.scope_id = %(scope_id)s
       AND t.chunk_id = c.chunk_id)
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = ANY (%(chunk_ids)s)
ORDER BY c.chunk_id;

-- name: keep_retired
-- Stores that some places of a session have no active chunk, before they are written over.
INSERT INTO memsense.past_chunks (tenant_id, scope_id, chunk_id, chunk, tokens)
SELECT c.tenant_id, c.scope_id, c.chunk_id, to_jsonb(c), '[]'
FROM unnest(%(session_ids)s::text[], %(granularities)s::text[], %(ordinals)s::integer[], %(parts)s::integer[])
    AS place (session_id, granularity, ordinal, part)
JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.session_id = place.session_id
 AND c.granularity = place.granularity AND c.ordinal = place.ordinal AND c.part = place.part
WHERE c.status <> 'active'
ORDER BY c.chunk_id;

-- name: fetch_scrubbed_past
-- The past of a session's chunks without the text of erased ones, which turns repeat of their neighbours, and
-- session chunks hold. Read apart from write_scrubbed_past: Citus runs no UPDATE that makes JSON of columns.
SELECT
    p.chunk_id, p.past_id, p.chunk ->> 'granularity' = 'session' AS is_session,
    p.chunk || CASE
        WHEN p.chunk ->> 'granularity' = 'session'
        THEN '{"status": "deleted", "session_text": "", "message_ids": [], "tsv": null}'
        ELSE jsonb_build_object(
            'context', '', 'next_user_text', NULL, 'context_length', 0,
            'tsv', ts_filter((p.chunk ->> 'tsv')::tsvector, '{a,b,c}')
                || array_to_tsvector(ARRAY(
                    SELECT lexeme FROM unnest((p.chunk ->> 'tsv')::tsvector) WHERE positions IS NULL)))
    END AS chunk
FROM memsense.past_chunks AS p
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.chunk ->> 'session_id' = %(session_id)s;

-- name: write_scrubbed_past
UPDATE memsense.past_chunks AS p
SET tokens = '[]',
    vectors = CASE WHEN given.is_session THEN '[]' ELSE p.vectors END,
    chunk = given.chunk
FROM unnest(%(chunk_ids)s::bigint[], %(past_ids)s::bigint[], %(are_sessions)s::boolean[], %(chunks)s::jsonb[])
    AS given (chunk_id, past_id, is_session, chunk)
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s
  AND p.chunk_id = given.chunk_id AND p.past_id = given.past_id;

-- name: fetch_kept_since
-- Since when the namespace has a past: since it keeps one, or since what was dropped; no row if it keeps none.
SELECT greatest(s.changed_at, n.past_since)
FROM memsense.settings AS s
JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND s.name = 'history' AND s.value = '"on"';

-- name: find_scope_then
-- The facts of a user's memory at that moment; its speakers are those who say something in it, its languages those
-- of its chunks.
WITH scope AS MATERIALIZED (
    SELECT s.scope_id, s.speakers, s.lexemes_version
    FROM memsense.namespaces AS n
    JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
    WHERE n.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s
      AND n.name = %(namespace)s AND s.user_id = %(user_id)s
),
{steps}
SELECT
    s.scope_id,
    ARRAY(
        SELECT speaker
        FROM unnest(s.speakers) AS speaker
        WHERE EXISTS (
            SELECT FROM chunks AS c
            WHERE c.scope_id = s.scope_id
              AND (position(', ' || speaker || ', ' IN ', ' || c.user_speaker || ', ') > 0
                   OR position(', ' || speaker || ', ' IN ', ' || c.assistant_speaker || ', ') > 0
                   OR c.granularity = 'session' AND position(speaker || ': ' IN c.session_text) > 0))
        ORDER BY speaker) AS speakers,
    ARRAY(SELECT m.name FROM mentions AS m WHERE m.scope_id = s.scope_id AND m.kind = 'self') AS introduced,
    false AS indexed,
    EXISTS (SELECT FROM chunks AS c WHERE c.granularity = 'session') AS has_sessions,
    ARRAY(
        SELECT c.language
        FROM chunks AS c
        WHERE c.scope_id = s.scope_id AND c.language IS NOT NULL
        GROUP BY c.language
        ORDER BY count(*) DESC, c.language) AS languages,
    s.lexemes_version
FROM scope AS s

-- name: past
-- The first change after the moment has the state at that moment; without a change, the row itself has it.
past AS MATERIALIZED (
    SELECT DISTINCT ON (scope_id, chunk_id) scope_id, chunk_id, chunk, tokens
    FROM memsense.past_chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = ANY ({scopes}) AND until > %(as_of)s
    ORDER BY scope_id, chunk_id, past_id
)

-- name: past_vectors
past_vectors AS MATERIALIZED (
    SELECT DISTINCT ON (scope_id, chunk_id) scope_id, chunk_id, vectors
    FROM memsense.past_chunks
    WHERE tenant_id = %(tenant_id)s AND scope_id = ANY ({scopes}) AND until > %(as_of)s AND vectors IS NOT NULL
    ORDER BY scope_id, chunk_id, past_id
)

-- name: chunks
-- The expiry is the one that is set now: what has expired is not shown as of an earlier moment, either.
chunks AS MATERIALIZED (
    SELECT c.*
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = ANY ({scopes})
      AND c.status = 'active' AND c.recorded_at <= %(as_of)s
      AND (c.chunk_id IN (SELECT chunk_id FROM past)) IS NOT TRUE
    UNION ALL
    SELECT was.*
    FROM past AS p
    JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = p.scope_id AND c.chunk_id = p.chunk_id
    CROSS JOIN LATERAL jsonb_populate_record(
        NULL::memsense.chunks, p.chunk || jsonb_build_object('expires_at', c.expires_at)) AS was
    WHERE was.status = 'active' AND was.recorded_at <= %(as_of)s
)

-- name: embeddings
embeddings AS MATERIALIZED (
    SELECT e.tenant_id, e.scope_id, e.chunk_id, e.route, e.granularity, e.model_id, e.embedding, e.beside
    FROM memsense.embeddings AS e
    WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = ANY ({scopes})
      AND (e.chunk_id IN (SELECT chunk_id FROM past_vectors)) IS NOT TRUE
      AND (e.chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
    UNION ALL
    SELECT was.tenant_id, was.scope_id, was.chunk_id, was.route, was.granularity, was.model_id, was.embedding,
        coalesce(was.beside, false)
    FROM past_vectors AS p
    CROSS JOIN LATERAL jsonb_populate_recordset(NULL::memsense.embeddings, p.vectors) AS was
    WHERE (was.chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
)

-- name: beside
beside AS MATERIALIZED (
    SELECT chunk_id, lag(chunk_id) OVER (PARTITION BY scope_id, session_id ORDER BY ordinal, part) AS previous_chunk_id
    FROM chunks
    WHERE granularity = 'turn'
)

-- name: vectors_of
embeddings_{route} AS MATERIALIZED (
    SELECT e.*, b.previous_chunk_id
    FROM embeddings AS e
    LEFT JOIN beside AS b USING (chunk_id)
    WHERE e.route = '{route}'
)

-- name: token_vectors
token_vectors AS MATERIALIZED (
    SELECT t.*
    FROM memsense.token_vectors AS t
    WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = ANY ({scopes})
      AND (t.chunk_id IN (SELECT chunk_id FROM past)) IS NOT TRUE
      AND (t.chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
    UNION ALL
    SELECT was.*
    FROM past AS p
    CROSS JOIN LATERAL jsonb_populate_recordset(NULL::memsense.token_vectors, p.tokens) AS was
    WHERE (was.chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
)

-- name: chunk_entities
chunk_entities AS MATERIALIZED (
    SELECT k.tenant_id, k.scope_id, k.chunk_id, k.entities
    FROM memsense.chunk_entities AS k
    WHERE k.tenant_id = %(tenant_id)s AND k.scope_id = ANY ({scopes})
      AND (k.chunk_id IN (SELECT chunk_id FROM past)) IS NOT TRUE
      AND (k.chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
    UNION ALL
    SELECT %(tenant_id)s, scope_id, chunk_id, chunk -> 'entities'
    FROM past
    WHERE jsonb_typeof(chunk -> 'entities') = 'array' AND (chunk_id IN (SELECT chunk_id FROM chunks)) IS TRUE
)

-- name: mentions
mentions AS MATERIALIZED (
    SELECT k.tenant_id, k.scope_id, k.chunk_id, e.name, e.kind
    FROM chunk_entities AS k
    CROSS JOIN LATERAL jsonb_to_recordset(k.entities) AS e (name text, kind text)
)

-- name: scope_statistics
-- Counted anew, by the rules of every write.
scope_statistics AS MATERIALIZED (
    SELECT
        tenant_id, scope_id, granularity, count(*) AS chunk_count, sum(user_length) AS user_length,
        sum(assistant_length) AS assistant_length, sum(tag_length) AS tag_length, sum(context_length) AS context_length
    FROM chunks
    GROUP BY tenant_id, scope_id, granularity
)

-- name: lexemes
-- The document frequencies of the question's lexemes.
lexemes AS MATERIALIZED (
    SELECT c.tenant_id, c.scope_id, c.granularity, own.lexeme, count(*)::integer AS document_frequency
    FROM chunks AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS own (lexeme)
    WHERE own.lexeme = ANY (ARRAY(SELECT lexeme FROM question))
    GROUP BY c.tenant_id, c.scope_id, c.granularity, own.lexeme
)
