-- The queries of `memsense doctor`. Every statement reads one consistent snapshot; repairs are at the end,
-- except for the recount, which re-indexing shares: reindex.sql.

-- name: fetch_server
SELECT
    current_setting('server_version') AS server,
    current_setting('server_version_num')::integer AS server_number,
    current_setting('server_encoding') AS encoding,
    (SELECT installed_version FROM pg_available_extensions WHERE name = 'vector') AS pgvector,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS pgvector_available;

-- name: fetch_settings
-- Sizes in bytes. pg_settings has work_mem and maintenance_work_mem in kB and shared_buffers in pages.
-- huge_pages is null before PostgreSQL 17, huge_pages_needed if the system has none.
SELECT
    (SELECT setting::bigint * 1024 FROM pg_settings WHERE name = 'work_mem') AS work_mem,
    (SELECT setting::bigint * 1024 FROM pg_settings WHERE name = 'maintenance_work_mem') AS maintenance_work_mem,
    (SELECT setting::bigint * current_setting('block_size')::bigint FROM pg_settings WHERE name = 'shared_buffers')
        AS shared_buffers,
    current_setting('huge_pages_status', true) AS huge_pages,
    nullif(current_setting('shared_memory_size_in_huge_pages', true)::integer, -1) AS huge_pages_needed,
    current_setting('autovacuum') AS autovacuum;

-- name: list_prepared
-- Transactions that were prepared for longer than `seconds`: they hold their locks, and VACUUM removes nothing newer.
SELECT gid, prepared AT TIME ZONE 'UTC' AS prepared_at
FROM pg_prepared_xacts
WHERE database = current_database() AND prepared <= now() - make_interval(secs => %(seconds)s)
ORDER BY prepared;

-- name: are_words_indexed
-- Whether this transaction has scanned the text index: EXPLAIN shows nothing of what functions do.
SELECT pg_stat_get_xact_numscans('memsense.chunks_scope_lexemes'::regclass) > 0;

-- name: sum_sizes
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'r';

-- name: count_stored
-- What `memsense db capacity` counts, as the statistics do. Summed before anything is joined, for Citus.
SELECT
    count(*) AS users,
    coalesce(sum(t.chunks), 0)::bigint AS exchanges,
    coalesce(sum(t.chunks) FILTER (WHERE s.indexed), 0)::bigint AS indexed_exchanges
FROM memsense.scopes AS s
JOIN (
    SELECT tenant_id, scope_id, sum(chunk_count)::bigint AS chunks
    FROM memsense.scope_statistics
    WHERE granularity = 'turn'
    GROUP BY tenant_id, scope_id
) AS t ON t.tenant_id = s.tenant_id AND t.scope_id = s.scope_id
WHERE t.chunks > 0;

-- name: count_active_users
-- Users who stored something within a day, by their newest chunk.
SELECT count(*) AS users
FROM memsense.scopes AS s
CROSS JOIN LATERAL (
    SELECT max(c.chunk_id) AS chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id
) AS last
JOIN memsense.chunks AS c ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id AND c.chunk_id = last.chunk_id
WHERE c.recorded_at > now() - interval '1 day';

-- name: find_cache
-- Bytes that the server expects its buffers and the system's cache to hold.
SELECT pg_size_bytes(current_setting('effective_cache_size'));

-- name: find_largest_dimension
SELECT (SELECT max(dimension) FROM memsense.models) AS dimension;

-- name: measure_node
-- Bytes of a node: of tables with their indexes except HNSW, of HNSW indexes, and of recorded searches. A cluster's
-- nodes have shards of the tables and partitions, such as chunks_102008 or traces_2026_12_102400.
SELECT jsonb_build_object(
    'bytes', coalesce(sum(m.table_bytes + m.other_bytes) FILTER (WHERE NOT m.is_trace), 0),
    'index_bytes', coalesce(sum(m.hnsw_bytes), 0),
    'trace_bytes', coalesce(sum(m.table_bytes + m.other_bytes) FILTER (WHERE m.is_trace), 0))
