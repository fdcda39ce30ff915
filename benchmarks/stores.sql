-- What the benchmark needs of a memsense store beyond the product's own functions.

-- name: describe_server
SELECT
    current_setting('server_version'), current_setting('shared_buffers'), current_setting('huge_pages_status', true);

-- name: load_vectors
SELECT e.chunk_id, e.embedding
FROM memsense.embeddings AS e
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
WHERE e.route = %(route)s AND s.user_id = %(user_id)s
ORDER BY e.chunk_id;

-- name: load_texts
SELECT c.chunk_id, concat_ws(E'\n', c.user_text, c.assistant_text)
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
WHERE s.user_id = %(user_id)s
ORDER BY c.chunk_id;

-- name: load_exchanges
-- Chunks of one user's exchanges in their order, each with its vector of the model in use.
SELECT
    c.session_id, c.ordinal, coalesce(c.user_text, ''), coalesce(c.assistant_text, ''), c.message_ids, e.embedding
FROM memsense.namespaces AS n
JOIN memsense.scopes AS s USING (tenant_id, namespace_id)
JOIN memsense.chunks AS c USING (tenant_id, scope_id)
LEFT JOIN memsense.embeddings AS e
    ON e.tenant_id = c.tenant_id AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
    AND e.route = 'full' AND e.model_id = n.model_id
WHERE n.name = %(namespace)s AND s.user_id = %(user_id)s AND c.granularity = 'turn' AND c.status = 'active'
ORDER BY c.chunk_id;

-- name: find_backends
SELECT pid FROM pg_stat_activity WHERE application_name = %(application)s;

-- name: measure_sizes
-- Bytes per kind of table, indexes included.
SELECT
    CASE WHEN relname LIKE 'embeddings%' THEN 'embeddings' ELSE relname END AS kind,
    sum(pg_total_relation_size(oid))::bigint AS bytes
FROM pg_class
WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'r'
GROUP BY kind
ORDER BY bytes DESC;

-- name: measure_indexes
SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint
FROM pg_class
WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'i' AND relname LIKE 'embeddings\_%\_scope\_%';

-- name: describe_text_index
SELECT pg_get_indexdef('memsense.chunks_scope_lexemes'::regclass);

-- name: drop_text_index
DROP INDEX memsense.chunks_scope_lexemes;

-- name: copy_users
-- Copies the one user there is to `copies` more, with the same texts and vectors.
INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id, speakers)
SELECT s.tenant_id, s.namespace_id, s.user_id || '-' || n, s.speakers
FROM memsense.scopes AS s
CROSS JOIN generate_series(1, %(copies)s) AS n
WHERE s.user_id = %(user_id)s
ORDER BY n;

-- name: copy_statistics
INSERT INTO memsense.scope_statistics (
    tenant_id, scope_id, granularity, chunk_count, user_length, assistant_length, tag_length, context_length
)
SELECT t.tenant_id, copy.scope_id, granularity, chunk_count, user_length, assistant_length, tag_length, context_length
FROM memsense.scopes AS first
JOIN memsense.scope_statistics AS t USING (tenant_id, scope_id)
JOIN memsense.scopes AS copy ON copy.tenant_id = first.tenant_id AND copy.scope_id <> first.scope_id
WHERE first.user_id = %(user_id)s;

-- name: copy_lexemes
INSERT INTO memsense.lexemes (tenant_id, scope_id, granularity, lexeme, document_frequency)
SELECT l.tenant_id, copy.scope_id, l.granularity, l.lexeme, l.document_frequency
FROM memsense.scopes AS copy
JOIN memsense.scopes AS first ON first.tenant_id = copy.tenant_id AND first.user_id = %(user_id)s
JOIN memsense.lexemes AS l ON l.tenant_id = first.tenant_id AND l.scope_id = first.scope_id
WHERE copy.scope_id <> first.scope_id
ORDER BY copy.scope_id, l.granularity, l.lexeme;

-- name: copy_chunks
-- A copy's chunk ids are the first user's, moved up by a stretch of ids per scope.
INSERT INTO memsense.chunks (
    tenant_id, scope_id, chunk_id, granularity, session_id, agent_id, ordinal, last_ordinal, part, user_text,
    assistant_text, session_text, next_user_text, context, memory_kind, personal_info, preferences, events,
    occurred_at, message_ids, source, content_hash, dedup_window, tsv, user_length, assistant_length, tag_length,
    context_length
)
SELECT
    c.tenant_id, copy.scope_id, c.chunk_id + copy.scope_id::bigint * %(stretch)s, c.granularity, c.session_id,
    c.agent_id, c.ordinal, c.last_ordinal, c.part, c.user_text, c.assistant_text, c.session_text, c.next_user_text,
    c.context, c.memory_kind, c.personal_info, c.preferences, c.events, c.occurred_at, c.message_ids, c.source,
    c.content_hash, c.dedup_window, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length
