-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
filtered AS MATERIALIZED (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND c.tsv IS NOT NULL
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND c.occurred_at >= %(since)s
      AND c.tags <> '{}'
      AND memsense.scope_tags(c.scope_id, c.tags)
          && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)
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
                    AND c.tags <> '{}'
                    AND memsense.scope_tags(c.scope_id, c.tags)
                        && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)
                ) IS NOT TRUE
          ) AS failing))
)
few AS MATERIALIZED (
    SELECT count(*) <= %(few_share)s * (SELECT sum(chunk_count) FROM statistics) + %(few_least)s AS are_few
    FROM (
        SELECT FROM filtered
        LIMIT (SELECT %(few_share)s * sum(chunk_count) + %(few_least)s + 1 FROM statistics)::bigint
    ) AS counted
)
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
          AND true
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
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_full
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_full.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'full'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
    ) AS nearest
)
vec_user AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_user
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_user.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'user'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
    ) AS nearest
)
vec_assistant AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_assistant
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_assistant.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'assistant'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
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
          AND scope_id = (SELECT scope_id FROM scope)
          AND model_id = %(model_id)s
          AND previous_chunk_id IS NOT NULL
          AND (embeddings_user.previous_chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
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
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_personal_info
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_personal_info.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'personal_info'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
    ) AS nearest
)
facet_preferences AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_preferences
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_preferences.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'preferences'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
    ) AS nearest
)
facet_events AS (
    SELECT
        array_agg(chunk_id) FILTER (WHERE granularity = 'turn') AS turns,
        array_agg(-distance) FILTER (WHERE granularity = 'turn') AS turn_scores,
        array_agg(chunk_id) FILTER (WHERE granularity = 'session') AS sessions,
        array_agg(-distance) FILTER (WHERE granularity = 'session') AS session_scores
    FROM (
        (
            SELECT chunk_id AS chunk_id, granularity, embedding <#> %(query_vector)s::halfvec AS distance
            FROM memsense.embeddings_events
            WHERE tenant_id = %(tenant_id)s
              AND scope_id = (SELECT scope_id FROM scope)
              AND model_id = %(model_id)s
              AND (embeddings_events.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
              AND NOT (SELECT are_few FROM few)
            ORDER BY distance, chunk_id
            LIMIT %(route_limit)s
        )
        UNION ALL
        (SELECT chunk_id, granularity, distance
         FROM near
         WHERE route = 'events'
         ORDER BY distance, chunk_id
         LIMIT %(route_limit)s)
    ) AS nearest
)
-- known: as in one_user.sql
-- unknown: as in one_user.sql
-- nearby: as in one_user.sql
-- terms: as in one_user.sql
-- drivers: as in one_user.sql
postings AS (
    SELECT
        t.granularity, t.word, t.idf, t.query, t.base, t.user_slope, t.assistant_slope, t.tag_slope, t.context_slope,
        t.assistant_weight, t.context_weight,
        c.chunk_id, c.tsv, c.user_length, c.assistant_length, c.tag_length, c.context_length,
        width_bucket(ts_rank(memsense.field_weights(), c.tsv, t.query)::float8, memsense.count_cuts()) AS code
    FROM terms AS t
    CROSS JOIN LATERAL (
        SELECT chunk_id, tsv, user_length, assistant_length, tag_length, context_length
        FROM memsense.chunks
        WHERE tenant_id = %(tenant_id)s
          AND scope_id = (SELECT scope_id FROM scope)
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || t.lexeme FROM scope)
          AND memsense.scope_lexemes(scope_id, tsv)
              && ARRAY(SELECT scope.scope_id || ':' || drivers.lexeme FROM scope CROSS JOIN drivers
                       WHERE drivers.lexeme = t.lexeme OR t.lexeme NOT IN (SELECT lexeme FROM drivers))
          AND granularity = t.granularity
        OFFSET 0
    ) AS c
    WHERE t.document_frequency > 0
      AND %(weight_lexical)s > 0
      AND (c.chunk_id IN (SELECT chunk_id FROM filtered)) IS TRUE
    OFFSET 0
)
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