FROM (
    SELECT
        t.relname ~ '^(traces|packed_candidates)(_|$)' AS is_trace,
        pg_table_size(t.oid) AS table_bytes,
        coalesce(sum(pg_relation_size(i.indexrelid)) FILTER (WHERE a.amname = 'hnsw'), 0) AS hnsw_bytes,
        coalesce(sum(pg_relation_size(i.indexrelid)) FILTER (WHERE a.amname <> 'hnsw'), 0) AS other_bytes
    FROM pg_class AS t
    LEFT JOIN pg_index AS i ON i.indrelid = t.oid
    LEFT JOIN pg_class AS c ON c.oid = i.indexrelid
    LEFT JOIN pg_am AS a ON a.oid = c.relam
    WHERE t.relnamespace = 'memsense'::regnamespace AND t.relkind = 'r'
    GROUP BY t.oid, t.relname
) AS m;

-- name: measure_nodes
SELECT result::jsonb FROM run_command_on_all_nodes($command$ {statement} $command$);

-- name: list_unanalysed
-- Tables worth analysing that were never analysed, or have changed by more than their size since.
SELECT c.relname::text AS name, c.reltuples::bigint AS rows, coalesce(s.n_mod_since_analyze, 0)::bigint AS changed
FROM pg_class AS c
LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
WHERE c.relnamespace = 'memsense'::regnamespace
  AND c.relkind = 'r'
  AND pg_relation_size(c.oid) >= %(least_bytes)s
  AND (c.reltuples < 0 OR coalesce(s.n_mod_since_analyze, 0) > greatest(c.reltuples, 1000))
ORDER BY c.relname;

-- name: list_indexes
SELECT index_name, table_name, is_usable, method, coalesce(predicate, '') AS predicate FROM memsense.index_health;

-- name: list_indexed
SELECT t.name AS tenant, n.name AS namespace, s.scope_id, s.user_id, n.model_id
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = s.tenant_id
WHERE s.indexed
ORDER BY s.scope_id;

-- name: list_large_unindexed
-- Only for namespaces with a model: without one there are no vectors. Summed before anything is joined: Citus
-- sums no column of a join in HAVING.
SELECT o.name AS tenant, n.name AS namespace, s.user_id, m.dimension, t.chunks
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS o ON o.tenant_id = s.tenant_id
JOIN memsense.models AS m ON m.model_id = n.model_id
JOIN (
    SELECT tenant_id, scope_id, sum(chunk_count)::bigint AS chunks
    FROM memsense.scope_statistics
    GROUP BY tenant_id, scope_id
) AS t ON t.tenant_id = s.tenant_id AND t.scope_id = s.scope_id
WHERE NOT s.indexed AND t.chunks >= %(threshold)s
ORDER BY t.chunks DESC;

-- name: list_old_kind
-- Memories whose HNSW indexes an earlier version built; those take every vector in at once.
SELECT t.name AS tenant, n.name AS namespace, s.user_id
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = s.tenant_id
WHERE s.indexed AND NOT s.keeps_fresh
ORDER BY s.scope_id;

-- name: list_unsettled
-- Memories with many vectors that wait to be added to the HNSW indexes, while no worker does it.
SELECT t.name AS tenant, n.name AS namespace, s.user_id, f.chunks
FROM memsense.jobs AS j
JOIN memsense.scopes AS s ON s.tenant_id = j.tenant_id AND s.scope_id = j.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = j.tenant_id AND n.namespace_id = j.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = j.tenant_id
CROSS JOIN LATERAL (
    SELECT count(DISTINCT e.chunk_id) AS chunks
    FROM memsense.embeddings_full AS e
    WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id AND e.fresh
) AS f
WHERE j.kind = 'settle' AND j.dead_at IS NULL AND greatest(j.run_at, j.leased_until) < now() - interval '1 minute'
  AND s.keeps_fresh AND f.chunks >= %(least)s
