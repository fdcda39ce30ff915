-- scope: as in all_users.sql
-- statistics: as in all_users.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_assistant AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
vec_next_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT previous_chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND previous_chunk_id IS NOT NULL
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, previous_chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_personal_info AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_preferences AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
facet_events AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
        FROM memsense.embeddings_events
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_full
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_assistant AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_assistant
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_vec_next_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT previous_chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_user
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND previous_chunk_id IS NOT NULL
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
          AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, previous_chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_personal_info AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_personal_info
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_preferences AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_preferences
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
other_facet_events AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT chunk_id AS chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
        FROM memsense.embeddings_events
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND model_id = %(other_model_id)s
          AND NOT beside
          AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY distance, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
-- known: as in all_users.sql
-- unknown: as in one_user.sql
-- nearby: as in all_users.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
-- postings: as in all_users.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
-- time_share: as in time.sql
time_within AS MATERIALIZED (
    SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
    FROM scope
    CROSS JOIN unnest(
        %(time_since)s::timestamptz[], %(time_until)s::timestamptz[],
        %(time_wall_since)s::timestamptz[], %(time_wall_until)s::timestamptz[], %(time_confidence)s::float8[]
    ) AS asked (since, until, wall_since, wall_until, confidence)
    CROSS JOIN LATERAL (
        SELECT c.chunk_id, c.scope_id, c.occurred_at
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = scope.scope_id
          AND c.occurred_at >= least(asked.since, asked.wall_since)
          AND c.occurred_at < greatest(asked.until, asked.wall_until)
          AND CASE WHEN c.occurred_zone_known THEN c.occurred_at >= asked.since AND c.occurred_at < asked.until
                   ELSE c.occurred_at >= asked.wall_since AND c.occurred_at < asked.wall_until END
          AND c.granularity = 'turn'
          AND c.tsv IS NOT NULL
          AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
        ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
        LIMIT (SELECT share FROM time_share)
    ) AS c
)
time_found AS MATERIALIZED (
    SELECT chunk_id, scope_id, occurred_at, max(confidence) AS confidence
    FROM (
        SELECT chunk_id, scope_id, occurred_at, confidence FROM time_within
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, asked.confidence
        FROM memsense.chunks AS c
        CROSS JOIN unnest(
            %(time_since)s::timestamptz[], %(time_until)s::timestamptz[],
            %(time_wall_since)s::timestamptz[], %(time_wall_until)s::timestamptz[], %(time_confidence)s::float8[]
        ) AS asked (since, until, wall_since, wall_until, confidence)
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (ARRAY(
              SELECT chunk_id FROM matched
              WHERE (SELECT count(*) FROM time_within) >= (SELECT share FROM time_share)))
          AND c.granularity = 'turn'
          AND c.occurred_at >= least(asked.since, asked.wall_since)
          AND c.occurred_at < greatest(asked.until, asked.wall_until)
          AND CASE WHEN c.occurred_zone_known THEN c.occurred_at >= asked.since AND c.occurred_at < asked.until
                   ELSE c.occurred_at >= asked.wall_since AND c.occurred_at < asked.wall_until END
        UNION ALL
        SELECT c.chunk_id, c.scope_id, c.occurred_at, 1
        FROM memsense.chunks AS c
        WHERE c.tenant_id = %(tenant_id)s
          AND c.scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
          AND c.chunk_id = ANY (%(time_chunk_ids)s::bigint[])
          AND c.tsv IS NOT NULL
          AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
    ) AS found
    GROUP BY chunk_id, scope_id, occurred_at
)
time AS (
    SELECT
        array_agg(chunk_id) AS turns,
        array_agg(score) AS turn_scores,
        NULL::bigint[] AS sessions,
        NULL::float8[] AS session_scores
    FROM (
        (SELECT
             chunk_id,
             max(confidence) * (1 + greatest(max(cosine), 0)
                 + coalesce(max(words) / nullif((SELECT max(score) FROM matched), 0), 0)) / 3 AS score
         FROM (
             SELECT chunk_id, confidence, NULL::float8 AS cosine, NULL::float8 AS words FROM time_found
             UNION ALL
             SELECT chunk_id, NULL, cosine, NULL FROM (
                 SELECT chunk_id, -(embedding <#> %(query_vector)s::halfvec) AS cosine
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
                   AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM time_found))
                   AND model_id = %(model_id)s
                   AND NOT beside
                 UNION ALL
                 SELECT chunk_id, -(embedding <#> %(other_vector)s::halfvec) AS cosine
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
                   AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM time_found))
                   AND model_id = %(other_model_id)s
                   AND NOT beside
             ) AS embedded
             UNION ALL
             SELECT chunk_id, NULL, NULL, score FROM matched
         ) AS found
         WHERE NOT %(time_alone)s
         GROUP BY chunk_id
         HAVING max(confidence) > 0
         ORDER BY score DESC, chunk_id
         LIMIT %(route_limit)s)
        UNION ALL
        (SELECT chunk_id, confidence AS score
         FROM (
             SELECT
                 chunk_id, occurred_at, confidence,
                 row_number() OVER (PARTITION BY confidence ORDER BY occurred_at, chunk_id) AS place,
                 count(*) OVER (PARTITION BY confidence) AS places
             FROM time_found
             WHERE %(time_alone)s
         ) AS spread
         WHERE place * %(route_limit)s / places > (place - 1) * %(route_limit)s / places
         ORDER BY confidence DESC, occurred_at, chunk_id
         LIMIT %(route_limit)s)
    ) AS best
)
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM other_vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM other_vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM other_vec_assistant
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_next_user)s::float8 AS weight FROM vec_next_user
    UNION ALL
    SELECT 4 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_next_user)s::float8 AS weight FROM other_vec_next_user
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM other_facet_personal_info
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_preferences)s::float8 AS weight FROM facet_preferences
    UNION ALL
    SELECT 7 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_preferences)s::float8 AS weight FROM other_facet_preferences
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM other_facet_events
    UNION ALL
    SELECT 10 AS route, turns, turn_scores, sessions, session_scores, %(weight_time)s::float8 AS weight FROM time
)
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in all_users.sql
vectors AS (
    SELECT array_agg(chunk_id) AS embedded, string_agg(halfvec_send(embedding), '') AS embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = %(model_id)s
      AND route = 'full'
            AND NOT beside
)
other_vectors AS (
    SELECT array_agg(chunk_id) AS other_embedded, string_agg(halfvec_send(embedding), '') AS other_embeddings
    FROM memsense.embeddings_full
    WHERE tenant_id = %(tenant_id)s
      AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))
      AND chunk_id = ANY (ARRAY(SELECT chunk_id FROM fused))
      AND model_id = %(other_model_id)s
      AND route = 'full'
            AND NOT beside
)
state AS (
    SELECT jsonb_build_object(
        'scopes', (SELECT count(*) FROM scope),
        'recalled_at', statement_timestamp(),
        'model_id', (SELECT max(model_id) FROM scope),
        'settings_version', (SELECT max(settings_version) FROM scope),
        'counts', (SELECT jsonb_object_agg(granularity, chunk_count) FROM statistics),
        'languages', (SELECT jsonb_object_agg(language, chunks)
         FROM (
             SELECT language, sum(chunks::integer) AS chunks
             FROM scope
             CROSS JOIN LATERAL jsonb_each_text(languages) AS counted (language, chunks)
             GROUP BY language
         ) AS counted),
        'lexemes_version', (SELECT min(lexemes_version) FROM scope),
        'question', (SELECT jsonb_agg(DISTINCT lexeme ORDER BY lexeme) FROM (SELECT lexeme FROM question UNION ALL SELECT lexeme FROM nearby) AS asked),
        'matches', (SELECT count(*) FROM matched),
        'waiting', EXISTS (
            SELECT FROM memsense.jobs
            WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope)) AND kind = 'embed'
              AND coalesce(model_id = %(model_id)s, true)),
        'lapsed', (SELECT NOT are_all FROM spared),
        'ceiling', (SELECT jsonb_object_agg(granularity, ceiling) FROM ceiling),
        'stale', EXISTS (
            SELECT FROM memsense.stale_sessions
            WHERE tenant_id = %(tenant_id)s AND scope_id = ANY (ARRAY(SELECT scope_id FROM scope))),
        'nearest', CASE WHEN %(time_alone)s AND NOT EXISTS (SELECT FROM time_found) THEN (
            SELECT coalesce(jsonb_agg(jsonb_build_array(near.occurred_at, near.occurred_zone_known) ORDER BY near.occurred_at), '[]')
            FROM scope
            CROSS JOIN LATERAL (
                (SELECT c.occurred_at, c.occurred_zone_known
                 FROM memsense.chunks AS c
                 WHERE c.tenant_id = %(tenant_id)s
                   AND c.scope_id = scope.scope_id
                   AND c.occurred_at < %(time_first)s::timestamptz
                   AND c.granularity = 'turn'
                   AND c.tsv IS NOT NULL
                   AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                 ORDER BY c.occurred_at DESC NULLS LAST, c.chunk_id DESC
                 LIMIT 1)
                UNION ALL
                (SELECT c.occurred_at, c.occurred_zone_known
                 FROM memsense.chunks AS c
                 WHERE c.tenant_id = %(tenant_id)s
                   AND c.scope_id = scope.scope_id
                   AND c.occurred_at >= %(time_last)s::timestamptz
                   AND c.occurred_at < coalesce(%(time_now)s::timestamptz, 'infinity')
                   AND c.granularity = 'turn'
                   AND c.tsv IS NOT NULL
                   AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                 ORDER BY c.occurred_at NULLS FIRST, c.chunk_id
                 LIMIT 1)
            ) AS near) END
    ) AS state
)
answer AS (
SELECT
    state, chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids, scope_ids, granularities,
    session_ids, ordinals, parts, memory_scores, times, zones_known, user_speakers, assistant_speakers, tags, worded, identified,
    embedded, embeddings, other_embedded, other_embeddings
FROM state
CROSS JOIN candidates
CROSS JOIN vectors
CROSS JOIN other_vectors
CROSS JOIN hits
)