FROM memsense.scopes AS copy
JOIN memsense.scopes AS first ON first.tenant_id = copy.tenant_id AND first.user_id = %(user_id)s
JOIN memsense.chunks AS c ON c.tenant_id = first.tenant_id AND c.scope_id = first.scope_id
WHERE copy.scope_id <> first.scope_id AND copy.scope_id BETWEEN %(first)s AND %(last)s
ORDER BY copy.scope_id, c.chunk_id;

-- name: copy_embeddings
INSERT INTO memsense.embeddings (
    tenant_id, scope_id, chunk_id, previous_chunk_id, route, granularity, model_id, embedding
)
SELECT
    e.tenant_id, copy.scope_id, e.chunk_id + copy.scope_id::bigint * %(stretch)s,
    e.previous_chunk_id + copy.scope_id::bigint * %(stretch)s, e.route, e.granularity, e.model_id, e.embedding
FROM memsense.scopes AS copy
JOIN memsense.scopes AS first ON first.tenant_id = copy.tenant_id AND first.user_id = %(user_id)s
JOIN memsense.embeddings AS e ON e.tenant_id = first.tenant_id AND e.scope_id = first.scope_id
WHERE copy.scope_id <> first.scope_id AND copy.scope_id BETWEEN %(first)s AND %(last)s
ORDER BY copy.scope_id, e.route, e.chunk_id;

-- name: keep_base
-- The vectors of the one user there is, numbered within their route.
CREATE TEMPORARY TABLE base AS
SELECT e.*, row_number() OVER by_route - 1 AS place, count(*) OVER (PARTITION BY e.route, e.granularity) AS total
FROM memsense.embeddings AS e
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
WHERE s.user_id = %(user_id)s
WINDOW by_route AS (PARTITION BY e.route, e.granularity ORDER BY e.chunk_id);

-- name: index_base
CREATE UNIQUE INDEX ON base (route, granularity, place);

-- name: grow_chunks
-- The user's chunks once more, as sessions of their own.
INSERT INTO memsense.chunks (
    tenant_id, scope_id, chunk_id, granularity, session_id, agent_id, ordinal, last_ordinal, part, user_text,
    assistant_text, session_text, next_user_text, context, memory_kind, personal_info, preferences, events,
    occurred_at, message_ids, source, content_hash, dedup_window, tsv, user_length, assistant_length, tag_length,
    context_length
)
SELECT
    c.tenant_id, c.scope_id, c.chunk_id + %(number)s::bigint * %(stretch)s, c.granularity,
    c.session_id || '-' || %(number)s, c.agent_id, c.ordinal, c.last_ordinal, c.part, c.user_text, c.assistant_text,
    c.session_text, c.next_user_text, c.context, c.memory_kind, c.personal_info, c.preferences, c.events,
    c.occurred_at, c.message_ids, c.source, md5(c.content_hash || %(number)s), c.dedup_window, c.tsv,
    c.user_length, c.assistant_length, c.tag_length, c.context_length
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
WHERE s.user_id = %(user_id)s AND c.chunk_id < %(stretch)s
ORDER BY c.chunk_id;

-- name: grow_embeddings
-- Their vectors lie halfway to another one's, another each time.
INSERT INTO memsense.embeddings (
    tenant_id, scope_id, chunk_id, previous_chunk_id, route, granularity, model_id, embedding
)
SELECT
    b.tenant_id, b.scope_id, b.chunk_id + %(number)s::bigint * %(stretch)s,
    b.previous_chunk_id + %(number)s::bigint * %(stretch)s, b.route, b.granularity, b.model_id,
    l2_normalize(b.embedding::halfvec(384) + other.embedding::halfvec(384))
FROM base AS b
JOIN base AS other ON other.route = b.route AND other.granularity = b.granularity
    AND other.place = (b.place + %(number)s * 7919) %% b.total
ORDER BY b.route, b.chunk_id;

-- name: grow_statistics
UPDATE memsense.scope_statistics
SET chunk_count = chunk_count * %(times)s, user_length = user_length * %(times)s,
    assistant_length = assistant_length * %(times)s, tag_length = tag_length * %(times)s,
    context_length = context_length * %(times)s;

-- name: grow_lexemes
UPDATE memsense.lexemes SET document_frequency = document_frequency * %(times)s;

-- name: measure_reads
-- 8 kB blocks that this database's statements found in shared_buffers, and those that they read.
SELECT blks_hit, blks_read FROM pg_stat_database WHERE datname = current_database();