ORDER BY f.chunks DESC, s.scope_id;

-- name: unpromised
-- Vectors that chunks lack and no job will make.
FROM memsense.pending_embeddings AS p
WHERE NOT EXISTS (
    SELECT FROM memsense.jobs AS j
    WHERE j.tenant_id = p.tenant_id AND j.scope_id = p.scope_id AND j.kind IN ('embed', 'fill')
      AND coalesce(j.chunk_id, p.chunk_id) = p.chunk_id AND coalesce(j.model_id, p.model_id) = p.model_id)

-- name: count_pending
SELECT
    tenant, namespace, model, is_current, route, count(*) AS chunks,
    (array_agg(chunk_id ORDER BY chunk_id))[1:5] AS examples
{unpromised}
GROUP BY tenant, namespace, model, is_current, route
ORDER BY tenant, namespace, is_current DESC, model, route;

-- name: list_pending
SELECT tenant_id, scope_id, model_id, array_agg(DISTINCT chunk_id) AS chunk_ids
{unpromised}
  AND is_current
GROUP BY tenant_id, scope_id, model_id
ORDER BY tenant_id, scope_id, model_id;

-- name: count_all_jobs
-- By namespace and kind: dead jobs, and jobs that no worker has taken for a minute.
SELECT
    t.name AS tenant, n.name AS namespace, j.kind,
    count(*) FILTER (WHERE j.dead_at IS NOT NULL) AS dead,
    (array_agg(j.last_error ORDER BY j.dead_at DESC NULLS LAST))[1] AS last_error,
    count(*) FILTER (WHERE j.dead_at IS NULL AND greatest(j.run_at, j.leased_until) < now() - interval '1 minute')
        AS overdue,
    min(CASE WHEN j.kind = 'expire' THEN greatest(j.recorded_at, j.run_at) ELSE j.recorded_at END)
        FILTER (WHERE j.dead_at IS NULL) AT TIME ZONE 'UTC' AS oldest_at
FROM memsense.jobs AS j
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
JOIN memsense.tenants AS t USING (tenant_id)
GROUP BY t.name, n.name, j.kind
ORDER BY t.name, n.name, j.kind;

-- name: count_bare
-- Active exchanges without token vectors, by namespace, if its model makes token vectors.
SELECT t.name AS tenant, n.name AS namespace, count(*) AS chunks
FROM memsense.chunks AS c
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
JOIN memsense.tenants AS t USING (tenant_id)
JOIN memsense.models AS m ON m.model_id = n.model_id
WHERE c.granularity = 'turn' AND c.status = 'active' AND m.name = %(model)s AND m.dimension = %(dimension)s
  AND NOT n.model_id = ANY (c.unknown_to)
  AND NOT EXISTS (
      SELECT FROM memsense.token_vectors AS v
      WHERE v.tenant_id = c.tenant_id AND v.scope_id = c.scope_id AND v.chunk_id = c.chunk_id
        AND v.model_id = n.model_id)
  AND NOT EXISTS (
      SELECT FROM memsense.jobs AS j
      WHERE j.tenant_id = c.tenant_id AND j.scope_id = c.scope_id AND j.chunk_id = c.chunk_id AND j.kind = 'embed')
GROUP BY t.name, n.name
ORDER BY t.name, n.name;

-- name: list_long
-- Memories with exchanges in longer parts than today's, and whether a job will cut them.
SELECT
    t.name AS tenant, n.name AS namespace, s.tenant_id, s.scope_id, found.exchanges,
    EXISTS (
        SELECT FROM memsense.jobs AS j
        WHERE j.tenant_id = s.tenant_id AND j.scope_id = s.scope_id AND j.kind = 'recut' AND j.dead_at IS NULL
    ) AS has_job
