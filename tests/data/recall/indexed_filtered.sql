-- scope: as in one_user.sql
-- statistics: as in one_user.sql
-- question: as in one_user.sql
-- lapsed: as in one_user.sql
-- hidden: as in one_user.sql
-- bereft: as in one_user.sql
-- spared: as in one_user.sql
quoted AS MATERIALIZED (
    SELECT lexeme, ('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM unnest(%(quoted_lexemes)s::text[]) AS lexeme
)
filtered AS NOT MATERIALIZED (
    SELECT c.chunk_id
    FROM memsense.chunks AS c
    WHERE c.tenant_id = %(tenant_id)s
      AND c.scope_id = (SELECT scope_id FROM scope)
      AND c.tsv IS NOT NULL
      AND ((SELECT are_all FROM spared) OR (c.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
      AND c.session_id = ANY (%(session_ids)s::text[])
      AND (c.project = %(project)s
       OR c.session_id = ANY (ARRAY(
          SELECT p.session_id
          FROM memsense.project_sessions AS p
          WHERE p.tenant_id = %(tenant_id)s
            AND p.namespace_id = (SELECT namespace_id FROM scope LIMIT 1)
            AND p.project = %(project)s)))
      AND c.agent_id = %(agent_id)s
      AND c.occurred_at >= %(since)s
      AND c.occurred_at < %(until)s
      AND c.tags <> '{}'
      AND memsense.scope_tags(c.scope_id, c.tags)
          && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)
      AND c.memory_kind = ANY (%(kinds)s::text[])
      AND (c.metadata @> %(metadata)s::jsonb
       AND CASE WHEN %(metadata_path)s::jsonpath IS NULL THEN true
           ELSE jsonb_path_exists(c.metadata, %(metadata_path)s::jsonpath, %(metadata_values)s::jsonb, true) END)
      AND c.chunk_id <> ALL (%(exclude_chunks)s::bigint[])
      AND NOT EXISTS (
          SELECT FROM memsense.chunks AS x
          WHERE x.tenant_id = %(tenant_id)s
            AND x.scope_id = c.scope_id
            AND x.chunk_id = ANY (%(exclude_chunks)s::bigint[])
            AND x.session_id = c.session_id
            AND CASE x.granularity
                WHEN 'session' THEN (c.ordinal, c.part) >= (x.ordinal, x.part) AND c.ordinal <= x.last_ordinal
                ELSE c.granularity = 'turn' AND c.ordinal = x.ordinal
            END)
      AND NOT c.message_ids && %(exclude_messages)s::text[]
      AND c.session_id <> ALL (%(exclude_sessions)s::text[])
      AND CASE
          WHEN c.tsv @@ (SELECT string_agg(query::text, ' & ')::tsquery FROM quoted) IS NOT FALSE
          THEN concat_ws(E'\x1e', c.session_text, c.user_text, c.assistant_text) ~* ALL (%(quoted_patterns)s::text[])
      END
      AND memsense.scope_lexemes(c.scope_id, c.tsv)
          @> ARRAY(SELECT scope_id || ':' || lexeme FROM scope CROSS JOIN quoted)
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
                    (c.project = %(project)s
                     OR c.session_id = ANY (ARRAY(
                        SELECT p.session_id
                        FROM memsense.project_sessions AS p
                        WHERE p.tenant_id = %(tenant_id)s
                          AND p.namespace_id = (SELECT namespace_id FROM scope LIMIT 1)
                          AND p.project = %(project)s)))
                    AND c.agent_id = %(agent_id)s
                    AND c.occurred_at >= %(since)s
                    AND c.occurred_at < %(until)s
                    AND c.tags <> '{}'
                    AND memsense.scope_tags(c.scope_id, c.tags)
                        && ARRAY(SELECT scope_id || ':' || tag FROM scope CROSS JOIN unnest(%(tags)s::text[]) AS tag)
                    AND c.memory_kind = ANY (%(kinds)s::text[])
                    AND (c.metadata @> %(metadata)s::jsonb
                     AND CASE WHEN %(metadata_path)s::jsonpath IS NULL THEN true
                         ELSE jsonb_path_exists(c.metadata, %(metadata_path)s::jsonpath, %(metadata_values)s::jsonb, true) END)
                    AND c.chunk_id <> ALL (%(exclude_chunks)s::bigint[])
                    AND NOT EXISTS (
                        SELECT FROM memsense.chunks AS x
                        WHERE x.tenant_id = %(tenant_id)s
                          AND x.scope_id = c.scope_id
                          AND x.chunk_id = ANY (%(exclude_chunks)s::bigint[])
                          AND x.session_id = c.session_id
                          AND CASE x.granularity
                              WHEN 'session' THEN (c.ordinal, c.part) >= (x.ordinal, x.part) AND c.ordinal <= x.last_ordinal
                              ELSE c.granularity = 'turn' AND c.ordinal = x.ordinal
                          END)
                    AND NOT c.message_ids && %(exclude_messages)s::text[]
                    AND c.session_id <> ALL (%(exclude_sessions)s::text[])
                ) IS NOT TRUE
          ) AS failing))
)
-- few: as in filtered.sql
-- near: as in filtered.sql
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_full.chunk_id)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.chunk_id)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_assistant.chunk_id)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_user.previous_chunk_id)
                   AND ((SELECT are_all FROM spared) OR (embeddings_user.chunk_id IN (SELECT chunk_id FROM hidden)) IS NOT TRUE)
                   AND NOT (SELECT are_few FROM few)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_personal_info.chunk_id)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_preferences.chunk_id)
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
                   AND (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
                   AND NOT (SELECT are_few FROM few)
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
                 WHERE (SELECT true FROM filtered AS f WHERE f.chunk_id = embeddings_events.chunk_id)
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
      AND (SELECT true FROM filtered AS f WHERE f.chunk_id = c.chunk_id)
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
