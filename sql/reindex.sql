-- Rebuilding the text index of a namespace, and recounting the statistics of scopes.

-- name: lock_for_reindex
-- FOR UPDATE, so that no user is added meanwhile: a new scope refers to its namespace.
SELECT namespace_id
FROM memsense.namespaces
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
FOR UPDATE;

-- name: lock_all_scopes
-- Locks each scope as every write does, in the order of their numbers.
SELECT scope_id
FROM memsense.scopes
WHERE tenant_id = %(tenant_id)s AND namespace_id = %(namespace_id)s
ORDER BY scope_id
FOR NO KEY UPDATE;

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

-- name: fetch_indexed_texts
-- The texts of all active chunks that the text index is made from.
SELECT scope_id, chunk_id, session_text, user_text, assistant_text, task_tag, tags, context
FROM memsense.chunks
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[]) AND status = 'active'
ORDER BY scope_id, chunk_id;

-- name: reindex_chunks
-- Makes the same entry as a write does: see upsert_chunks in store.sql.
UPDATE memsense.chunks AS c
SET tsv = setweight(field.a, 'A') || setweight(field.b, 'B') || setweight(field.c, 'C') || setweight(field.d, 'D')
          || array_to_tsvector(d.identifiers),
    user_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(field.a)),
    assistant_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(field.b)),
    tag_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(field.c)),
    context_length = (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(field.d))
FROM jsonb_to_recordset(%(chunks)s) AS d (
    scope_id integer, chunk_id bigint, user_terms text, assistant_terms text, tag_terms text, context_terms text,
    identifiers text[]
)
CROSS JOIN LATERAL (
    SELECT
        to_tsvector(%(language)s::regconfig, d.user_terms) AS a,
        to_tsvector(%(language)s::regconfig, d.assistant_terms) AS b,
        to_tsvector(%(language)s::regconfig, d.tag_terms) AS c,
        to_tsvector(%(language)s::regconfig, d.context_terms) AS d
    OFFSET 0
) AS field
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = d.scope_id AND c.chunk_id = d.chunk_id;

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
