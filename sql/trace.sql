-- Traces of searches: written after the answer, read by explanations and replays.

-- name: defer_commit
-- A trace may be lost in a crash of the server; waiting for the disk is not worth it.
SET LOCAL synchronous_commit = off;

-- name: find_traced_scope
SELECT s.scope_id
FROM memsense.scopes AS s
JOIN memsense.namespaces AS n ON n.tenant_id = s.tenant_id AND n.namespace_id = s.namespace_id
WHERE s.tenant_id = %(tenant_id)s AND n.tenant_id = %(tenant_id)s
  AND n.name = %(namespace)s AND s.user_id = %(user_id)s;

-- name: insert_trace
INSERT INTO memsense.traces (
    tenant_id, trace_id, scope_id, namespace, user_id, question, searched, names, dates, lexemes, top_k,
    min_score, granularity, returned, filters, asked_at, profile_name, profile, chunk_counts, lexical_matches,
    candidate_count, hit_count, timings_ms, notes, recalled_at, request_share, kind_by, timezone, calendar
)
VALUES (
    %(tenant_id)s, %(trace_id)s, %(scope_id)s,
    %(namespace)s, %(user_id)s, %(question)s, %(searched)s, %(names)s, %(dates)s, %(lexemes)s, %(top_k)s,
    %(min_score)s, %(granularity)s, %(returned)s, %(filters)s, %(asked_at)s, %(profile_name)s, %(profile)s, %(chunk_counts)s,
    %(lexical_matches)s, %(candidate_count)s, %(hit_count)s, %(timings_ms)s, %(notes)s, %(recalled_at)s,
    %(request_share)s, %(kind_by)s, %(timezone)s, %(calendar)s
)
RETURNING recorded_at;

-- name: insert_candidates
INSERT INTO memsense.packed_candidates (
    tenant_id, trace_id, rrf_k, rrf_weight, mmr_lambda, routes, weights, terms, scope_ids, chunk_ids, are_sessions,
    ranks, scores, memory_scores, term_shares, own_routes, final_scores, score_ranks, relevances, redundancies,
    rivals, steps, hit_ranks, shown_chunk_ids, supported, session_rrf_scores, turn_supports, supporting_turns,
    best_turns, best_turn_rrf_scores, recorded_at
)
VALUES (
    %(tenant_id)s, %(trace_id)s, %(rrf_k)s, %(rrf_weight)s, %(mmr_lambda)s, %(routes)s::text[], %(weights)s, %(terms)s::text[],
    %(scope_ids)s, %(chunk_ids)s, %(are_sessions)s, %(ranks)s, %(scores)s, %(memory_scores)s, %(term_shares)s,
    %(own_routes)s, %(final_scores)s, %(score_ranks)s, %(relevances)s, %(redundancies)s, %(rivals)s, %(steps)s,
    %(hit_ranks)s, %(shown_chunk_ids)s, %(supported)s, %(session_rrf_scores)s, %(turn_supports)s,
    %(supporting_turns)s, %(best_turns)s, %(best_turn_rrf_scores)s, %(recorded_at)s
);

-- name: list_traces
SELECT
    trace_id, namespace, user_id, question, top_k, returned, profile_name, candidate_count, hit_count,
    (timings_ms ->> 'total')::float8 AS total_ms, recorded_at
FROM memsense.traces
WHERE tenant_id = %(tenant_id)s AND namespace = %(namespace)s
  AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s)
  AND (hit_count = 0 OR NOT %(empty)s)
  AND (%(slower_than)s::float8 IS NULL OR (timings_ms ->> 'total')::float8 > %(slower_than)s)
  AND (%(behind_id)s::uuid IS NULL OR recorded_at < %(behind_at)s
       OR recorded_at = %(behind_at)s AND trace_id > %(behind_id)s)
ORDER BY recorded_at DESC, trace_id
LIMIT %(limit)s;

-- name: fetch_trace_statistics
SELECT
    count(*) AS searches,
    count(*) FILTER (WHERE hit_count = 0) AS empty,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY (timings_ms ->> 'total')::float8) AS p50_ms,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY (timings_ms ->> 'total')::float8) AS p95_ms,
    percentile_cont(0.99) WITHIN GROUP (ORDER BY (timings_ms ->> 'total')::float8) AS p99_ms
FROM memsense.traces
WHERE tenant_id = %(tenant_id)s AND namespace = %(namespace)s
  AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s);