FROM (
    SELECT c.tenant_id, c.scope_id, count(DISTINCT (c.session_id, c.ordinal)) AS exchanges
    FROM memsense.chunks AS c
    WHERE c.granularity = 'turn' AND c.status = 'active' AND (c.expires_at IS NULL OR c.expires_at > now())
      AND {is_long}
    GROUP BY c.tenant_id, c.scope_id
) AS found
JOIN memsense.scopes AS s ON s.tenant_id = found.tenant_id AND s.scope_id = found.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = s.tenant_id
ORDER BY t.name, n.name, s.scope_id;

-- name: count_retired_vectors
-- By namespace: vectors and index entries of chunks that are no longer active, which recall would still find, and
-- active chunks without index entries. Summed before anything is joined, for Citus.
SELECT
    t.name AS tenant, n.name AS namespace, sum(left_over.vectors)::bigint AS vectors,
    sum(left_over.entries)::bigint AS entries, sum(left_over.unindexed)::bigint AS unindexed
FROM (
    SELECT tenant_id, scope_id, count(*) AS vectors, 0 AS entries, 0 AS unindexed
    FROM memsense.embeddings AS e
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    WHERE c.status <> 'active'
    GROUP BY tenant_id, scope_id
    UNION ALL
    SELECT tenant_id, scope_id, count(*), 0, 0
    FROM memsense.token_vectors AS v
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    WHERE c.status <> 'active'
    GROUP BY tenant_id, scope_id
    UNION ALL
    SELECT
        tenant_id, scope_id, 0, count(*) FILTER (WHERE status <> 'active'), count(*) FILTER (WHERE status = 'active')
    FROM memsense.chunks
    WHERE (status = 'active') = (tsv IS NULL)
    GROUP BY tenant_id, scope_id
) AS left_over
JOIN memsense.scopes AS s ON s.tenant_id = left_over.tenant_id AND s.scope_id = left_over.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = s.tenant_id
GROUP BY t.name, n.name
ORDER BY t.name, n.name;

-- name: find_drift
-- Scopes whose maintained statistics differ from a recount.
WITH counted_lexemes AS (
    SELECT c.tenant_id, c.scope_id, c.granularity, lexeme, count(*)::integer AS document_frequency
    FROM memsense.chunks AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(ts_filter(c.tsv, '{a,b,c}'))) AS lexeme
    WHERE c.status = 'active'
    GROUP BY c.tenant_id, c.scope_id, c.granularity, lexeme
),
wrong_lexemes AS (
    SELECT tenant_id, scope_id, count(*) AS lexemes
    FROM counted_lexemes AS counted
    FULL JOIN memsense.lexemes AS kept USING (tenant_id, scope_id, granularity, lexeme)
    WHERE counted.document_frequency IS DISTINCT FROM kept.document_frequency
    GROUP BY tenant_id, scope_id
),
counted_chunks AS (
    SELECT
        tenant_id, scope_id, granularity, count(*) AS chunk_count, sum(user_length) AS user_length,
        sum(assistant_length) AS assistant_length, sum(tag_length) AS tag_length, sum(context_length) AS context_length
    FROM memsense.chunks
    WHERE status = 'active'
    GROUP BY tenant_id, scope_id, granularity
),
wrong_counts AS (
    SELECT tenant_id, scope_id, count(*) AS counts
    FROM counted_chunks AS counted
    FULL JOIN memsense.scope_statistics AS kept USING (tenant_id, scope_id, granularity)
    WHERE (coalesce(counted.chunk_count, 0), coalesce(counted.user_length, 0), coalesce(counted.assistant_length, 0),
           coalesce(counted.tag_length, 0), coalesce(counted.context_length, 0))
          IS DISTINCT FROM
          (coalesce(kept.chunk_count, 0), coalesce(kept.user_length, 0), coalesce(kept.assistant_length, 0),
           coalesce(kept.tag_length, 0), coalesce(kept.context_length, 0))
    GROUP BY tenant_id, scope_id
),
wrong_languages AS (
    SELECT tenant_id, scope_id, count(*) AS languages
    FROM (
        SELECT tenant_id, scope_id, language, count(*) AS chunks
        FROM memsense.chunks
        WHERE status = 'active' AND language IS NOT NULL
        GROUP BY tenant_id, scope_id, language
    ) AS counted
    FULL JOIN (
        SELECT s.tenant_id, s.scope_id, own.language, own.chunks::bigint AS chunks
        FROM memsense.scopes AS s
        CROSS JOIN LATERAL jsonb_each_text(s.languages) AS own (language, chunks)
    ) AS kept USING (tenant_id, scope_id, language)
    WHERE counted.chunks IS DISTINCT FROM kept.chunks
    GROUP BY tenant_id, scope_id
)
SELECT
    tenant_id, scope_id, t.name AS tenant, n.name AS namespace, s.user_id, coalesce(wrong_lexemes.lexemes, 0) AS lexemes,
    coalesce(wrong_counts.counts, 0) + coalesce(wrong_languages.languages, 0) AS counts
