-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- rarest: as in long.sql
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
        SELECT chunk_id, granularity, min(distance) AS distance
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_full
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 3.0 * power(sum(chunk_count) / 100000, 0.15))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector_2)s::halfvec(48) AS distance
             FROM memsense.embeddings_full
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 3.0 * power(sum(chunk_count) / 100000, 0.15))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, least(embedding <#> %(query_vector)s::halfvec, embedding <#> %(query_vector_2)s::halfvec) AS distance
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_full
             WHERE ((SELECT are_all FROM spared) OR (embeddings_full.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        GROUP BY chunk_id, granularity
        ORDER BY min(distance), chunk_id
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
        SELECT chunk_id, granularity, min(distance) AS distance
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_user
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector_2)s::halfvec(48) AS distance
             FROM memsense.embeddings_user
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, least(embedding <#> %(query_vector)s::halfvec, embedding <#> %(query_vector_2)s::halfvec) AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_user
             WHERE ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        GROUP BY chunk_id, granularity
        ORDER BY min(distance), chunk_id
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
        SELECT chunk_id, granularity, min(distance) AS distance
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_assistant
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector_2)s::halfvec(48) AS distance
             FROM memsense.embeddings_assistant
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, least(embedding <#> %(query_vector)s::halfvec, embedding <#> %(query_vector_2)s::halfvec) AS distance
                 FROM memsense.embeddings_assistant
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_assistant
             WHERE ((SELECT are_all FROM spared) OR (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        GROUP BY chunk_id, granularity
        ORDER BY min(distance), chunk_id
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
        SELECT chunk_id, granularity, min(distance) AS distance
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_personal_info
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector_2)s::halfvec(48) AS distance
             FROM memsense.embeddings_personal_info
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, least(embedding <#> %(query_vector)s::halfvec, embedding <#> %(query_vector_2)s::halfvec) AS distance
                 FROM memsense.embeddings_personal_info
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_personal_info
             WHERE ((SELECT are_all FROM spared) OR (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        GROUP BY chunk_id, granularity
        ORDER BY min(distance), chunk_id
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
        SELECT chunk_id, granularity, min(distance) AS distance
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_events
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector_2)s::halfvec(48) AS distance
             FROM memsense.embeddings_events
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, least(embedding <#> %(query_vector)s::halfvec, embedding <#> %(query_vector_2)s::halfvec) AS distance
                 FROM memsense.embeddings_events
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_events
             WHERE ((SELECT are_all FROM spared) OR (embeddings_events.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        GROUP BY chunk_id, granularity
        ORDER BY min(distance), chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
-- known: as in long.sql
-- unknown: as in long.sql
-- nearby: as in long.sql
-- terms: as in long.sql
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
routes AS MATERIALIZED (
    SELECT 1 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_full)s::float8 AS weight FROM vec_full
    UNION ALL
    SELECT 2 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_user)s::float8 AS weight FROM vec_user
    UNION ALL
    SELECT 3 AS route, turns, turn_scores, sessions, session_scores, %(weight_vec_assistant)s::float8 AS weight FROM vec_assistant
    UNION ALL
    SELECT 5 AS route, turns, turn_scores, sessions, session_scores, %(weight_lexical)s::float8 AS weight FROM lexical
    UNION ALL
    SELECT 6 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_personal_info)s::float8 AS weight FROM facet_personal_info
    UNION ALL
    SELECT 8 AS route, turns, turn_scores, sessions, session_scores, %(weight_facet_events)s::float8 AS weight FROM facet_events
)
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
-- state: as in long.sql
-- answer: as in one_user.sql