-- name: fetch_trace
SELECT
    tenant_id, trace_id, namespace, user_id, question, searched, names, dates, lexemes, top_k, min_score, granularity,
    returned, filters, asked_at, profile_name, profile, chunk_counts, lexical_matches, candidate_count, hit_count, timings_ms,
    notes, recalled_at, request_share, kind_by, timezone, calendar, recorded_at
FROM memsense.traces
WHERE tenant_id = %(tenant_id)s AND namespace = %(namespace)s AND trace_id = %(trace_id)s;

-- name: fetch_candidates
SELECT
    position, scope_id, chunk_id, granularity, routes, ranks, scores, weights, contributions, rrf_score, memory_score,
    base_score, turn_support, terms, session, final_score, score_rank, relevance, redundancy, redundant_to, mmr_score,
    hit_rank, shown_chunk_id, dropped_by, lost_to
FROM memsense.trace_candidates
WHERE tenant_id = %(tenant_id)s AND trace_id = %(trace_id)s
ORDER BY position;

-- name: prune_candidates
-- To be run before prune_traces, with the same moment.
DELETE FROM memsense.packed_candidates AS p
USING memsense.traces AS t
WHERE p.tenant_id = %(tenant_id)s AND t.tenant_id = %(tenant_id)s AND t.namespace = %(namespace)s
  AND t.recorded_at < now() - make_interval(secs => %(seconds)s)
  AND p.trace_id = t.trace_id;

-- name: prune_traces
DELETE FROM memsense.traces
WHERE tenant_id = %(tenant_id)s AND namespace = %(namespace)s
  AND recorded_at < now() - make_interval(secs => %(seconds)s);

-- name: fetch_standing
-- The relation of a chunk to a search, even if the search doesn't find it: each filter in use by name (true: the
-- chunk passes), and the routes for which it has a text and a vector.
WITH scope AS MATERIALIZED (
    SELECT s.scope_id, s.user_id, n.namespace_id
    FROM memsense.chunks AS c
    JOIN memsense.scopes AS s ON s.tenant_id = %(tenant_id)s AND s.scope_id = c.scope_id
    JOIN memsense.namespaces AS n ON n.tenant_id = %(tenant_id)s AND n.namespace_id = s.namespace_id
    WHERE c.tenant_id = %(tenant_id)s AND n.name = %(namespace)s AND c.chunk_id = %(chunk_id)s
),
{quoted}
SELECT
    c.status,
    CASE
        WHEN c.expires_at <= now() THEN c.expires_at
        WHEN c.granularity = 'session' THEN (
            SELECT min(x.expires_at)
            FROM memsense.chunks AS x
            WHERE x.tenant_id = %(tenant_id)s AND x.scope_id = c.scope_id AND x.session_id = c.session_id
              AND x.granularity = 'turn' AND (x.ordinal, x.part) >= (c.ordinal, c.part)
              AND x.ordinal <= c.last_ordinal AND x.expires_at <= now())
    END AS expired_at,
    c.granularity,
    c.session_id,
    scope.user_id,
    jsonb_build_object(
        'user_id', %(user_id)s::text IS NULL OR scope.user_id = %(user_id)s,
        'granularity', c.granularity = ANY (%(granularities)s::text[])
    ) || jsonb_build_object({passes}) AS passes,
    ARRAY_REMOVE(ARRAY[
        'full',
        CASE WHEN substr(c.user_text, c.opening_length + 1) ~ '\S' THEN 'user' END,
        CASE WHEN c.assistant_text ~ '\S' THEN 'assistant' END,
        CASE WHEN c.personal_info ~ '\S' THEN 'personal_info' END,
        CASE WHEN c.preferences ~ '\S' THEN 'preferences' END,
        CASE WHEN c.events ~ '\S' THEN 'events' END
    ], NULL) AS texts,
    ARRAY(
        SELECT e.route
        FROM memsense.embeddings AS e
        WHERE e.tenant_id = %(tenant_id)s AND e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id
          AND e.model_id IN (%(model_id)s, %(other_model_id)s)
        ORDER BY e.route
    ) AS vectors
FROM scope
JOIN memsense.chunks AS c ON c.tenant_id = %(tenant_id)s AND c.scope_id = scope.scope_id
WHERE c.chunk_id = %(chunk_id)s;

-- name: passes
'{filter}', coalesce({condition}, false)