FROM wrong_lexemes
FULL JOIN wrong_counts USING (tenant_id, scope_id)
FULL JOIN wrong_languages USING (tenant_id, scope_id)
JOIN memsense.scopes AS s USING (tenant_id, scope_id)
JOIN memsense.namespaces AS n USING (tenant_id, namespace_id)
JOIN memsense.tenants AS t USING (tenant_id)
ORDER BY tenant_id, scope_id;

-- name: list_namespaces
SELECT
    t.name AS tenant, n.tenant_id, n.namespace_id, n.name AS namespace, n.language, m.name AS model, m.dimension,
    EXISTS (SELECT FROM memsense.namespace_models AS k
            WHERE k.tenant_id = n.tenant_id AND k.namespace_id = n.namespace_id AND k.model_id = n.model_id
              AND k.embedder <> '{}') AS opens_itself
FROM memsense.namespaces AS n
JOIN memsense.tenants AS t ON t.tenant_id = n.tenant_id
LEFT JOIN memsense.models AS m ON m.model_id = n.model_id
ORDER BY t.name, n.name;

-- name: list_uncompared
-- The languages of active texts in namespaces whose only model knows English alone.
SELECT t.name AS tenant, n.name AS namespace, l.language, sum(l.chunks::bigint)::bigint AS chunks
FROM memsense.namespaces AS n
JOIN memsense.tenants AS t ON t.tenant_id = n.tenant_id
JOIN memsense.models AS m ON m.model_id = n.model_id
JOIN memsense.scopes AS s ON s.tenant_id = n.tenant_id AND s.namespace_id = n.namespace_id
CROSS JOIN LATERAL jsonb_each_text(s.languages) AS l (language, chunks)
WHERE m.name = %(model)s AND l.language <> 'en' AND l.chunks::bigint > 0
  AND NOT EXISTS (
      SELECT FROM memsense.namespace_models AS k
      WHERE k.tenant_id = n.tenant_id AND k.namespace_id = n.namespace_id AND k.model_id <> n.model_id
        AND k.state = 'kept' AND k.languages IS NOT NULL)
GROUP BY t.name, n.name, l.language
ORDER BY t.name, n.name, chunks DESC, l.language;

-- name: sample_texts
-- The newest chunks of a namespace of this version's index entries, with the lexemes of their own text.
SELECT
    CASE WHEN c.granularity = 'session' THEN c.session_text ELSE c.user_text END AS text, c.language,
    tsvector_to_array(ts_filter(c.tsv, '{a}')) AS lexemes
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
WHERE c.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s AND c.status = 'active' AND c.language IS NOT NULL
  AND c.tsv IS NOT NULL
ORDER BY c.chunk_id DESC
LIMIT %(limit)s;

-- name: list_texts
-- What a namespace's chunks of any status say, and said before they were edited: a page behind one of them. A
-- session chunk counts only if its exchanges are no chunks of their own.
SELECT
    c.scope_id, c.chunk_id,
    jsonb_build_array(
        substr(c.user_text, c.opening_length + 1), c.assistant_text, c.session_text, c.task_tag, c.tags, c.metadata,
        (SELECT jsonb_agg(x.content) FROM memsense.superseded_chunks AS x
         WHERE x.tenant_id = %(tenant_id)s AND x.tenant_id = c.tenant_id AND x.scope_id = c.scope_id
           AND x.chunk_id = c.chunk_id)) AS texts
