-- Making index entries again by language, and recounting the statistics of scopes.

-- name: lock_for_reindex
-- FOR UPDATE, so that no user is added meanwhile: a new scope refers to its namespace.
SELECT namespace_id
FROM memsense.namespaces
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
FOR UPDATE;

-- name: list_scopes
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY scope_id;

-- name: lock_scopes
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[])
ORDER BY scope_id
FOR NO KEY UPDATE;

-- name: set_language
-- A new settings_version tells every process that its copy of the namespace is outdated.
UPDATE memsense.namespaces
SET language = %(language)s, settings_version = settings_version + 1
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s AND language <> %(language)s;

-- name: fetch_texts
-- Texts of active chunks that have no language yet, or of all behind `after`. A later part has the language of the
-- first one, a session chunk that of most of its turns.
SELECT
    c.chunk_id, c.session_id, c.ordinal, c.part, c.session_text, c.user_text, c.assistant_text, c.task_tag, c.tags,
    c.context,
    CASE
        WHEN c.granularity = 'session' THEN (
            SELECT t.language
            FROM memsense.chunks AS t
            WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = %(scope_id)s AND t.session_id = c.session_id
              AND t.granularity = 'turn' AND t.status = 'active' AND t.ordinal BETWEEN c.ordinal AND c.last_ordinal
            GROUP BY t.language
            ORDER BY count(*) DESC, min(t.ordinal::bigint * 65536 + t.part)
            LIMIT 1)
        WHEN c.part > 0 THEN (
            SELECT f.language
            FROM memsense.chunks AS f
            WHERE f.tenant_id = %(tenant_id)s AND f.scope_id = %(scope_id)s AND f.session_id = c.session_id
              AND f.granularity = 'turn' AND f.ordinal = c.ordinal AND f.part = 0)
    END AS language,
    c.language AS former_language
FROM memsense.chunks AS c
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.granularity = %(granularity)s
  AND c.status = 'active'
  AND CASE WHEN %(after)s::bigint IS NULL THEN c.language IS NULL ELSE c.chunk_id > %(after)s::bigint END
ORDER BY c.chunk_id
LIMIT %(limit)s;

-- name: write_entries
UPDATE memsense.chunks AS c
SET language = d.language, tsv = d.tsv::tsvector, user_length = d.user_length, assistant_length = d.assistant_length,
    tag_length = d.tag_length, context_length = d.context_length
FROM jsonb_to_recordset(%(chunks)s) AS d (
    chunk_id bigint, language text, tsv text, user_length integer, assistant_length integer, tag_length integer,
    context_length integer
)
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = d.chunk_id;

-- name: fetch_past
-- Past states of chunks that were active, without a language yet, or all behind `after`.
SELECT p.chunk_id, p.past_id, p.chunk
FROM memsense.past_chunks AS p
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s AND p.chunk ->> 'tsv' IS NOT NULL
  AND CASE WHEN %(after)s::bigint IS NULL THEN p.chunk ->> 'language' IS NULL ELSE p.past_id > %(after)s::bigint END
ORDER BY p.past_id
LIMIT %(limit)s;

-- name: compose_entries
-- Makes the same entries as a write does: see upsert_chunks in store.sql. Apart from the updates: Citus runs none that
-- makes JSON of columns.
SELECT
    (setweight(field.a, 'A') || setweight(field.b, 'B') || setweight(field.c, 'C') || setweight(field.d, 'D')
     || array_to_tsvector(d.identifiers))::text AS tsv,
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.a)) AS user_length,
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.b)) AS assistant_length,
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.c)) AS tag_length,
    (SELECT coalesce(max(positions[cardinality(positions)]), 0) FROM unnest(field.d)) AS context_length
FROM jsonb_to_recordset(%(entries)s) AS d (
    place integer, user_terms text, assistant_terms text, tag_terms text, context_terms text, identifiers text[]
)
CROSS JOIN LATERAL (
    SELECT
        d.user_terms::tsvector AS a,
        d.assistant_terms::tsvector AS b,
        d.tag_terms::tsvector AS c,
        d.context_terms::tsvector AS d
    OFFSET 0
) AS field
ORDER BY d.place;

-- name: write_past
UPDATE memsense.past_chunks AS p
SET chunk = given.chunk
FROM unnest(%(chunk_ids)s::bigint[], %(past_ids)s::bigint[], %(chunks)s::jsonb[]) AS given (chunk_id, past_id, chunk)
WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = %(scope_id)s
  AND p.chunk_id = given.chunk_id AND p.past_id = given.past_id;

-- name: set_version
UPDATE memsense.scopes SET lexemes_version = %(version)s WHERE tenant_id = %(tenant_id)s AND scope_id = %(scope_id)s;

-- name: clear_lexemes
DELETE FROM memsense.lexemes WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[]);

-- name: clear_counts
DELETE FROM memsense.scope_statistics WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[]);

-- name: recount_lexemes
INSERT INTO memsense.lexemes (tenant_id, scope_id, granularity, lexeme, document_frequency)
SELECT c.tenant_id, c.scope_id, c.granularity, lexeme, count(*)
FROM memsense.chunks AS c
CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS lexeme
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = ANY (%(scope_ids)s::integer[]) AND c.status = 'active'
GROUP BY c.tenant_id, c.scope_id, c.granularity, lexeme;

-- name: recount_chunks
INSERT INTO memsense.scope_statistics (
    tenant_id, scope_id, granularity, chunk_count, user_length, assistant_length, tag_length, context_length
)
SELECT
    tenant_id, scope_id, granularity, count(*), sum(user_length), sum(assistant_length), sum(tag_length),
    sum(context_length)
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[]) AND status = 'active'
GROUP BY tenant_id, scope_id, granularity;

-- name: recount_languages
-- As text, since Citus runs no UPDATE that makes JSON of columns.
UPDATE memsense.scopes AS s
SET languages = coalesce('{' || counted.languages || '}', '{}')::jsonb
FROM (
    SELECT scope.scope_id, string_agg('"' || own.language || '":' || own.chunks, ',') AS languages
    FROM unnest(%(scope_ids)s::integer[]) AS scope (scope_id)
    LEFT JOIN (
        SELECT c.scope_id, c.language, count(*) AS chunks
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = ANY (%(scope_ids)s::integer[]) AND c.status = 'active'
          AND c.language IS NOT NULL
        GROUP BY c.scope_id, c.language
    ) AS own ON own.scope_id = scope.scope_id
    GROUP BY scope.scope_id
) AS counted
WHERE s.tenant_id = %(tenant_id)s AND s.scope_id = counted.scope_id;
