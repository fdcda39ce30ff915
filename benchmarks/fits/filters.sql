-- What the choice of indexes for the filters is measured with; see filters.py.

-- name: make_users
INSERT INTO memsense.scopes (tenant_id, scope_id, namespace_id, user_id)
SELECT n.tenant_id, g, n.namespace_id, 'user' || g
FROM memsense.namespaces AS n
CROSS JOIN generate_series(1, %(users)s) AS g;

-- name: fill_users
-- Chunks of about 2 kB, of which one in 2, 10, 100 and 1,000 has a tag or a pair of metadata.
INSERT INTO memsense.chunks (
    tenant_id, scope_id, granularity, session_id, ordinal, last_ordinal, user_text, assistant_text, tags, metadata,
    content_hash, dedup_window, tsv, user_length
)
SELECT
    s.tenant_id, s.scope_id, 'turn', (i / 20)::text, i %% 20, i %% 20, text, text,
    array_remove(ARRAY[CASE WHEN i %% 2 = 0 THEN 'half' END, CASE WHEN i %% 10 = 1 THEN 'tenth' END,
                       CASE WHEN i %% 100 = 1 THEN 'hundredth' END, CASE WHEN i %% 1000 = 1 THEN 'thousandth' END], NULL),
    jsonb_build_object('half', i %% 2, 'tenth', i %% 10, 'hundredth', i %% 100, 'thousandth', i %% 1000),
    md5(s.scope_id || ' ' || i), i, 'word:1A', 1
FROM memsense.scopes AS s
CROSS JOIN generate_series(0, %(chunks)s - 1) AS i
CROSS JOIN LATERAL (SELECT string_agg(md5(i || ' ' || k), ' ') AS text FROM generate_series(1, 30) AS k) AS filler
WHERE s.scope_id BETWEEN %(first)s AND %(last)s;

-- name: drop_indexes
DROP INDEX IF EXISTS memsense.chunks_scope_tags, memsense.measured;

-- name: create_pairs
-- Metadata as an array that can be qualified by scope; numbers are written alike if they are equal.
CREATE OR REPLACE FUNCTION memsense.measured_pairs(scope_id integer, metadata jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT scope_id || ':' || key || '='
            || CASE jsonb_typeof(value) WHEN 'number' THEN trim_scale((value #>> '{}')::numeric)::text ELSE value::text END
        FROM jsonb_each(metadata)
        WHERE jsonb_typeof(value) NOT IN ('object', 'array')
        UNION ALL
        SELECT scope_id::text);

-- name: index_tags
CREATE INDEX measured ON memsense.chunks USING gin (tags);

-- name: index_scope_tags
CREATE INDEX measured ON memsense.chunks USING gin (memsense.scope_tags(scope_id, tags))
WITH (fastupdate = on, gin_pending_list_limit = 64)
WHERE tags <> '{}';

-- name: index_metadata
CREATE INDEX measured ON memsense.chunks USING gin (metadata jsonb_path_ops);

-- name: index_scope_metadata
CREATE INDEX measured ON memsense.chunks USING gin (memsense.measured_pairs(scope_id, metadata))
WITH (fastupdate = on, gin_pending_list_limit = 64)
WHERE metadata <> '{}';

-- name: filter_tags
SELECT count(*)
FROM memsense.chunks AS c
WHERE c.tenant_id = 1
  AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM memsense.scopes WHERE user_id = %(user_id)s))
  AND c.tsv IS NOT NULL
  AND c.tags && %(tags)s::text[];

-- name: filter_scope_tags
SELECT count(*)
FROM memsense.chunks AS c
WHERE c.tenant_id = 1
  AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM memsense.scopes WHERE user_id = %(user_id)s))
  AND c.tsv IS NOT NULL
  AND c.tags <> '{}'
  AND memsense.scope_tags(c.scope_id, c.tags)
      && ARRAY(SELECT s.scope_id || ':' || tag FROM memsense.scopes AS s CROSS JOIN unnest(%(tags)s::text[]) AS tag
               WHERE s.user_id = %(user_id)s);

-- name: filter_metadata
SELECT count(*)
FROM memsense.chunks AS c
WHERE c.tenant_id = 1
  AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM memsense.scopes WHERE user_id = %(user_id)s))
  AND c.tsv IS NOT NULL
  AND c.metadata @> %(metadata)s::jsonb;

-- name: filter_scope_metadata
SELECT count(*)
FROM memsense.chunks AS c
WHERE c.tenant_id = 1
  AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM memsense.scopes WHERE user_id = %(user_id)s))
  AND c.tsv IS NOT NULL
  AND c.metadata <> '{}'
  AND memsense.measured_pairs(c.scope_id, c.metadata)
      @> (SELECT memsense.measured_pairs(s.scope_id, %(metadata)s::jsonb) FROM memsense.scopes AS s
          WHERE s.user_id = %(user_id)s)
  AND c.metadata @> %(metadata)s::jsonb;

-- name: copy_chunks
-- As many as a session has, under another name.
INSERT INTO memsense.chunks (
    tenant_id, scope_id, granularity, session_id, ordinal, last_ordinal, user_text, assistant_text, tags, metadata,
    content_hash, dedup_window, tsv, user_length
)
SELECT
    tenant_id, scope_id, granularity, 'copy of ' || session_id, ordinal, last_ordinal, user_text, assistant_text, tags,
    metadata, 'copy of ' || content_hash, dedup_window, tsv, user_length
FROM memsense.chunks
WHERE tenant_id = 1 AND scope_id = 1 AND session_id = %(session_id)s;

-- name: measure_index
SELECT pg_relation_size('memsense.measured');