FROM memsense.chunks AS c
JOIN memsense.scopes AS s ON s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id
WHERE c.tenant_id = %(tenant_id)s AND s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
  AND (c.scope_id, c.chunk_id) > (%(after_scope)s, %(after_chunk)s)
  AND (c.granularity = 'turn' OR NOT EXISTS (
      SELECT FROM memsense.chunks AS t
      WHERE t.tenant_id = %(tenant_id)s AND t.tenant_id = c.tenant_id AND t.scope_id = c.scope_id
        AND t.session_id = c.session_id AND t.granularity = 'turn'))
ORDER BY c.scope_id, c.chunk_id
LIMIT %(limit)s;

-- name: sample_exchanges
-- The newest active chunks of a namespace before a chunk, each with what must fit to it: `whole_*` of all parts of its
-- exchange, the ledger's rows, events, entities and vectors. `is_whole`: all parts were cut from one text.
-- `has_history`: its events were not removed by age.
SELECT
    c.scope_id, c.chunk_id, c.session_id, c.granularity, c.ordinal, c.part, c.content_hash, c.source, c.message_ids,
    c.recorded_at, c.user_speaker, c.assistant_speaker, newest.user_id, newest.speakers,
    substr(c.user_text, c.opening_length + 1) AS user_text, c.assistant_text,
    whole.user_text AS whole_user, whole.assistant_text AS whole_assistant, whole.first_hash,
    whole.least = whole.parts AND whole.most = whole.parts AS is_whole,
    newest.past_since IS NULL OR c.recorded_at > newest.past_since AS has_history,
    ARRAY(SELECT e.kind FROM memsense.events AS e
          WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id) AS events,
    (SELECT k.entities FROM memsense.chunk_entities AS k
     WHERE k.tenant_id = %(tenant_id)s AND k.scope_id = c.scope_id AND k.chunk_id = c.chunk_id) AS entities,
    ARRAY(SELECT o.key
          FROM memsense.mentions AS m
          JOIN memsense.entities AS o
            ON o.tenant_id = %(tenant_id)s AND o.scope_id = m.scope_id AND o.entity_id = m.entity_id
          WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = c.scope_id AND m.chunk_id = c.chunk_id) AS mentioned,
    EXISTS (SELECT FROM memsense.embeddings AS e
            WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
              AND abs(l2_norm(e.embedding) - 1) > %(tolerance)s) AS is_unscaled,
    EXISTS (SELECT FROM memsense.embeddings_user AS e
            WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
              AND e.granularity = 'turn' AND e.previous_chunk_id IS DISTINCT FROM previous.chunk_id) AS is_misled,
    ARRAY(SELECT jsonb_build_array(m.format, m.message_key, m.content_hash)
          FROM memsense.ingested_messages AS m
          WHERE m.tenant_id = %(tenant_id)s AND m.scope_id = c.scope_id AND m.session_id = c.session_id
            AND m.ordinal = c.ordinal) AS ledger
FROM (
    SELECT k.scope_id, k.chunk_id, s.user_id, s.speakers, n.past_since
    FROM memsense.scopes AS s
    JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
    JOIN memsense.chunks AS k ON k.tenant_id = %(tenant_id)s AND k.scope_id = s.scope_id AND k.status = 'active'
    WHERE s.tenant_id = %(tenant_id)s AND s.namespace_id = %(namespace_id)s
      AND (%(before)s::bigint IS NULL OR k.chunk_id < %(before)s)
    ORDER BY k.chunk_id DESC
    LIMIT %(limit)s
) AS newest
JOIN memsense.chunks AS c
  ON c.tenant_id = %(tenant_id)s AND c.scope_id = newest.scope_id AND c.chunk_id = newest.chunk_id
