-- scope: as in one_user.sql
-- statistics: as in one_user.sql
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
        SELECT *
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
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
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
        ORDER BY distance + 0, chunk_id
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
        SELECT *
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
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
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
        ORDER BY distance + 0, chunk_id
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
        SELECT *
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
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
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
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (SELECT previous_chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_user
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND previous_chunk_id IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
               AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT previous_chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, previous_chunk_id
                 OFFSET 0
             ) AS embeddings_user
             WHERE previous_chunk_id IS NOT NULL
             AND ((SELECT are_all FROM spared) OR (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
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
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
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
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
             FROM memsense.embeddings_preferences
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND NOT fresh
               AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                FROM statistics), true)) IS NOT NULL
               AND ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             ORDER BY distance
             LIMIT %(route_limit)s)
            UNION ALL
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
                 FROM memsense.embeddings_preferences
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND fresh
                 ORDER BY distance, chunk_id
                 OFFSET 0
             ) AS embeddings_preferences
             WHERE ((SELECT are_all FROM spared) OR (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
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
            (SELECT chunk_id AS chunk_id, granularity, distance
             FROM (
                 SELECT chunk_id, previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
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
        ORDER BY distance + 0, chunk_id
        LIMIT %(route_limit)s
    ) AS nearest
)
-- known: as in one_user.sql
-- unknown: as in one_user.sql
-- nearby: as in one_user.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
-- postings: as in one_user.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
-- routes: as in one_user.sql
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in one_user.sql
-- state: as in one_user.sql
-- answer: as in one_user.sql
