-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
filtered AS NOT MATERIALIZED (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND c.tsv IS NOT NULL
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND c.occurred_at >= %(since)s
      AND (c.granularity = 'turn' OR NOT EXISTS (
          SELECT
          FROM (SELECT c.scope_id, c.session_id, c.ordinal, c.part, c.last_ordinal) AS x
          CROSS JOIN LATERAL (
              SELECT
              FROM memsense.chunks AS c
              WHERE c.tenant_id = %(tenant_id)s
                AND c.scope_id = x.scope_id
                AND c.session_id = x.session_id
                AND c.granularity = 'turn'
                AND c.status = 'active'
                AND (c.ordinal, c.part) >= (x.ordinal, x.part)
                AND c.ordinal <= x.last_ordinal
                AND (
                    c.occurred_at >= %(since)s
                ) IS NOT TRUE
          ) AS failing))
)
-- few: as in filtered.sql
near AS MATERIALIZED (
    SELECT e.route, e.chunk_id, e.granularity, embedding <#> %(query_vector)s::halfvec AS distance
    FROM filtered AS f
    CROSS JOIN LATERAL (
        SELECT route, chunk_id, granularity, embedding
        FROM memsense.embeddings
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND chunk_id = f.chunk_id
          AND model_id = %(model_id)s
          AND NOT beside
        OFFSET 0
    ) AS e
    WHERE (SELECT are_few FROM few)
)
other_near AS MATERIALIZED (
    SELECT e.route, e.chunk_id, e.granularity, embedding <#> %(other_vector)s::halfvec AS distance
    FROM filtered AS f
    CROSS JOIN LATERAL (
        SELECT route, chunk_id, granularity, embedding
        FROM memsense.embeddings
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND chunk_id = f.chunk_id
          AND model_id = %(other_model_id)s
          AND NOT beside
        OFFSET 0
    ) AS e
    WHERE (SELECT are_few FROM few)
)
vec_full AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 3.0 * power(sum(chunk_count) / 100000, 0.15))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_full
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_full
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'full'
             ORDER BY distance, chunk_id
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
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_user
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_user
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'user'
             ORDER BY distance, chunk_id
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
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_assistant
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_assistant
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_assistant
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'assistant'
             ORDER BY distance, chunk_id
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
            (
                (SELECT previous_chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND previous_chunk_id IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id)
                   AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT previous_chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_user
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, previous_chunk_id
                     OFFSET 0
                 ) AS embeddings_user
                 WHERE previous_chunk_id IS NOT NULL
                 AND NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id)
                 AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT previous_chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
             FROM memsense.embeddings_user
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 3
               AND (SELECT are_few FROM few)
               AND (previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
               AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
               AND NOT beside
             ORDER BY distance, previous_chunk_id
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
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_personal_info
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_personal_info
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_personal_info
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'personal_info'
             ORDER BY distance, chunk_id
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
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_preferences
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_preferences
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_preferences
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'preferences'
             ORDER BY distance, chunk_id
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
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(48) <#> %(query_vector)s::halfvec(48) AS distance
                 FROM memsense.embeddings_events
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 3
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(query_vector)s::halfvec AS distance
                     FROM memsense.embeddings_events
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 3
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_events
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM near
             WHERE route = 'events'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_full
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 3.0 * power(sum(chunk_count) / 100000, 0.15))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_full
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_full
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'full'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_user
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_user
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'user'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_assistant
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_assistant
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_assistant
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'assistant'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT previous_chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_user
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND previous_chunk_id IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id)
                   AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT previous_chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_user
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, previous_chunk_id
                     OFFSET 0
                 ) AS embeddings_user
                 WHERE previous_chunk_id IS NOT NULL
                 AND NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id)
                 AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT previous_chunk_id, granularity, embedding <#> %(other_vector)s::halfvec AS distance
             FROM memsense.embeddings_user
             WHERE tenant_id = %(tenant_id)s
               AND scope_id = 17
               AND model_id = 4
               AND (SELECT are_few FROM few)
               AND (previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
               AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
               AND NOT beside
             ORDER BY distance, previous_chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_personal_info
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_personal_info
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_personal_info
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'personal_info'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_preferences
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_preferences
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_preferences
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'preferences'
             ORDER BY distance, chunk_id
             LIMIT %(route_limit)s)
        ) AS relaxed
        ORDER BY distance + 0, chunk_id
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
        SELECT *
        FROM (
            (
                (SELECT chunk_id AS chunk_id, granularity, embedding::halfvec(64) <#> %(other_vector)s::halfvec(64) AS distance
                 FROM memsense.embeddings_events
                 WHERE tenant_id = %(tenant_id)s
                   AND scope_id = 17
                   AND model_id = 4
                   AND NOT fresh
                   AND (SELECT set_config('hnsw.ef_search', (SELECT least(1000, ceil(%(route_limit)s * greatest(1, 2.0 * power(sum(chunk_count) / 100000, 0.125))))::integer::text
                    FROM statistics), true)) IS NOT NULL
                   AND NOT beside
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
                   AND NOT (SELECT are_few FROM few)
                 ORDER BY distance
                 LIMIT %(route_limit)s)
                UNION ALL
                (SELECT chunk_id AS chunk_id, granularity, distance
                 FROM (
                     SELECT chunk_id, previous_chunk_id, granularity, beside, embedding <#> %(other_vector)s::halfvec AS distance
                     FROM memsense.embeddings_events
                     WHERE tenant_id = %(tenant_id)s
                       AND scope_id = 17
                       AND model_id = 4
                       AND fresh
                     ORDER BY distance, chunk_id
                     OFFSET 0
                 ) AS embeddings_events
                 WHERE NOT beside
                 AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
                 AND NOT (SELECT are_few FROM few)
                 LIMIT %(route_limit)s)
            )
            UNION ALL
            (SELECT chunk_id, granularity, distance
             FROM other_near
             WHERE route = 'events'
             ORDER BY distance, chunk_id
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
-- postings: as in indexed_filtered.sql
-- frequencies: as in one_user.sql
-- words: as in one_user.sql
-- ceiling: as in one_user.sql
-- matched: as in one_user.sql
-- lexical: as in one_user.sql
-- routes: as in two_models.sql
-- ranked: as in one_user.sql
-- fused: as in one_user.sql
-- hits: as in one_user.sql
-- candidates: as in one_user.sql
-- vectors: as in two_models.sql
-- other_vectors: as in two_models.sql
-- state: as in one_user.sql
-- answer: as in time_two_models.sql