CROSS JOIN LATERAL (
    SELECT
        string_agg(substr(p.user_text, p.opening_length + 1), '' ORDER BY p.part) AS user_text,
        string_agg(p.assistant_text, '' ORDER BY p.part) AS assistant_text,
        min(CASE WHEN p.part = 0 THEN p.content_hash END) AS first_hash,
        count(*) AS parts, min(p.part_count) AS least, max(p.part_count) AS most
    FROM memsense.chunks AS p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = c.scope_id AND p.session_id = c.session_id
      AND p.granularity = c.granularity AND p.ordinal = c.ordinal AND p.status = 'active'
) AS whole
LEFT JOIN LATERAL (
    SELECT p.chunk_id
    FROM memsense.chunks AS p
    WHERE p.tenant_id = %(tenant_id)s AND p.scope_id = c.scope_id AND p.session_id = c.session_id
      AND p.granularity = 'turn' AND (p.ordinal, p.part) < (c.ordinal, c.part) AND p.status = 'active'
    ORDER BY p.ordinal DESC, p.part DESC
    LIMIT 1
) AS previous ON true
ORDER BY c.chunk_id DESC;

-- name: count_orphans
-- Ledger rows of exchanges that are stored no more: right after an expiry, which leaves them to keep a log's exchange
-- away.
SELECT t.name AS tenant, n.name AS namespace, count(*) AS messages
FROM memsense.ingested_messages AS m
JOIN memsense.scopes AS s ON s.tenant_id = m.tenant_id AND s.scope_id = m.scope_id
JOIN memsense.namespaces AS n ON n.tenant_id = m.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = m.tenant_id
WHERE NOT EXISTS (
          SELECT FROM memsense.chunks AS c
          WHERE c.tenant_id = m.tenant_id AND c.scope_id = m.scope_id AND c.session_id = m.session_id
            AND c.granularity = 'turn' AND c.ordinal = m.ordinal)
  AND NOT EXISTS (
          SELECT FROM memsense.chunks AS c
          WHERE c.tenant_id = m.tenant_id AND c.scope_id = m.scope_id AND c.session_id = m.session_id
            AND c.granularity = 'session' AND m.ordinal BETWEEN c.ordinal AND c.last_ordinal)
GROUP BY t.name, n.name
ORDER BY t.name, n.name;

-- name: list_former
-- Memories with index entries of an earlier version, and whether a job will make these again.
SELECT
    t.name AS tenant, n.name AS namespace, s.tenant_id, s.scope_id,
    EXISTS (
        SELECT FROM memsense.jobs AS j
        WHERE j.tenant_id = s.tenant_id AND j.scope_id = s.scope_id AND j.kind = 'relex' AND j.dead_at IS NULL
    ) AS has_job
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = s.tenant_id
WHERE s.lexemes_version < %(version)s
ORDER BY t.name, n.name, s.scope_id;

-- name: list_foreign_vectors
SELECT
    tenant, namespace, model, dimension, state, sum(vectors)::bigint AS vectors,
    sum(wrong_width)::bigint AS wrong_width
FROM memsense.embedding_versions
WHERE state <> 'kept' OR wrong_width > 0
GROUP BY tenant, namespace, model, dimension, state
ORDER BY tenant, namespace, model;

-- name: find_largest_scope
-- The largest memory, with a text and a vector of its own to try recall with.
SELECT
    s.tenant_id, n.name AS namespace, s.user_id, s.scope_id, s.indexed, n.model_id, m.dimension, c.user_text, e.embedding
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
JOIN memsense.models AS m ON m.model_id = n.model_id
JOIN memsense.scope_statistics AS k ON k.tenant_id = s.tenant_id AND k.scope_id = s.scope_id
JOIN memsense.chunks AS c ON c.tenant_id = s.tenant_id AND c.scope_id = s.scope_id AND c.status = 'active'
JOIN memsense.embeddings_full AS e
  ON e.tenant_id = c.tenant_id AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id AND e.model_id = n.model_id
ORDER BY k.chunk_count DESC, s.tenant_id, s.scope_id, (c.user_text = ''), c.chunk_id
LIMIT 1;

-- name: count_unpurged
-- Erasures that are older than `seconds` and not purged.
SELECT t.name AS tenant, n.name AS namespace, count(*) AS erasures, min(e.erased_at) AT TIME ZONE 'UTC' AS oldest_at
FROM memsense.erasures AS e
JOIN memsense.namespaces AS n ON n.tenant_id = e.tenant_id AND n.namespace_id = e.namespace_id
JOIN memsense.tenants AS t ON t.tenant_id = e.tenant_id
WHERE e.purged_at IS NULL AND e.erased_at < now() - make_interval(secs => %(seconds)s)
GROUP BY t.name, n.name
ORDER BY t.name, n.name;

-- name: count_old_traces
SELECT count(*) AS traces, count(*) FILTER (WHERE recorded_at < clock_timestamp() - make_interval(secs => %(seconds)s)) AS old
FROM memsense.traces;

-- name: list_retired_scopes
SELECT DISTINCT c.tenant_id, c.scope_id
FROM memsense.chunks AS c
WHERE c.status <> 'active'
  AND (c.tsv IS NOT NULL
       OR EXISTS (SELECT FROM memsense.embeddings AS e
                  WHERE e.tenant_id = c.tenant_id AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id)
       OR EXISTS (SELECT FROM memsense.token_vectors AS t
                  WHERE t.tenant_id = c.tenant_id AND t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id))
ORDER BY c.tenant_id, c.scope_id;

-- name: drop_retired_vectors
DELETE FROM memsense.embeddings AS e
USING memsense.chunks AS c
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = ANY (%(scope_ids)s::integer[])
  AND c.tenant_id = e.tenant_id AND c.scope_id = e.scope_id AND c.chunk_id = e.chunk_id AND c.status <> 'active';

-- name: drop_retired_tokens
DELETE FROM memsense.token_vectors AS t
USING memsense.chunks AS c
WHERE t.tenant_id = %(tenant_id)s AND t.scope_id = ANY (%(scope_ids)s::integer[])
  AND c.tenant_id = t.tenant_id AND c.scope_id = t.scope_id AND c.chunk_id = t.chunk_id AND c.status <> 'active';

-- name: drop_retired_entries
UPDATE memsense.chunks
SET tsv = NULL, user_length = 0, assistant_length = 0, tag_length = 0, context_length = 0
WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (%(scope_ids)s::integer[]) AND status <> 'active' AND tsv IS NOT NULL;

-- name: drop_unscaled
-- Vectors that are not of unit length.
DELETE FROM memsense.embeddings AS e
WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = %(scope_id)s AND e.chunk_id = ANY (%(chunk_ids)s::bigint[])
  AND abs(l2_norm(e.embedding) - 1) > %(tolerance)s;

-- name: correct_hash
-- Unless another chunk has the same content: then both stay as they are.
UPDATE memsense.chunks AS c
SET content_hash = %(content_hash)s
WHERE c.tenant_id = %(tenant_id)s AND c.scope_id = %(scope_id)s AND c.chunk_id = %(chunk_id)s
  AND NOT EXISTS (
      SELECT FROM memsense.chunks AS o
      WHERE o.tenant_id = %(tenant_id)s AND o.scope_id = %(scope_id)s AND o.content_hash = %(content_hash)s
        AND o.dedup_window = c.dedup_window AND o.part = 0 AND o.status <> 'deleted');

-- name: list_sizes
SELECT
    c.relname::text AS name, CASE WHEN c.relkind = 'i' THEN 'index' ELSE 'table' END AS kind,
    pg_relation_size(c.oid) AS bytes
FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'i') AND pg_relation_size(c.oid) > 0
ORDER BY bytes DESC, name
LIMIT 20;
